//! Smoothed round-trip time and retransmission time-out (RFC 6298).

use trialwise_units::Duration;

/// The estimator of RFC 6298, in integer picoseconds: drivers take their time-out from it, controllers their
/// smoothed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    minimum: Option<Duration>,
    latest: Option<Duration>,
}

impl RoundTrip {
    /// No sample yet.
    pub const fn new() -> Self {
        Self { smoothed: None, variation: Duration::ZERO, minimum: None, latest: None }
    }

    /// Takes a sample (sections 2.2 and 2.3: alpha = 1/8, beta = 1/4, the variation first).
    pub fn update(&mut self, sample: Duration) {
        self.latest = Some(sample);
        self.minimum = Some(self.minimum.map_or(sample, |minimum| minimum.min(sample)));
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = sample / 2;
            return;
        };
        let deviation = Duration::from_picoseconds(smoothed.picoseconds().abs_diff(sample.picoseconds()));
        self.variation = (self.variation * 3 + deviation) / 4;
        self.smoothed = Some((smoothed * 7 + sample) / 8);
    }

    /// `SRTT`; none before the first sample.
    pub const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// `RTTVAR`.
    pub const fn variation(&self) -> Duration {
        self.variation
    }

    /// The smallest sample of the whole flow.
    pub const fn minimum(&self) -> Option<Duration> {
        self.minimum
    }

    /// The last sample.
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// `RTO = SRTT + max(G, 4 RTTVAR)`, at least `floor` (section 2.3 and 2.4; the RFC's floor is a second,
    /// kernels use 200 ms, data centres less); none before the first sample. Back-off (section 5.5) is the
    /// driver's.
    pub fn timeout(&self, granularity: Duration, floor: Duration) -> Option<Duration> {
        self.smoothed.map(|smoothed| (smoothed + granularity.max(self.variation * 4)).max(floor))
    }
}

impl Default for RoundTrip {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_milliseconds(1);

    #[test]
    fn the_first_sample_sets_the_mean_and_half_of_it_the_variation() {
        let mut round_trip = RoundTrip::new();
        assert_eq!(round_trip.timeout(MILLISECOND, MILLISECOND), None);
        round_trip.update(MILLISECOND * 100);
        assert_eq!(round_trip.smoothed(), Some(MILLISECOND * 100));
        assert_eq!(round_trip.timeout(MILLISECOND, MILLISECOND), Some(MILLISECOND * 300));
    }

    #[test]
    fn later_samples_follow_the_formulas_of_the_rfc() {
        let mut round_trip = RoundTrip::new();
        round_trip.update(MILLISECOND * 100);
        round_trip.update(MILLISECOND * 180);
        assert_eq!(round_trip.smoothed(), Some(MILLISECOND * 110));
        assert_eq!(round_trip.variation(), Duration::from_microseconds(57_500));
        assert_eq!(round_trip.timeout(MILLISECOND, MILLISECOND), Some(MILLISECOND * 340));
        assert_eq!(round_trip.minimum(), Some(MILLISECOND * 100));
    }

    #[test]
    fn the_time_out_has_a_floor() {
        let mut round_trip = RoundTrip::new();
        round_trip.update(MILLISECOND);
        assert_eq!(round_trip.timeout(Duration::ZERO, MILLISECOND * 200), Some(MILLISECOND * 200));
    }
}
