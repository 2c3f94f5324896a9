//! Joining again what leaves together: segments of one stream that are due go to the kernel as one frame.

use std::io::{self, IoSlice};
use std::num::NonZeroU16;

use crate::datagram::Datagram;
use crate::device::Device;
use crate::headers::{
    Differences, FIRST_ONLY, Kind, LAST_ONLY, NEVER_JOINED, VNET, change_bit, same_stream, set_ecn,
    tcp_flags, tcp_sequence, write_headers,
};
use crate::pool::Pool;

/// Streams whose frames are open at a time, as the kernel has it in its own receive offload.
const STREAMS: usize = 8;
const MAX_PIECES: usize = 64;
const MAX_FRAME: usize = 65_000;
/// 60 bytes of IP header, 60 of TCP.
const MAX_HEADERS: usize = 120;

/// Bytes that lie together in one buffer.
#[derive(Clone, Copy)]
struct Piece {
    buffer: u32,
    start: u32,
    length: u32,
    segments: u32,
}

/// Segments that will be one frame.
struct Group {
    first: Datagram,
    pieces: Vec<Piece>,
    payload: usize,
    next_sequence: u32,
    last_flags: u8,
    /// A short or last segment ends a frame.
    closed: bool,
}

/// What waits to be written to one device.
pub(crate) struct Joiner {
    open: Vec<Group>,
    spare: Vec<Vec<Piece>>,
    /// Where a packet is changed, of whose bytes others are to stay as they are.
    changed: Vec<u8>,
    /// Frames that the kernel did not take.
    pub(crate) refused: u64,
}

impl Joiner {
    pub(crate) fn new() -> Self {
        let spare = (0..=STREAMS).map(|_| Vec::with_capacity(MAX_PIECES)).collect();
        Self { open: Vec::with_capacity(STREAMS), spare, changed: Vec::new(), refused: 0 }
    }

    /// Takes a packet that is due; writes what it cannot be joined to.
    pub(crate) fn add(&mut self, datagram: Datagram, pool: &mut Pool, device: &Device) {
        let place = self.open.iter().position(|group| group.first.flow == datagram.flow);
        if let Some(place) = place {
            if datagram.change.is_none() && self.open[place].takes(&datagram, pool) {
                return self.open[place].add(&datagram, pool);
            }
            self.write(place, pool, device);
        }
        if let Some(which) = datagram.change {
            self.refused += u64::from(self.write_changed(&datagram, which, pool, device).is_err());
            return pool.release(datagram.buffer, 1);
        }
        if datagram.kind == Kind::Whole {
            self.refused += u64::from(write_whole(&datagram, pool, device).is_err());
            return pool.release(datagram.buffer, 1);
        }
        if self.open.len() == STREAMS {
            self.write(0, pool, device);
        }
        let group = self.group_of(datagram, pool);
        self.open.push(group);
    }

    /// A frame of this segment.
    fn group_of(&mut self, first: Datagram, pool: &Pool) -> Group {
        let pieces = self.spare.pop().unwrap_or_default();
        let mut group = Group { first, pieces, payload: 0, next_sequence: 0, last_flags: 0, closed: false };
        group.add(&first, pool);
        group
    }

    /// Writes a packet alone, with another bit in its payload.
    fn write_changed(
        &mut self,
        datagram: &Datagram,
        which: NonZeroU16,
        pool: &Pool,
        device: &Device,
    ) -> io::Result<()> {
        self.changed.clear();
        if datagram.kind == Kind::Whole {
            self.changed.extend_from_slice(&pool.bytes(datagram.buffer)[..VNET + datagram.length()]);
            if datagram.marked {
                set_ecn(&mut self.changed[VNET..], datagram.ecn);
            }
        } else {
            let mut group = self.group_of(*datagram, pool);
            let (headers, end) = group.headers(pool);
            let (start, length) = (datagram.start as usize, usize::from(datagram.payload));
            self.changed.extend_from_slice(&headers[..end]);
            self.changed.extend_from_slice(&pool.bytes(datagram.buffer)[start..start + length]);
            group.pieces.clear();
            self.spare.push(group.pieces);
        }
        change_bit(&mut self.changed, which);
        device.write(&[IoSlice::new(&self.changed)])
    }

    /// Writes everything.
    pub(crate) fn flush(&mut self, pool: &mut Pool, device: &Device) {
        while !self.open.is_empty() {
            self.write(0, pool, device);
        }
    }

    fn write(&mut self, place: usize, pool: &mut Pool, device: &Device) {
        let mut group = self.open.remove(place);
        self.refused += u64::from(group.write(pool, device).is_err());
        for piece in group.pieces.drain(..) {
            pool.release(piece.buffer, piece.segments);
        }
        self.spare.push(group.pieces);
    }
}

impl Group {
    /// Whether the datagram carries on where this frame ends.
    fn takes(&self, datagram: &Datagram, pool: &Pool) -> bool {
        let first = &self.first;
        let last = &self.pieces[self.pieces.len() - 1];
        let follows = last.buffer == datagram.buffer && last.start + last.length == datagram.start;
        !self.closed
            && datagram.kind == first.kind
            && datagram.ecn == first.ecn
            && datagram.payload > 0
            && datagram.payload <= first.payload
            && datagram.header == first.header
            && self.payload + datagram.length() <= MAX_FRAME
            && (follows || self.pieces.len() < MAX_PIECES && self.carries_on(datagram, pool))
    }

    /// The same for a datagram of another frame: only TCP says where it belongs.
    fn carries_on(&self, datagram: &Datagram, pool: &Pool) -> bool {
        let (one, other) = (headers(&self.first, pool), headers(datagram, pool));
        self.first.kind == Kind::Tcp
            && sequence(datagram, pool) == self.next_sequence
            && flags(datagram, pool) & NEVER_JOINED == 0
            && same_stream(one, other, usize::from(self.first.ip_header))
    }

    fn add(&mut self, datagram: &Datagram, pool: &Pool) {
        let length = u32::from(datagram.payload);
        match self.pieces.last_mut() {
            Some(last) if last.buffer == datagram.buffer && last.start + last.length == datagram.start => {
                last.length += length;
                last.segments += 1;
            }
            _ => {
                let Datagram { buffer, start, .. } = *datagram;
                self.pieces.push(Piece { buffer, start, length, segments: 1 });
            }
        }
        self.payload += usize::from(datagram.payload);
        if datagram.kind == Kind::Tcp {
            self.next_sequence = sequence(datagram, pool).wrapping_add(length);
            self.last_flags = flags(datagram, pool);
        }
        self.closed = datagram.payload < self.first.payload
            || datagram.payload == 0
            || self.last_flags & (LAST_ONLY | NEVER_JOINED) != 0;
    }

    /// What comes before its payload, and how long that is.
    fn headers(&self, pool: &Pool) -> ([u8; VNET + MAX_HEADERS], usize) {
        let first = &self.first;
        let mut headers_after = [0; VNET + MAX_HEADERS];
        let end = VNET + usize::from(first.header);
        headers_after[VNET..end].copy_from_slice(headers(first, pool));
        let tcp = first.kind == Kind::Tcp;
        let differences = Differences {
            kind: first.kind,
            ip_header: usize::from(first.ip_header),
            payload: self.payload,
            segment: usize::from(first.payload),
            index: first.index,
            sequence: if tcp { sequence(first, pool) } else { 0 },
            flags: if tcp { flags(first, pool) | self.last_flags & LAST_ONLY } else { 0 },
            ecn: first.ecn,
        };
        write_headers(&mut headers_after[VNET..end], differences).write(&mut headers_after[..VNET]);
        (headers_after, end)
    }

    fn write(&self, pool: &Pool, device: &Device) -> io::Result<()> {
        let (headers, end) = self.headers(pool);
        let mut slices = [IoSlice::new(&[]); 1 + MAX_PIECES];
        slices[0] = IoSlice::new(&headers[..end]);
        for (slice, piece) in slices[1..].iter_mut().zip(&self.pieces) {
            let start = piece.start as usize;
            *slice = IoSlice::new(&pool.bytes(piece.buffer)[start..start + piece.length as usize]);
        }
        device.write(&slices[..=self.pieces.len()])
    }
}

fn write_whole(datagram: &Datagram, pool: &mut Pool, device: &Device) -> io::Result<()> {
    let end = VNET + datagram.length();
    let frame = &mut pool.bytes_mut(datagram.buffer)[..end];
    if datagram.marked {
        set_ecn(&mut frame[VNET..], datagram.ecn);
    }
    device.write(&[IoSlice::new(frame)])
}

/// IP and transport header of the frame that the datagram is a segment of.
fn headers<'pool>(datagram: &Datagram, pool: &'pool Pool) -> &'pool [u8] {
    &pool.bytes(datagram.buffer)[VNET..VNET + usize::from(datagram.header)]
}

fn sequence(datagram: &Datagram, pool: &Pool) -> u32 {
    let before = u32::from(datagram.index) * u32::from(datagram.segment);
    tcp_sequence(headers(datagram, pool), usize::from(datagram.ip_header)).wrapping_add(before)
}

fn flags(datagram: &Datagram, pool: &Pool) -> u8 {
    let mut flags = tcp_flags(headers(datagram, pool), usize::from(datagram.ip_header));
    if !datagram.last {
        flags &= !LAST_ONLY;
    }
    if datagram.index > 0 {
        flags &= !FIRST_ONLY;
    }
    flags
}
