//! Payloads that change on the way while their checksums are right.

use std::num::NonZeroU16;

use super::{MIN_IP, NEEDS_CHECKSUM, TCP, UDP, VNET, VnetHeader, fold, transport_header};

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Where the payload of TCP or UDP starts in a packet, and what keeps its checksum right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Payload {
    start: usize,
    mend: Mend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mend {
    /// The checksum, which is at this place.
    Checksum(usize),
    /// Another word of the payload: the checksum is in another fragment.
    Word,
    /// There is no checksum (RFC 768).
    Nothing,
}

/// Where the transport header of a packet is, or what follows it in a later fragment.
#[derive(Clone, Copy, Debug)]
struct Transport {
    start: usize,
    protocol: u8,
    is_later_fragment: bool,
}

/// Whether the packet has a payload of TCP or UDP of which a bit can change so that no checksum tells.
pub(crate) fn has_payload(packet: &[u8]) -> bool {
    payload(packet).is_some()
}

/// Changes one bit of the payload of the packet in a frame, and mends the checksum of TCP or UDP unless the kernel left it open.
/// In a fragment that has no checksum another word of the payload changes with it, so that their sum stays the same.
pub(crate) fn change_bit(frame: &mut [u8], which: NonZeroU16) {
    let is_open = VnetHeader::read(frame).flags & NEEDS_CHECKSUM != 0;
    let packet = &mut frame[VNET..];
    let Some(Payload { start, mend }) = payload(packet) else { return };
    let bits = (packet.len() - start) * 8;
    let bit = usize::from(which.get() - 1) * bits / usize::from(u16::MAX);
    // Transport headers have even lengths, so that words start where the payload starts.
    let at = start + bit / 16 * 2;
    let before = word(packet, at);
    packet[start + bit / 8] ^= 1 << (bit % 8);
    let after = word(packet, at);
    let place = match mend {
        Mend::Checksum(place) if !is_open => place,
        Mend::Word if at == start => start + 2,
        Mend::Word => start,
        Mend::Checksum(_) | Mend::Nothing => return,
    };
    let mended = fold(u32::from(word(packet, place)) + u32::from(before) + u32::from(!after));
    packet[place..place + 2].copy_from_slice(&mended.to_be_bytes());
}

/// Two bytes in network order; beyond the end are zeros (RFC 1071).
fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet.get(at + 1).copied().unwrap_or(0)])
}

fn payload(packet: &[u8]) -> Option<Payload> {
    let Transport { start, protocol, is_later_fragment } = transport(packet)?;
    let rest = packet.get(start..)?;
    if is_later_fragment {
        // Two words at least, one to change and one to mend.
        let is_known = protocol == TCP || protocol == UDP;
        return (is_known && rest.len() >= 4).then_some(Payload { start, mend: Mend::Word });
    }
    let header = transport_header(protocol, rest);
    if header == 0 || rest.len() <= header {
        return None;
    }
    let checksum = start + if protocol == UDP { 6 } else { 16 };
    let has_none = protocol == UDP && word(packet, checksum) == 0;
    let mend = if has_none { Mend::Nothing } else { Mend::Checksum(checksum) };
    Some(Payload { start: start + header, mend })
}

fn transport(packet: &[u8]) -> Option<Transport> {
    match packet.first()? >> 4 {
        4 if packet.len() >= MIN_IP => {
            let is_later_fragment = u16::from_be_bytes([packet[6] & 0x1f, packet[7]]) != 0;
            let start = usize::from(packet[0] & 0xf) * 4;
            (start >= MIN_IP).then_some(Transport { start, protocol: packet[9], is_later_fragment })
        }
        6 if packet.len() >= 40 => behind_extensions(packet),
        _ => None,
    }
}

/// RFC 8200 section 4.
fn behind_extensions(packet: &[u8]) -> Option<Transport> {
    let (mut start, mut protocol, mut is_later_fragment) = (40, packet[6], false);
    while matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION) && !is_later_fragment {
        let header = packet.get(start..start + 8)?;
        start += if protocol == FRAGMENT { 8 } else { 8 * (1 + usize::from(header[1])) };
        is_later_fragment = protocol == FRAGMENT && u16::from_be_bytes([header[2], header[3]]) >> 3 != 0;
        protocol = header[0];
    }
    Some(Transport { start, protocol, is_later_fragment })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(bytes: &[u8]) -> u16 {
        let words =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
        !fold(words.sum())
    }

    /// The transport header and payload, with a checksum over them and the pseudo header.
    fn with_checksum(addresses: &[u8], protocol: u8, mut transport: Vec<u8>, at: usize) -> Vec<u8> {
        let sum = transport_sum(addresses, protocol, &transport);
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        transport
    }

    fn transport_sum(addresses: &[u8], protocol: u8, transport: &[u8]) -> u16 {
        let length = u16::try_from(transport.len()).unwrap();
        checksum(&[addresses, &[0, protocol], &length.to_be_bytes(), transport].concat())
    }

    fn header(protocol: u8) -> Vec<u8> {
        match protocol {
            UDP => vec![3, 0xe8, 7, 0xd0, 0, 0, 0, 0],
            _ => [&[3, 0xe8, 7, 0xd0, 0, 0, 0, 9, 0, 0, 0, 1, 0x60, 0x18][..], &[1; 2], &[0; 4], &[1; 4]]
                .concat(),
        }
    }

    /// IPv4, or IPv6 with such extension headers, of these bytes of the transport; `place`: the fragment's offset in bytes.
    fn packet(version: u8, extensions: &[u8], protocol: u8, transport: &[u8], place: u16) -> Vec<u8> {
        if version == 4 {
            let mut header =
                vec![0x45, 0, 0, 0, 0x12, 0x34, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            header[6..8].copy_from_slice(&(place / 8).to_be_bytes());
            return [&header, transport].concat();
        }
        let next = if extensions.is_empty() { protocol } else { HOP_BY_HOP };
        let mut header = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        header.extend((0..32).map(|byte| byte * 3));
        [&header, extensions, transport].concat()
    }

    fn addresses(version: u8) -> Vec<u8> {
        if version == 4 { vec![10, 0, 0, 1, 10, 0, 0, 2] } else { (0..32).map(|byte| byte * 3).collect() }
    }

    fn changed(packet: &[u8], which: u16) -> Vec<u8> {
        let mut frame = [&[0; VNET][..], packet].concat();
        change_bit(&mut frame, NonZeroU16::new(which).unwrap());
        frame.split_off(VNET)
    }

    fn bits(one: &[u8], other: &[u8]) -> u32 {
        one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum()
    }

    #[test]
    fn one_bit_of_the_payload_is_another_and_the_checksum_right() {
        // Hop-by-hop options of 16 bytes, then the transport.
        for (version, protocol, length) in [(4, TCP, 301), (4, UDP, 8), (6, TCP, 1), (6, UDP, 1000)] {
            for extended in [false, true].into_iter().filter(|extended| version == 6 || !extended) {
                let extensions = [&[protocol, 1][..], &[0; 14]].concat();
                let payload: Vec<u8> = (0..length).map(|byte: u32| (byte * 7) as u8).collect();
                let checksum_at = if protocol == UDP { 6 } else { 16 };
                let own = addresses(version);
                let transport =
                    with_checksum(&own, protocol, [header(protocol), payload.clone()].concat(), checksum_at);
                let whole =
                    packet(version, if extended { &extensions } else { &[] }, protocol, &transport, 0);
                assert!(has_payload(&whole));
                for which in [1, 2, 777, 30_000, u16::MAX] {
                    let after = changed(&whole, which);
                    let transport = &after[after.len() - transport.len()..];
                    assert_eq!(bits(&transport[transport.len() - payload.len()..], &payload), 1);
                    assert_eq!(transport_sum(&own, protocol, transport), 0, "{version} {protocol} {which}");
                    assert_eq!(
                        after[..whole.len() - transport.len()],
                        whole[..whole.len() - transport.len()]
                    );
                }
                assert_ne!(changed(&whole, 1), changed(&whole, u16::MAX));
            }
        }
    }

    #[test]
    fn fragments_add_up_to_a_datagram_with_a_right_checksum() {
        let payload: Vec<u8> = (0..2_000_u32).map(|byte| (byte * 5) as u8).collect();
        for payload in [payload, vec![0; 2_000], vec![0xff; 2_000]] {
            let whole = with_checksum(&addresses(4), UDP, [header(UDP), payload].concat(), 6);
            let fragments = [(0, &whole[..1_200]), (1_200, &whole[1_200..])];
            for which in [1, 9_999, u16::MAX] {
                for at in 0..2 {
                    let parts = fragments.map(|(place, part)| packet(4, &[], UDP, part, place));
                    let parts: Vec<Vec<u8>> = parts
                        .iter()
                        .enumerate()
                        .map(|(index, part)| if index == at { changed(part, which) } else { part.clone() })
                        .collect();
                    let found = [&parts[0][20..], &parts[1][20..]].concat();
                    assert_ne!(found[8..], whole[8..]);
                    assert_eq!(transport_sum(&addresses(4), UDP, &found), 0, "fragment {at}, {which}");
                }
            }
        }
        // IPv6: next header, reserved, offset 1200 and no more, identification.
        let extension = [FRAGMENT, 0, 0, 0, 0, 0, 0, 0, UDP, 0, 4, 0xb0, 0, 0, 0, 1];
        let later = packet(6, &extension, UDP, &[7; 100], 0);
        let after = changed(&later, 1);
        assert_eq!(after[..56], later[..56]);
        assert_eq!(checksum(&after[56..]), checksum(&later[56..]));
        assert_ne!(after, later);
    }

    #[test]
    fn what_has_no_checksum_or_an_open_one_keeps_it() {
        let none = packet(4, &[], UDP, &[header(UDP), vec![1; 10]].concat(), 0);
        let after = changed(&none, 5);
        assert_eq!((bits(&none, &after), &after[26..28]), (1, &[0, 0][..]));
        let open = [
            &[NEEDS_CHECKSUM][..],
            &[0; VNET - 1],
            &packet(4, &[], TCP, &[header(TCP), vec![1; 10]].concat(), 0),
        ]
        .concat();
        let mut frame = open.clone();
        change_bit(&mut frame, NonZeroU16::MIN);
        assert_eq!(bits(&open, &frame), 1);
    }

    #[test]
    fn what_has_no_payload_or_no_known_transport_stays_as_it_is() {
        let without = packet(4, &[], TCP, &header(TCP), 0);
        let echo = packet(4, &[], 1, &[8; 64], 0);
        let short = packet(4, &[], UDP, &[1; 3], 1_200);
        let endless = packet(6, &[HOP_BY_HOP, 255, 0, 0, 0, 0, 0, 0], UDP, &[], 0);
        for packet in [&without[..], &echo, &short, &endless, &[], &[0x45], &[0x60; 39], &[0xff; 64]] {
            assert!(!has_payload(packet));
            assert_eq!(changed(packet, 99), packet);
        }
    }
}
