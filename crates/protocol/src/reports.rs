//! What a controller is told of each packet.

use std::ops::Range;

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

    /// Puts arrivals in the order of their numbers.
    pub(crate) fn sort(&mut self) {
        self.arrivals.sort_unstable_by_key(|report| report.number);
    }

    /// Says when those of these numbers came of which it is not known, from when they were sent.
    pub(crate) fn date(&mut self, numbers: Range<u64>, mut time: impl FnMut(Time) -> Option<Time>) {
        let first = self.arrivals.partition_point(|report| report.number < numbers.start);
        let found = self.arrivals[first..].iter_mut().take_while(|report| report.number < numbers.end);
        for report in found.filter(|report| report.outcome == PacketOutcome::Arrived(None)) {
            report.outcome = PacketOutcome::Arrived(time(report.sent));
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
