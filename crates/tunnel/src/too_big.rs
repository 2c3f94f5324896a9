//! What a router would say of a packet that is too large for the path: "fragmentation needed" of ICMP (RFC 792, with the MTU as
//! RFC 1191, section 4, has it), or "packet too big" of ICMPv6 (RFC 4443, section 3.2).

use std::net::{Ipv4Addr, Ipv6Addr};

/// Who says it: an address of the tunnel that no program has.
const ROUTER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 254);
const ROUTER_6: Ipv6Addr = Ipv6Addr::new(0xfd74, 0x7269, 0x616c, 0, 0, 0, 0, 0xfe);
const HEADER: usize = 20;
const HEADER_6: usize = 40;
const ICMP: usize = 8;
/// Largest answer: RFC 1812, section 4.3.2.3, and RFC 4443, section 2.4 (c).
const LONGEST: usize = 576;
const LONGEST_6: usize = 1280;
const HOPS: u8 = 64;
const OFFSET: u16 = 0x1fff;

/// The answer to a packet that has a whole header of IPv4 or IPv6; nothing to the later fragments of one, which nobody could take
/// for theirs.
pub(crate) fn answer(packet: &[u8], mtu: u16) -> Option<Vec<u8>> {
    match packet.first()? >> 4 {
        4 => answer_v4(packet, mtu),
        6 => answer_v6(packet, mtu),
        _ => None,
    }
}

fn answer_v4(packet: &[u8], mtu: u16) -> Option<Vec<u8>> {
    const UNREACHABLE: u8 = 3;
    const FRAGMENTATION_NEEDED: u8 = 4;
    let head: &[u8; HEADER] = packet.first_chunk()?;
    if u16::from_be_bytes([head[6], head[7]]) & OFFSET != 0 {
        return None;
    }
    let quoted = &packet[..packet.len().min(LONGEST - HEADER - ICMP)];
    let length = (HEADER + ICMP + quoted.len()) as u16;
    let mut answer = vec![0x45, 0];
    answer.extend(length.to_be_bytes());
    answer.extend([0, 0, 0, 0, HOPS, libc::IPPROTO_ICMP as u8, 0, 0]);
    answer.extend(ROUTER.octets());
    answer.extend(&head[12..16]);
    let sum = !sum(&answer);
    answer[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut message = vec![UNREACHABLE, FRAGMENTATION_NEEDED, 0, 0, 0, 0];
    message.extend(mtu.to_be_bytes());
    message.extend(quoted);
    let sum = !self::sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    answer.extend(message);
    Some(answer)
}

fn answer_v6(packet: &[u8], mtu: u16) -> Option<Vec<u8>> {
    const TOO_BIG: u8 = 2;
    let head: &[u8; HEADER_6] = packet.first_chunk()?;
    let quoted = &packet[..packet.len().min(LONGEST_6 - HEADER_6 - ICMP)];
    let mut message = vec![TOO_BIG, 0, 0, 0];
    message.extend(u32::from(mtu).to_be_bytes());
    message.extend(quoted);
    // The pseudo-header of RFC 8200, section 8.1: addresses, length, next header.
    let mut summed = [&ROUTER_6.octets()[..], &head[8..24]].concat();
    summed.extend((message.len() as u32).to_be_bytes());
    summed.extend([0, 0, 0, libc::IPPROTO_ICMPV6 as u8]);
    summed.extend(&message);
    let sum = !sum(&summed);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut answer = vec![0x60, 0, 0, 0];
    answer.extend((message.len() as u16).to_be_bytes());
    answer.extend([libc::IPPROTO_ICMPV6 as u8, HOPS]);
    answer.extend(ROUTER_6.octets());
    answer.extend(&head[8..24]);
    answer.extend(message);
    Some(answer)
}

/// RFC 1071; a byte that is left over counts as if 0 came after it.
fn sum(bytes: &[u8]) -> u16 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut sum: u32 = pairs.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    sum += rest.first().map_or(0, |byte| u32::from(*byte) << 8);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet_v4(fragment: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0x05, 0xb4, 0, 1];
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, 6, 0, 0, 100, 64, 0, 1, 100, 64, 0, 2]);
        packet.resize(1460, 7);
        packet
    }

    #[test]
    fn a_packet_of_ipv4_is_answered_to_its_sender_with_the_mtu_and_its_beginning() {
        let (packet, dont_fragment) = (packet_v4(0x4000), [3, 4]);
        let answer = answer(&packet, 1360).unwrap();
        assert_eq!(answer.len(), 576);
        assert_eq!(answer[2..4], 576_u16.to_be_bytes());
        assert_eq!(answer[16..20], [100, 64, 0, 1]);
        assert_eq!(answer[20..22], dont_fragment);
        assert_eq!(answer[26..28], 1360_u16.to_be_bytes());
        assert_eq!(answer[28..], packet[..548]);
        assert_eq!((sum(&answer[..20]), sum(&answer[20..])), (0xffff, 0xffff));
    }

    #[test]
    fn a_packet_of_ipv6_is_answered_as_its_standard_says() {
        let mut packet = vec![0x60, 0, 0, 0, 0x05, 0xdc, 6, 64];
        packet.extend("fd74:7269:616c::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend("fd74:7269:616c::2".parse::<Ipv6Addr>().unwrap().octets());
        packet.resize(1540, 7);
        let answer = answer(&packet, 1400).unwrap();
        assert_eq!(answer.len(), 1280);
        assert_eq!(answer[4..8], [4, 216, 58, 64]);
        assert_eq!(answer[24..40], packet[8..24]);
        assert_eq!(answer[40..42], [2, 0]);
        assert_eq!(answer[44..48], 1400_u32.to_be_bytes());
        assert_eq!(answer[48..], packet[..1232]);
    }

    #[test]
    fn nothing_is_said_of_later_fragments_and_of_what_is_no_packet() {
        assert_eq!(answer(&packet_v4(1), 1360), None);
        assert!(answer(&packet_v4(0x2000), 1360).is_some(), "the first fragment");
        for short in [&[][..], &[0x45], &[0x60; 39], &[0x55; 60]] {
            assert_eq!(answer(short, 1360), None);
        }
    }
}
