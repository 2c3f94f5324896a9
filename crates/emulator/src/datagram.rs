//! One IP packet inside a link: a handle of a segment of a frame.

use std::num::NonZeroU16;

use trialwise_link::{Ecn, Packet};
use trialwise_units::{Bytes, Time};

use crate::headers::{Kind, Shape, VNET, VnetHeader, has_payload, has_port};
use crate::pool::Pool;

/// One IP packet: a segment of a frame in a buffer of the pool. Whoever takes it out of a link releases it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub(crate) arrival: Time,
    pub(crate) flow: u64,
    pub(crate) buffer: u32,
    /// Where its payload starts in the buffer.
    pub(crate) start: u32,
    pub(crate) payload: u16,
    /// Payload of a full segment of its frame.
    pub(crate) segment: u16,
    /// How many segments of its frame go before.
    pub(crate) index: u16,
    pub(crate) ip_header: u8,
    pub(crate) header: u8,
    pub(crate) kind: Kind,
    pub(crate) last: bool,
    pub(crate) ecn: u8,
    pub(crate) marked: bool,
    /// Whether it has a payload, and a checksum that can be mended when a bit of it changes.
    pub(crate) is_changeable: bool,
    pub(crate) is_copy: bool,
    /// Which bit of its payload is to be another.
    pub(crate) change: Option<NonZeroU16>,
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        Bytes::new(self.length() as u64)
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.ecn)
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.marked = true;
        self.ecn = ecn.bits();
    }

    fn change_bit(&mut self, which: NonZeroU16) -> bool {
        if self.is_changeable {
            self.change = Some(which);
        }
        self.is_changeable
    }

    /// Of the same bytes in the pool, which its owner has to retain once more.
    fn copy(&mut self) -> Self {
        // What is marked from now on is marked in the bytes of both, so that each has to write what it is.
        self.marked = self.ip_header > 0;
        Self { is_copy: true, ..*self }
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    /// Its flows are known by the port of either end.
    fn is_of(&self, port: u16) -> bool {
        has_port(self.flow, port)
    }
}

impl Datagram {
    /// Bytes of the IP packet.
    pub(crate) fn length(&self) -> usize {
        usize::from(self.header) + usize::from(self.payload)
    }
}

/// The segments of the frame of `length` bytes that was just read, each an IP packet of its own.
pub(crate) fn split(pool: &mut Pool, length: usize, arrival: Time) -> Segments {
    let frame = &pool.reading()[..length];
    let shape = Shape::of(VnetHeader::read(frame), &frame[VNET..]);
    let (header, segment) = match shape.kind {
        Kind::Whole => (0, length - VNET),
        Kind::Tcp | Kind::Udp => (usize::from(shape.header), usize::from(shape.segment)),
    };
    let payload = length - VNET - header;
    let count = payload.div_ceil(segment.max(1)).max(1);
    let is_changeable = match shape.kind {
        Kind::Whole => has_payload(&frame[VNET..]),
        Kind::Tcp | Kind::Udp => payload > 0,
    };
    let buffer = pool.keep(length, count as u32);
    let first = Datagram {
        arrival,
        flow: shape.flow,
        buffer,
        start: (VNET + header) as u32,
        payload: payload.min(segment) as u16,
        segment: segment as u16,
        index: 0,
        ip_header: shape.ip_header,
        header: header as u8,
        kind: shape.kind,
        last: count == 1,
        ecn: shape.ecn,
        marked: false,
        is_changeable,
        is_copy: false,
        change: None,
    };
    Segments { next: first, left: payload, count }
}

/// The segments of one frame, in order.
pub(crate) struct Segments {
    next: Datagram,
    left: usize,
    count: usize,
}

impl Iterator for Segments {
    type Item = Datagram;

    fn next(&mut self) -> Option<Datagram> {
        self.count = self.count.checked_sub(1)?;
        let mut segment = self.next;
        segment.payload = self.left.min(usize::from(segment.segment)) as u16;
        segment.last = self.count == 0;
        self.left -= usize::from(segment.payload);
        self.next.start += u32::from(segment.payload);
        self.next.index = self.next.index.wrapping_add(1);
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::VNET;

    #[test]
    fn a_frame_of_three_segments_is_three_packets_and_one_buffer() {
        let mut pool = Pool::new();
        let frame = pool.reading();
        let vnet = VnetHeader {
            flags: 1,
            gso_type: 1,
            header: 40,
            gso_size: 1000,
            checksum_start: 20,
            checksum_offset: 16,
        };
        vnet.write(frame);
        frame[VNET..VNET + 40].fill(0);
        (frame[VNET], frame[VNET + 9], frame[VNET + 32]) = (0x45, 6, 0x50);
        let segments: Vec<Datagram> = split(&mut pool, VNET + 40 + 2_500, Time::ZERO).collect();
        let sizes: Vec<u64> = segments.iter().map(|segment| segment.size().get()).collect();
        assert_eq!(sizes, [1040, 1040, 540]);
        let starts: Vec<u32> = segments.iter().map(|segment| segment.start - segments[0].start).collect();
        assert_eq!(starts, [0, 1000, 2000]);
        assert_eq!(segments.iter().map(|segment| segment.last).collect::<Vec<_>>(), [false, false, true]);
        let buffer = segments[0].buffer;
        assert!(segments.iter().all(|segment| segment.buffer == buffer));
        segments.iter().for_each(|segment| pool.release(segment.buffer, 1));
        assert_eq!(pool.keep(VNET + 2_540, 1), buffer, "the buffer is used again");
    }

    #[test]
    fn no_frame_panics() {
        let mut pool = Pool::new();
        for length in VNET..200 {
            for byte in 0..=255 {
                pool.reading()[..length].fill(byte);
                let packets: Vec<Datagram> = split(&mut pool, length, Time::ZERO).collect();
                assert!(!packets.is_empty());
                packets.iter().for_each(|packet| pool.release(packet.buffer, 1));
            }
        }
    }
}
