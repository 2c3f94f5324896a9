//! Spans of time, one after the other, in which a link does something else.

use std::sync::Arc;

use trialwise_units::Duration;

use crate::series::{Series, SeriesError};

/// Spans that come after one another, counted from the start of the link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spans {
    /// One at each multiple of a period, the first after one period, each shorter than that.
    Every {
        /// From the beginning of one to the next.
        period: Duration,
        /// How long each is.
        length: Duration,
    },
    /// Their beginnings and ends.
    Listed(Arc<[(Duration, Duration)]>, Option<Duration>),
}

/// Where a moment is among spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// How many spans have begun by then.
    pub(crate) begun: u64,
    /// The end of the span in which the moment is.
    pub(crate) end: Option<Duration>,
}

impl Spans {
    /// Spans by their beginnings and lengths.
    ///
    /// # Errors
    /// One begins before the one above has ended.
    pub(crate) fn from_lengths(series: &Series<Duration>) -> Result<Self, SeriesError> {
        let spans: Vec<_> = series.steps().iter().map(|(begin, length)| (*begin, *begin + *length)).collect();
        match spans.windows(2).position(|pair| pair[1].0 < pair[0].1) {
            Some(index) => Err(SeriesError::Overlapping { line: index + 2 }),
            None => Ok(Self::Listed(spans.into(), None)),
        }
    }

    /// Spans by their beginnings and ends, in order; with a period, all begin again after it.
    pub(crate) fn listed(spans: Vec<(Duration, Duration)>, period: Option<Duration>) -> Self {
        Self::Listed(spans.into(), period)
    }

    /// Where the moment at `elapsed` is: the end of a span is outside of it.
    pub(crate) fn at(&self, elapsed: Duration) -> Place {
        match self {
            Self::Every { period, length } => {
                let begun = elapsed.picoseconds() / period.picoseconds().max(1);
                let end = *period * begun + *length;
                Place { begun, end: Some(end).filter(|end| begun > 0 && elapsed < *end) }
            }
            Self::Listed(spans, period) => {
                let round = period.map_or(0, |period| elapsed.picoseconds() / period.picoseconds().max(1));
                let before = period.map_or(Duration::ZERO, |period| period * round);
                let within = elapsed - before;
                let begun = spans.partition_point(|(begin, _)| *begin <= within);
                let last = begun.checked_sub(1).map(|index| spans[index].1);
                let end = last.filter(|end| within < *end).map(|end| before + end);
                Place { begun: round * spans.len() as u64 + begun as u64, end }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(value: u64) -> Duration {
        Duration::from_milliseconds(value)
    }

    fn ends(spans: &Spans, times: &[u64]) -> Vec<(u64, Option<u64>)> {
        times
            .iter()
            .map(|time| spans.at(milliseconds(*time)))
            .map(|place| (place.begun, place.end.map(Duration::milliseconds)))
            .collect()
    }

    #[test]
    fn periodic_spans_begin_after_one_period() {
        let spans = Spans::Every { period: milliseconds(100), length: milliseconds(30) };
        let found = ends(&spans, &[0, 99, 100, 129, 130, 250, 300]);
        assert_eq!(
            found,
            [(0, None), (0, None), (1, Some(130)), (1, Some(130)), (1, None), (2, None), (3, Some(330))]
        );
    }

    #[test]
    fn listed_spans_are_where_they_are_and_come_again_after_a_period() {
        let series = Series::parse_delays("0 10ms\n50 5ms\n").unwrap();
        let spans = Spans::from_lengths(&series).unwrap();
        assert_eq!(
            ends(&spans, &[0, 10, 50, 54, 55, 1_000]),
            [(1, Some(10)), (1, None), (2, Some(55)), (2, Some(55)), (2, None), (2, None)]
        );
        let again = Spans::listed(vec![(milliseconds(50), milliseconds(60))], Some(milliseconds(60)));
        assert_eq!(ends(&again, &[49, 59, 60, 111]), [(0, None), (1, Some(60)), (1, None), (2, Some(120))]);
    }

    #[test]
    fn spans_that_overlap_are_refused_with_their_line() {
        let series = Series::parse_delays("0 10ms\n9 5ms\n").unwrap();
        let message = Spans::from_lengths(&series).unwrap_err().to_string();
        assert!(message.starts_with("line 2 of the series begins before"), "{message}");
    }
}
