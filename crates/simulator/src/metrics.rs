//! What comes out of a trial.

use trialwise_units::{Bytes, Duration, Time};

use crate::flow::FlowSpecification;
use crate::port::PortStatistics;

/// One flow, as it went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// What was asked for.
    pub specification: FlowSpecification,
    /// Payload that was acknowledged by the end of the trial.
    pub delivered: Bytes,
    /// When the last acknowledgement reached the sender; none where the trial stopped before.
    pub finish: Option<Time>,
    /// The approximate completion time of the flow alone ([`crate::PathFacts::ideal`]).
    pub ideal: Duration,
}

impl FlowRecord {
    /// The flow completion time at the sender: from the start to the last acknowledgement.
    pub fn completion_time(&self) -> Option<Duration> {
        self.finish.map(|finish| finish - self.specification.start)
    }

    /// Completion time over [`Self::ideal`]. It is not clamped: the approximation may be a few percent long.
    pub fn slowdown(&self) -> Option<f64> {
        let ideal = self.ideal.picoseconds() as f64;
        self.completion_time().map(|time| time.picoseconds() as f64 / ideal)
    }

    /// Payload over completion time, in bits per second.
    pub fn throughput(&self) -> Option<f64> {
        let bits = self.specification.size.get() as f64 * 8.0;
        self.completion_time().map(|time| bits / time.as_seconds())
    }
}

/// The part of a trial in which a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the network has filled.
    WarmUp,
    /// Between.
    Stable,
    /// When fewer and fewer flows are left to compete with.
    CoolDown,
}

/// Where the phases of a trial begin and end (CCEval, figure 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Flows that start before this are warm-up.
    pub stable_from: Time,
    /// Flows that start at this or later are cool-down.
    pub stable_until: Time,
}

impl Phases {
    /// The phase of a flow that starts at `start`.
    pub fn of(&self, start: Time) -> Phase {
        if start < self.stable_from {
            Phase::WarmUp
        } else if start < self.stable_until {
            Phase::Stable
        } else {
            Phase::CoolDown
        }
    }
}

/// Counts over a whole trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets made: data, each of which comes back as its acknowledgement, and pause frames.
    pub created: u64,
    /// Packets that ended where they should.
    pub consumed: u64,
    /// Packets still somewhere when the trial ended.
    pub held: u64,
    /// Packets dropped for want of buffer.
    pub dropped_buffer: u64,
    /// Packets lost at random on a link.
    pub dropped_link: u64,
    /// Packets lost with a link that failed, or for which no way was left.
    pub dropped_fault: u64,
    /// Data packets sent.
    pub data_sent: u64,
    /// Of them, those sent again.
    pub data_resent: u64,
    /// Links crossed, by packets of every kind.
    pub hops: u64,
    /// Events that ran.
    pub events: u64,
    /// Packets marked.
    pub marks: u64,
    /// Pause frames.
    pub pauses: u64,
    /// Frames that end a pause.
    pub resumes: u64,
    /// Negative acknowledgements.
    pub negative_acknowledgements: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// The most bytes that any switch held.
    pub peak_buffer: Bytes,
}

impl Totals {
    /// Packets dropped for any reason.
    pub const fn dropped(&self) -> u64 {
        self.dropped_buffer + self.dropped_link + self.dropped_fault
    }
}

/// Everything that a trial gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One record for each flow, in the order of the flow list.
    pub flows: Vec<FlowRecord>,
    /// Counts.
    pub totals: Totals,
    /// What each port has seen; port `2n` is link `n` from its first end.
    pub ports: Vec<PortStatistics>,
    /// When the trial ended.
    pub end: Time,
}

impl Outcome {
    /// How many flows did not finish.
    pub fn unfinished(&self) -> usize {
        self.flows.iter().filter(|record| record.finish.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_half_open() {
        let time = Time::from_milliseconds;
        let phases = Phases { stable_from: time(2), stable_until: time(8) };
        let of = |milliseconds| phases.of(time(milliseconds));
        assert_eq!(
            (of(1), of(2), of(7), of(8)),
            (Phase::WarmUp, Phase::Stable, Phase::Stable, Phase::CoolDown)
        );
    }
}
