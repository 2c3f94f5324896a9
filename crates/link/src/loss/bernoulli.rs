//! Independent loss, at a constant or a recorded rate.

use trialwise_units::{Bytes, Seed, Time};

use crate::element::{Gate, Verdict};
use crate::loss::verdict;
use crate::random::Random;
use crate::series::{Cursor, Series};

/// Drops each packet with the same probability, independently of the others (mm-loss).
#[derive(Clone, Debug)]
pub struct Bernoulli {
    probability: f64,
    random: Random,
}

impl Bernoulli {
    /// Loss with this probability.
    pub fn new(probability: f64, seed: Seed) -> Self {
        Self { probability, random: Random::new(seed) }
    }
}

impl Gate for Bernoulli {
    fn judge(&mut self, _now: Time, _size: Bytes) -> Verdict {
        verdict(self.random.chance(self.probability))
    }
}

/// Drops each packet independently, with the probability that a series states for its instant.
#[derive(Clone, Debug)]
pub struct VaryingLoss {
    cursor: Cursor<f64>,
    start: Time,
    random: Random,
}

impl VaryingLoss {
    /// Loss by a series whose millisecond 0 is at `start`.
    pub fn new(series: &Series<f64>, start: Time, seed: Seed) -> Self {
        Self { cursor: series.cursor(), start, random: Random::new(seed) }
    }
}

impl Gate for VaryingLoss {
    fn judge(&mut self, now: Time, _size: Bytes) -> Verdict {
        let probability = self.cursor.at(now.since(self.start));
        verdict(self.random.chance(probability))
    }
}
