//! What DualPI2 goes by.

use trialwise_units::Duration;

/// What DualPI2 goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Parameters {
    /// `target`: the delay that the PI controller keeps C at.
    pub target: Duration,
    /// `Tupdate`: how often the probability is computed.
    pub update: Duration,
    /// Weight of the distance from the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    pub beta: f64,
    /// `k`: L is marked with so many times the square root of what C is dropped with.
    pub coupling: f64,
    /// `minTh`: up to this delay L does not mark by itself.
    pub threshold: Duration,
    /// `range`: over so much more delay marks of L rise from none to all; zero makes a step.
    pub range: Duration,
    /// `Th_len`: L does not mark by itself while no more than so many packets wait there.
    pub spared: u64,
    /// The part of the link that C has at least, while packets wait in both.
    pub share: f64,
}

impl DualPi2Parameters {
    /// Those of Linux 6.17 (tc-dualpi2(8)).
    pub const LINUX: Self = Self {
        target: Duration::from_milliseconds(15),
        update: Duration::from_milliseconds(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        threshold: Duration::from_milliseconds(1),
        range: Duration::ZERO,
        spared: 0,
        share: 0.1,
    };

    /// Those of RFC 9332, appendix A.1, for this target and round-trip times of up to `max_rtt`: `Tupdate = min(target, RTT_max / 3)`,
    /// `alpha = 0.1 Tupdate / RTT_max^2`, `beta = 0.3 / RTT_max`.
    pub fn for_round_trips(target: Duration, max_rtt: Duration) -> Self {
        let update = target.min(max_rtt / 3);
        let round_trip = max_rtt.as_seconds();
        Self {
            target,
            update,
            alpha: 0.1 * update.as_seconds() / (round_trip * round_trip),
            beta: 0.3 / round_trip,
            coupling: 2.0,
            threshold: Duration::from_microseconds(800),
            range: Duration::from_microseconds(400),
            spared: 1,
            share: 1.0 / 16.0,
        }
    }

    /// The probability with which L marks by itself a packet that waited so long (appendix A.1, `laqm()`).
    pub(super) fn native(&self, delay: Duration) -> f64 {
        if delay <= self.threshold {
            return 0.0;
        }
        let above = (delay - self.threshold).as_seconds();
        if self.range == Duration::ZERO { 1.0 } else { (above / self.range.as_seconds()).min(1.0) }
    }
}

impl Default for DualPi2Parameters {
    /// A target of 15 ms for round-trip times of up to 100 ms (RFC 9332, appendix A.1).
    fn default() -> Self {
        Self::for_round_trips(Duration::from_milliseconds(15), Duration::from_milliseconds(100))
    }
}
