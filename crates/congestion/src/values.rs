//! Texts as values that parameters of several kinds take.

use trialwise_units::Duration;

use super::{ValueError, wanted};
use crate::quantity::{parse_duration, parse_fraction};

pub(super) fn number(text: &str) -> Result<f64, ValueError> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| wanted(text, "write a number of 0 or more"))
}

/// Above 0 and at most 1.
pub(super) fn weight(text: &str) -> Result<f64, ValueError> {
    let value = parse_fraction(text)?;
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err(wanted(text, "above 0, 1 at most")) }
}

pub(super) fn count(text: &str) -> Result<u32, ValueError> {
    text.trim().parse().map_err(|_| wanted(text, "write a whole number of 0 or more"))
}

pub(super) fn positive(text: &str) -> Result<u32, ValueError> {
    count(text).ok().filter(|value| *value > 0).ok_or_else(|| wanted(text, "write a whole number above 0"))
}

pub(super) fn switch(text: &str) -> Result<bool, ValueError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(wanted(other, "write true or false")),
    }
}

/// A span of time above zero: a timer of zero would fire for ever.
pub(super) fn interval(text: &str) -> Result<Duration, ValueError> {
    let span = parse_duration(text)?;
    if span > Duration::ZERO { Ok(span) } else { Err(wanted(text, "a time above 0")) }
}
