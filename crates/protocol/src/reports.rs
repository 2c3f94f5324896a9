//! What a controller is told of each packet.

use trialwise_congestion::{PacketOutcome, PacketReport};
use trialwise_units::{Bytes, Time};

/// The reports of an event, where they are wanted; kept so that they are allocated once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    are_wanted: bool,
    arrivals: Vec<PacketReport>,
    losses: Vec<PacketReport>,
}

impl Reports {
    pub(crate) fn wanted() -> Self {
        Self { are_wanted: true, ..Self::default() }
    }

    pub(crate) fn begin_arrivals(&mut self) {
        self.arrivals.clear();
    }

    pub(crate) fn begin_losses(&mut self) {
        self.losses.clear();
    }

    pub(crate) fn arrived(&mut self, number: u64, sent: Time, length: u64) {
        if self.are_wanted {
            self.arrivals.push(report(number, sent, length, PacketOutcome::Arrived(None)));
        }
    }

    pub(crate) fn returned(&mut self, number: u64, sent: Time, length: u64) {
        if self.are_wanted {
            self.arrivals.push(report(number, sent, length, PacketOutcome::Returned));
        }
    }

    pub(crate) fn lost(&mut self, number: u64, sent: Time, length: u64) {
        if self.are_wanted {
            self.losses.push(report(number, sent, length, PacketOutcome::Lost));
        }
    }

    /// Puts arrivals in the order of their numbers, and says when this one came.
    pub(crate) fn settle(&mut self, known: Option<(u64, Time)>) {
        self.arrivals.sort_unstable_by_key(|report| report.number);
        if let Some((number, time)) = known
            && let Ok(place) = self.arrivals.binary_search_by_key(&number, |report| report.number)
            && self.arrivals[place].outcome == PacketOutcome::Arrived(None)
        {
            self.arrivals[place].outcome = PacketOutcome::Arrived(Some(time));
        }
    }

    pub(crate) fn of_arrivals(&self) -> &[PacketReport] {
        &self.arrivals
    }

    pub(crate) fn of_losses(&self) -> &[PacketReport] {
        &self.losses
    }
}

fn report(number: u64, sent: Time, length: u64, outcome: PacketOutcome) -> PacketReport {
    PacketReport { number, sent, bytes: Bytes::new(length), outcome }
}
