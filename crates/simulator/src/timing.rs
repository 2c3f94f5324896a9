//! How long bits take: exact picoseconds, or the nanoseconds of the reference simulator.

use trialwise_units::{Bytes, Duration, Rate};

const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

/// The unit of time in which delays are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantum {
    /// Picoseconds, rounded up.
    Picosecond,
    /// Whole nanoseconds, rounded down through binary fractions as ns-3 does it: at 100 Gbit/s links run one
    /// percent fast.
    NanosecondFloor,
}

impl Quantum {
    /// The time of `bytes` at `rate` bits per second; `Duration::MAX` at rate zero.
    #[inline]
    pub(crate) fn transmission(self, bytes: u64, rate: u64) -> Duration {
        match self {
            Self::Picosecond => exact_transmission(bytes, rate),
            Self::NanosecondFloor if rate == 0 => Duration::MAX,
            Self::NanosecondFloor => {
                Duration::from_nanoseconds(floor_to_nanoseconds((bytes * 8) as f64 / rate as f64))
            }
        }
    }
}

/// [`Rate::transmission_time`], by one division of 64 bits where that is enough (up to 2.3 MB).
fn exact_transmission(bytes: u64, rate: u64) -> Duration {
    match bytes.checked_mul(8_000_000_000_000) {
        Some(scaled) if rate > 0 => Duration::from_picoseconds(scaled.div_ceil(rate)),
        _ => Rate::from_bits_per_second(rate).transmission_time(Bytes::new(bytes)),
    }
}

/// Seconds as whole nanoseconds, by way of a fraction of 64 bits: `floor(floor(s (2^64 - 1)) 10^9 / 2^64)`
/// for the part below a second.
pub(crate) fn floor_to_nanoseconds(seconds: f64) -> u64 {
    let whole = seconds.trunc();
    let fraction = fraction_of_64_bits(seconds - whole);
    let below = ((u128::from(fraction) * NANOSECONDS_PER_SECOND) >> 64) as u64;
    whole as u64 * NANOSECONDS_PER_SECOND as u64 + below
}

/// `floor(fraction (2^64 - 1))` for a fraction in [0, 1), exactly.
fn fraction_of_64_bits(fraction: f64) -> u64 {
    let bits = fraction.to_bits();
    let exponent = bits >> 52;
    if exponent == 0 {
        return 0;
    }
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    let product = (mantissa << 64) - mantissa;
    let shift = 1075 - exponent as u32;
    if shift >= 128 { 0 } else { (product >> shift) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 100_000_000_000;

    #[test]
    fn the_reference_runs_one_percent_fast() {
        let nanoseconds = |bytes| Quantum::NanosecondFloor.transmission(bytes, LINE).nanoseconds();
        let sizes = [1048, 1056, 1090, 60, 88, 49];
        assert_eq!(sizes.map(nanoseconds), [83, 84, 87, 4, 7, 3]);
    }

    #[test]
    fn exact_times_agree_with_the_units() {
        for bytes in [1, 49, 1048, 1_000_000, 5_000_000] {
            let expected = Rate::from_bits_per_second(LINE).transmission_time(Bytes::new(bytes));
            assert_eq!(Quantum::Picosecond.transmission(bytes, LINE), expected);
        }
        assert_eq!(Quantum::Picosecond.transmission(1, 0), Duration::MAX);
    }

    #[test]
    fn a_decimal_time_may_lose_its_last_nanosecond() {
        assert_eq!(floor_to_nanoseconds(2.000_039_213), 2_000_039_212);
        assert_eq!(floor_to_nanoseconds(2.0), 2_000_000_000);
    }
}
