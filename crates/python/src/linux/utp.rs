//! `utp_program`: bulk flows under LEDBAT.

use pyo3::prelude::*;
use trialwise_python_macros::entry;

/// Run libutp's sender or receiver in this process until it is done, or SIGTERM or SIGINT comes; give its exit code.
///
/// Parameters
/// ----------
/// arguments
///     ``send ADDRESS PORT …`` or ``receive --port PORT``; ``--help`` tells the rest.
///
/// Raises
/// ------
/// RuntimeError
///     This build has no libutp.
#[entry]
#[pyfunction]
fn utp_program(python: Python<'_>, arguments: Vec<String>) -> PyResult<i32> {
    python.detach(|| run(&arguments))
}

#[cfg(feature = "utp")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature it fails")]
fn run(arguments: &[String]) -> PyResult<i32> {
    Ok(trialwise_utp::program::main(arguments))
}

#[cfg(not(feature = "utp"))]
fn run(_: &[String]) -> PyResult<i32> {
    Err(pyo3::exceptions::PyRuntimeError::new_err(trialwise_utp::NotBuilt.to_string()))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(utp_program, module)?)
}
