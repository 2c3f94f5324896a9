//! How much a queue may hold.

use trialwise_units::Bytes;

use crate::packet::Tally;

/// Limits of a queue; both hold at once, as in mm-link. The packet that is being sent has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// At most so many packets.
    pub packets: u64,
    /// At most so many bytes.
    pub bytes: Bytes,
    /// Whether one packet alone may have more bytes: of limits that do not follow from the size of packets.
    pub spares_one: bool,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { packets: u64::MAX, bytes: Bytes::new(u64::MAX), spares_one: false };

    /// At most so many packets.
    pub const fn packets(packets: u64) -> Self {
        Self { packets, ..Self::NONE }
    }

    /// At most so many bytes.
    pub const fn bytes(bytes: Bytes) -> Self {
        Self { bytes, ..Self::NONE }
    }

    /// Whether a backlog is within the limits: what just reaches a limit is.
    pub fn allows(&self, backlog: Tally) -> bool {
        let spares = self.spares_one && backlog.packets <= 1;
        backlog.packets <= self.packets && (backlog.bytes <= self.bytes || spares)
    }

    /// Whether one more packet of `size` is within the limits.
    pub fn admits(&self, mut backlog: Tally, size: Bytes) -> bool {
        backlog.add(size);
        self.allows(backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_is_spared_where_the_limit_says_so() {
        let limit = Limit::bytes(Bytes::new(1500));
        let spared = Limit { spares_one: true, ..limit };
        let waiting = Tally { packets: 1, bytes: Bytes::new(100) };
        assert!(!limit.admits(Tally::default(), Bytes::new(1538)));
        assert!(spared.admits(Tally::default(), Bytes::new(9038)));
        assert!(!spared.admits(waiting, Bytes::new(1401)));
        assert!(spared.admits(waiting, Bytes::new(1400)));
        assert!(!Limit { packets: 0, ..spared }.admits(Tally::default(), Bytes::new(40)));
    }
}
