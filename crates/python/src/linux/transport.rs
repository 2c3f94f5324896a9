//! `flow_program`: the flow programs, started by `trialwise.schemes.flow`.

use pyo3::prelude::*;
use trialwise_python_macros::entry;
use trialwise_transport::program;

/// Run a flow program to its end: ``tcp receive``, ``tcp send``, ``udp receive`` or ``udp send``.
///
/// It prints to standard output and standard error and takes SIGTERM and SIGINT of the calling thread while it runs, which
/// should be the only one. The GIL is released meanwhile. ``python -m trialwise.schemes.flow --help`` shows the command
/// lines; the documentation of crate ``transport`` has the format of reports.
///
/// Parameters
/// ----------
/// arguments
///     The command line, without a program's name.
///
/// Returns
/// -------
/// int
///     The exit code: 0 done, 1 it failed, 2 usage.
#[entry]
#[pyfunction]
fn flow_program(python: Python<'_>, arguments: Vec<String>) -> i32 {
    python.detach(|| program::main(&arguments))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(flow_program, module)?)
}
