//! Outages: a link that is on, then off, then on again.

use trialwise_units::{Bytes, Duration, Seed, Time};

use crate::element::{Cause, Gate, Verdict};
use crate::random::Random;
use crate::trace::Phases;

/// Drops what arrives while the link is off (mm-onoff with exponential phases, mm-intermittent with fixed
/// ones). It starts on.
#[derive(Clone, Debug)]
pub struct Outage {
    on: Duration,
    off: Duration,
    phases: Phases,
    random: Random,
    is_on: bool,
    /// The end of the present phase.
    end: Time,
}

impl Outage {
    /// A link that goes on at `start`, with phases of these lengths or mean lengths.
    pub fn new(on: Duration, off: Duration, phases: Phases, start: Time, seed: Seed) -> Self {
        let mut outage = Self { on, off, phases, random: Random::new(seed), is_on: false, end: start };
        outage.switch();
        outage
    }

    fn switch(&mut self) {
        self.is_on = !self.is_on;
        let span = if self.is_on { self.on } else { self.off };
        self.end += self.phases.span(span, &mut self.random);
    }
}

impl Gate for Outage {
    fn judge(&mut self, now: Time, _size: Bytes) -> Verdict {
        while self.end <= now {
            self.switch();
        }
        if self.is_on { Verdict::Pass } else { Verdict::Drop(Cause::Outage) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each millisecond, whether the link is on.
    fn states(phases: Phases, on: u64, off: u64, count: u64) -> Vec<bool> {
        let span = Duration::from_milliseconds;
        let mut outage = Outage::new(span(on), span(off), phases, Time::ZERO, Seed::new(2));
        (0..count)
            .map(|time| outage.judge(Time::from_milliseconds(time), Bytes::ZERO) == Verdict::Pass)
            .collect()
    }

    #[test]
    fn fixed_phases_alternate_and_start_on() {
        let states = states(Phases::Fixed, 2, 1, 7);
        assert_eq!(states, [true, true, false, true, true, false, true]);
    }

    #[test]
    fn exponential_phases_are_on_for_their_share() {
        let states = states(Phases::Exponential, 300, 100, 2_000_000);
        let on = states.iter().filter(|state| **state).count() as f64 / states.len() as f64;
        // 5000 cycles: five standard errors of the share are 0.019.
        assert!((on - 0.75).abs() < 0.019, "{on}");
    }
}
