//! Filters by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chain::Chain;
use super::distribution::{Histogram, Quantiles};
use super::ends::{Delta, End};
use super::moments::{Average, StandardDeviation, Sum};
use super::network::{Jitter, Loss};
use super::{Filter, Output};
use crate::protocol::{FieldType, is_name};

/// Makes a filter for a field of a type.
pub type Factory = Arc<dyn Fn(FieldType, &Properties) -> Result<Box<dyn Filter>, FilterError> + Send + Sync>;

/// What a configuration says to one filter; what a filter does not know it ignores, as OML's do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(pub BTreeMap<String, String>);

/// Why a filter cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// No filter of this name.
    #[error("no filter {name:?}; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// No field of this name at the measurement point.
    #[error("no field {field:?}; the measurement point has {known}")]
    Field {
        /// The name.
        field: String,
        /// Those that there are.
        known: String,
    },
    /// A filter of numbers for something else.
    #[error("filter {filter} works on {needs}, not on {found}; use first or last")]
    Type {
        /// The filter.
        filter: String,
        /// What it works on.
        needs: &'static str,
        /// The type of the field.
        found: FieldType,
    },
    /// A property is missing or wrong.
    #[error("filter {filter} {reason}")]
    Property {
        /// The filter.
        filter: &'static str,
        /// What it needs.
        reason: String,
    },
    /// The name is taken.
    #[error("a filter {0:?} exists; choose another name")]
    Taken(String),
    /// Two outputs of one stream have one name, or a name is none.
    #[error("the stream would have field {0:?} twice or under a name that is none; give a rename")]
    Output(String),
    /// A window of nothing.
    #[error("a window needs at least 1 sample or a positive number of seconds")]
    Window,
}

impl Properties {
    /// The text of a property.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A property as a number.
    ///
    /// # Errors
    /// It is no number, or missing without a default.
    pub fn number(&self, filter: &'static str, name: &str, default: Option<f64>) -> Result<f64, FilterError> {
        let refuse = |reason| FilterError::Property { filter, reason };
        match self.get(name) {
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_| refuse(format!("needs property {name:?}, a number, not {text:?}"))),
            None => default.ok_or_else(|| refuse(format!("needs property {name:?}, a number"))),
        }
    }
}

/// The filters that a configuration may name.
#[derive(Clone)]
pub struct Registry {
    factories: BTreeMap<String, Factory>,
}

impl Default for Registry {
    /// The built-in ones: avg, sum, first, last, delta, stddev, histogram, quantiles, loss, jitter.
    fn default() -> Self {
        let mut registry = Self { factories: BTreeMap::new() };
        registry.add("first", |field_type, _| Ok(Box::new(End::first(field_type))));
        registry.add("last", |field_type, _| Ok(Box::new(End::last(field_type))));
        registry.add_numeric("avg", |_| Ok(Box::new(Average::default())));
        registry.add_numeric("sum", |_| Ok(Box::new(Sum::default())));
        registry.add_numeric("delta", |_| Ok(Box::new(Delta::default())));
        registry.add_numeric("stddev", |_| Ok(Box::new(StandardDeviation::default())));
        registry.add_numeric("histogram", |properties| Ok(Box::new(Histogram::from_properties(properties)?)));
        registry.add_numeric("quantiles", |properties| Ok(Box::new(Quantiles::from_properties(properties)?)));
        registry.add_numeric("jitter", |properties| Ok(Box::new(Jitter::from_properties(properties)?)));
        registry.add("loss", |field_type, properties| {
            if !field_type.is_numeric() || field_type == FieldType::Double {
                return Err(wrong_type("loss", "integers", field_type));
            }
            Ok(Box::new(Loss::from_properties(field_type, properties)?))
        });
        registry
    }
}

fn wrong_type(filter: &str, needs: &'static str, found: FieldType) -> FilterError {
    FilterError::Type { filter: filter.to_owned(), needs, found }
}

impl Registry {
    /// Adds a program's own filter.
    ///
    /// # Errors
    /// The name is taken, or is none.
    pub fn register(&mut self, name: &str, factory: Factory) -> Result<(), FilterError> {
        if self.factories.contains_key(name) || !is_name(name) {
            return Err(FilterError::Taken(name.to_owned()));
        }
        self.factories.insert(name.to_owned(), factory);
        Ok(())
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(String::as_str)
    }

    /// Makes the filter `operation`, a name or several joined by `|`, for a field.
    ///
    /// # Errors
    /// No such filter, a wrong type, a wrong property.
    pub fn make(
        &self,
        operation: &str,
        field_type: FieldType,
        properties: &Properties,
    ) -> Result<Box<dyn Filter>, FilterError> {
        match operation.split_once('|') {
            None => self.make_one(operation.trim(), field_type, properties),
            Some((first, rest)) => {
                let first = self.make_one(first.trim(), field_type, properties)?;
                let between = first.outputs().first().map_or(field_type, |output: &Output| output.field_type);
                Ok(Box::new(Chain::new(first, self.make(rest, between, properties)?)))
            }
        }
    }

    fn make_one(
        &self,
        name: &str,
        field_type: FieldType,
        properties: &Properties,
    ) -> Result<Box<dyn Filter>, FilterError> {
        let factory = self.factories.get(name).ok_or_else(|| FilterError::Unknown {
            name: name.to_owned(),
            known: self.names().collect::<Vec<_>>().join(", "),
        })?;
        factory(field_type, properties)
    }

    fn add(
        &mut self,
        name: &str,
        make: impl Fn(FieldType, &Properties) -> Result<Box<dyn Filter>, FilterError> + Send + Sync + 'static,
    ) {
        self.factories.insert(name.to_owned(), Arc::new(make));
    }

    fn add_numeric(
        &mut self,
        name: &'static str,
        make: impl Fn(&Properties) -> Result<Box<dyn Filter>, FilterError> + Send + Sync + 'static,
    ) {
        self.add(name, move |field_type, properties| {
            if field_type.is_numeric() {
                make(properties)
            } else {
                Err(wrong_type(name, "numbers", field_type))
            }
        });
    }
}
