//! What a packet is known by wherever it is seen: a hash of what NAT, routers, ECN marking and offloads leave as it is.
//!
//! That is the protocol, the length of the payload, and of TCP the sequence and acknowledgement numbers, flags, time stamps and the
//! first bytes of data; of UDP and others the first bytes of the payload. Not addresses, ports and checksums (NAT changes them),
//! not the identification of ICMP's echo (NAT too), nor the flags PSH, ECE and CWR (offloads and routers move them). Without data,
//! window and selective acknowledgements of TCP tell repeated acknowledgements apart; with data, receive offload drops them.

#![expect(deprecated, reason = "SipHasher is SipHash 2-4 for good; what DefaultHasher is may change")]

use std::hash::{Hasher, SipHasher};

use crate::headers::{Transport, transport, word};
use crate::ip::Ip;

/// Of TCP: URG, ACK, RST, SYN, FIN.
const LASTING_FLAGS: u8 = 0x37;
const FIN: u8 = 0x01;
/// Bytes of data that are hashed.
const OF_TCP: usize = 32;
const OF_OTHERS: usize = 64;

/// The key of a run: who does not have it cannot make packets that look alike.
#[derive(Clone, Copy, Debug)]
pub struct Key(pub u64, pub u64);

impl Key {
    /// What a datagram of UDP is known by, from its payload.
    pub fn of_datagram(self, payload: &[u8]) -> u64 {
        let mut hash = self.hash(libc::IPPROTO_UDP as u8, payload.len());
        hash.write(first(payload, OF_OTHERS));
        hash.finish()
    }

    /// Of 32 hexadecimal digits.
    pub fn read(digits: &str) -> Option<Self> {
        let half = |range| u64::from_str_radix(digits.get(range)?, 16).ok();
        (digits.len() == 32).then(|| Some(Self(half(0..16)?, half(16..32)?)))?
    }

    fn hash(self, protocol: u8, length: usize) -> SipHasher {
        let mut hash = SipHasher::new_with_keys(self.0, self.1);
        hash.write(&[protocol]);
        hash.write(&(length as u32).to_be_bytes());
        hash
    }
}

/// A packet, as the wire has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is known by.
    pub identity: u64,
    /// Bytes of the IP packet.
    pub size: u32,
    /// Whether it came in one piece with others, and has their stamp.
    pub is_merged: bool,
}

/// A packet of IP that may be several in one.
struct Whole<'a> {
    ip: Ip,
    transport: Option<Transport>,
    /// Bytes of the headers together.
    headers: usize,
    /// Bytes of payload.
    length: usize,
    options: &'a [u8],
    /// As far as it was kept.
    payload: &'a [u8],
}

/// Takes a packet of IP apart into those that the wire has.
///
/// `bytes` are its first ones (all of them where it is several packets in one), `length` how many it has, `segment` how many bytes
/// of payload each has, or 0. Gives its header too; nothing where the bytes are no packet of IP. Any bytes will do.
pub fn parts(bytes: &[u8], length: u32, segment: u16, key: Key, mut take: impl FnMut(Part)) -> Option<Ip> {
    let whole = Whole::read(bytes, length as usize)?;
    let segment = usize::from(segment);
    let is_merged = segment > 0 && whole.length > segment && whole.transport.is_some();
    let each = if is_merged { segment } else { whole.length.max(1) };
    for start in (0..whole.length.max(1)).step_by(each) {
        let length = each.min(whole.length - start);
        let identity = whole.identity(start, length, key);
        take(Part { identity, size: (whole.headers + length) as u32, is_merged });
    }
    Some(whole.ip)
}

impl<'a> Whole<'a> {
    fn read(bytes: &'a [u8], length: usize) -> Option<Self> {
        let (ip, above) = Ip::read(bytes)?;
        let transport = above.and_then(|above| transport(&ip, above));
        let header = match transport {
            Some(Transport::Tcp(tcp)) => usize::from(tcp.header).max(20),
            Some(Transport::Udp(_)) => 8,
            None => 0,
        };
        let headers = ip.header as usize + header;
        // Frames are padded, and packets above 64 KiB do not say how long they are.
        let length = if ip.length == 0 { length } else { ip.length as usize };
        let above = above.or_else(|| bytes.get(ip.header as usize..)).unwrap_or_default();
        let payload = above.get(header..).unwrap_or_default();
        let options = above.get(20..header).unwrap_or_default();
        Some(Self { ip, transport, headers, length: length.saturating_sub(headers), options, payload })
    }

    /// What the packet is known by that has `length` bytes of the payload from `start` on.
    fn identity(&self, start: usize, length: usize, key: Key) -> u64 {
        let mut hash = key.hash(self.ip.protocol, length);
        let payload = self.payload.get(start..).unwrap_or_default();
        let payload = &payload[..payload.len().min(length)];
        match self.transport {
            Some(Transport::Tcp(tcp)) => {
                let is_last = start + length >= self.length;
                let flags = tcp.flags & LASTING_FLAGS & if is_last { u8::MAX } else { !FIN };
                hash.write(&tcp.sequence.wrapping_add(start as u32).to_be_bytes());
                hash.write(&tcp.acknowledgement.to_be_bytes());
                hash.write(&[flags]);
                write_options(self.options, length == 0, &mut hash);
                if length == 0 {
                    hash.write(&tcp.window.to_be_bytes());
                }
                hash.write(first(payload, OF_TCP));
            }
            Some(Transport::Udp(_)) => hash.write(first(payload, OF_OTHERS)),
            None => self.write_other(payload, &mut hash),
        }
        hash.finish()
    }

    fn write_other(&self, payload: &[u8], hash: &mut SipHasher) {
        /// Type and code; then checksum and identification, which NAT changes; then the sequence number and data.
        const ECHO: (usize, usize) = (2, 6);
        let is_icmp = matches!(i32::from(self.ip.protocol), libc::IPPROTO_ICMP | libc::IPPROTO_ICMPV6);
        let offset = self.ip.fragment & 0x1fff;
        hash.write(&offset.to_be_bytes());
        if is_icmp && offset == 0 {
            hash.write(first(payload, ECHO.0));
            hash.write(first(payload.get(ECHO.1..).unwrap_or_default(), OF_OTHERS));
        } else {
            hash.write(first(payload, OF_OTHERS));
        }
    }
}

fn first(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

/// The time stamps (RFC 7323) among options of TCP, and selective acknowledgements (RFC 2018) if they are wanted.
fn write_options(mut rest: &[u8], with_sack: bool, hash: &mut SipHasher) {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const SACK: u8 = 5;
    const STAMPS: u8 = 8;
    while let Some(kind) = rest.first().copied().filter(|kind| *kind != END) {
        if kind == NOTHING {
            rest = &rest[1..];
            continue;
        }
        let length = word(rest, 0).map_or(0, |both| usize::from(both & 0xff));
        let Some(option) = rest.get(..length).filter(|_| length >= 2) else { return };
        if kind == STAMPS || (kind == SACK && with_sack) {
            hash.write(option);
        }
        rest = &rest[length..];
    }
}
