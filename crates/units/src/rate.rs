//! Bit rates.

use std::fmt;

use crate::{Bytes, Duration};

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Nothing passes.
    pub const ZERO: Self = Self(0);

    /// `bits` per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// `megabits` (10^6 bits) per second.
    pub const fn from_megabits_per_second(megabits: u64) -> Self {
        Self(megabits.saturating_mul(1_000_000))
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The time that `size` takes on a wire of this rate, rounded up to a picosecond; `Duration::MAX` at rate zero.
    pub const fn transmission_time(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bits = size.get() as u128 * 8;
        Duration::from_picoseconds(saturated((bits * PICOSECONDS_PER_SECOND).div_ceil(self.0 as u128)))
    }

    /// The whole bytes that pass in `span`.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        Bytes::new(saturated(self.0 as u128 * span.picoseconds() as u128 / (8 * PICOSECONDS_PER_SECOND)))
    }
}

const fn saturated(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_120_ns_at_100_gigabit() {
        let rate = Rate::from_megabits_per_second(100_000);
        assert_eq!(rate.transmission_time(Bytes::new(1500)), Duration::from_nanoseconds(120));
    }

    #[test]
    fn what_no_number_holds_is_the_largest() {
        let (slow, fast) = (Rate::from_bits_per_second(1), Rate::from_bits_per_second(u64::MAX));
        assert_eq!(slow.transmission_time(Bytes::new(1 << 40)), Duration::MAX);
        assert_eq!(fast.bytes_in(Duration::MAX), Bytes::new(u64::MAX));
        assert_eq!(Duration::from_milliseconds(u64::MAX), Duration::MAX);
    }

    #[test]
    fn what_takes_a_time_passes_in_that_time() {
        let rate = Rate::from_bits_per_second(12_345_678);
        let size = Bytes::new(1_000_003);
        assert_eq!(rate.bytes_in(rate.transmission_time(size)), size);
    }
}
