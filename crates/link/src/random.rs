//! Pseudo-random numbers: PCG64 DXSM (the generator that NumPy calls `PCG64DXSM`), seeded by name.
//!
//! Distributions are computed here, with `libm` in place of the platform's functions, so that a seed gives
//! the same numbers on every machine and with every version of the generator's crates.

use std::num::NonZeroU16;

use rand_core::Rng;
use rand_pcg::Pcg64Dxsm;
use trialwise_units::{Duration, Seed};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(Pcg64Dxsm);

impl Random {
    pub(crate) fn new(seed: Seed) -> Self {
        let word = |name| u128::from(seed.named(name).get());
        Self(Pcg64Dxsm::new(word("state high") << 64 | word("state low"), word("stream")))
    }

    /// A uniform number in [0, 1): the upper 53 bits of a word.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A uniform number that is not zero.
    pub(crate) fn number(&mut self) -> NonZeroU16 {
        let number = 1 + (self.uniform() * f64::from(u16::MAX)) as u16;
        NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
    }

    /// Whether an event of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// An exponential number of mean 1, by inversion.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// A standard normal number (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// An exponential span of this mean, at least a nanosecond, so that time goes on.
    pub(crate) fn exponential_span(&mut self, mean: Duration) -> Duration {
        Duration::from_seconds(mean.as_seconds() * self.exponential()).max(Duration::from_nanoseconds(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = Random::new(Seed::new(7));
        let words: Vec<u64> = (0..3).map(|_| random.0.next_u64()).collect();
        assert_eq!(words, GOLDEN);
    }

    /// What NumPy's `PCG64DXSM` gives from the same state and increment.
    const GOLDEN: [u64; 3] =
        [1_166_269_296_930_832_029, 3_833_588_366_777_445_981, 11_690_202_344_747_904_209];

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(Seed::new(1));
        let count = 200_000;
        let (mut exponential, mut normal, mut square) = (0.0, 0.0, 0.0);
        for _ in 0..count {
            exponential += random.exponential();
            let value = random.normal();
            normal += value;
            square += value * value;
        }
        // Five standard errors of each mean.
        let error = 5.0 / f64::from(count).sqrt();
        assert!((exponential / f64::from(count) - 1.0).abs() < error);
        assert!((normal / f64::from(count)).abs() < error);
        assert!((square / f64::from(count) - 1.0).abs() < error * 2.0_f64.sqrt());
    }
}
