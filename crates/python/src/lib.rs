//! `trialwise._core`: what Python sees of the Rust crates. One module for each crate, conversion only.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod border;
mod capture;
mod collector;
mod emulator;
mod features;
mod kernel_congestion;
mod kernels;
mod link;
mod path_simulation;
mod process;
mod python_controller;
mod simulator;
mod streams;
mod transport;
mod utp;

use pyo3::prelude::*;

/// The compiled core of Trialwise.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    border::register(module)?;
    capture::register(module)?;
    collector::register(module)?;
    emulator::register(module)?;
    features::register(module)?;
    kernel_congestion::register(module)?;
    kernels::register(module)?;
    link::register(module)?;
    path_simulation::register(module)?;
    process::register(module)?;
    simulator::register(module)?;
    python_controller::register(module)?;
    streams::register(module)?;
    transport::register(module)?;
    utp::register(module)
}
