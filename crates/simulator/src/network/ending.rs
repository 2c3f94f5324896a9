//! When a trial ends though flows have not: where nothing can get on any more.

use trialwise_units::{Bytes, Duration, Time};

use super::Network;
use crate::flow::{Flow, UNLIMITED};
use crate::index::FlowId;
use crate::refusal::SimulationError;
use crate::settings::Settings;

/// Nothing has to happen for so long at least before a trial counts as stalled; see [`Network::is_stalled`].
const STALL: Duration = Duration::from_milliseconds(1000);

/// What is known of the end of a trial.
#[derive(Debug)]
pub(super) struct Ending {
    /// No event after this runs.
    by: Time,
    /// Once links have failed for good: how many flows have begun, not ended, and still have a way.
    connected: Option<usize>,
    /// Payload that was acknowledged for the first time, of all flows: how much, how much at the last look, and when
    /// that was first seen.
    acknowledged: u64,
    seen: u64,
    quiet_since: Time,
    /// Why it cannot go on, and whether the observer has ended it.
    refused: Option<SimulationError>,
    interrupted: bool,
}

impl Ending {
    pub(super) fn new(settings: &Settings) -> Self {
        let by = settings.stop.unwrap_or(Time::MAX);
        Self {
            by,
            connected: None,
            acknowledged: 0,
            seen: 0,
            quiet_since: Time::ZERO,
            refused: None,
            interrupted: false,
        }
    }

    /// No event after this runs.
    #[inline]
    pub(super) const fn by(&self) -> Time {
        self.by
    }

    /// So much payload was acknowledged for the first time.
    #[inline]
    pub(super) const fn acknowledge(&mut self, bytes: u64) {
        self.acknowledged += bytes;
    }

    /// Payload that was acknowledged for the first time here.
    pub(super) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The trial cannot go on.
    pub(super) fn refuse(&mut self, refusal: SimulationError) {
        self.refused = Some(refusal);
    }

    /// The observer ends the trial.
    pub(super) const fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Whether the trial can go on.
    #[inline]
    pub(super) const fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Whether it is refused or interrupted.
    pub(super) const fn is_over(&self) -> bool {
        self.refused.is_some() || self.interrupted
    }

    /// Why there is no outcome, where there is none.
    pub(super) fn verdict(&mut self) -> Result<(), SimulationError> {
        match self.refused.take() {
            Some(refusal) => Err(refusal),
            None if self.interrupted => Err(SimulationError::Interrupted),
            None => Ok(()),
        }
    }
}

impl Network<'_> {
    /// The last fault of the list has happened. If a link is down, it is for good, and flows that it cuts off do
    /// not hold the trial.
    pub(super) fn count_connected(&mut self) {
        if self.wires.are_up() {
            return;
        }
        let begun = self.flows.iter().filter(|flow| !flow.is_finished() && self.ways.reach(flow));
        self.ending.connected = Some(begun.count());
        self.end_without_connected();
    }

    /// One more flow is in the books.
    pub(super) fn count_admitted(&mut self, flow: &Flow) {
        let Some(connected) = self.ending.connected else { return };
        self.ending.connected = Some(connected + usize::from(self.ways.reach(flow)));
    }

    /// This flow has ended.
    pub(super) fn count_finished(&mut self, flow: FlowId) {
        let Some(connected) = self.ending.connected else { return };
        let one = usize::from(self.ways.reach(&self.flows[flow]));
        self.ending.connected = Some(connected - one);
        self.end_without_connected();
    }

    /// Where no flow has a way and none is to begin, the trial ends when what is beyond the failed links may have
    /// come home: after the longest round trip and two full buffers at the slowest link.
    pub(super) fn end_without_connected(&mut self) {
        if self.ending.connected != Some(0) || self.flows.next_start().is_some() {
            return;
        }
        let buffer = self.terms.at_slowest_link(self.terms.settings.buffer);
        let round_trip = self.terms.fabric.extremes().round_trip;
        self.ending.by = self.ending.by.min(self.clock.now() + round_trip + buffer * 2);
    }

    /// Whether flows wait for what never comes, such as a lost packet without time-outs, or send again and again what is
    /// never taken: no flow and no fault is to come, and for a second, twice the time that had gone by then and the time
    /// that a packet may be on its way nothing has been acknowledged for the first time. A time-out that doubles during a
    /// failure is over by then.
    ///
    /// Asked now and then, with what has been acknowledged anywhere; `way` gives how long a packet is on its way at most.
    pub(super) fn is_stalled(&mut self, acknowledged: u64, way: impl FnOnce(&Self) -> Duration) -> bool {
        let to_come = self.flows.next_start().is_some() || self.faults.are_to_come();
        if to_come || acknowledged != self.ending.seen {
            self.ending.seen = acknowledged;
            self.ending.quiet_since = self.clock.now();
        }
        let before = self.ending.quiet_since.since(Time::ZERO);
        let quiet = self.clock.now().since(self.ending.quiet_since);
        quiet >= STALL + before * 2 && quiet >= STALL + before * 2 + way(self)
    }

    /// How long a packet takes at most from its turn to its acknowledgement: the pace of its flow, the empty path with a
    /// packet on each link, and twice the fullest buffer that there was, at the slowest link.
    pub(super) fn longest_way(&self) -> Duration {
        let paced = self.cards.active().map(|flow| &self.flows[*flow]);
        let paced = paced.filter(|flow| flow.rate > 0 && flow.rate != UNLIMITED);
        let pause = paced.map(|flow| self.terms.quantum.transmission(flow.last_wire, flow.rate)).max();
        let round_trip = self.terms.fabric.extremes().round_trip;
        let peak = self.switches.peak();
        pause.unwrap_or(Duration::ZERO) + round_trip * 2 + self.terms.at_slowest_link(Bytes::new(peak)) * 2
    }
}
