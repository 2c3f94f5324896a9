//! Corruption: packets whose bits change on the way, which their receiver drops.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Ecn, Seed, Time, elements};

use crate::element::{Cause, Gate, Verdict};
use crate::random::Random;

/// Corrupts each packet with the same probability. Its checksum is wrong from then on, and so nobody would take it: it is dropped
/// here, and counted apart from loss.
#[derive(Clone, Debug)]
pub struct Corruption {
    probability: f64,
    random: Random,
}

impl Corruption {
    /// Corruption with this probability.
    pub fn new(probability: f64, seed: Seed) -> Self {
        Self { probability, random: Random::new(seed) }
    }
}

impl Gate for Corruption {
    fn judge(&mut self, _now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        if self.random.chance(self.probability) { Verdict::Drop(Cause::Corrupt) } else { Verdict::Pass }
    }
}

/// `0.01%`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorruptedSpec {
    pub(crate) probability: f64,
}

elements! {
    /// Corruption as written.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum CorruptSpec of "corrupt", corrupt! {
        Corrupted(CorruptedSpec),
    }
}

impl Declared for CorruptedSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "Corrupt each packet independently of the others: its checksum is wrong, and it is dropped.",
        head: Some(Key {
            name: "share",
            takes: Takes::Share,
            words: "Share of packets corrupted; below 100 %.",
        }),
        keys: &[],
        example: "0.01%",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let probability = written.needed(written.share(HEAD)?, "a share")?;
        if probability < 1.0 {
            return Ok(Self { probability });
        }
        Err(written.bad(HEAD, "no packet would arrive whole; write less than 100%"))
    }
}

impl CorruptSpec {
    pub(crate) fn build(&self, seed: Seed) -> Corruption {
        corrupt!(self, spec => Corruption::new(spec.probability, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_corrupted_is_the_probability_and_is_no_loss() {
        let mut gate = "0.4%".parse::<CorruptSpec>().unwrap().build(Seed::new(1));
        let verdicts = (0..1_000_000).map(|_| gate.judge(Time::ZERO, Bytes::new(1500), Ecn::NotCapable));
        let corrupt = verdicts.filter(|verdict| *verdict == Verdict::Drop(Cause::Corrupt)).count();
        // 4000 of a million, five standard errors of 63.
        assert!(corrupt.abs_diff(4_000) < 316, "{corrupt}");
    }

    #[test]
    fn corrupting_everything_is_refused() {
        let message = |text: &str| text.parse::<CorruptSpec>().unwrap_err().to_string();
        assert!(message("100%").ends_with("write less than 100%"));
        assert!(message("").contains("needs a share"));
    }
}
