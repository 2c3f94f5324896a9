//! Headers out of bytes: frames written by hand, and any bytes at all.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use proptest::prelude::*;
use trialwise_capture::{Link, Transport, decode};

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Counts what this thread takes.
struct Counting;

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.with(|taken| taken.set(taken.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn ip_4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len() as u16).to_be_bytes();
    let fragment = fragment.to_be_bytes();
    let mut packet =
        vec![0x45, 0x10, length[0], length[1], 0x12, 0x34, fragment[0], fragment[1], 63, protocol];
    packet.extend([0xab, 0xcd, 192, 0, 2, 1, 192, 0, 2, 255]);
    packet.extend(payload);
    packet
}

fn ip_6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x6a, 0xb0, 0, 0, length[0], length[1], next, 64];
    packet.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    packet.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    packet.extend(payload);
    packet
}

const TCP: [u8; 24] =
    [0x1f, 0x90, 0xc3, 0x50, 1, 2, 3, 4, 5, 6, 7, 8, 0x60, 0x12, 0xff, 0xfe, 0xbe, 0xef, 0, 9, 2, 4, 5, 0xb4];
const UDP: [u8; 10] = [0, 53, 0x80, 0, 0, 10, 0x11, 0x22, 7, 7];

fn framed(types: &[u8], packet: &[u8]) -> Vec<u8> {
    [&ETHERNET[..], types, packet].concat()
}

#[test]
fn a_segment_of_tcp_in_a_frame_of_ethernet() {
    let headers = decode(Link::Ethernet, &framed(&[8, 0], &ip_4(6, 0x4000, &TCP)));
    let ip = headers.ip.unwrap();
    assert_eq!((ip.version, ip.service, ip.length, ip.header, ip.identification), (4, 0x10, 44, 20, 0x1234));
    assert_eq!((ip.fragment, ip.hops, ip.protocol, ip.checksum), (0x4000, 63, 6, 0xabcd));
    assert_eq!(
        (ip.source.to_string(), ip.destination.to_string()),
        ("192.0.2.1".into(), "192.0.2.255".into())
    );
    let Some(Transport::Tcp(tcp)) = headers.transport else { panic!("{headers:?}") };
    assert_eq!((tcp.source, tcp.destination), (8080, 50000));
    assert_eq!((tcp.sequence, tcp.acknowledgement), (0x0102_0304, 0x0506_0708));
    assert_eq!((tcp.header, tcp.flags, tcp.window, tcp.checksum, tcp.urgent), (24, 0x12, 0xfffe, 0xbeef, 9));
}

#[test]
fn tags_of_vlans_are_skipped_and_other_types_are_none() {
    let tagged = framed(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0], &ip_4(17, 0, &UDP));
    let Some(Transport::Udp(udp)) = decode(Link::Ethernet, &tagged).transport else { panic!() };
    assert_eq!((udp.source, udp.destination, udp.length, udp.checksum), (53, 32768, 10, 0x1122));
    assert_eq!(decode(Link::Ethernet, &framed(&[8, 6], &ip_4(17, 0, &UDP))).ip, None);
}

#[test]
fn a_later_fragment_has_no_transport_and_the_first_has() {
    let headers = decode(Link::Ip, &ip_4(17, 0x2001, &UDP));
    assert!(headers.ip.is_some() && headers.transport.is_none());
    assert!(decode(Link::Ip, &ip_4(17, 0x2000, &UDP)).transport.is_some());
    let fragment = |offset: u8| [&[17, 0, 0, offset | 1, 0, 0, 0, 9][..], &UDP].concat();
    let first = decode(Link::Ip, &ip_6(44, &fragment(0)));
    let ip = first.ip.unwrap();
    assert_eq!((ip.identification, ip.fragment, ip.protocol, ip.header), (9, 0x2000, 17, 48));
    assert!(first.transport.is_some());
    assert!(decode(Link::Ip, &ip_6(44, &fragment(8))).transport.is_none());
}

#[test]
fn headers_of_version_6_are_followed_to_the_transport() {
    let hops_then_options = [&[60, 0, 1, 4, 0, 0, 0, 0][..], &[6, 1], &[0; 14], &TCP].concat();
    let headers = decode(Link::Ip, &ip_6(0, &hops_then_options));
    let ip = headers.ip.unwrap();
    assert_eq!((ip.version, ip.service, ip.hops, ip.protocol), (6, 0xab, 64, 6));
    assert_eq!((ip.length, ip.header), (40 + 24 + 24, 64));
    assert_eq!(ip.destination.to_string(), "2001:db8::2");
    assert!(matches!(headers.transport, Some(Transport::Tcp(tcp)) if tcp.source == 8080));
}

#[test]
fn a_frame_of_the_radio() {
    let mut frame = vec![0, 0, 26, 0];
    frame.extend(0x8000_086f_u32.to_le_bytes()); // TSFT, flags, rate, channel, signal, noise, antenna, and one word more
    frame.extend(0_u32.to_le_bytes());
    frame.resize(16, 0);
    let fields: &[u8] = &[1, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0x6c, 9, 0, 0, 0xc4, 0xa1, 3];
    frame.extend(fields);
    frame[2] = frame.len() as u8;
    frame.extend([0x88, 1, 0, 0]);
    frame.extend([0xaa; 6].into_iter().chain([0xbb; 6]).chain([0xcc; 6]));
    frame.extend([0x30, 0x12, 0, 0]); // sequence 0x123, and the field of QoS
    frame.extend(b"\xaa\xaa\x03\0\0\0\x08\0");
    frame.extend(ip_4(17, 0, &UDP));
    let headers = decode(Link::Radiotap, &frame);
    let radio = headers.radiotap.unwrap();
    assert_eq!((radio.time, radio.rate, radio.frequency), (Some(1), Some(6_000_000), Some(2412)));
    assert_eq!(
        (radio.signal, radio.noise, radio.antenna, radio.power),
        (Some(-60), Some(-95), Some(3), None)
    );
    assert_eq!((radio.sequence, radio.fragment, radio.kind), (0x123, 0, 0x88));
    assert_eq!(radio.addresses, [[0xaa; 6], [0xbb; 6], [0xcc; 6]]);
    assert!(matches!(headers.transport, Some(Transport::Udp(udp)) if udp.source == 53));
}

/// A radiotap header with the field Flags alone, and a frame.
fn radio(flags: u8, frame: &[u8]) -> Vec<u8> {
    [&[0, 0, 9, 0, 2, 0, 0, 0, flags][..], frame].concat()
}

/// A data frame with a packet of UDP: its two bytes of frame control, and what stands between the sequence and the packet.
fn data(control: [u8; 2], between: &[u8]) -> Vec<u8> {
    let head = [&control[..], &[0, 0], &[0xaa; 6], &[0xbb; 6], &[0xcc; 6], &[0x30, 0x12]].concat();
    [&head[..], between, b"\xaa\xaa\x03\0\0\0\x08\0", &ip_4(17, 0, &UDP)].concat()
}

#[test]
fn headers_of_any_length_are_followed_to_the_packet() {
    let udp = |flags, control, between: &[u8]| {
        decode(Link::Radiotap, &radio(flags, &data(control, between))).transport.is_some()
    };
    assert!(udp(0, [0x08, 1], &[]));
    assert!(udp(0x10, [0x88, 1], &[0; 2]));
    assert!(udp(0, [0x88, 3], &[0; 8]), "between access points");
    assert!(udp(0, [0x88, 0x81], &[0; 6]), "with HT Control");
    assert!(udp(0, [0x08, 0x81], &[]), "ordered, without quality of service");
    assert!(udp(0x20, [0x88, 1], &[0; 4]), "padded to 28");
    assert!(udp(0x20, [0x88, 3], &[0; 8]), "32 need no padding");
    for (flags, control) in [(0x40, [0x08, 1]), (0, [0x08, 0x41]), (0, [0x48, 1])] {
        assert!(!udp(flags, control, &[]), "{flags} {control:?}");
    }
}

#[test]
fn frames_have_the_addresses_of_their_kind() {
    let bytes: Vec<u8> = (0..40).collect();
    let addresses = |kind: u8, length: usize| {
        let frame = [&[kind, 0], &bytes[2..length]].concat();
        let radio = decode(Link::Radiotap, &radio(0x10, &frame)).radiotap.unwrap();
        (radio.addresses.map(|address| address[0]), radio.sequence)
    };
    assert_eq!(addresses(0xd4, 14), ([4, 0, 0], 0), "an acknowledgement, with its checksum");
    assert_eq!(addresses(0xb4, 20), ([4, 10, 0], 0), "RTS");
    assert_eq!(addresses(0x94, 32), ([4, 10, 0], 0), "block acknowledgement");
    assert_eq!(addresses(0x80, 40), ([4, 10, 16], 0x171), "a beacon");
    assert_eq!(addresses(0x0c, 40), ([0; 3], 0), "a later kind");
}

#[test]
fn what_is_cut_off_is_not_there() {
    let whole = framed(&[8, 0], &ip_4(6, 0, &TCP));
    for length in 0..whole.len() {
        let headers = decode(Link::Ethernet, &whole[..length]);
        assert_eq!(headers.ip.is_some(), length >= 34, "{length}");
        assert_eq!(headers.transport.is_some(), length >= 54, "{length}");
    }
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    let six = (prop::sample::select(vec![0_u8, 6, 17, 43, 44, 51, 60]), bytes());
    prop_oneof![
        bytes(),
        six.prop_map(|(next, payload)| ip_6(next, &payload)),
        bytes().prop_map(|payload| framed(&[0x81, 0], &payload)),
        bytes().prop_map(|payload| [&[0, 0, 40, 0][..], &payload].concat()),
    ]
}

proptest! {
    #[test]
    fn no_bytes_panic_or_take_memory(frame in any_frame()) {
        for link in [Link::Ethernet, Link::Ip, Link::Radiotap] {
            let before = TAKEN.get();
            let headers = decode(link, &frame);
            prop_assert_eq!(TAKEN.get(), before);
            prop_assert!(headers.transport.is_none() || headers.ip.is_some());
        }
    }
}
