//! Filters: what becomes of a window of values of one field.
//!
//! Names and output fields are OML's (OML.md sections 9 and 10), with histogram, quantiles, loss and jitter added.
//! An empty window gives empty values (NaN, "", a sum of 0), never those of an earlier window; where a type has no
//! empty value, the window gives no row. Filters compose: `delta|avg` averages the differences between neighbours.
//!
//! A program adds one of its own, here the distance between the greatest and the least value of a window:
//!
//! ```
//! use std::sync::Arc;
//! use trialwise_streams::client::Client;
//! use trialwise_streams::config::{Config, Destination};
//! use trialwise_streams::filter::{Filter, Output, Registry};
//! use trialwise_streams::protocol::{FieldType, Value};
//!
//! #[derive(Default)]
//! struct Range {
//!     ends: Option<(f64, f64)>,
//! }
//!
//! impl Filter for Range {
//!     fn outputs(&self) -> Vec<Output> {
//!         vec![Output::new("range", FieldType::Double)]
//!     }
//!
//!     fn add(&mut self, value: Value<'_>, _time: f64) {
//!         if let Some(value) = value.to_f64() {
//!             let (least, greatest) = self.ends.unwrap_or((value, value));
//!             self.ends = Some((least.min(value), greatest.max(value)));
//!         }
//!     }
//!
//!     fn output(&self, _index: usize) -> Option<Value<'_>> {
//!         Some(Value::Double(self.ends.map_or(f64::NAN, |(least, greatest)| greatest - least)))
//!     }
//!
//!     fn next_window(&mut self) {
//!         self.ends = None;
//!     }
//! }
//!
//! let mut filters = Registry::default();
//! filters.register("range", Arc::new(|_, _| Ok(Box::new(Range::default()))))?;
//! let config = Config::new("node1", "demo", Destination::Stdout);
//! let client = Client::with_filters("ping", &config, filters)?;
//! # drop(client);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod distribution;
mod ends;
mod moments;
mod network;
mod registry;
mod stage;

use crate::protocol::{FieldType, Value};

pub use chain::Chain;
pub use distribution::{Histogram, Quantiles};
pub use ends::{Delta, End};
pub use moments::{Average, StandardDeviation, Sum};
pub use network::{Jitter, Loss};
pub use registry::{Factory, FilterError, Properties, Registry};
pub use stage::{FilterChoice, Stage, Window};

/// One value that every window of a filter gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Added to the field's name with `_`; empty: the name alone.
    pub suffix: String,
    /// Its type.
    pub field_type: FieldType,
}

impl Output {
    /// An output with a suffix.
    pub fn new(suffix: &str, field_type: FieldType) -> Self {
        Self { suffix: suffix.to_owned(), field_type }
    }

    fn doubles(suffixes: &[&str]) -> Vec<Self> {
        suffixes.iter().map(|suffix| Self::new(suffix, FieldType::Double)).collect()
    }
}

/// Makes of a window of values one value for each of its outputs.
///
/// A program adds its own with [`Registry::register`].
pub trait Filter: Send {
    /// What every window gives; the same for the life of the filter.
    fn outputs(&self) -> Vec<Output>;

    /// Takes a value of the field, injected at `time` (seconds since the start of the client).
    fn add(&mut self, value: Value<'_>, time: f64);

    /// The value of output `index` over the window; `None` when the window is empty and the type cannot say so.
    fn output(&self, index: usize) -> Option<Value<'_>>;

    /// Starts the next window.
    fn next_window(&mut self);
}
