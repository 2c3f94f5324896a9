//! Texts as values of parameters, by the one grammar of quantities.

use trialwise_units::{Duration, ParseQuantityError, parse_share};

use crate::{Policy, PolicyError, Quantity, RuleTable, TableError, Value};

/// Why a text is no value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// No quantity of the kind that is wanted.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// No table of rules.
    #[error(transparent)]
    Table(#[from] TableError),
    /// No policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Something else that is not allowed.
    #[error("{text:?} is not allowed: {wanted}")]
    Wanted {
        /// What was written.
        text: String,
        /// What may be written.
        wanted: &'static str,
    },
}

impl ValueError {
    /// This text is not allowed; what would be.
    pub fn wanted(text: &str, wanted: &'static str) -> Self {
        Self::Wanted { text: text.to_owned(), wanted }
    }
}

impl Quantity {
    /// The value of this kind that a text stands for.
    ///
    /// # Errors
    /// The text is none.
    pub fn read(self, text: &str) -> Result<Value, ValueError> {
        Ok(match self {
            Self::Rate => Value::Rate(text.parse()?),
            Self::Interval => Value::Interval(interval(text)?),
            Self::Weight => Value::Number(weight(text)?),
            Self::Number => Value::Number(number(text)?),
            Self::Count => Value::Count(count(text)?),
            Self::Positive => Value::Count(positive(text)?),
            Self::Switch => Value::Switch(switch(text)?),
            Self::Table => Value::Table(RuleTable::named(text.trim())?),
            Self::Policy(form) => Value::Policy(Policy::named(text.trim(), form)?),
            Self::Choice { words, wanted } => {
                let place = words.iter().position(|word| *word == text.trim());
                Value::Choice(place.ok_or_else(|| ValueError::wanted(text.trim(), wanted))?)
            }
        })
    }
}

/// A finite number of 0 or more.
///
/// # Errors
/// The text is none.
pub fn number(text: &str) -> Result<f64, ValueError> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| ValueError::wanted(text, "write a number of 0 or more"))
}

/// Above 0 and at most 1.
///
/// # Errors
/// The text is none.
pub fn weight(text: &str) -> Result<f64, ValueError> {
    let value = parse_share(text)?;
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err(ValueError::wanted(text, "above 0, 1 at most")) }
}

/// A whole number of 0 or more.
///
/// # Errors
/// The text is none.
pub fn count(text: &str) -> Result<u32, ValueError> {
    text.trim().parse().map_err(|_| ValueError::wanted(text, "write a whole number of 0 or more"))
}

/// A whole number above 0.
///
/// # Errors
/// The text is none.
pub fn positive(text: &str) -> Result<u32, ValueError> {
    let value = count(text).ok().filter(|value| *value > 0);
    value.ok_or_else(|| ValueError::wanted(text, "write a whole number above 0"))
}

/// `true` or `false`.
///
/// # Errors
/// The text is neither.
pub fn switch(text: &str) -> Result<bool, ValueError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(ValueError::wanted(other, "write true or false")),
    }
}

/// A span of time above zero: a timer of zero would fire for ever.
///
/// # Errors
/// The text is none.
pub fn interval(text: &str) -> Result<Duration, ValueError> {
    let span: Duration = text.parse()?;
    if span > Duration::ZERO { Ok(span) } else { Err(ValueError::wanted(text, "a time above 0")) }
}
