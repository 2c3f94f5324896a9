//! Looks of Python at a simulation that runs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration as Elapsed, Instant};

use pyo3::prelude::*;
use trialwise_simulator::{Observer, Progress, Series, Snapshot};

use crate::python_controller::Failure;

/// Between two calls of `progress`, and two looks for Ctrl-C.
const LOOK_EVERY: Elapsed = Elapsed::from_millis(100);

/// Lets Python look from time to time, and keeps what that raises.
#[derive(Debug)]
pub(super) struct Looks {
    looked: Instant,
    raised: Option<PyErr>,
}

impl Looks {
    pub(super) fn new() -> Self {
        Self { looked: Instant::now(), raised: None }
    }

    /// Has Python look for Ctrl-C and then do `more`, if it is time; breaks where that raises.
    pub(super) fn look(&mut self, more: impl FnOnce(Python<'_>) -> PyResult<()>) -> ControlFlow<()> {
        if self.looked.elapsed() < LOOK_EVERY {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        let looked = Python::attach(|python| {
            python.check_signals()?;
            more(python)
        });
        self.raised = looked.err();
        if self.raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// What was raised, if anything was.
    pub(super) fn end(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

/// Keeps series, and lets Python look.
pub(super) struct Watch {
    pub(super) series: Series,
    progress: Option<Py<PyAny>>,
    failure: Arc<Failure>,
    looks: Looks,
}

impl Watch {
    pub(super) fn new(series: Series, progress: Option<Py<PyAny>>, failure: Arc<Failure>) -> Self {
        Self { series, progress, failure, looks: Looks::new() }
    }

    /// The series, unless a controller, `progress` or Ctrl-C raised something.
    pub(super) fn end(self) -> PyResult<Series> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.looks.end()?;
        Ok(self.series)
    }
}

impl Observer for Watch {
    fn on_sample(&mut self, snapshot: &Snapshot<'_>) {
        self.series.on_sample(snapshot);
    }

    fn stride(&self) -> u64 {
        self.series.stride()
    }

    fn on_progress(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.failure.is_there() {
            return ControlFlow::Break(());
        }
        let callable = &self.progress;
        self.looks.look(|python| {
            if let Some(callable) = callable {
                let Progress { now, unsent, unfinished } = progress;
                callable.call1(python, (now.picoseconds(), unsent, unfinished))?;
            }
            Ok(())
        })
    }
}
