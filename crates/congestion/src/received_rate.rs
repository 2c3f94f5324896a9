//! The rate at which packets arrive, by the receiver's clock.

use trialwise_units::{Duration, Time};

/// The rate of so long a time (draft-ietf-rmcat-gcc-02, section 5.5: between 0.5 and 1 s) in so many parts.
const SPAN: Duration = Duration::from_milliseconds(500);
const PARTS: usize = 50;

/// Bytes of the last half second, in fixed memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedRate {
    parts: [u64; PARTS],
    /// The part of the latest arrival, since the origin of time.
    latest: Option<u64>,
    first: u64,
    sum: u64,
}

impl Default for ReceivedRate {
    fn default() -> Self {
        Self { parts: [0; PARTS], latest: None, first: 0, sum: 0 }
    }
}

impl ReceivedRate {
    /// A packet arrived at this time, or, where that is not known, about when the last one did.
    pub(crate) fn add(&mut self, arrival: Option<Time>, bytes: u64) {
        let known = arrival.map(|time| time.nanoseconds() / (SPAN / PARTS as u64).nanoseconds());
        let Some(part) = known.or(self.latest) else { return };
        let latest = self.latest.unwrap_or_else(|| {
            self.first = part;
            part
        });
        if part + PARTS as u64 <= latest {
            return;
        }
        for passed in latest + 1..=part.min(latest + PARTS as u64) {
            self.sum -= std::mem::take(&mut self.parts[passed as usize % PARTS]);
        }
        self.latest = Some(part.max(latest));
        self.parts[part as usize % PARTS] += bytes;
        self.sum += bytes;
    }

    /// Bits per second; none until the first half second is over.
    pub(crate) fn rate(&self) -> Option<f64> {
        let is_over = self.latest? >= self.first + PARTS as u64;
        is_over.then(|| self.sum as f64 * 8.0 / SPAN.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_half_second() {
        let mut received = ReceivedRate::default();
        for at in 0..100 {
            received.add(Some(Time::from_milliseconds(10 * at)), 1250);
            assert_eq!(received.rate().is_some(), at >= 50);
        }
        assert_eq!(received.rate(), Some(1e6));
        // One that came late counts when it came, one of an unknown time as the last, and one of long ago not.
        received.add(Some(Time::from_milliseconds(600)), 1250);
        received.add(None, 1250);
        received.add(Some(Time::from_milliseconds(300)), 1250);
        assert_eq!(received.rate(), Some(1.04e6));
        received.add(Some(Time::from_milliseconds(1_000_000)), 1250);
        assert_eq!(received.rate(), Some(20_000.0));
    }
}
