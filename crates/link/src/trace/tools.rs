//! What one does with traces: mean rate, scaling, cutting, making one from departures.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::trace::{ByteConvention, Trace, TraceError};

impl Trace {
    /// The mean rate of the repeated trace, rounded down: opportunities in a period times their bytes.
    pub fn mean_rate(&self, convention: ByteConvention) -> Rate {
        self.mean_rate_over(convention, None)
    }

    /// The same of a trace that starts again after `period`, or none: after its last opportunity.
    pub(crate) fn mean_rate_over(&self, convention: ByteConvention, period: Option<Duration>) -> Rate {
        let bits = self.milliseconds().len() as u128 * 8 * u128::from(convention.opportunity().get());
        let milliseconds = period.map_or(self.last(), Duration::milliseconds).max(1);
        Rate::from_bits_per_second((bits * 1_000 / u128::from(milliseconds)) as u64)
    }

    /// The same trace with `factor` times as many opportunities, spread as they were, in the same period.
    ///
    /// # Errors
    /// A factor so small or large that no opportunity is left, or too many.
    pub fn scaled(&self, factor: f64) -> Result<Self, TraceError> {
        let old = self.milliseconds();
        let count = (old.len() as f64 * factor).round();
        if count > super::MAXIMUM_OPPORTUNITIES as f64 {
            return Err(TraceError::TooLong { line: super::MAXIMUM_OPPORTUNITIES + 1 });
        }
        let count = count as usize;
        // The k-th of m new ones is where the ⌈k n / m⌉-th of n old ones is; the last stays the last.
        Self::new((1..=count).map(|rank| old[(rank * old.len()).div_ceil(count) - 1]).collect())
    }

    /// The opportunities after `from` and up to `to` (milliseconds), counted from `from`.
    ///
    /// # Errors
    /// None is there.
    pub fn cut(&self, from: u64, to: u64) -> Result<Self, TraceError> {
        let inside = self.milliseconds().iter().filter(|time| **time > from && **time <= to);
        Self::new(inside.map(|time| time - from).collect())
    }

    /// The trace of a link that a saturating sender filled: an opportunity for each full packet's worth of
    /// bytes that departed, in the millisecond after which it had. `departures` are instants, in order, and
    /// sizes without overhead.
    ///
    /// # Errors
    /// Departures out of order, too few for one opportunity, or more than a trace may have.
    pub fn from_departures(
        departures: impl IntoIterator<Item = (Time, Bytes)>,
        convention: ByteConvention,
    ) -> Result<Self, TraceError> {
        let mut milliseconds = Vec::new();
        let mut bytes = 0_u64;
        for (time, size) in departures {
            bytes = bytes.saturating_add(size.get()).saturating_add(convention.overhead().get());
            let millisecond = time.picoseconds().div_ceil(1_000_000_000);
            let room = (super::MAXIMUM_OPPORTUNITIES - milliseconds.len()) as u64;
            let full = bytes / convention.opportunity().get();
            if full > room {
                return Err(TraceError::TooLong { line: super::MAXIMUM_OPPORTUNITIES + 1 });
            }
            bytes %= convention.opportunity().get();
            milliseconds.extend(std::iter::repeat_n(millisecond, full as usize));
        }
        Self::new(milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trace(times: &[u64]) -> Trace {
        Trace::new(times.to_vec()).unwrap()
    }

    #[test]
    fn mean_rate_is_that_of_the_repeated_trace() {
        assert_eq!(trace(&[1]).mean_rate(ByteConvention::Documented), Rate::from_megabits_per_second(12));
        assert_eq!(trace(&[1]).mean_rate(ByteConvention::Mahimahi).bits_per_second(), 12_032_000);
        // PATHS: "0\n1\n" yields two in each millisecond.
        assert_eq!(trace(&[0, 1]).mean_rate(ByteConvention::Documented), Rate::from_megabits_per_second(24));
    }

    #[test]
    fn scaling_keeps_every_so_manieth_or_repeats() {
        assert_eq!(trace(&[1, 2, 3, 4, 5]).scaled(0.4).unwrap(), trace(&[3, 5]));
        assert_eq!(trace(&[1, 4]).scaled(2.0).unwrap(), trace(&[1, 1, 4, 4]));
    }

    #[test]
    fn cutting_counts_from_the_cut() {
        assert_eq!(trace(&[0, 5, 10, 10, 15]).cut(5, 10).unwrap(), trace(&[5, 5]));
        assert_eq!(trace(&[5, 10]).cut(6, 9), Err(TraceError::Empty));
    }

    #[test]
    fn departures_make_the_trace_that_they_used() {
        let full = |millisecond| (Time::from_milliseconds(millisecond), Bytes::new(1500));
        let made = Trace::from_departures([full(3), full(3), full(9)], ByteConvention::Mahimahi);
        assert_eq!(made.unwrap(), trace(&[3, 3, 9]));
        let halves = [(1, 750), (2, 750), (4, 3_000)]
            .map(|(ms, size)| (Time::from_milliseconds(ms), Bytes::new(size)));
        assert_eq!(Trace::from_departures(halves, ByteConvention::Documented).unwrap(), trace(&[2, 4, 4]));
        let backward = Trace::from_departures([full(9), full(3)], ByteConvention::Mahimahi);
        assert!(matches!(backward, Err(TraceError::Unsorted { line: 2, .. })));
    }

    #[test]
    fn departures_of_more_bytes_than_a_trace_has_are_refused() {
        for size in [1 << 37, u64::MAX] {
            let departures = [(Time::from_milliseconds(1), Bytes::new(size)); 2];
            let made = Trace::from_departures(departures, ByteConvention::Mahimahi);
            assert!(matches!(made, Err(TraceError::TooLong { .. })));
        }
    }

    #[test]
    fn cutting_at_the_end_of_all_numbers_leaves_nothing() {
        assert_eq!(trace(&[0, 5]).cut(u64::MAX, u64::MAX), Err(TraceError::Empty));
    }

    proptest! {
        #[test]
        fn scaling_keeps_the_period_and_multiplies_the_rate(
            mut times in prop::collection::vec(0_u64..100_000, 1..300),
            factor in 0.01_f64..4.0,
        ) {
            times.sort_unstable();
            times.push(100_000);
            let old = trace(&times);
            match old.scaled(factor) {
                Err(error) => {
                    prop_assert_eq!(error, TraceError::Empty);
                    prop_assert!(times.len() as f64 * factor < 0.5);
                }
                Ok(new) => {
                    prop_assert_eq!(new.period(), old.period());
                    prop_assert_eq!(new.milliseconds().len() as f64, (times.len() as f64 * factor).round());
                }
            }
        }

        #[test]
        fn scaling_by_one_changes_nothing(mut times in prop::collection::vec(0_u64..1_000, 1..300)) {
            times.sort_unstable();
            times.push(1_000);
            let old = trace(&times);
            prop_assert_eq!(old.scaled(1.0).unwrap(), old);
        }
    }
}
