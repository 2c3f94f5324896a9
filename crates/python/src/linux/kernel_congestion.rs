//! `attach_congestion`: congestion controls that the kernel is given for a while.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use trialwise_kernel_congestion::{Algorithm, Attached, Reason, UnknownAlgorithm, attach, check};
use trialwise_python_macros::entry;

pyo3::create_exception!(
    trialwise._linux,
    AttachError,
    PyRuntimeError,
    "A congestion control that the kernel does not get: why, what would help, and one word of why in `reason`."
);

/// A congestion control that the kernel knows until `close`, the end of a ``with`` or of the process.
#[pyclass(frozen, module = "trialwise._linux")]
struct AttachedCongestion {
    algorithm: Algorithm,
    attached: Mutex<Option<Attached>>,
}

#[entry]
#[pymethods]
impl AttachedCongestion {
    /// As the kernel lists it and as ``TCP_CONGESTION`` takes it.
    #[getter]
    fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Let go of it; the kernel forgets it unless another holds it too. May be called again.
    fn close(&self, python: Python<'_>) {
        let attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner).take();
        python.detach(|| attached.map(Attached::detach));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (exception_type, exception, traceback, /))]
    fn __exit__(
        &self,
        python: Python<'_>,
        exception_type: &Bound<'_, PyAny>,
        exception: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (exception_type, exception, traceback);
        self.close(python)
    }
}

/// Give the kernel a congestion control, or hold the one that another process has given it under this name.
///
/// It is known in every network namespace, also to ordinary users, and chosen with ``TCP_CONGESTION``. The kernel forgets it
/// when the last process that holds it has closed it or has ended, by whatever death.
///
/// Parameters
/// ----------
/// name
///     One of those that a scheme file may attach, such as ``vegas``. Both ends must choose ``dctcp``, the sender before it
///     connects, the receiver before it listens.
///
/// Raises
/// ------
/// AttachError
///     This build, this user or this kernel cannot.
/// ValueError
///     Another name.
#[entry]
#[pyfunction]
fn attach_congestion(python: Python<'_>, name: &str) -> PyResult<AttachedCongestion> {
    let algorithm = algorithm_named(name)?;
    let attached = python.detach(|| attach(algorithm)).map_err(|reason| exception(python, &reason))?;
    Ok(AttachedCongestion { algorithm, attached: Mutex::new(Some(attached)) })
}

/// Ask whether `attach_congestion` can work here, without attaching anything.
///
/// Parameters
/// ----------
/// name
///     As for `attach_congestion`.
///
/// Raises
/// ------
/// AttachError
///     It cannot: why, and what would help.
/// ValueError
///     Another name.
#[entry]
#[pyfunction]
fn check_congestion(python: Python<'_>, name: &str) -> PyResult<()> {
    let algorithm = algorithm_named(name)?;
    python.detach(|| check(algorithm)).map_err(|reason| exception(python, &reason))
}

fn algorithm_named(name: &str) -> PyResult<Algorithm> {
    name.parse().map_err(|error: UnknownAlgorithm| PyValueError::new_err(error.to_string()))
}

fn exception(python: Python<'_>, reason: &Reason) -> PyErr {
    let raised = AttachError::new_err(reason.to_string());
    match raised.value(python).setattr("reason", reason.word()) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("AttachError", module.py().get_type::<AttachError>())?;
    module.add_class::<AttachedCongestion>()?;
    module.add_function(wrap_pyfunction!(attach_congestion, module)?)?;
    module.add_function(wrap_pyfunction!(check_congestion, module)?)
}
