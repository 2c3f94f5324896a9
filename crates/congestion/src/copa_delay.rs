//! The delays that Copa looks at (NSDI 2018, sections 2.1 and 2.2).

use trialwise_units::{Duration, Time};

use crate::RoundTrip;
use crate::sliding::{Extreme, SlidingExtreme};

/// Over how long `RTTmin` is taken (section 2.1: "we use the smaller of 10 seconds and the time since the
/// flow started").
const MINIMUM_SPAN: Duration = Duration::from_milliseconds(10_000);
/// Over how many round trips the largest time is taken (section 2.2).
const MAXIMUM_ROUND_TRIPS: u64 = 4;
/// "Nearly empty" is below this part of the swing of the delay (section 2.2): one in ten.
const EMPTY_PART: u64 = 10;

/// What one sample leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// `srtt`.
    pub(crate) smoothed: Duration,
    /// `RTTstanding`.
    pub(crate) standing: Duration,
    /// `dq = RTTstanding - RTTmin`.
    pub(crate) queueing: Duration,
    /// Section 2.2: `dq < 0.1 (RTTmax - RTTmin)`; also where both are zero, which the paper does not mention.
    pub(crate) nearly_empty: bool,
}

/// `srtt`, `RTTstanding`, `RTTmin` and `RTTmax`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    round_trip: RoundTrip,
    standing: SlidingExtreme,
    minimum: SlidingExtreme,
    maximum: SlidingExtreme,
}

impl Delays {
    pub(crate) const fn new() -> Self {
        Self {
            round_trip: RoundTrip::new(),
            standing: SlidingExtreme::new(Extreme::Minimum),
            minimum: SlidingExtreme::new(Extreme::Minimum),
            maximum: SlidingExtreme::new(Extreme::Maximum),
        }
    }

    /// Takes a sample: `RTTstanding` is the smallest of the last `srtt / 2`, `RTTmin` that of ten seconds,
    /// `RTTmax` the largest of four round trips.
    pub(crate) fn update(&mut self, now: Time, rtt: Duration) -> Sample {
        self.round_trip.update(rtt);
        let smoothed = self.round_trip.smoothed().unwrap_or(rtt);
        let standing = self.standing.update(now, rtt, smoothed / 2);
        let minimum = self.minimum.update(now, rtt, MINIMUM_SPAN);
        let maximum = self.maximum.update(now, rtt, smoothed * MAXIMUM_ROUND_TRIPS);
        let queueing = standing.saturating_sub(minimum);
        let nearly_empty = queueing * EMPTY_PART <= maximum.saturating_sub(minimum);
        Sample { smoothed, standing, queueing, nearly_empty }
    }
}
