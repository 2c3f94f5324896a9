//! What a link must know of a packet, and how packets are counted.

use std::num::NonZeroU16;
use std::ops::{AddAssign, Sub};

use trialwise_units::element::{Arguments, ElementError};
use trialwise_units::{Bytes, Ecn};

/// An IP packet that fills a frame of Ethernet.
pub(crate) const FULL_PACKET: Bytes = Bytes::new(1500);
/// Of bytes that are added up again and again, this many at most.
pub(crate) const MAX_BYTES: Bytes = Bytes::new(u32::MAX as u64);

/// Bytes of a key that are added up again and again: at most 4 GiB, so that no sum of them overflows.
pub(crate) fn bounded(
    written: &Arguments<'_>,
    key: &str,
    given: Option<Bytes>,
    what: &str,
) -> Result<Option<Bytes>, ElementError> {
    if given.is_some_and(|bytes| bytes > MAX_BYTES) {
        return Err(written.bad(key, format!("more than {} bytes are not {what}", MAX_BYTES.get())));
    }
    Ok(given)
}

/// A packet as a link sees it: its size, its ECN field and its flow.
///
/// Links move packets from ring to ring: let it be small, such as a handle of a buffer.
pub trait Packet: Clone + Send + 'static {
    /// The size on the wire: for IP traffic the length of the IP packet.
    fn size(&self) -> Bytes;

    /// The ECN field of the IP header (RFC 3168 section 5); not capable when the packet has none.
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }

    /// Writes the ECN field; called only on packets that say they are ECN-capable.
    fn set_ecn(&mut self, _ecn: Ecn) {}

    /// Changes one bit of the payload, chosen by a random number, and mends the checksum; whether the packet has such a bit.
    fn change_bit(&mut self, _which: NonZeroU16) -> bool {
        false
    }

    /// Another packet of the same content, which says of itself that it is a copy.
    fn copy(&mut self) -> Self {
        self.clone()
    }

    /// A hash of the flow (for IP: of the 5-tuple), the same for every packet of one flow.
    fn flow(&self) -> u64 {
        0
    }

    /// Whether the packet belongs to the flow that the path's user knows by this number, such as a port.
    fn is_of(&self, flow: u16) -> bool {
        self.flow() == u64::from(flow)
    }
}

/// Marks the packet instead of dropping it, when it is ECN-capable: whether it now carries CE. A queue of RFC 3168 takes ECT(0) and
/// ECT(1) alike (section 5); one that does not looks at [`Packet::ecn`] first.
pub(crate) fn mark_congestion<P: Packet>(packet: &mut P) -> bool {
    match packet.ecn() {
        Ecn::NotCapable => false,
        Ecn::CongestionExperienced => true,
        Ecn::Capable0 | Ecn::Capable1 => {
            packet.set_ecn(Ecn::CongestionExperienced);
            true
        }
    }
}

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// Their sizes together.
    pub bytes: Bytes,
}

impl Tally {
    /// Counts one packet of this size.
    pub fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }

    /// Takes one packet of this size out again.
    pub fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}
