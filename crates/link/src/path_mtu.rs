//! A narrow hop: packets larger than it carries vanish.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Ecn, Time, elements};

use crate::element::{Cause, Gate, Verdict};

/// The smallest that every hop carries (RFC 791 section 3.2).
const LEAST: Bytes = Bytes::new(68);

/// Drops what is larger than a hop carries, and tells nobody: a black hole (RFC 2923 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlackHole {
    most: Bytes,
}

impl Gate for BlackHole {
    fn judge(&mut self, _now: Time, size: Bytes, _ecn: Ecn) -> Verdict {
        if size > self.most { Verdict::Drop(Cause::Filtered) } else { Verdict::Pass }
    }
}

elements! {
    /// The path MTU as written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PathMtuSpec of "pmtu", pmtu! {
        BlackHole(BlackHole),
    }
}

impl Declared for BlackHole {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "Drop packets larger than this without an ICMP message: the ends must find out by themselves (RFC 4821, RFC 8899).",
        head: Some(Key {
            name: "size",
            takes: Takes::Size,
            words: "The largest IP packet that passes, at least 68 bytes; less than the MTU of the ends.",
        }),
        keys: &[Key {
            name: "icmp",
            takes: Takes::Word(&["no"]),
            words: "That nobody is told; the default, and the only choice.",
        }],
        example: "1400,icmp=no",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let most = written.needed(written.size(HEAD)?, "a size")?;
        written.word("icmp", &[()])?;
        if most < LEAST {
            return Err(written.bad(HEAD, "every hop carries 68 bytes; write as many or more"));
        }
        Ok(Self { most })
    }
}

impl PathMtuSpec {
    pub(crate) fn build(self) -> BlackHole {
        pmtu!(self, gate => gate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_vanishes() {
        let mut gate = "1400,icmp=no".parse::<PathMtuSpec>().unwrap().build();
        let mut judge = |size| gate.judge(Time::ZERO, Bytes::new(size), Ecn::NotCapable);
        assert_eq!([68, 1400].map(&mut judge), [Verdict::Pass; 2]);
        assert_eq!([1401, 9000].map(judge), [Verdict::Drop(Cause::Filtered); 2]);
        let message = |text: &str| text.parse::<PathMtuSpec>().unwrap_err().to_string();
        assert!(message("67").contains("68"));
        assert!(message("1400,icmp=yes").contains("no"));
    }
}
