//! Looking into a trial while it runs.

use std::ops::ControlFlow;

use trialwise_units::Time;

use super::Snapshot;

/// How far a trial has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The simulated time.
    pub now: Time,
    /// Packets of data that flows have to send for the first time yet: of a list all flows, of a source those that it
    /// has given.
    pub unsent: u64,
    /// Flows that have not ended.
    pub unfinished: usize,
}

/// Sees a trial while it runs.
pub trait Observer {
    /// The network as it is now, at the interval of [`crate::Settings::sample_interval`].
    fn on_sample(&mut self, _snapshot: &Snapshot<'_>) {}

    /// So many intervals lie between a look and the next.
    fn stride(&self) -> u64 {
        1
    }

    /// How far the trial has come, every [`EVENTS_BETWEEN_LOOKS`] events; to break ends it with
    /// [`crate::SimulationError::Interrupted`].
    fn on_progress(&mut self, _progress: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// So many events lie between two calls of [`Observer::on_progress`]: some milliseconds.
pub const EVENTS_BETWEEN_LOOKS: u64 = 1 << 16;

/// Nobody looks.
impl Observer for () {}

impl<F: FnMut(&Snapshot<'_>)> Observer for F {
    fn on_sample(&mut self, snapshot: &Snapshot<'_>) {
        self(snapshot);
    }
}
