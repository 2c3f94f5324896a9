//! Loss that is given packet by packet.

use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Ecn, Seed, Time};

use crate::element::{Gate, Verdict};
use crate::loss::register::DeclaredLoss;
use crate::loss::verdict;
use crate::trace::Repeat;

/// Which packets are lost, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    lost: Arc<[bool]>,
}

/// Text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// No packet at all.
    #[error(
        "the loss pattern is empty; write 0 for a packet that passes and 1 for one that is lost, such as 0001"
    )]
    Empty,
    /// A letter that means nothing.
    #[error(
        "line {line} of the loss pattern has `{found}`; write 0 for a packet that passes and 1 for one that is lost"
    )]
    Unknown {
        /// Counted from 1.
        line: usize,
        /// The letter.
        found: char,
    },
}

impl Pattern {
    /// Which packets are lost.
    pub fn lost(&self) -> &[bool] {
        &self.lost
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    /// Reads 0 (passes) and 1 (lost), in one line or, as a recorded trace, one for each line.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let mut lost = Vec::new();
        for (index, line) in text.lines().enumerate() {
            for letter in line.chars().filter(|letter| !letter.is_whitespace()) {
                match letter {
                    '0' => lost.push(false),
                    '1' => lost.push(true),
                    found => return Err(PatternError::Unknown { line: index + 1, found }),
                }
            }
        }
        if lost.is_empty() { Err(PatternError::Empty) } else { Ok(Self { lost: lost.into() }) }
    }
}

/// Drops the packets that a pattern names; after its end it starts again, or everything passes.
#[derive(Clone, Debug)]
pub struct PatternLoss {
    pattern: Pattern,
    repeat: Repeat,
    index: usize,
}

impl PatternLoss {
    /// Loss by this pattern.
    pub fn new(pattern: Pattern, repeat: Repeat) -> Self {
        Self { pattern, repeat, index: 0 }
    }
}

impl Gate for PatternLoss {
    fn judge(&mut self, _now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        let lost = self.pattern.lost.get(self.index).copied().unwrap_or(false);
        self.index = (self.index + 1).min(self.pattern.lost.len());
        if self.repeat == Repeat::Forever && self.index == self.pattern.lost.len() {
            self.index = 0;
        }
        verdict(lost)
    }
}

/// `pattern:0001`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternSpec {
    pub(crate) pattern: Pattern,
}

impl Declared for PatternSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "pattern",
        words: "A digit for each packet, repeated.",
        head: Some(Key {
            name: "digits",
            takes: Takes::Other("digits 0 and 1"),
            words: "0 for a packet that passes, 1 for one that is lost.",
        }),
        keys: &[],
        example: "pattern:0001",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let text = written.with(HEAD, str::parse)?;
        Ok(Self { pattern: written.needed(text, "a digit for each packet, 0 or, for one that is lost, 1")? })
    }
}

impl DeclaredLoss for PatternSpec {
    fn build(&self, _start: Time, _seed: Seed) -> Box<dyn Gate> {
        Box::new(PatternLoss::new(self.pattern.clone(), Repeat::Forever))
    }
}

/// `trace:FILE,repeat=no`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLossSpec {
    pub(crate) pattern: Pattern,
    pub(crate) repeat: Repeat,
}

impl Declared for RecordedLossSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "trace",
        words: "A recorded digit for each packet.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "Digits: 0 for a packet that passes, 1 for one that is lost.",
        }),
        keys: &[Key {
            name: "repeat",
            takes: Takes::Flag,
            words: "Whether to start again after the end; default no.",
        }],
        example: "trace:FILE.pattern",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let repeat = Repeat::after(written.flag("repeat")?.unwrap_or(false));
        Ok(Self { pattern: written.file(HEAD, str::parse)?, repeat })
    }
}

impl DeclaredLoss for RecordedLossSpec {
    fn build(&self, _start: Time, _seed: Seed) -> Box<dyn Gate> {
        Box::new(PatternLoss::new(self.pattern.clone(), self.repeat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(text: &str, repeat: Repeat, count: usize) -> String {
        let mut loss = PatternLoss::new(text.parse().unwrap(), repeat);
        (0..count)
            .map(|_| {
                if loss.judge(Time::ZERO, Bytes::ZERO, Ecn::NotCapable) == Verdict::Pass { '0' } else { '1' }
            })
            .collect()
    }

    #[test]
    fn a_pattern_repeats_or_ends() {
        assert_eq!(fates("001", Repeat::Forever, 8), "00100100");
        assert_eq!(fates("0\n1\n1\n", Repeat::Once, 6), "011000");
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert_eq!(" \n".parse::<Pattern>(), Err(PatternError::Empty));
        assert_eq!("01\n0x".parse::<Pattern>(), Err(PatternError::Unknown { line: 2, found: 'x' }));
    }
}
