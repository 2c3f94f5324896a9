//! The smallest or largest delay of the last while, in fixed memory.

use trialwise_units::{Duration, Time};

/// An extreme may be this part of the span too old or too young.
const RESOLUTION: u64 = 16;
const CAPACITY: usize = RESOLUTION as usize + 2;

/// Which extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Minimum,
    Maximum,
}

/// The extreme of the samples of a sliding span of time.
///
/// A queue of ever less extreme samples, oldest first: each is the extreme once those before it are too old.
/// Where one follows another within a sixteenth of the span it is left out, so that the queue is short; the
/// answer is then the extreme of a span that is up to a sixteenth shorter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlidingExtreme {
    extreme: Extreme,
    entries: [(Time, Duration); CAPACITY],
    first: usize,
    length: usize,
}

impl SlidingExtreme {
    pub(crate) const fn new(extreme: Extreme) -> Self {
        Self { extreme, entries: [(Time::ZERO, Duration::ZERO); CAPACITY], first: 0, length: 0 }
    }

    /// Takes a sample and gives the extreme of the `span` that ends `now`.
    pub(crate) fn update(&mut self, now: Time, sample: Duration, span: Duration) -> Duration {
        while self.length > 0 && now.since(self.entry(0).0) > span {
            self.first = (self.first + 1) % CAPACITY;
            self.length -= 1;
        }
        while self.length > 0 && self.is_as_extreme(sample, self.entry(self.length - 1).1) {
            self.length -= 1;
        }
        if self.has_room(now, span) {
            self.entries[(self.first + self.length) % CAPACITY] = (now, sample);
            self.length += 1;
        }
        self.entry(0).1
    }

    fn has_room(&self, now: Time, span: Duration) -> bool {
        let apart = |last: Time| now.since(last) >= span / RESOLUTION;
        self.length == 0 || (self.length < CAPACITY && apart(self.entry(self.length - 1).0))
    }

    fn is_as_extreme(&self, sample: Duration, other: Duration) -> bool {
        match self.extreme {
            Extreme::Minimum => sample <= other,
            Extreme::Maximum => sample >= other,
        }
    }

    fn entry(&self, index: usize) -> (Time, Duration) {
        self.entries[(self.first + index) % CAPACITY]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_extreme_is_that_of_the_span_but_for_a_sixteenth(
            samples in prop::collection::vec((0_u64..40, 1_u64..1000), 1..300),
            span in 1_u64..300,
        ) {
            let span = Duration::from_nanoseconds(span);
            let mut minimum = SlidingExtreme::new(Extreme::Minimum);
            let mut maximum = SlidingExtreme::new(Extreme::Maximum);
            let mut seen = Vec::new();
            let mut now = Time::ZERO;
            for (step, sample) in samples {
                now += Duration::from_nanoseconds(step);
                let sample = Duration::from_nanoseconds(sample);
                seen.push((now, sample));
                let within = |span: Duration| {
                    seen.iter().filter(move |(time, _)| now.since(*time) <= span).map(|(_, sample)| *sample)
                };
                let shorter = span - (span / RESOLUTION);
                let found = minimum.update(now, sample, span);
                prop_assert!(found >= within(span).min().unwrap());
                prop_assert!(found <= within(shorter).min().unwrap());
                let found = maximum.update(now, sample, span);
                prop_assert!(found <= within(span).max().unwrap());
                prop_assert!(found >= within(shorter).max().unwrap());
            }
        }
    }

    #[test]
    fn a_span_that_grows_loses_no_extreme() {
        let mut minimum = SlidingExtreme::new(Extreme::Minimum);
        let at = Time::from_nanoseconds;
        let nanoseconds = Duration::from_nanoseconds;
        (0..=16).for_each(|step| {
            minimum.update(at(step), nanoseconds(10 + step), nanoseconds(16));
        });
        for step in 1..8 {
            let found = minimum.update(at(16 + 63 * step), nanoseconds(100 + step), nanoseconds(1000));
            assert_eq!(found, nanoseconds(10));
        }
    }

    #[test]
    fn a_time_that_goes_back_breaks_nothing() {
        let mut minimum = SlidingExtreme::new(Extreme::Minimum);
        let millisecond = Duration::from_milliseconds(1);
        minimum.update(Time::from_milliseconds(9), millisecond * 5, millisecond);
        assert_eq!(minimum.update(Time::ZERO, millisecond * 7, millisecond), millisecond * 5);
    }
}
