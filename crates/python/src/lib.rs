//! `trialwise._core`: what Python sees of the Rust crates. One module for each crate, conversion only.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod kernels;
mod process;
mod transport;

use pyo3::prelude::*;

/// The compiled core of Trialwise.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    kernels::register(module)?;
    process::register(module)?;
    transport::register(module)
}
