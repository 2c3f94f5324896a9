//! When a trial ends though flows have not: where nothing can get on any more.

use trialwise_units::{Duration, Time};

use crate::flow::Flow;
use crate::index::FlowId;
use crate::network::Network;
use crate::settings::Settings;

/// Nothing has to happen for so long at least before a trial counts as stalled; see [`Network::is_stalled`].
const STALL: Duration = Duration::from_milliseconds(1000);

/// What is known of the end of a trial.
#[derive(Debug)]
pub(crate) struct Ending {
    /// No event after this runs.
    pub(crate) by: Time,
    /// Once links have failed for good: how many flows have begun, not ended, and still have a way.
    connected: Option<usize>,
    /// Packets that had ended where they should at the last look, and when that was first seen.
    consumed: u64,
    quiet_since: Time,
}

impl Ending {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { by: settings.stop.unwrap_or(Time::MAX), connected: None, consumed: 0, quiet_since: Time::ZERO }
    }
}

impl Network<'_> {
    /// The last fault of the list has happened. If a link is down, it is for good, and flows that it cuts off do
    /// not hold the trial.
    pub(crate) fn count_connected(&mut self) {
        if self.ports.iter().all(|port| port.up) {
            return;
        }
        let begun = self.flows.iter().filter(|flow| !flow.is_finished() && self.has_way(flow));
        self.ending.connected = Some(begun.count());
        self.end_without_connected();
    }

    /// One more flow is in the books.
    pub(crate) fn count_admitted(&mut self, flow: &Flow) {
        let Some(connected) = self.ending.connected else { return };
        self.ending.connected = Some(connected + usize::from(self.has_way(flow)));
    }

    /// This flow has ended.
    pub(crate) fn count_finished(&mut self, flow: FlowId) {
        let Some(connected) = self.ending.connected else { return };
        let one = usize::from(self.has_way(&self.flows[flow.index()]));
        self.ending.connected = Some(connected - one);
        self.end_without_connected();
    }

    /// Where no flow has a way and none is to begin, the trial ends when what is beyond the failed links may have
    /// come home: after the longest round trip and two full buffers at the slowest link.
    pub(crate) fn end_without_connected(&mut self) {
        if self.ending.connected != Some(0) || self.next_start.is_some() {
            return;
        }
        let slowest = self.fabric.topology().links.iter().map(|link| link.rate).min();
        let buffer = slowest.map_or(Duration::ZERO, |rate| rate.transmission_time(self.settings.buffer));
        let (round_trip, _) = self.fabric.extremes();
        self.ending.by = self.ending.by.min(self.now + round_trip + buffer * 2);
    }

    /// Whether flows wait for what never comes, such as a lost packet without time-outs: no flow and no fault is
    /// to come, and for a second and twice the time that had gone by then no packet has ended where it should. A
    /// time-out that doubles during a failure is over by then.
    ///
    /// Asked now and then.
    pub(crate) fn is_stalled(&mut self) -> bool {
        let to_come = self.next_start.is_some() || self.next_fault < self.settings.faults.len();
        if to_come || self.totals.consumed != self.ending.consumed {
            self.ending.consumed = self.totals.consumed;
            self.ending.quiet_since = self.now;
        }
        let before = self.ending.quiet_since.since(Time::ZERO);
        self.now.since(self.ending.quiet_since) >= STALL + before * 2
    }

    fn has_way(&self, flow: &Flow) -> bool {
        self.routes().next(flow.source_node, flow.destination.index(), || 0).is_some()
    }
}
