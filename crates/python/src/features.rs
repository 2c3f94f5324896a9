//! What of the optional parts this build has.

use pyo3::prelude::*;
use trialwise_python_macros::entry;

/// The optional features of this build: none, ``bpf`` (congestion controls for the kernel), ``utp`` (LEDBAT), or both.
#[entry]
#[pyfunction]
fn features() -> Vec<&'static str> {
    [("bpf", cfg!(feature = "bpf")), ("utp", cfg!(feature = "utp"))]
        .into_iter()
        .filter_map(|(name, is_built)| is_built.then_some(name))
        .collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(features, module)?)
}
