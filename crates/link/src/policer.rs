//! A token-bucket policer.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Ecn, Rate, Time, elements};

use crate::element::{Cause, Gate, Verdict};
use crate::packet::FULL_PACKET;

/// Tokens are counted in bytes / (8 · 10¹²), so that a rate in bits per second fills whole ones in each
/// picosecond.
const TOKENS_PER_BYTE: u128 = 8_000_000_000_000;

/// Passes what the bucket pays for and drops the rest; the bucket fills at `rate` up to `burst`, and starts
/// full (the meter of RFC 2697 with one bucket, without queue or shaping).
#[derive(Clone, Debug)]
pub struct Policer {
    rate: Rate,
    capacity: u128,
    tokens: u128,
    updated: Time,
}

impl Policer {
    /// A policer whose bucket is full at `start`.
    pub fn new(rate: Rate, burst: Bytes, start: Time) -> Self {
        let capacity = u128::from(burst.get()) * TOKENS_PER_BYTE;
        Self { rate, capacity, tokens: capacity, updated: start }
    }

    fn refill(&mut self, now: Time) {
        let filled = u128::from(self.rate.bits_per_second()) * u128::from((now - self.updated).picoseconds());
        self.tokens = (self.tokens + filled).min(self.capacity);
        self.updated = self.updated.max(now);
    }
}

impl Gate for Policer {
    fn judge(&mut self, now: Time, size: Bytes, _ecn: Ecn) -> Verdict {
        self.refill(now);
        match self.tokens.checked_sub(u128::from(size.get()) * TOKENS_PER_BYTE) {
            None => Verdict::Drop(Cause::Policed),
            Some(left) => {
                self.tokens = left;
                Verdict::Pass
            }
        }
    }
}

/// `12Mbit/s,burst=15kB`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucketSpec {
    /// At what rate the bucket fills.
    pub(crate) rate: Rate,
    /// How much it holds.
    pub(crate) burst: Bytes,
}

elements! {
    /// A policer as written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PolicerSpec of "policer", policer! {
        TokenBucket(TokenBucketSpec),
    }
}

impl Declared for TokenBucketSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "Drop packets that exceed a rate and a burst (RFC 2697 with one bucket).",
        head: Some(Key { name: "rate", takes: Takes::Rate, words: "Rate at which the bucket fills." }),
        keys: &[Key {
            name: "burst",
            takes: Takes::Size,
            words: "Size of the bucket, at least one full packet; required.",
        }],
        example: "12Mbit/s,burst=15kB",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let rate = written.needed(written.rate(HEAD)?, "a rate")?;
        let burst = written.needed(written.size("burst")?, "a burst")?;
        if burst < FULL_PACKET {
            return Err(written.bad("burst", "no full packet would ever pass; write at least 1500"));
        }
        Ok(Self { rate, burst })
    }
}

impl PolicerSpec {
    pub(crate) fn build(&self, start: Time) -> Policer {
        policer!(self, spec => Policer::new(spec.rate, spec.burst, start))
    }

    /// What passes in the long run.
    pub fn rate(&self) -> Rate {
        policer!(self, spec => spec.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_passes_a_burst_and_then_the_rate() {
        let mut policer = Policer::new(Rate::from_megabits_per_second(12), Bytes::new(4_500), Time::ZERO);
        let mut passes = |picoseconds| {
            policer.judge(Time::from_picoseconds(picoseconds), Bytes::new(1_500), Ecn::NotCapable)
                == Verdict::Pass
        };
        assert_eq!([0; 4].map(&mut passes), [true, true, true, false]);
        // 1500 bytes at 12 Mbit/s take exactly a millisecond.
        assert_eq!([999_999_999, 1_000_000_000, 1_000_000_001].map(&mut passes), [false, true, false]);
        assert_eq!([60_000_000_000; 4].map(&mut passes), [true, true, true, false]);
    }
}
