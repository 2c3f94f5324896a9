//! `trialwise._core`: what Python sees of the Rust crates. One module for each crate, conversion only.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod emulator;
mod kernels;
mod link;
mod process;
mod transport;

use pyo3::prelude::*;

/// Names of the optional parts that this core was built with.
#[pyfunction]
fn features() -> Vec<&'static str> {
    Vec::new()
}

/// The compiled core of Trialwise.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(features, module)?)?;
    emulator::register(module)?;
    kernels::register(module)?;
    link::register(module)?;
    process::register(module)?;
    transport::register(module)?;
    Ok(())
}
