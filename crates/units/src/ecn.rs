//! The ECN field of IP.

/// The ECN field (RFC 3168, section 5; RFC 9331, section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable (00).
    #[default]
    NotCapable,
    /// ECT(1) (01): its sender answers marks as L4S asks.
    Capable1,
    /// ECT(0) (10): its sender answers a mark as it answers a loss.
    Capable0,
    /// Congestion experienced (11).
    CongestionExperienced,
}

impl Ecn {
    /// The two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// The field of these two bits; higher ones, those of the DSCP, are not looked at.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::CongestionExperienced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_those_of_rfc_3168() {
        let fields = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced];
        assert_eq!(fields.map(Ecn::bits), [0b00, 0b01, 0b10, 0b11]);
        for (byte, ecn) in (0..=u8::MAX).zip(fields.into_iter().cycle()) {
            assert_eq!(Ecn::from_bits(byte), ecn);
        }
    }
}
