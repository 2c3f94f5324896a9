//! Who a packet is for: what a relay needs to know of it.

use std::net::{IpAddr, SocketAddr};

use crate::headers::{Differences, Kind, TCP, UDP, VNET, write_headers};

/// Where a packet is bound for, as far as whoever answers there goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A connection that is asked for, at this port.
    Connection(u16),
    /// A datagram, or the first part of one, for this port.
    Datagram(u16),
}

impl Destination {
    /// None of what belongs to what is there already, or has no ports.
    pub(crate) fn of(packet: &[u8]) -> Option<Self> {
        const SYN: u8 = 0x02;
        const ACK: u8 = 0x10;
        let (protocol, transport) = transport(packet)?;
        let port = u16::from_be_bytes([*transport.get(2)?, *transport.get(3)?]);
        match protocol {
            UDP => Some(Self::Datagram(port)),
            TCP if transport.get(13)? & (SYN | ACK) == SYN => Some(Self::Connection(port)),
            _ => None,
        }
    }
}

/// Protocol and transport header of what is not a later fragment.
fn transport(packet: &[u8]) -> Option<(u8, &[u8])> {
    const FRAGMENT: u8 = 44;
    match packet.first()? >> 4 {
        4 => {
            let later = u16::from_be_bytes([*packet.get(6)? & 0x1f, *packet.get(7)?]) != 0;
            let header = usize::from(packet[0] & 0xf) * 4;
            if later { None } else { Some((*packet.get(9)?, packet.get(header..)?)) }
        }
        6 if *packet.get(6)? == FRAGMENT => {
            let later = u16::from_be_bytes([*packet.get(42)?, *packet.get(43)? & 0xf8]) != 0;
            if later { None } else { Some((packet[40], packet.get(48..)?)) }
        }
        6 => Some((packet[6], packet.get(40..)?)),
        _ => None,
    }
}

/// Source and destination of a packet of TCP or UDP that is not a later fragment.
pub(crate) fn ends_of_connection(packet: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let ports = transport(packet)?.1.get(..4)?;
    let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
    let address = |at: usize| match packet[0] >> 4 {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(12 + 4 * at..16 + 4 * at)?).ok()?)),
        _ => Some(IpAddr::from(<[u8; 16]>::try_from(packet.get(8 + 16 * at..24 + 16 * at)?).ok()?)),
    };
    Some((SocketAddr::new(address(0)?, port(0)), SocketAddr::new(address(1)?, port(2))))
}

/// An empty datagram in one frame of [`VNET`] and headers.
pub(crate) fn empty_datagram(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut packet = vec![0; VNET];
    match (source.ip(), destination.ip()) {
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            packet.extend([0x60, 0, 0, 0, 0, 0, UDP, 64]);
            packet.extend(from.octets().into_iter().chain(to.octets()));
        }
        (from, to) => {
            let octets = |address: IpAddr| match address {
                IpAddr::V4(address) => address.octets(),
                IpAddr::V6(_) => [0; 4],
            };
            packet.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, UDP, 0, 0]);
            packet.extend(octets(from).into_iter().chain(octets(to)));
        }
    }
    let ip_header = packet.len() - VNET;
    let ports = [source.port(), destination.port()].map(u16::to_be_bytes);
    packet.extend(ports.concat());
    packet.extend([0; 4]);
    let (kind, ecn) = (Kind::Udp, 0);
    let plain = Differences { kind, ip_header, payload: 0, segment: 0, index: 0, sequence: 0, flags: 0, ecn };
    write_headers(&mut packet[VNET..], plain).write(&mut packet[..VNET]);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    /// From port 1000 of 10.0.0.1 to port 2000 of 10.0.0.2, with these flags and this word of fragments.
    fn packet(protocol: u8, flags: u8, fragment: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 40, 0, 1];
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0x03, 0xe8, 0x07, 0xd0, 0, 0, 0, 9, 0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        packet
    }

    /// The same in IPv6, with a fragment header before it when there is a word for it.
    fn packet_6(protocol: u8, flags: u8, fragment: Option<u16>) -> Vec<u8> {
        let next = if fragment.is_some() { 44 } else { protocol };
        let mut packet = vec![0x60, 0, 0, 0, 0, 20, next, 64];
        packet.extend([[0xfd; 16], [0xfe; 16]].concat());
        if let Some(word) = fragment {
            packet.extend([protocol, 0]);
            packet.extend(word.to_be_bytes());
            packet.extend([0; 4]);
        }
        packet.extend(&self::packet(protocol, flags, 0)[20..]);
        packet
    }

    #[test]
    fn only_what_opens_a_connection_or_may_be_the_first_datagram_has_a_destination() {
        let connection = Some(Destination::Connection(2000));
        let datagram = Some(Destination::Datagram(2000));
        assert_eq!(Destination::of(&packet(TCP, SYN, 0x4000)), connection);
        assert_eq!(Destination::of(&packet_6(TCP, SYN, None)), connection);
        for flags in [ACK, SYN | ACK, 0x01, 0x04] {
            assert_eq!(Destination::of(&packet(TCP, flags, 0)), None);
        }
        assert_eq!(Destination::of(&packet(UDP, 0, 0)), datagram);
        assert_eq!(Destination::of(&packet(UDP, 0, 0x2000)), datagram, "the first fragment of several");
        assert_eq!(Destination::of(&packet(UDP, 0, 0x2001)), None, "a later one");
        assert_eq!(Destination::of(&packet_6(UDP, 0, Some(1))), datagram);
        assert_eq!(Destination::of(&packet_6(UDP, 0, Some(8))), None);
        assert_eq!(Destination::of(&packet(1, 0, 0)), None, "ICMP has no ports");
        for length in 0..40 {
            let _ = Destination::of(&packet_6(TCP, SYN, Some(0))[..length]);
            assert_eq!(Destination::of(&packet(TCP, SYN, 0)[..length.min(33)]), None, "cut off");
        }
    }

    #[test]
    fn an_empty_datagram_goes_from_its_source_to_its_destination() {
        for (source, destination) in [("10.0.0.1:7", "100.64.64.1:53"), ("[fd00::1]:7", "[fd74::1]:53")] {
            let ends = (source.parse().unwrap(), destination.parse().unwrap());
            let frame = empty_datagram(ends.0, ends.1);
            let packet = &frame[VNET..];
            assert_eq!(ends_of_connection(packet), Some(ends));
            assert_eq!(Destination::of(packet), Some(Destination::Datagram(53)));
            let transport = packet.len() - 8;
            assert_eq!(packet[transport + 4..transport + 6], [0, 8], "a header and no more");
        }
    }
}
