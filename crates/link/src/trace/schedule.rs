//! The opportunities of a trace in time.

use trialwise_units::{Duration, Time};

use crate::trace::Trace;

/// Whether a trace starts again after its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// The next round starts at the instant of the last opportunity of this one, as in mm-link.
    #[default]
    Forever,
    /// There is one round only (`mm-link --once`).
    Once,
}

impl Repeat {
    /// By whether the trace starts again after its end.
    pub(crate) const fn after(repeats: bool) -> Self {
        if repeats { Self::Forever } else { Self::Once }
    }
}

/// The instants of the opportunities, in order: an iterator that can look ahead and skip.
#[derive(Clone, Debug)]
pub struct Schedule {
    trace: Trace,
    repeat: Repeat,
    period: Duration,
    /// Where the present round starts.
    base: Time,
    index: usize,
}

impl Schedule {
    /// The opportunities of `trace`, whose millisecond 0 is at `start`.
    pub fn new(trace: Trace, repeat: Repeat, start: Time) -> Self {
        let period = trace.period();
        Self { trace, repeat, period, base: start, index: 0 }
    }

    /// The same, starting again after `period`, which is not before the last opportunity.
    #[must_use]
    pub(crate) fn with_period(self, period: Option<Duration>) -> Self {
        let period = period.unwrap_or(self.period).max(self.period);
        Self { period, ..self }
    }

    /// The next opportunity.
    pub fn peek(&self) -> Option<Time> {
        let milliseconds = self.trace.milliseconds().get(self.index)?;
        Some(self.base + Duration::from_milliseconds(*milliseconds))
    }

    /// Skips the opportunities at or before `now`, in a time that depends on the length of the trace alone.
    pub fn skip_through(&mut self, now: Time) {
        if self.peek().is_none_or(|time| time > now) {
            return;
        }
        let period = self.period;
        if self.repeat == Repeat::Forever {
            // At now = base + k periods, the last opportunity of round k has passed: round k + 1 goes on.
            self.base += period * ((now - self.base).picoseconds() / period.picoseconds());
        }
        let passed = (now - self.base).milliseconds();
        self.index = self.trace.milliseconds().partition_point(|millisecond| *millisecond <= passed);
        self.wrap();
    }

    fn wrap(&mut self) {
        if self.index == self.trace.milliseconds().len() && self.repeat == Repeat::Forever {
            self.base += self.period;
            self.index = 0;
        }
    }
}

impl Iterator for Schedule {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let time = self.peek()?;
        self.index += 1;
        self.wrap();
        Some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn milliseconds(schedule: Schedule, count: usize) -> Vec<u64> {
        schedule.take(count).map(Time::milliseconds).collect()
    }

    #[test]
    fn a_round_starts_at_the_last_opportunity_of_the_one_before() {
        let trace = Trace::new(vec![0, 1]).unwrap();
        let forever = Schedule::new(trace.clone(), Repeat::Forever, Time::from_milliseconds(5));
        assert_eq!(milliseconds(forever, 6), [5, 6, 6, 7, 7, 8]);
        let once = Schedule::new(trace, Repeat::Once, Time::ZERO);
        assert_eq!(milliseconds(once, 6), [0, 1]);
    }

    #[test]
    fn a_longer_period_ends_in_silence() {
        let trace = Trace::new(vec![0, 2]).unwrap();
        let period = Some(Duration::from_milliseconds(10));
        let schedule = Schedule::new(trace, Repeat::Forever, Time::ZERO).with_period(period);
        assert_eq!(milliseconds(schedule.clone(), 5), [0, 2, 10, 12, 20]);
        let mut skipping = schedule;
        skipping.skip_through(Time::from_milliseconds(25));
        assert_eq!(milliseconds(skipping, 2), [30, 32]);
    }

    proptest! {
        #[test]
        fn skipping_equals_stepping(
            mut steps in prop::collection::vec(0_u64..6, 1..8),
            taken in 0_usize..20,
            now in 0_u64..100_000,
            once in any::<bool>(),
        ) {
            steps.push(1);
            let times = steps.iter().scan(0, |time, step| { *time += step; Some(*time) }).collect();
            let repeat = if once { Repeat::Once } else { Repeat::Forever };
            let mut skipping = Schedule::new(Trace::new(times).unwrap(), repeat, Time::from_milliseconds(3));
            skipping.by_ref().take(taken).for_each(drop);
            let mut stepping = skipping.clone();
            let now = Time::from_picoseconds(now * 1_000_003);
            skipping.skip_through(now);
            while stepping.peek().is_some_and(|time| time <= now) {
                stepping.next();
            }
            prop_assert_eq!(milliseconds(skipping, 9), milliseconds(stepping, 9));
        }
    }
}
