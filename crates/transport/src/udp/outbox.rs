//! Packets of one connection that leave together.

use std::io;
use std::net::SocketAddr;

use crate::udp::socket::{EcnField, Socket};

/// The kernel takes so many segments (`UDP_MAX_SEGMENTS`), of so many bytes, at once.
const MAX_PACKETS: usize = 64;
const MAX_BYTES: usize = 65_000;

/// Packets of equal length, of which the last may be shorter.
pub(super) struct Outbox {
    bytes: Vec<u8>,
    length: usize,
    sent: usize,
    /// The length of all but the last.
    segment: usize,
    packets: usize,
    /// What the last slot was asked for.
    longest: usize,
    is_closed: bool,
    to: Option<SocketAddr>,
    field: Option<EcnField>,
}

impl Outbox {
    pub(super) fn new() -> Self {
        let bytes = vec![0; MAX_BYTES + 2048];
        let (length, sent, segment, packets, longest) = (0, 0, 0, 0, 0);
        Self { bytes, length, sent, segment, packets, longest, is_closed: false, to: None, field: None }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Says where the next packets go; to be called while it is empty.
    pub(super) fn address(&mut self, to: Option<SocketAddr>, field: Option<EcnField>) {
        (self.to, self.field) = (to, field);
    }

    /// Where the next packet of at most `length` bytes may be written; none where it must wait for [`Self::flush`].
    pub(super) fn slot(&mut self, length: usize) -> Option<&mut [u8]> {
        let has_room = self.packets < MAX_PACKETS && self.length + length <= MAX_BYTES;
        self.longest = length;
        (has_room && !self.is_closed).then(|| &mut self.bytes[self.length..])
    }

    /// The packet of this length has been written to the slot.
    pub(super) fn push(&mut self, length: usize) {
        if self.packets == 0 {
            self.segment = length;
        }
        // A longer one cannot follow.
        self.is_closed = length < self.longest;
        self.length += length;
        self.packets += 1;
    }

    /// Hands the packets to the kernel; whether it took all of them.
    pub(super) fn flush(&mut self, socket: &Socket) -> io::Result<bool> {
        while self.sent < self.length {
            let bytes = &self.bytes[self.sent..self.length];
            match socket.send(self.to.as_ref(), bytes, self.segment, self.field)? {
                0 => return Ok(false),
                count => self.sent += count,
            }
        }
        (self.length, self.sent, self.packets, self.is_closed) = (0, 0, 0, false);
        Ok(true)
    }
}
