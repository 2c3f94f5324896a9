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
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { packets: u64::MAX, bytes: Bytes::new(u64::MAX) };

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
        backlog.packets <= self.packets && backlog.bytes <= self.bytes
    }

    /// Whether one more packet of `size` is within the limits.
    pub fn admits(&self, mut backlog: Tally, size: Bytes) -> bool {
        backlog.add(size);
        self.allows(backlog)
    }
}
