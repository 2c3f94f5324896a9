//! What every entry of the module passes: a panic becomes an exception, and numbers keep their bounds before anything is made of
//! them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};

use pyo3::create_exception;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use trialwise_python_macros::entry;

create_exception!(
    trialwise._core,
    CoreError,
    PyRuntimeError,
    "A mistake of Trialwise: which function made it, where, and what was found there."
);

/// As of the command line: where it is set, traces are shown.
const DEBUG: &str = "TRIALWISE_DEBUG";

thread_local! {
    /// How many entries this thread is inside of.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
    /// Where the last panic inside of one was.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does what an entry is there for; a panic becomes a `CoreError`.
pub(crate) fn enter_core<T>(name: &str, act: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    INSIDE.set(INSIDE.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(act));
    INSIDE.set(INSIDE.get() - 1);
    done.unwrap_or_else(|panic| Err(CoreError::new_err(fault(name, &*panic))))
}

fn fault(name: &str, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let found = text.unwrap_or("a panic without words").replace('\n', " ");
    let place = PLACE.take().unwrap_or_else(|| "an unknown place".to_owned());
    format!("{name} met a mistake of Trialwise at {place}: {found}")
}

/// Panics inside of an entry are told by its exception alone, unless traces are asked for.
fn note_places() {
    let usual = take_hook();
    set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        if INSIDE.get() == 0 || std::env::var_os(DEBUG).is_some() {
            usual(panic);
        }
        PLACE.set(panic.location().map(ToString::to_string));
    }));
}

/// A whole number of Python's, of any size.
pub(crate) struct Whole(Option<i128>);

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<i128>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(Self(None)),
            number => number.map(|number| Self(Some(number))),
        }
    }
}

impl Whole {
    /// The number, if it is within bounds.
    pub(crate) fn within<T: Copy + Display + TryFrom<i128> + PartialOrd>(
        self,
        name: &str,
        bounds: RangeInclusive<T>,
    ) -> PyResult<T> {
        let fitting = self.0.and_then(|number| T::try_from(number).ok());
        fitting.filter(|number| bounds.contains(number)).ok_or_else(|| {
            let shown =
                self.0.map_or("a number of more than 127 bits".to_owned(), |number| number.to_string());
            let (least, most) = bounds.into_inner();
            PyValueError::new_err(format!(
                "{name} is {shown}: it must be a whole number from {least} to {most}"
            ))
        })
    }
}

/// Each of the numbers, if all are within bounds; `name` is what one of them is called.
pub(crate) fn wholes<T: Copy + Display + TryFrom<i128> + PartialOrd>(
    name: &str,
    numbers: Vec<Whole>,
    bounds: RangeInclusive<T>,
) -> PyResult<Vec<T>> {
    numbers.into_iter().map(|number| number.within(name, bounds.clone())).collect()
}

/// The values, if all are numbers and finite.
pub(crate) fn finite<'a>(name: &str, values: &'a [f64]) -> PyResult<&'a [f64]> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(place) => Err(PyValueError::new_err(format!(
            "{name}: the number at {place} is {}: it must be finite",
            values[place]
        ))),
    }
}

/// The longest time that picoseconds in 64 bits hold, a little over 213 days, seconds.
const MAX_SIMULATED: f64 = 1.8e7;

/// A span of the time of links and simulations.
pub(crate) fn simulated(name: &str, seconds: f64) -> PyResult<trialwise_units::Duration> {
    if (0.0..=MAX_SIMULATED).contains(&seconds) {
        return Ok(trialwise_units::Duration::from_seconds(seconds));
    }
    Err(PyValueError::new_err(format!(
        "{name} is {seconds}: it must be a time in seconds, from 0 to {MAX_SIMULATED:e}"
    )))
}

/// Panics, so that tests see what becomes of that.
#[entry]
#[pyfunction]
fn _panic(words: &str) {
    panic!("{words}");
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    note_places();
    module.add("CoreError", module.py().get_type::<CoreError>())?;
    module.add_function(wrap_pyfunction!(_panic, module)?)
}
