//! `trialwise._core`: what Python sees of the Rust crates. One module for each crate, conversion only. What Linux alone has stands in
//! [`linux`].

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod border;
mod elements;
mod features;
mod json;
mod kernels;
mod link;
#[cfg(target_os = "linux")]
mod linux;
mod path_simulation;
mod python_controller;
mod simulator;

use pyo3::prelude::*;

/// The compiled core of Trialwise.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    border::register(module)?;
    elements::register(module)?;
    features::register(module)?;
    json::register(module)?;
    kernels::register(module)?;
    link::register(module)?;
    path_simulation::register(module)?;
    #[cfg(target_os = "linux")]
    linux::register(module)?;
    simulator::register(module)?;
    python_controller::register(module)
}
