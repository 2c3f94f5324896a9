//! What packets are known by: the same at both ends, whatever NAT, routers and offloads do, and another for another packet.

#![expect(deprecated, reason = "the hash of identities")]

use std::hash::{Hasher, SipHasher};

use proptest::prelude::*;
use trialwise_capture::{Key, Part, parts};

const KEY: Key = Key(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4];
const SACK: [u8; 12] = [1, 1, 5, 10, 0, 0, 9, 9, 0, 0, 9, 99];

/// A packet of TCP and what around it may change.
#[derive(Clone)]
struct Packet {
    addresses: [u8; 8],
    ports: [u8; 4],
    service: u8,
    ttl: u8,
    identification: u8,
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    window: u16,
    options: Vec<u8>,
    data: Vec<u8>,
}

impl Packet {
    fn new(data: &[u8]) -> Self {
        Self {
            addresses: [10, 0, 0, 1, 192, 0, 2, 1],
            ports: [0xc3, 0x50, 0x1f, 0x90],
            service: 2,
            ttl: 64,
            identification: 1,
            sequence: 1000,
            acknowledgement: 2000,
            flags: ACK,
            window: 500,
            options: STAMPS.to_vec(),
            data: data.to_vec(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let header = 20 + self.options.len();
        let length = (20 + header + self.data.len()) as u16;
        let mut bytes = vec![0x45, self.service];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, self.identification, 0x40, 0, self.ttl, 6, 7, 7]);
        bytes.extend(self.addresses);
        bytes.extend(self.ports);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.acknowledgement.to_be_bytes());
        bytes.extend([(header as u8 / 4) << 4, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([self.ttl, 3, 0, 0]);
        bytes.extend(&self.options);
        bytes.extend(&self.data);
        bytes
    }

    fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut packet = self.clone();
        change(&mut packet);
        packet
    }

    fn identity(&self) -> u64 {
        one(&self.bytes())
    }
}

fn split(bytes: &[u8], segment: u16) -> Vec<Part> {
    let mut found = Vec::new();
    parts(bytes, bytes.len() as u32, segment, KEY, |part| found.push(part)).expect("a packet of IP");
    found
}

fn one(bytes: &[u8]) -> u64 {
    let found = split(bytes, 0);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].size as usize, found[0].is_merged), (bytes.len(), false));
    found[0].identity
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Appendix A of Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
#[test]
fn the_hash_is_siphash_2_4() {
    let mut hash = SipHasher::new_with_keys(KEY.0, KEY.1);
    hash.write(&std::array::from_fn::<u8, 15, _>(|at| at as u8));
    assert_eq!(hash.finish(), 0xa129_ca61_49be_45e5);
}

#[test]
fn nat_routers_and_marks_change_nothing() {
    let packet = Packet::new(&data(100));
    let there = packet.changed(|packet| {
        packet.addresses = [203, 0, 113, 9, 192, 168, 1, 7];
        packet.ports = [1, 2, 3, 4];
        packet.ttl = 51;
        packet.service = 3;
        packet.identification = 9;
        packet.flags |= ECE | CWR | PSH;
    });
    assert_eq!(there.identity(), packet.identity());
}

#[test]
fn what_makes_another_packet_makes_another_identity() {
    let packet = Packet::new(&data(100));
    let others = [
        packet.changed(|packet| packet.sequence += 1),
        packet.changed(|packet| packet.acknowledgement += 1),
        packet.changed(|packet| packet.flags |= FIN),
        packet.changed(|packet| packet.options[7] += 1),
        packet.changed(|packet| packet.data[31] += 1),
        packet.changed(|packet| packet.data.push(0)),
        packet.changed(|packet| packet.options.clear()),
    ];
    let mut found: Vec<u64> = others.iter().map(Packet::identity).chain([packet.identity()]).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), others.len() + 1);
    let mut other_key = Vec::new();
    parts(&packet.bytes(), 0, 0, Key(1, 2), |part| other_key.push(part.identity));
    assert_ne!(other_key, [packet.identity()]);
}

#[test]
fn repeated_acknowledgements_differ_by_window_and_what_came_beyond() {
    let packet = Packet::new(&[]);
    let other_window = packet.changed(|packet| packet.window += 1);
    assert_ne!(other_window.identity(), packet.identity());
    let selective = packet.changed(|packet| packet.options.extend(SACK));
    let further = selective.changed(|packet| packet.options[23] += 1);
    assert_ne!(selective.identity(), further.identity());
    // With data, receive offload keeps the window of one packet alone.
    let with_data = Packet::new(&data(10));
    assert_eq!(with_data.changed(|packet| packet.window += 1).identity(), with_data.identity());
}

#[test]
fn segments_are_known_by_what_they_are_on_the_wire() {
    let data = data(3300);
    let whole = Packet::new(&data).changed(|packet| packet.flags |= FIN | PSH | CWR);
    let found = split(&whole.bytes(), 1448);
    let wire: Vec<(u64, u32)> = data
        .chunks(1448)
        .enumerate()
        .map(|(place, chunk)| {
            let is_last = place == 2;
            let segment = whole.changed(|packet| {
                packet.sequence += 1448 * place as u32;
                packet.data = chunk.to_vec();
                packet.flags = ACK | if is_last { FIN | PSH } else { 0 } | if place == 0 { CWR } else { 0 };
            });
            (segment.identity(), segment.bytes().len() as u32)
        })
        .collect();
    assert_eq!(found.iter().map(|part| (part.identity, part.size)).collect::<Vec<_>>(), wire);
    assert!(found.iter().all(|part| part.is_merged));
    let exact = Packet::new(&data[..1448]);
    assert_eq!(split(&exact.bytes(), 1448).len(), 1);
    assert_eq!(one(&exact.bytes()), split(&exact.bytes(), 1448)[0].identity);
}

fn udp(ports: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(ports);
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([ports[0], 5]);
    bytes.extend(payload);
    bytes
}

#[test]
fn datagrams_are_known_by_their_first_bytes() {
    let payload = data(2500);
    assert_eq!(one(&udp([1, 2, 3, 4], &payload)), one(&udp([9, 9, 9, 9], &payload)));
    let mut other = payload.clone();
    other[63] += 1;
    assert_ne!(one(&udp([1, 2, 3, 4], &other)), one(&udp([1, 2, 3, 4], &payload)));
    let found = split(&udp([1, 2, 3, 4], &payload), 1000);
    let wire: Vec<u64> = payload.chunks(1000).map(|chunk| one(&udp([5, 6, 7, 8], chunk))).collect();
    assert_eq!(found.iter().map(|part| part.identity).collect::<Vec<_>>(), wire);
    assert_eq!(found.iter().map(|part| part.size).collect::<Vec<_>>(), [1028, 1028, 528]);
}

#[test]
fn an_echo_is_known_by_its_number_and_data() {
    let echo = |identification: u8, sequence: u8, checksum: u8| {
        let mut bytes = vec![0x45, 0, 0, 36, 0, 1, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([8, 0, checksum, 0, 0, identification, 0, sequence, 1, 2, 3, 4, 5, 6, 7, 8]);
        one(&bytes)
    };
    assert_eq!(echo(1, 5, 0), echo(2, 5, 9), "NAT changes identification and checksum");
    assert_ne!(echo(1, 5, 0), echo(1, 6, 0));
}

/// Frames of Ethernet have 46 bytes at least: what is behind the packet is none of it.
#[test]
fn padding_is_no_part_of_a_packet() {
    let packet = Packet::new(&[]).bytes();
    let padded = [&packet[..], &[0; 6]].concat();
    let mut found = Vec::new();
    parts(&padded, padded.len() as u32, 0, KEY, |part| found.push(part));
    assert_eq!(found, split(&packet, 0));
}

/// The same packet, kept to its first bytes: headers and 64 bytes of payload are enough.
#[test]
fn first_bytes_are_enough() {
    let bytes = Packet::new(&data(1400)).bytes();
    let mut found = Vec::new();
    parts(&bytes[..52 + 64], bytes.len() as u32, 0, KEY, |part| found.push(part));
    assert_eq!(found, split(&bytes, 0));
}

#[test]
fn what_is_no_packet_of_ip_has_no_parts() {
    for bytes in [&[][..], &[0x45, 0, 0], &[0x12; 60]] {
        assert!(parts(bytes, 60, 0, KEY, |_| panic!("a part")).is_none());
    }
}

proptest! {
    #[test]
    fn any_bytes_will_do(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200), version in prop_oneof![Just(4_u8), Just(6)],
        length in prop_oneof![0_u32..300, any::<u32>().prop_map(|length| length % (1 << 18))], segment: u16,
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | 5;
        }
        let mut sizes = 0_u64;
        let mut count = 0_u64;
        let ip = parts(&bytes, length, segment, KEY, |part| {
            sizes += u64::from(part.size);
            count += 1;
        });
        prop_assert_eq!(ip.is_some(), count > 0);
        prop_assert!(count <= 1 << 18);
    }

    #[test]
    fn segments_cover_the_packet(length in 1_usize..9000, segment in 1_u16..2000, syn: bool) {
        let packet = Packet::new(&data(length)).changed(|packet| packet.flags |= if syn { SYN } else { 0 });
        let found = split(&packet.bytes(), segment);
        let payload: usize = found.iter().map(|part| part.size as usize - 52).sum();
        prop_assert_eq!(payload, length);
        prop_assert_eq!(found.len(), length.div_ceil(usize::from(segment)));
    }
}
