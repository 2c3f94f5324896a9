//! Corruption: packets whose bits change on the way, which their receiver drops, or does not notice.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Ecn, Seed, Time, elements};

use crate::element::{Cause, Gate, Verdict};
use crate::random::Random;

/// What is to be said of the checksum of a corrupted packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// It is wrong, and so nobody would take the packet: it is dropped here, and counted apart from loss.
    #[default]
    Keep,
    /// It fits the changed payload, as after a fault in the memory of a middlebox: the packet reaches the program.
    Fix,
}

/// Corrupts each packet with the same probability.
#[derive(Clone, Debug)]
pub struct Corruption {
    probability: f64,
    checksum: Checksum,
    random: Random,
}

impl Corruption {
    /// Corruption with this probability.
    pub fn new(probability: f64, checksum: Checksum, seed: Seed) -> Self {
        Self { probability, checksum, random: Random::new(seed) }
    }
}

impl Gate for Corruption {
    fn judge(&mut self, _now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        match (self.random.chance(self.probability), self.checksum) {
            (false, _) => Verdict::Pass,
            (true, Checksum::Keep) => Verdict::Drop(Cause::Corrupt),
            (true, Checksum::Fix) => Verdict::PassChanged(self.random.number()),
        }
    }
}

/// `0.01%` or `0.01%,checksum=fix`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorruptedSpec {
    pub(crate) probability: f64,
    pub(crate) checksum: Checksum,
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
        words: "Corrupt each packet independently of the others: its checksum is wrong, and it is dropped; or mended, and it arrives.",
        head: Some(Key {
            name: "share",
            takes: Takes::Share,
            words: "Share of packets corrupted; below 100 %.",
        }),
        keys: &[Key {
            name: "checksum",
            takes: Takes::Word(&["keep", "fix"]),
            words: "With fix, one bit of the payload changes and the checksum of TCP or UDP fits it, so that the program gets it; \
                    packets of other protocols or without payload pass as they are; default keep.",
        }],
        example: "0.01%",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let probability = written.needed(written.share(HEAD)?, "a share")?;
        if probability < 1.0 {
            let checksum = written.word("checksum", &[Checksum::Keep, Checksum::Fix])?.unwrap_or_default();
            return Ok(Self { probability, checksum });
        }
        Err(written.bad(HEAD, "no packet would arrive whole; write less than 100%"))
    }
}

impl CorruptSpec {
    pub(crate) fn build(&self, seed: Seed) -> Corruption {
        corrupt!(self, spec => Corruption::new(spec.probability, spec.checksum, seed))
    }

    /// Whether what it corrupts reaches the program.
    pub(crate) fn changes_payloads(&self) -> bool {
        corrupt!(self, spec => spec.checksum == Checksum::Fix)
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
    fn with_a_mended_checksum_the_same_packets_pass_changed_at_bits_all_over() {
        let verdicts = |text: &str| {
            let mut gate = text.parse::<CorruptSpec>().unwrap().build(Seed::new(1));
            (0..300_000)
                .map(|_| gate.judge(Time::ZERO, Bytes::new(1500), Ecn::NotCapable))
                .collect::<Vec<_>>()
        };
        let changed = verdicts("1%,checksum=fix").into_iter().filter_map(|verdict| match verdict {
            Verdict::PassChanged(which) => Some(f64::from(which.get()) / f64::from(u16::MAX)),
            _ => None,
        });
        let changed: Vec<f64> = changed.collect();
        // 3000 of 300000, five standard errors of 54.5; their mean is that of a uniform number, five of 0.0053.
        assert!(changed.len().abs_diff(3_000) < 273, "{}", changed.len());
        let mean = changed.iter().sum::<f64>() / changed.len() as f64;
        assert!((mean - 0.5).abs() < 0.027, "{mean}");
        let keep = "1%,checksum=keep";
        assert_eq!(verdicts(keep), verdicts("1%"));
    }

    #[test]
    fn corrupting_everything_is_refused() {
        let message = |text: &str| text.parse::<CorruptSpec>().unwrap_err().to_string();
        assert!(message("100%").ends_with("write less than 100%"));
        assert!(message("").contains("needs a share"));
    }
}
