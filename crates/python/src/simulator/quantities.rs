//! Quantities as people write them.

use pyo3::prelude::*;
use trialwise_python_macros::entry;
use trialwise_units::{Dimension, parse_float};

use super::refused;

/// A fraction such as `30%` or `0.3`; ValueError where the text is none.
#[entry]
#[pyfunction]
fn parse_fraction(text: &str) -> PyResult<f64> {
    trialwise_simulator::parse_fraction(text).map_err(refused)
}

/// A span of time such as `20ms` in picoseconds; ValueError where the text is none.
#[entry]
#[pyfunction]
fn parse_picoseconds(text: &str) -> PyResult<u64> {
    Ok(trialwise_simulator::parse_duration(text).map_err(refused)?.picoseconds())
}

/// A size such as `100kB` in bytes; ValueError where the text is none.
#[entry]
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    Ok(trialwise_simulator::parse_bytes(text).map_err(refused)?.get())
}

/// A quantity as people write it, as a binary number.
///
/// Parameters
/// ----------
/// text
///     Such as `1h 30min`, `5Mbit/s`, `75kB`, `0.4%` or `1.5`.
/// dimension
///     "time" (returned in seconds), "rate" (bit/s), "size" (bytes), "share" or "number".
///
/// Raises
/// ------
/// ValueError
///     The text is no such quantity. The message says why and what to write, without the text.
#[entry]
#[pyfunction]
fn parse_quantity(text: &str, dimension: &str) -> PyResult<f64> {
    let dimension = match dimension {
        "time" => Dimension::Time,
        "rate" => Dimension::Rate,
        "size" => Dimension::Size,
        "share" => Dimension::Share,
        "number" => Dimension::Number,
        _ => return Err(refused(format!("{dimension:?} is not a dimension"))),
    };
    parse_float(text, dimension).map_err(|error| refused(error.reason()))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_fraction, module)?)?;
    module.add_function(wrap_pyfunction!(parse_picoseconds, module)?)?;
    module.add_function(wrap_pyfunction!(parse_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)
}
