//! What middleboxes do to the ECN field.

use trialwise_units::element::{Arguments, Declared, ElementError, Form};
use trialwise_units::{Bytes, Ecn, Time, elements};

use crate::element::{Cause, Gate, Verdict};

/// What a middlebox does to packets by their ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnGate {
    /// Clears the field, so that no mark arrives and no queue behind marks.
    Bleach,
    /// Drops what has ECT(1).
    DropCapable1,
}

impl Gate for EcnGate {
    fn judge(&mut self, _now: Time, _size: Bytes, ecn: Ecn) -> Verdict {
        match (self, ecn) {
            (_, Ecn::NotCapable) => Verdict::Pass,
            (Self::Bleach, _) => Verdict::PassAs(Ecn::NotCapable),
            (Self::DropCapable1, Ecn::Capable1) => Verdict::Drop(Cause::Filtered),
            (Self::DropCapable1, _) => Verdict::Pass,
        }
    }
}

elements! {
    /// What happens to the ECN field as written.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum EcnSpec of "ecn", ecn! {
        Gate(EcnGate),
    }
}

impl Declared for EcnGate {
    const FORMS: &'static [Form] = &[
        Form {
            name: "bleach",
            words: "Clear the ECN field of every packet, marks included.",
            head: None,
            keys: &[],
            example: "bleach",
        },
        Form {
            name: "drop-ect1",
            words: "Drop packets with ECT(1), which L4S senders set (RFC 9331).",
            head: None,
            keys: &[],
            example: "drop-ect1",
        },
    ];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(if written.name() == "bleach" { Self::Bleach } else { Self::DropCapable1 })
    }
}

impl EcnSpec {
    pub(crate) fn build(self) -> EcnGate {
        ecn!(self, gate => gate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced];

    fn verdicts(text: &str) -> [Verdict; 4] {
        let mut gate = text.parse::<EcnSpec>().unwrap().build();
        FIELDS.map(|ecn| gate.judge(Time::ZERO, Bytes::new(1500), ecn))
    }

    #[test]
    fn each_field_is_cleared_or_its_packet_dropped() {
        let cleared = Verdict::PassAs(Ecn::NotCapable);
        assert_eq!(verdicts("bleach"), [Verdict::Pass, cleared, cleared, cleared]);
        let (pass, drop) = (Verdict::Pass, Verdict::Drop(Cause::Filtered));
        assert_eq!(verdicts("drop-ect1"), [pass, drop, pass, pass]);
        assert!("bleech".parse::<EcnSpec>().unwrap_err().to_string().contains("did you mean `bleach`"));
    }
}
