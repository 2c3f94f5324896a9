//! Quantities as people write them.

use pyo3::prelude::*;
use trialwise_python_macros::entry;

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

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_fraction, module)?)?;
    module.add_function(wrap_pyfunction!(parse_picoseconds, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)
}
