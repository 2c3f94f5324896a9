//! What stands before a packet in the tunnel: 12 bytes, big-endian.
//!
//! ```text
//! number u32 · code u32 · flow u16 · flags u16
//! ```
//!
//! Number and code together are what the packet is known by at both ends. The code is SipHash-2-4 under the key of the trial, cut
//! to 32 bits, of the rest of the header and of the packet: who does not have the key gets one packet of four thousand million in.
//! The lowest flag is the end that sent the packet, so that none can be reflected.

#![expect(deprecated, reason = "SipHasher is SipHash 2-4 for good; what DefaultHasher is may change")]

use std::hash::{Hasher, SipHasher};

use trialwise_capture::Key;

/// Bytes before a packet.
pub const HEADER: usize = 12;
const FROM_SECOND: u16 = 1;

/// Of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is known by.
    pub identity: u64,
    /// That it belongs to; 0 where none is noted.
    pub flow: u16,
}

/// Writes headers of one end, and reads those of the other.
#[derive(Debug)]
pub struct Sealer {
    key: Key,
    own: u16,
    number: u32,
}

impl Sealer {
    /// That of the first end (of `from`) or of the second.
    pub fn new(key: Key, is_first: bool) -> Self {
        Self { key, own: if is_first { 0 } else { FROM_SECOND }, number: 0 }
    }

    /// The header of the next packet, written into the first bytes of `datagram`, behind which the packet is; nothing when the
    /// numbers are used up.
    pub fn seal(&mut self, datagram: &mut [u8], flow: u16) -> Option<Header> {
        self.number = self.number.checked_add(1)?;
        let (head, packet) = datagram.split_first_chunk_mut::<HEADER>()?;
        head[..4].copy_from_slice(&self.number.to_be_bytes());
        head[8..10].copy_from_slice(&flow.to_be_bytes());
        head[10..].copy_from_slice(&self.own.to_be_bytes());
        let code = self.code(head, packet);
        head[4..8].copy_from_slice(&code);
        Some(Header { identity: identity(head), flow })
    }

    /// The header of a datagram of the other end; nothing for any other bytes.
    pub fn open(&self, datagram: &[u8]) -> Option<Header> {
        let (head, packet) = datagram.split_first_chunk::<HEADER>()?;
        let is_of_other = u16::from_be_bytes([head[10], head[11]]) == self.own ^ FROM_SECOND;
        if !is_of_other || head[4..8] != self.code(head, packet) {
            return None;
        }
        Some(Header { identity: identity(head), flow: u16::from_be_bytes([head[8], head[9]]) })
    }

    /// What a frame of the meeting is known by at both ends.
    pub(crate) fn identity_of(&self, frame: &[u8]) -> u64 {
        let mut hash = SipHasher::new_with_keys(self.key.0, self.key.1);
        hash.write(frame);
        hash.finish()
    }

    fn code(&self, head: &[u8; HEADER], packet: &[u8]) -> [u8; 4] {
        let mut hash = SipHasher::new_with_keys(self.key.0, self.key.1);
        hash.write(&head[..4]);
        hash.write(&head[8..]);
        hash.write(packet);
        (hash.finish() as u32).to_be_bytes()
    }
}

fn identity(head: &[u8; HEADER]) -> u64 {
    head[..8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(sealer: &mut Sealer, packet: &[u8], flow: u16) -> (Vec<u8>, Header) {
        let mut datagram = [&[0; HEADER], packet].concat();
        let header = sealer.seal(&mut datagram, flow).unwrap();
        (datagram, header)
    }

    #[test]
    fn the_other_end_reads_what_one_wrote_and_nobody_else() {
        let key = Key(1, 2);
        let (mut one, other) = (Sealer::new(key, true), Sealer::new(key, false));
        let (datagram, header) = sealed(&mut one, b"packet", 7);
        assert_eq!(other.open(&datagram), Some(header));
        assert_eq!(header.flow, 7);
        assert_eq!(one.open(&datagram), None, "reflected");
        assert_eq!(Sealer::new(Key(1, 3), false).open(&datagram), None, "another key");
        for bit in 0..8 * datagram.len() {
            let mut changed = datagram.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(other.open(&changed), None, "bit {bit}");
        }
        for length in 0..datagram.len() {
            assert_eq!(other.open(&datagram[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn equal_packets_are_known_apart_until_the_numbers_are_used_up() {
        let mut sealer = Sealer::new(Key(1, 2), true);
        let (first, second) = (sealed(&mut sealer, b"same", 1).1, sealed(&mut sealer, b"same", 1).1);
        assert_ne!(first.identity, second.identity);
        sealer.number = u32::MAX;
        assert_eq!(sealer.seal(&mut [0; 20], 1), None);
    }
}
