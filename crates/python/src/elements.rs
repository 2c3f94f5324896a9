//! What Python sees of the elements that are chosen by name.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_python_macros::entry;
use trialwise_simulator::{Arrivals, Job, Pattern, SizeDistribution};
use trialwise_units::element::{Form, Key};

/// What it is called, what it takes, what it means.
type Setting = (&'static str, String, &'static str);
/// The name (empty of one that begins with its head), a whole text, what it does, what stands first without a key, the keys.
type Element = (&'static str, &'static str, &'static str, Option<Setting>, Vec<Setting>);

/// What can be written as `name:head,key=value,…`, by kind: the elements of a link in the order of its keys, the loads of flows,
/// and the sizes, arrivals, patterns and jobs of simulated workloads.
///
/// Returns
/// -------
/// dict
///     For each kind its elements in the order of its register: name (empty of one that begins with its head), example, what it
///     does, head or None, keys; of head and keys the name, what it takes and what it means.
#[entry]
#[pyfunction]
fn elements(python: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let others = [&Load::KIND, &SizeDistribution::KIND, &Arrivals::KIND, &Pattern::KIND, &Job::KIND];
    let found = PyDict::new(python);
    for kind in LinkSpec::kinds().chain(others) {
        found.set_item(kind.name, kind.forms().map(element).collect::<Vec<_>>())?;
    }
    Ok(found)
}

fn element(form: &Form) -> Element {
    let setting = |key: &Key| (key.name, key.takes.to_string(), key.words);
    let keys = form.keys.iter().map(setting).collect();
    (form.name, form.example, form.words, form.head.as_ref().map(setting), keys)
}

/// Adds the function of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(elements, module)?)
}
