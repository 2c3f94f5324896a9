//! A packet on a simulated path.

use trialwise_link::{Ecn, Packet};
use trialwise_protocol::frame::Frame;
use trialwise_units::{Bytes, Time};

/// A frame of the transport protocol in an IP packet that nobody has to write.
#[derive(Clone, Debug)]
pub(super) struct PathPacket {
    /// When it came to its link.
    pub(super) arrival: Time,
    /// Place of its flow.
    pub(super) flow: u16,
    /// Place of its connection.
    pub(super) connection: u32,
    /// Bytes of the IP packet.
    pub(super) size: u16,
    pub(super) ecn: Ecn,
    pub(super) is_copy: bool,
    pub(super) frame: Frame,
}

impl Packet for PathPacket {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn copy(&mut self) -> Self {
        Self { is_copy: true, ..self.clone() }
    }

    /// All connections of a sender share one socket, and so are one flow.
    fn flow(&self) -> u64 {
        u64::from(self.flow)
    }
}
