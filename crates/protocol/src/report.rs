//! The lines of a sender's report: JSON; the documentation of crate `transport` has the format.

use std::ops::Range;

use serde::Serialize;
use trialwise_units::{Duration, Rate, Time};

use crate::message::Whole;
use crate::sender::Sender;

/// A connection at one instant.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// When, nanoseconds of the sender's clock.
    pub time_ns: u64,
    /// Which connection.
    pub flow: usize,
    /// Window of the controller.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round-trip time.
    pub rtt_ms: Option<f64>,
    /// Packets sent again so far.
    pub retransmits: u64,
    /// The latest delivery rate.
    pub delivery_rate_bps: Option<u64>,
    /// Payload in flight.
    pub in_flight_bytes: u64,
    /// Pacing rate of the controller.
    pub pacing_rate_bps: Option<u64>,
}

/// A transfer that is complete.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Completed {
    /// Which connection, or which request.
    pub flow: u64,
    /// When the application began it.
    pub start_ns: u64,
    /// When all of it had been acknowledged.
    pub end_ns: u64,
    /// Payload.
    pub size_bytes: u64,
}

/// A frame of media that a source has captured, or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Its number, from 0 on without gaps.
    pub frame: u32,
    /// When.
    pub captured: Time,
    /// Payload; 0 where it was left out.
    pub size: u32,
    /// Whether it needs no frame before it.
    pub is_key: bool,
    /// Whether it was left out, because those before it still waited or nothing was heard.
    pub is_skipped: bool,
    /// The target that the encoder followed.
    pub target: Option<Rate>,
}

/// Its line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CapturedLine {
    frame: u32,
    captured_ns: u64,
    size_bytes: u32,
    is_key: bool,
    is_skipped: bool,
    target_bps: Option<u64>,
}

/// The line of a receiver for a frame of which the last missing byte has arrived.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ArrivedLine {
    frame: u32,
    arrived_ns: u64,
}

/// Why a sender ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The load was done.
    Complete,
    /// Its time was over.
    Time,
    /// It was asked to end.
    Signal,
    /// Something failed.
    Error,
}

/// The last line.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// `udp` or `tcp`.
    pub protocol: &'static str,
    /// The congestion control as it was asked for.
    pub congestion: String,
    /// The load as it was written.
    pub load: String,
    /// Why it ended.
    pub ended: Ending,
    /// When the sender started.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Seconds in between.
    pub duration_s: f64,
    /// Connections that the load has.
    pub flows: usize,
    /// Transfers completed.
    pub completed: u64,
    /// Payload acknowledged.
    pub bytes_acknowledged: u64,
    /// Payload that came back.
    pub bytes_received: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Time-outs, where they are known.
    pub timeouts: Option<u64>,
    /// Packets with congestion marks, where they are known.
    pub marked: Option<u64>,
    /// The smallest round-trip time.
    pub rtt_min_ms: Option<f64>,
    /// The mean round-trip time.
    pub rtt_mean_ms: Option<f64>,
}

/// The last line as it stands in a report.
#[derive(Debug, Serialize)]
pub struct LastLine<'a> {
    /// What the sender came to.
    pub summary: &'a Summary,
}

/// Of what a summary tells.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// `udp` or `tcp`.
    pub protocol: &'static str,
    /// The congestion control as it was asked for.
    pub congestion: &'a str,
    /// The load as it was written.
    pub load: &'a str,
}

/// What the connections of a sender came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Connections of the load.
    pub flows: usize,
    /// Payload acknowledged.
    pub acknowledged: u64,
    /// Payload that came back.
    pub received: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Time-outs, where they are known.
    pub timeouts: Option<u64>,
    /// Congestion marks, where they are known.
    pub marked: Option<u64>,
    /// Round-trip times.
    pub rtt: RttTotals,
}

/// Round-trip times added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttTotals {
    minimum: Option<Duration>,
    sum: Duration,
    count: u64,
}

impl Sample {
    /// The connection of this sender.
    pub fn of(time_ns: u64, flow: usize, sender: &Sender) -> Self {
        let state = sender.state();
        Self {
            time_ns,
            flow,
            cwnd_bytes: state.window.map(|window| window.get()),
            rtt_ms: sender.round_trip().smoothed().map(milliseconds),
            retransmits: sender.counters().retransmits,
            delivery_rate_bps: bits_per_second(sender.delivery_rate()),
            in_flight_bytes: sender.in_flight(),
            pacing_rate_bps: bits_per_second(state.pacing_rate),
        }
    }
}

impl Captured {
    /// As a report has it, captured at this nanosecond of the sender's clock.
    pub fn line(&self, captured_ns: u64) -> CapturedLine {
        let Self { frame, size, is_key, is_skipped, target, .. } = *self;
        let target_bps = bits_per_second(target);
        CapturedLine { frame, captured_ns, size_bytes: size, is_key, is_skipped, target_bps }
    }
}

impl From<Whole> for ArrivedLine {
    fn from(whole: Whole) -> Self {
        Self { frame: whole.message, arrived_ns: whole.arrival }
    }
}

impl Totals {
    /// Of a program that opens so many connections over UDP, and has not begun.
    pub fn of_udp(flows: usize) -> Self {
        Self { flows, timeouts: Some(0), marked: Some(0), ..Self::default() }
    }

    /// Adds a connection over UDP that has ended, and what came back on it.
    pub fn add(&mut self, sender: &Sender, received: u64) {
        let counters = sender.counters();
        self.received += received;
        self.acknowledged += sender.delivered();
        self.retransmits += counters.retransmits;
        self.timeouts = self.timeouts.map(|sum| sum + counters.timeouts);
        self.marked = self.marked.map(|sum| sum + counters.marked);
        self.rtt.merge(sender.rtt_totals());
    }
}

impl Summary {
    /// What these totals come to, over these nanoseconds.
    pub fn new(of: Subject<'_>, span: Range<u64>, ended: Ending, totals: &Totals, completed: u64) -> Self {
        Self {
            protocol: of.protocol,
            congestion: of.congestion.to_owned(),
            load: of.load.to_owned(),
            ended,
            start_ns: span.start,
            end_ns: span.end,
            duration_s: span.end.saturating_sub(span.start) as f64 / 1e9,
            flows: totals.flows,
            completed,
            bytes_acknowledged: totals.acknowledged,
            bytes_received: totals.received,
            retransmits: totals.retransmits,
            timeouts: totals.timeouts,
            marked: totals.marked,
            rtt_min_ms: totals.rtt.minimum_ms(),
            rtt_mean_ms: totals.rtt.mean_ms(),
        }
    }
}

impl RttTotals {
    /// Takes a sample.
    pub fn add(&mut self, sample: Duration) {
        self.merge(&Self { minimum: Some(sample), sum: sample, count: 1 });
    }

    /// A smaller one is known, though it is no sample.
    pub fn lower(&mut self, minimum: Duration) {
        self.merge(&Self { minimum: Some(minimum), ..Self::default() });
    }

    /// Takes all that the other has.
    pub fn merge(&mut self, other: &Self) {
        self.minimum = [self.minimum, other.minimum].into_iter().flatten().min();
        self.sum += other.sum;
        self.count += other.count;
    }

    /// The smallest, milliseconds.
    pub fn minimum_ms(&self) -> Option<f64> {
        self.minimum.map(milliseconds)
    }

    /// The mean, milliseconds.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| milliseconds(self.sum) / self.count as f64)
    }
}

/// Milliseconds to the microsecond.
pub fn milliseconds(span: Duration) -> f64 {
    span.microseconds() as f64 / 1e3
}

/// Of a rate that may be unknown.
pub fn bits_per_second(rate: Option<Rate>) -> Option<u64> {
    rate.map(Rate::bits_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_add_up() {
        let mut totals = RttTotals::default();
        assert_eq!((totals.minimum_ms(), totals.mean_ms()), (None, None));
        [30, 20, 40].into_iter().for_each(|time| totals.add(Duration::from_milliseconds(time)));
        assert_eq!((totals.minimum_ms(), totals.mean_ms()), (Some(20.0), Some(30.0)));
        totals.lower(Duration::from_milliseconds(10));
        assert_eq!((totals.minimum_ms(), totals.mean_ms()), (Some(10.0), Some(30.0)));
    }
}
