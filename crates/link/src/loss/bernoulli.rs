//! Independent loss, at a constant or a recorded rate.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Ecn, Seed, Time};

use crate::element::{Gate, Verdict};
use crate::loss::register::{DeclaredLoss, refuse_all};
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
    fn judge(&mut self, _now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
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
    fn judge(&mut self, now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        let probability = self.cursor.at(now.since(self.start));
        verdict(self.random.chance(probability))
    }
}

/// `0.4%`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BernoulliSpec {
    /// Of each packet.
    pub(crate) probability: f64,
}

impl Declared for BernoulliSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "Lose each packet independently of the others.",
        head: Some(Key { name: "share", takes: Takes::Share, words: "Share of packets lost; below 100 %." }),
        keys: &[],
        example: "0.4%",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let probability = written.needed(written.share(HEAD)?, "a share")?;
        refuse_all(written, probability)?;
        Ok(Self { probability })
    }
}

impl DeclaredLoss for BernoulliSpec {
    fn build(&self, _start: Time, seed: Seed) -> Box<dyn Gate> {
        Box::new(Bernoulli::new(self.probability, seed))
    }
}

/// `series:FILE`
#[derive(Clone, Debug, PartialEq)]
pub struct VaryingLossSpec {
    pub(crate) series: Series<f64>,
}

impl Declared for VaryingLossSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "series",
        words: "Lose each packet with the probability that a recorded series gives for its time.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "Lines of a millisecond and a share, such as `0 1%`.",
        }),
        keys: &[],
        example: "series:FILE.losses",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { series: written.file(HEAD, Series::parse_fractions)? })
    }
}

impl DeclaredLoss for VaryingLossSpec {
    fn build(&self, start: Time, seed: Seed) -> Box<dyn Gate> {
        Box::new(VaryingLoss::new(&self.series, start, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(gate: &mut impl Gate, milliseconds: std::ops::Range<u64>) -> usize {
        let judge = |time: &u64| {
            gate.judge(Time::from_milliseconds(*time), Bytes::new(1500), Ecn::NotCapable) != Verdict::Pass
        };
        milliseconds.filter(judge).count()
    }

    #[test]
    fn the_share_lost_is_the_probability() {
        // 4000 of a million, five standard errors of 63.
        assert!(lost(&mut Bernoulli::new(0.004, Seed::new(1)), 0..1_000_000).abs_diff(4_000) < 316);
        assert_eq!(lost(&mut Bernoulli::new(0.0, Seed::new(1)), 0..10_000), 0);
    }

    #[test]
    fn a_series_changes_the_probability_with_time() {
        let series = Series::parse_fractions("0 0%\n1000 100%\n2000 50%\n").unwrap();
        let mut loss = VaryingLoss::new(&series, Time::from_milliseconds(500), Seed::new(1));
        assert_eq!([lost(&mut loss, 0..1_500), lost(&mut loss, 1_500..2_500)], [0, 1_000]);
        // Half of 10000, five standard errors of 50.
        assert!(lost(&mut loss, 2_500..12_500).abs_diff(5_000) < 250);
    }
}
