//! A histogram of spans of time, without allocation: 32 buckets for each doubling, so within 3 % of the truth.

use trialwise_units::Duration;

const BITS: u32 = 5;
const BUCKETS: usize = (64 - BITS as usize + 1) << BITS;

/// How often each span of time occurred, to a nanosecond or 3 %.
#[derive(Clone)]
pub(crate) struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    largest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Box::new([0; BUCKETS]), count: 0, largest: 0 }
    }
}

/// Percentiles of spans of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// How many spans.
    pub count: u64,
    /// The median.
    pub median: Duration,
    /// The 95th percentile.
    pub p95: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The 99.9th percentile.
    pub p999: Duration,
    /// The longest.
    pub largest: Duration,
}

impl Histogram {
    pub(crate) fn record(&mut self, span: Duration) {
        self.record_times(span, 1);
    }

    /// Records the same span so many times.
    pub(crate) fn record_times(&mut self, span: Duration, times: u64) {
        if times == 0 {
            return;
        }
        let nanoseconds = span.nanoseconds();
        self.buckets[bucket(nanoseconds)] += times;
        self.count += times;
        self.largest = self.largest.max(nanoseconds);
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        Percentiles {
            count: self.count,
            median: self.percentile(0.5),
            p95: self.percentile(0.95),
            p99: self.percentile(0.99),
            p999: self.percentile(0.999),
            largest: Duration::from_nanoseconds(self.largest),
        }
    }

    /// The upper end of the bucket below or in which this fraction lies.
    fn percentile(&self, fraction: f64) -> Duration {
        let rank = (fraction * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank.max(1) {
                return Duration::from_nanoseconds(upper_end(index).min(self.largest));
            }
        }
        Duration::ZERO
    }
}

fn bucket(value: u64) -> usize {
    let doublings = (64 - BITS).saturating_sub(value.leading_zeros() + 1);
    ((doublings as usize) << BITS) + (value >> doublings) as usize
}

fn upper_end(bucket: usize) -> u64 {
    let doublings = (bucket >> BITS).saturating_sub(1);
    let value = (bucket - (doublings << BITS)) as u64;
    ((value + 1) << doublings).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bucket_that_ends_within_four_percent() {
        for value in (0..5_000).chain((0..50).map(|power| (3_u64 << power) + 7)) {
            let end = upper_end(bucket(value));
            assert!(end >= value && end as f64 <= value as f64 * 1.04 + 0.5, "{value} ends at {end}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn percentiles_of_a_thousand_spans() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|microsecond| histogram.record(Duration::from_microseconds(microsecond)));
        let found = histogram.percentiles();
        let near =
            |span: Duration, microseconds: f64| (span.as_seconds() * 1e6 / microseconds - 1.0).abs() < 0.04;
        assert!(near(found.median, 500.0) && near(found.p99, 990.0), "{found:?}");
        assert_eq!((found.count, found.largest), (1_000, Duration::from_milliseconds(1)));
        assert_eq!(Histogram::default().percentiles(), Percentiles::default());
    }
}
