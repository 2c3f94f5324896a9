//! The headers of a frame: virtio-net (Virtual I/O Device 1.2, section 5.1.6), IP, TCP and UDP.

mod changed;

pub(crate) use changed::{change_bit, has_payload};

/// Length of a virtio-net header.
pub(crate) const VNET: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// FIN, PSH: of the last segment only (RFC 9293 section 3.1).
pub(crate) const LAST_ONLY: u8 = 0x01 | 0x08;
/// CWR: of the first segment only (RFC 3168 section 6.1.2).
pub(crate) const FIRST_ONLY: u8 = 0x80;
/// SYN, RST, URG, CWR: what is never joined.
pub(crate) const NEVER_JOINED: u8 = 0x02 | 0x04 | 0x20 | FIRST_ONLY;

/// The header that the kernel puts before every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    pub(crate) flags: u8,
    pub(crate) gso_type: u8,
    pub(crate) header: u16,
    pub(crate) gso_size: u16,
    pub(crate) checksum_start: u16,
    pub(crate) checksum_offset: u16,
}

/// RFC 791, section 3.1.
const MIN_IP: usize = 20;
/// RFC 9293, section 3.1.
const MIN_TCP: usize = 20;

impl VnetHeader {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            header: word(2),
            gso_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    pub(crate) fn write(self, bytes: &mut [u8]) {
        bytes[0] = self.flags;
        bytes[1] = self.gso_type;
        let words = [self.header, self.gso_size, self.checksum_start, self.checksum_offset];
        for (index, word) in words.into_iter().enumerate() {
            bytes[2 + 2 * index..4 + 2 * index].copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// The header for the same packet with so many more bytes before it.
    pub(crate) fn moved(self, bytes: i16) -> Self {
        let header = if self.header == 0 { 0 } else { self.header.saturating_add_signed(bytes) };
        let open = self.flags & NEEDS_CHECKSUM != 0;
        let checksum_start =
            if open { self.checksum_start.saturating_add_signed(bytes) } else { self.checksum_start };
        Self { header, checksum_start, ..self }
    }
}

/// How a frame can be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As it is.
    Whole,
    /// Segments of TCP, whose checksum the kernel left open.
    Tcp,
    /// Segments of UDP, whose checksum the kernel left open.
    Udp,
}

/// What is known of a packet from its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// Bytes of the IP header.
    pub(crate) ip_header: u8,
    /// Bytes of the IP and the transport header.
    pub(crate) header: u8,
    /// Payload of a full segment.
    pub(crate) segment: u16,
    /// The ECN field.
    pub(crate) ecn: u8,
    /// Protocol, ports and a hash of the addresses, the same in both directions (see [`flow`]).
    pub(crate) flow: u64,
}

impl Shape {
    /// The shape of a packet with the header that came before it.
    pub(crate) fn of(vnet: VnetHeader, packet: &[u8]) -> Self {
        let internet = Internet::of(packet).unwrap_or_default();
        let ip_header = internet.header;
        let header = transport_header(internet.protocol, &packet[ip_header.min(packet.len())..]);
        let open = vnet.flags & NEEDS_CHECKSUM != 0 && usize::from(vnet.checksum_start) == ip_header;
        let kind = match (internet.protocol, vnet.gso_type & 0x7f) {
            (TCP, GSO_NONE | GSO_TCP4 | GSO_TCP6) if open && header > 0 => Kind::Tcp,
            (UDP, GSO_UDP) if open && header > 0 => Kind::Udp,
            _ => Kind::Whole,
        };
        let payload = packet.len() - (ip_header + header).min(packet.len());
        let segment = if vnet.gso_size == 0 { payload as u16 } else { vnet.gso_size };
        Self {
            kind,
            ip_header: ip_header as u8,
            header: (ip_header + header) as u8,
            segment,
            ecn: internet.ecn,
            flow: internet.flow,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Internet {
    header: usize,
    protocol: u8,
    ecn: u8,
    flow: u64,
}

impl Internet {
    fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 if packet.len() >= MIN_IP => Self::of_version_4(packet),
            6 if packet.len() >= 40 => Some(Self::of_version_6(packet)),
            _ => None,
        }
    }

    /// Nothing where the header is shorter than one can be, or reaches beyond the packet.
    fn of_version_4(packet: &[u8]) -> Option<Self> {
        let fragment = u16::from_be_bytes([packet[6] & 0x3f, packet[7]]) != 0;
        // Fragments have no ports but the first: none is told from the other.
        let protocol = packet[9];
        let header = usize::from(packet[0] & 0xf) * 4;
        if header < MIN_IP || header > packet.len() {
            return None;
        }
        let ports = if fragment { &[] } else { ports(protocol, packet.get(header..).unwrap_or(&[])) };
        let flow = flow(&packet[12..16], &packet[16..20], ports, protocol);
        Some(Self { header, protocol: if fragment { 0 } else { protocol }, ecn: packet[1] & 3, flow })
    }

    /// Extension headers are not looked behind: such a packet goes as it is.
    fn of_version_6(packet: &[u8]) -> Self {
        let protocol = packet[6];
        let flow = flow(&packet[8..24], &packet[24..40], ports(protocol, &packet[40..]), protocol);
        Self { header: 40, protocol, ecn: packet[1] >> 4 & 3, flow }
    }
}

/// Source and destination port together, or nothing.
fn ports(protocol: u8, transport: &[u8]) -> &[u8] {
    match protocol {
        TCP | UDP => transport.get(..4).unwrap_or(&[]),
        _ => &[],
    }
}

/// From the highest bits down: 16 of a hash of the addresses, 16 of the protocol, the higher port, the lower port.
fn flow(source: &[u8], destination: &[u8], ports: &[u8], protocol: u8) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    // The same whichever end sends.
    let addresses = hash(START, source).wrapping_add(hash(START, destination)) >> 48;
    let (one, other) = match *ports {
        [a, b, c, d] => (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
        _ => (0, 0),
    };
    let (higher, lower) = (one.max(other), one.min(other));
    addresses << 48 | u64::from(protocol) << 32 | u64::from(higher) << 16 | u64::from(lower)
}

/// Whether either end of a flow, as [`flow`] has it, is at this port.
pub(crate) fn has_port(flow: u64, port: u16) -> bool {
    let port = u64::from(port);
    flow & 0xffff == port || flow >> 16 & 0xffff == port
}

/// FNV-1a, mixed once more so that sums of hashes differ.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    let hash =
        bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Bytes of the transport header; zero when it is unknown, cut off, or shorter than one can be.
fn transport_header(protocol: u8, transport: &[u8]) -> usize {
    let (shortest, length) = match protocol {
        TCP => (MIN_TCP, transport.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4)),
        UDP => (UDP_HEADER, UDP_HEADER),
        _ => (0, 0),
    };
    if (shortest..=transport.len()).contains(&length) { length } else { 0 }
}

/// The flags of a TCP header that starts at `ip_header`.
pub(crate) fn tcp_flags(packet: &[u8], ip_header: usize) -> u8 {
    packet[ip_header + 13]
}

/// The sequence number of a TCP header that starts at `ip_header`.
pub(crate) fn tcp_sequence(packet: &[u8], ip_header: usize) -> u32 {
    let at = ip_header + 4;
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}

/// Writes the ECN field, and the checksum that covers it.
pub(crate) fn set_ecn(packet: &mut [u8], ecn: u8) {
    match packet[0] >> 4 {
        4 => {
            packet[1] = packet[1] & !3 | ecn;
            write_ip_checksum(packet);
        }
        _ => packet[1] = packet[1] & !0x30 | ecn << 4,
    }
}

/// What differs between the segments of one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differences {
    pub(crate) kind: Kind,
    pub(crate) ip_header: usize,
    /// Bytes of payload in all.
    pub(crate) payload: usize,
    /// Payload of a full segment; the same as `payload` when there is one segment.
    pub(crate) segment: usize,
    /// How many segments of its frame went before.
    pub(crate) index: u16,
    pub(crate) sequence: u32,
    pub(crate) flags: u8,
    pub(crate) ecn: u8,
}

/// Makes of a frame's headers (IP and transport) those of some of its segments; gives what to put before them.
pub(crate) fn write_headers(headers: &mut [u8], differences: Differences) -> VnetHeader {
    let Differences { kind, ip_header, payload, segment, .. } = differences;
    let version_6 = headers[0] >> 4 == 6;
    let transport = (headers.len() - ip_header + payload) as u16;
    let checksum_offset = match kind {
        Kind::Udp => {
            headers[ip_header + 4..ip_header + 6].copy_from_slice(&transport.to_be_bytes());
            6
        }
        _ => {
            headers[ip_header + 4..ip_header + 8].copy_from_slice(&differences.sequence.to_be_bytes());
            headers[ip_header + 13] = differences.flags;
            16
        }
    };
    write_ip(headers, differences, transport);
    let at = ip_header + checksum_offset;
    let sum = pseudo_header_sum(headers, if kind == Kind::Udp { UDP } else { TCP }, transport);
    headers[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let gso_type = match kind {
        _ if payload <= segment => GSO_NONE,
        Kind::Udp => GSO_UDP,
        _ if version_6 => GSO_TCP6,
        _ => GSO_TCP4,
    };
    VnetHeader {
        flags: NEEDS_CHECKSUM,
        gso_type,
        header: headers.len() as u16,
        gso_size: if gso_type == GSO_NONE { 0 } else { segment as u16 },
        checksum_start: ip_header as u16,
        checksum_offset: checksum_offset as u16,
    }
}

fn write_ip(headers: &mut [u8], differences: Differences, transport: u16) {
    if headers[0] >> 4 == 6 {
        let extensions = differences.ip_header as u16 - 40;
        headers[4..6].copy_from_slice(&(transport + extensions).to_be_bytes());
        headers[1] = headers[1] & !0x30 | differences.ecn << 4;
    } else {
        let identification = u16::from_be_bytes([headers[4], headers[5]]).wrapping_add(differences.index);
        headers[2..4].copy_from_slice(&(transport + differences.ip_header as u16).to_be_bytes());
        headers[4..6].copy_from_slice(&identification.to_be_bytes());
        headers[1] = headers[1] & !3 | differences.ecn;
        write_ip_checksum(headers);
    }
}

/// RFC 791 section 3.1.
fn write_ip_checksum(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 0xf) * 4;
    packet[10..12].fill(0);
    let sum = !fold(sum_words(&packet[..header]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// What the checksum field holds when the rest is left to whoever sends it on: the sum of the pseudo header
/// (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn pseudo_header_sum(headers: &[u8], protocol: u8, transport: u16) -> u16 {
    let addresses = if headers[0] >> 4 == 6 { &headers[8..40] } else { &headers[12..20] };
    fold(sum_words(addresses) + u32::from(protocol) + u32::from(transport))
}

fn sum_words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Whether two frames' headers are those of segments of one stream: equal in everything but length, identification,
/// checksums, sequence number, and the flags of a last segment.
pub(crate) fn same_stream(one: &[u8], other: &[u8], ip_header: usize) -> bool {
    if one.len() != other.len() || one[0] != other[0] {
        return false;
    }
    let version_6 = one[0] >> 4 == 6;
    let lengths_and_sums: &[std::ops::Range<usize>] =
        if version_6 { &[0..4, 6..ip_header] } else { &[0..2, 6..10, 12..ip_header] };
    let tcp = [ip_header..ip_header + 4, ip_header + 8..ip_header + 13, ip_header + 14..ip_header + 16];
    let rest = ip_header + 18..one.len();
    lengths_and_sums.iter().chain(&tcp).chain([&rest]).all(|range| one[range.clone()] == other[range.clone()])
        && (one[ip_header + 13] ^ other[ip_header + 13]) & !LAST_ONLY == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP packet with a payload of so many bytes, from port 1000 to 2000.
    fn packet(version_6: bool, payload: usize) -> Vec<u8> {
        let mut packet = if version_6 {
            let mut header = vec![0x60, 0, 0, 0, 0, 0, TCP, 64];
            header.extend((0..32).map(|byte| byte * 3));
            header
        } else {
            vec![0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
        };
        packet.extend([0x03, 0xe8, 0x07, 0xd0, 0, 0, 0, 9, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        packet.extend((0..payload).map(|byte| byte as u8));
        packet
    }

    fn offloaded(ip_header: u16) -> VnetHeader {
        VnetHeader {
            flags: NEEDS_CHECKSUM,
            checksum_start: ip_header,
            checksum_offset: 16,
            ..VnetHeader::default()
        }
    }

    /// The Internet checksum (RFC 1071) of bytes of any number.
    fn checksum(bytes: &[u8]) -> u16 {
        let padded = [bytes, &[0][..bytes.len() % 2]].concat();
        !fold(sum_words(&padded))
    }

    #[test]
    fn the_checksum_of_a_published_header() {
        // From the article on the Internet checksum in Wikipedia.
        let mut header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        write_ip_checksum(&mut header);
        assert_eq!(header[10..12], [0xb8, 0x61]);
    }

    #[test]
    fn headers_written_for_a_part_have_right_checksums_once_the_payload_is_added() {
        for version_6 in [false, true] {
            let whole = packet(version_6, 301);
            let shape = Shape::of(offloaded(if version_6 { 40 } else { 20 }), &whole);
            let (ip_header, header) = (usize::from(shape.ip_header), usize::from(shape.header));
            assert_eq!((shape.kind, header - ip_header), (Kind::Tcp, 20));
            let mut part = whole[..header].to_vec();
            let differences = Differences {
                kind: Kind::Tcp,
                ip_header,
                payload: 101,
                segment: 101,
                index: 2,
                sequence: 209,
                flags: 0x10,
                ecn: 3,
            };
            let vnet = write_headers(&mut part, differences);
            assert_eq!((vnet.gso_type, usize::from(vnet.checksum_start)), (GSO_NONE, ip_header));
            part.extend(&whole[header + 200..header + 301]);
            // What the kernel does with an open checksum: sum up from its start, and put it in.
            let sum = checksum(&part[ip_header..]);
            part[ip_header + 16..ip_header + 18].copy_from_slice(&sum.to_be_bytes());
            let addresses = if version_6 { &part[8..40] } else { &part[12..20] };
            let pseudo = [addresses, &[0, TCP], &121_u16.to_be_bytes(), &part[ip_header..]].concat();
            assert_eq!(checksum(&pseudo), 0, "a packet with a right checksum sums up to nothing");
            assert!(version_6 || checksum(&part[..20]) == 0);
            assert_eq!(tcp_sequence(&part, ip_header), 209);
            assert_eq!(Shape::of(vnet, &part).ecn, 3);
        }
    }

    #[test]
    fn a_flow_is_the_same_in_both_directions_and_another_with_other_ports() {
        let mut there = packet(false, 0);
        let flow = |packet: &[u8]| Shape::of(VnetHeader::default(), packet).flow;
        let mut back = there.clone();
        for (one, other, length) in [(12, 16, 4), (20, 22, 2)] {
            back[one..one + length].copy_from_slice(&there[other..other + length]);
            back[other..other + length].copy_from_slice(&there[one..one + length]);
        }
        assert_eq!(flow(&there), flow(&back));
        let ports = [20, 22].map(|at| u64::from(u16::from_be_bytes([there[at], there[at + 1]])));
        assert_eq!(flow(&there) & 0xffff, *ports.iter().min().unwrap());
        assert_eq!(flow(&there) >> 16 & 0xffff, *ports.iter().max().unwrap());
        assert_eq!(flow(&there) >> 32 & 0xffff, u64::from(TCP));
        assert!(ports.iter().all(|port| has_port(flow(&there), u16::try_from(*port).unwrap())));
        assert!(!has_port(flow(&there), 6));
        let before = flow(&there);
        there[21] ^= 1;
        assert_ne!(before, flow(&there));
    }

    #[test]
    fn a_header_moved_there_and_back_is_the_same() {
        let plain = VnetHeader { checksum_offset: 6, ..VnetHeader::default() };
        assert_eq!(plain.moved(14), plain, "nothing in it is a place");
        let open = VnetHeader { header: 40, ..offloaded(20) };
        assert_eq!((open.moved(14).header, open.moved(14).checksum_start), (54, 34));
        assert_eq!(open.moved(14).moved(-14), open);
    }

    #[test]
    fn nonsense_is_a_packet_as_it_is() {
        let nonsense: [&[u8]; 5] = [&[], &[0x45], &[0x60; 39], &[0xff; 64], &packet(false, 0)[..25]];
        for packet in nonsense {
            assert_eq!(Shape::of(offloaded(20), packet).kind, Kind::Whole, "{packet:?}");
        }
    }

    #[test]
    fn streams_differ_by_more_than_place_and_end() {
        let one = packet(false, 0);
        let change = |at: usize| {
            let mut other = one.clone();
            other[at] ^= 8;
            same_stream(&one, &other, 20)
        };
        // Length, identification, checksums, sequence, PSH: free. Address, port, acknowledgement, window: not.
        assert!([2, 4, 10, 24, 33, 36].into_iter().all(change));
        assert!([1, 8, 12, 16, 20, 22, 28, 34].into_iter().all(|at| !change(at)));
    }
}
