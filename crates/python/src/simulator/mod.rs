//! What Python sees of `trialwise-simulator`.

mod controllers;
mod decomposition;
mod fabric;
mod flow_lists;
mod graphs;
mod quantities;
mod result;
mod surrogate;
mod switching;
mod trial;
mod watch;
mod workload;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Adds what this folder has to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SimulationError", module.py().get_type::<SimulationError>())?;
    controllers::register(module)?;
    decomposition::register(module)?;
    fabric::register(module)?;
    flow_lists::register(module)?;
    graphs::register(module)?;
    quantities::register(module)?;
    result::register(module)?;
    surrogate::register(module)?;
    switching::register(module)?;
    trial::register(module)?;
    workload::register(module)
}

create_exception!(
    trialwise._core,
    SimulationError,
    PyValueError,
    "A topology, a workload, a parameter or a flow list that cannot be; the message says what to write."
);

/// Parameters as pairs of a key and a text.
type Pairs = Vec<(String, String)>;

fn refused(error: impl ToString) -> PyErr {
    SimulationError::new_err(error.to_string())
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
