//! Loss of every n-th packet.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Seed, Time};

use crate::element::{Gate, Verdict};
use crate::loss::register::DeclaredLoss;
use crate::loss::verdict;

/// `every:100`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EverySpec {
    period: u64,
}

impl Declared for EverySpec {
    const FORMS: &'static [Form] = &[Form {
        name: "every",
        words: "Lose every n-th packet.",
        head: Some(Key { name: "n", takes: Takes::Count, words: "Packets per lost packet." }),
        keys: &[],
        example: "every:100",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { period: written.needed(written.count(HEAD)?, "a number of packets")? })
    }
}

impl DeclaredLoss for EverySpec {
    fn build(&self, _start: Time, _seed: Seed) -> Box<dyn Gate> {
        Box::new(Every { period: self.period, passed: 0 })
    }
}

struct Every {
    period: u64,
    passed: u64,
}

impl Gate for Every {
    fn judge(&mut self, _now: Time, _size: Bytes) -> Verdict {
        self.passed = (self.passed + 1) % self.period;
        verdict(self.passed == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossSpec;

    #[test]
    fn each_third_packet_is_lost() {
        let loss: LossSpec = "every:3".parse().unwrap();
        let mut gate = loss.build(Time::ZERO, Seed::new(1));
        let lost: Vec<_> = (0..7).map(|_| gate.judge(Time::ZERO, Bytes::ZERO) != Verdict::Pass).collect();
        assert_eq!(lost, [false, false, true, false, false, true, false]);
    }
}
