//! Headers out of a frame: a pure function of its bytes, however many there are.

use crate::ip::{Ip, Tcp, Udp};
use crate::radiotap::{self, Radiotap};

/// How frames of an interface begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// With an Ethernet header, also with VLAN tags (IEEE 802.1Q).
    Ethernet,
    /// With that of IP.
    Ip,
    /// With a radiotap header and that of IEEE 802.11.
    Radiotap,
}

impl Link {
    /// That of the kernel's `ARPHRD_` number, where it is decoded.
    pub const fn of_hardware(number: u16) -> Option<Self> {
        const RAW_IP: u16 = 519;
        const NONE: u16 = 0xFFFE;
        Some(match number {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Self::Ethernet,
            libc::ARPHRD_IEEE80211_RADIOTAP => Self::Radiotap,
            libc::ARPHRD_TUNNEL | libc::ARPHRD_TUNNEL6 | libc::ARPHRD_SIT | RAW_IP | NONE => Self::Ip,
            _ => return None,
        })
    }
}

/// What is above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// RFC 9293.
    Tcp(Tcp),
    /// RFC 768.
    Udp(Udp),
}

/// The headers that a frame has, as far as it reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Headers {
    /// Of the radio.
    pub radiotap: Option<Radiotap>,
    /// Of IP, version 4 or 6.
    pub ip: Option<Ip>,
    /// Behind it.
    pub transport: Option<Transport>,
}

/// Reads the headers of a frame, of which `bytes` are the first. Takes no memory; any bytes will do.
pub fn decode(link: Link, bytes: &[u8]) -> Headers {
    let mut headers = Headers::default();
    let packet = match link {
        Link::Radiotap => radiotap::read(bytes).and_then(|(radiotap, packet)| {
            headers.radiotap = Some(radiotap);
            packet
        }),
        Link::Ip | Link::Ethernet => network(link, bytes),
    };
    if let Some((ip, above)) = packet.and_then(Ip::read) {
        headers.ip = Some(ip);
        headers.transport = above.and_then(|above| transport(&ip, above));
    }
    headers
}

/// The packet of IP in a frame, from its first byte on.
pub(crate) fn network(link: Link, bytes: &[u8]) -> Option<&[u8]> {
    match link {
        Link::Ip => Some(bytes),
        Link::Ethernet => ethernet(bytes),
        Link::Radiotap => radiotap::read(bytes)?.1,
    }
}

/// The packet in an Ethernet frame, if it is one of IP.
fn ethernet(bytes: &[u8]) -> Option<&[u8]> {
    const ADDRESSES: usize = 12;
    let mut rest = bytes.get(ADDRESSES..)?;
    // 802.1Q and 802.1ad: four bytes each, the type of what follows at their end.
    while matches!(word(rest, 0)?, 0x8100 | 0x88a8) {
        rest = rest.get(4..)?;
    }
    is_ip(word(rest, 0)?).then(|| &rest[2..])
}

/// Whether a type of Ethernet's is IPv4 or IPv6.
pub(crate) const fn is_ip(ether_type: u16) -> bool {
    matches!(ether_type, 0x0800 | 0x86dd)
}

pub(crate) fn transport(ip: &Ip, above: &[u8]) -> Option<Transport> {
    match i32::from(ip.protocol) {
        libc::IPPROTO_TCP => Tcp::read(above).map(Transport::Tcp),
        libc::IPPROTO_UDP => Udp::read(above).map(Transport::Udp),
        _ => None,
    }
}

/// Two bytes, the high one first.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Four bytes, the highest first.
pub(crate) fn double_word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
