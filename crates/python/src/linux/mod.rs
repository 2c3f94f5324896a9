//! `trialwise._linux`: what measures on this machine, and is built on Linux alone. Conversion only.

mod capture;
mod collector;
mod emulator;
mod kernel_congestion;
mod process;
mod streams;
mod transport;
mod utp;

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The longest time that may be asked for, seconds: a thousand years, which clocks can still add to the present.
const LONGEST: f64 = 3.2e10;

/// A time to wait.
fn span(name: &str, seconds: f64) -> PyResult<Duration> {
    let within = Some(seconds).filter(|seconds| *seconds <= LONGEST);
    within.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{name} is {seconds}: it must be a time in seconds, from 0 to {LONGEST:e}"
        ))
    })
}

/// Adds a module to the core, which `trialwise._linux` shows as its own.
pub(crate) fn register(core: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(core.py(), "linux")?;
    capture::register(&module)?;
    collector::register(&module)?;
    emulator::register(&module)?;
    kernel_congestion::register(&module)?;
    process::register(&module)?;
    streams::register(&module)?;
    transport::register(&module)?;
    utp::register(&module)?;
    core.setattr("_linux", module)
}
