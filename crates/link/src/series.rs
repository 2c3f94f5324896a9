//! A value that changes in steps over time: traces of delay and of loss.

use std::fmt::Display;
use std::sync::Arc;

use thiserror::Error;
use trialwise_units::{Duration, Rate, parse_fraction};

/// What is wrong with a series, in which line, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SeriesError {
    /// No value at all.
    #[error("the series is empty; write lines of a millisecond and a value, such as `0 28ms`")]
    Empty,
    /// A line that is not a millisecond and a value.
    #[error(
        "line {line} of the series is not a millisecond and a value: {problem}; write one like `1500 {example}`"
    )]
    BadLine {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
        /// A value that would do.
        example: &'static str,
    },
    /// A span that begins before the one above has ended.
    #[error(
        "line {line} of the series begins before what the line before begins has ended; shorten that, or leave one out"
    )]
    Overlapping {
        /// Counted from 1.
        line: usize,
    },
    /// A time that is not after the one above.
    #[error(
        "line {line} of the series is not after the line before; sort it: `sort -n SERIES`, one line for each millisecond"
    )]
    Unsorted {
        /// Counted from 1.
        line: usize,
    },
}

/// Values from instants on: each holds until the next, the last for ever, the first also before its instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<T> {
    steps: Arc<[(Duration, T)]>,
    /// After what time all begins again.
    period: Option<Duration>,
}

impl<T: Copy> Series<T> {
    /// A series of values, each from its time on.
    ///
    /// # Errors
    /// No value, or times that do not grow. The error counts lines from 1.
    pub fn new(steps: Vec<(Duration, T)>) -> Result<Self, SeriesError> {
        if steps.is_empty() {
            return Err(SeriesError::Empty);
        }
        match steps.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
            Some(index) => Err(SeriesError::Unsorted { line: index + 2 }),
            None => Ok(Self { steps: steps.into(), period: None }),
        }
    }

    /// The same series, beginning again after a period above zero.
    pub(crate) fn repeated(self, period: Option<Duration>) -> Self {
        Self { period: period.filter(|period| *period > Duration::ZERO), ..self }
    }

    /// The instants at which values begin, with the values.
    pub(crate) fn steps(&self) -> &[(Duration, T)] {
        &self.steps
    }

    /// After what time it begins again, where it does.
    pub(crate) const fn period(&self) -> Option<Duration> {
        self.period
    }

    pub(crate) fn cursor(&self) -> Cursor<T> {
        Cursor { steps: Arc::clone(&self.steps), period: self.period, index: 0 }
    }

    fn parse<E: Display>(
        text: &str,
        example: &'static str,
        parse_value: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Self, SeriesError> {
        let mut steps = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let bad = |problem: String| SeriesError::BadLine { line: index + 1, problem, example };
            let (time, value) =
                line.trim().split_once(char::is_whitespace).ok_or_else(|| bad(format!("`{line}`")))?;
            let time: u32 =
                time.parse().map_err(|_| bad(format!("`{time}` is not a whole number of milliseconds")))?;
            let value = parse_value(value.trim()).map_err(|error| bad(error.to_string()))?;
            steps.push((Duration::from_milliseconds(time.into()), value));
        }
        Self::new(steps)
    }
}

impl Series<Duration> {
    /// Reads delays: lines of a millisecond and a time with its unit, such as `1500 28ms`.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse_delays(text: &str) -> Result<Self, SeriesError> {
        Self::parse(text, "28ms", str::parse)
    }
}

impl Series<f64> {
    /// Reads probabilities: lines of a millisecond and a fraction, such as `1500 0.4%`.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse_fractions(text: &str) -> Result<Self, SeriesError> {
        Self::parse(text, "0.4%", parse_fraction)
    }
}

impl Series<Rate> {
    /// Reads rates: lines of a millisecond and a rate, zero included, such as `1500 12Mbit/s`.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse_rates(text: &str) -> Result<Self, SeriesError> {
        Self::parse(text, "12Mbit/s", str::parse)
    }
}

/// A place in a series that only goes forward, and from its end to its beginning where it repeats.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<T> {
    steps: Arc<[(Duration, T)]>,
    period: Option<Duration>,
    index: usize,
}

impl<T: Copy> Cursor<T> {
    /// The value at a time, not before that of the call before.
    pub(crate) fn at(&mut self, time: Duration) -> T {
        let time = self.period.map_or(time, |period| within(time, period));
        if self.steps[self.index].0 > time {
            self.index = 0;
        }
        while self.steps.get(self.index + 1).is_some_and(|(start, _)| *start <= time) {
            self.index += 1;
        }
        self.steps[self.index].1
    }
}

/// The time since the last multiple of a period above zero.
pub(crate) fn within(time: Duration, period: Duration) -> Duration {
    Duration::from_picoseconds(time.picoseconds() % period.picoseconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_series_begins_again_after_its_period() {
        let series = Series::parse_delays("0 10ms\n100 20ms\n").unwrap();
        let mut cursor = series.repeated(Some(Duration::from_milliseconds(150))).cursor();
        let at = [0, 120, 149, 150, 249, 250, 1_000_000]
            .map(|time| cursor.at(Duration::from_milliseconds(time)).milliseconds());
        assert_eq!(at, [10, 20, 20, 10, 10, 20, 20]);
    }

    #[test]
    fn values_hold_until_the_next() {
        let series = Series::parse_delays("0 10ms\n100 20ms\n101\t5us\n").unwrap();
        let mut cursor = series.cursor();
        let at =
            [0, 99, 100, 101, 5_000].map(|time| cursor.at(Duration::from_milliseconds(time)).nanoseconds());
        assert_eq!(at, [10_000_000, 10_000_000, 20_000_000, 5_000, 5_000]);
    }

    #[test]
    fn bad_series_are_refused_with_their_line() {
        let message = |text| Series::parse_delays(text).unwrap_err().to_string();
        assert!(message("").contains("is empty"));
        assert!(message("0 1ms\n5\n").starts_with("line 2 of the series is not a millisecond and a value"));
        assert!(message("0 1ms\nx 1ms\n").contains("`x` is not a whole number"));
        assert!(message("0 1\n").contains("the unit is missing"));
        assert!(message("5 1ms\n5 2ms\n").starts_with("line 2 of the series is not after"));
        assert!(Series::parse_fractions("0 150%").is_err());
    }
}
