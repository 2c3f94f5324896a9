//! Radiotap headers (radiotap.org) and those of IEEE 802.11 behind them.

use crate::headers::{is_ip, word};

/// What the radio says of a frame, and the frame's own header.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Radiotap {
    /// The radio's clock, µs.
    pub time: Option<u64>,
    /// Bits of radiotap's field Flags: 0x10 a checksum at the frame's end, 0x20 padding behind its header, 0x40 a wrong checksum.
    pub flags: Option<u8>,
    /// bit/s.
    pub rate: Option<u32>,
    /// MHz.
    pub frequency: Option<u16>,
    /// dBm.
    pub signal: Option<i8>,
    /// dBm.
    pub noise: Option<i8>,
    /// dBm.
    pub power: Option<i8>,
    /// Its number.
    pub antenna: Option<u8>,
    /// Type (bits 2 and 3) and subtype (bits 4 to 7), as in the frame control's first byte.
    pub kind: u8,
    /// Sequence number, of frames that have one.
    pub sequence: u16,
    /// Number of the fragment.
    pub fragment: u8,
    /// Receiver, transmitter, and a third one whose meaning the frame control gives; zeros where the frame has none.
    pub addresses: [[u8; 6]; 3],
}

/// Sizes of the fields 0 to 13 in their order; each is aligned to the size of its numbers.
const FIELDS: [(usize, usize); 14] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (4, 2),
    (2, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
];
const HEAD: usize = 8;

/// The headers, and the packet in the frame if it is one of IP.
pub(crate) fn read(bytes: &[u8]) -> Option<(Radiotap, Option<&[u8]>)> {
    let length = usize::from(u16::from_le_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    if bytes[0] != 0 || length < HEAD {
        return None;
    }
    let mut radiotap = Radiotap::default();
    read_fields(bytes.get(..length)?, &mut radiotap);
    let packet = read_frame(&bytes[length..], &mut radiotap);
    Some((radiotap, packet))
}

fn read_fields(header: &[u8], radiotap: &mut Radiotap) -> Option<()> {
    const MORE: u32 = 1 << 31;
    let words =
        header[4..].chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let present = words.clone().next()?;
    let mut at = HEAD + 4 * words.take_while(|word| word & MORE != 0).count();
    for (bit, (size, alignment)) in FIELDS.into_iter().enumerate() {
        if present & (1 << bit) != 0 {
            at = at.next_multiple_of(alignment);
            radiotap.take(bit, header.get(at..at + size)?);
            at += size;
        }
    }
    Some(())
}

impl Radiotap {
    fn take(&mut self, bit: usize, field: &[u8]) {
        const HALF_MEGABIT: u32 = 500_000;
        let first = field[0];
        match bit {
            0 => self.time = field.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
            1 => self.flags = Some(first),
            2 => self.rate = Some(u32::from(first) * HALF_MEGABIT),
            3 => self.frequency = field.first_chunk().map(|bytes| u16::from_le_bytes(*bytes)),
            5 => self.signal = Some(first.cast_signed()),
            6 => self.noise = Some(first.cast_signed()),
            10 => self.power = Some(first.cast_signed()),
            11 => self.antenna = Some(first),
            _ => {}
        }
    }
}

/// Reads a frame of IEEE 802.11; gives the packet of IP in it, if there is one, it is whole and not encrypted.
fn read_frame<'a>(frame: &'a [u8], radiotap: &mut Radiotap) -> Option<&'a [u8]> {
    const BAD_CHECKSUM: u8 = 0x40;
    let control @ [kind, flags] = *frame.first_chunk()?;
    radiotap.kind = kind & 0xfc;
    for (address, at) in radiotap.addresses.iter_mut().zip([4, 10, 16]).take(addresses_of(kind)) {
        *address = *frame.get(at..)?.first_chunk()?;
    }
    if !matches!(kind >> 2 & 3, MANAGEMENT | DATA) {
        return None;
    }
    let sequence = word(frame, 22)?.swap_bytes();
    radiotap.sequence = sequence >> 4;
    radiotap.fragment = (sequence & 0xf) as u8;
    let (is_without_body, is_encrypted) = (kind & 0x40 != 0, flags & 0x40 != 0);
    let told = radiotap.flags.unwrap_or(0);
    if kind >> 2 & 3 != DATA
        || is_without_body
        || is_encrypted
        || radiotap.fragment != 0
        || told & BAD_CHECKSUM != 0
    {
        return None;
    }
    let body = frame.get(header_of_data(control, told)..)?;
    // SNAP (RFC 1042).
    let packet = body.strip_prefix(b"\xaa\xaa\x03\0\0\0")?;
    is_ip(word(packet, 0)?).then(|| &packet[2..])
}

const MANAGEMENT: u8 = 0;
const CONTROL: u8 = 1;
const DATA: u8 = 2;

/// How many addresses frames of this kind begin with (IEEE 802.11-2020, 9.3), the fourth of data frames not counted.
const fn addresses_of(kind: u8) -> usize {
    match (kind >> 2 & 3, kind >> 4) {
        (MANAGEMENT | DATA, _) => 3,
        // Trigger, beamforming report poll, NDP announcement; block acknowledgement and its request, PS-Poll, RTS; CF-End.
        (CONTROL, 2 | 4 | 5 | 8..=11 | 14 | 15) => 2,
        // Control wrapper, CTS, acknowledgement.
        (CONTROL, 7 | 12 | 13) => 1,
        _ => 0,
    }
}

/// Length of a data frame's header: a fourth address between two access points, quality of service, and with it the field
/// HT Control (IEEE 802.11-2020, 9.2.4.1.10); padding to four bytes where the radio says so.
fn header_of_data([kind, flags]: [u8; 2], told: u8) -> usize {
    const HEADER: usize = 24;
    const PADDED: u8 = 0x20;
    let (is_between, is_quality) = (flags & 3 == 3, kind & 0x80 != 0);
    let has_more_control = is_quality && flags & 0x80 != 0;
    let length = HEADER
        + usize::from(is_between) * 6
        + usize::from(is_quality) * 2
        + usize::from(has_more_control) * 4;
    if told & PADDED == 0 { length } else { length.next_multiple_of(4) }
}
