//! Packets and telemetry records, kept in slabs: nothing is allocated for a packet once the slab has grown.

use trialwise_congestion::{HopRecord, MAXIMUM_HOPS};
use trialwise_units::{Bytes, Rate, Time};

use crate::event::Order;
use crate::index::{FlowId, PacketId, PortId};

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Payload of a flow.
    Data,
    /// Everything below `sequence` has arrived.
    Acknowledgement,
    /// The same, and what came was not what was expected: go back.
    NegativeAcknowledgement,
    /// Stop sending the class in `sequence` (priority flow control, IEEE 802.1Qbb).
    Pause,
    /// Send it again.
    Resume,
}

/// One packet: a cache line. It stands in one list at a time: a queue, a wire, or the free packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When the packet behind it on its wire reaches the end, and its place there.
    pub(crate) next_arrival: Time,
    pub(crate) next_order: Order,
    /// When its data left the sender; an acknowledgement echoes it.
    pub(crate) stamp: Time,
    /// When its data reached the receiver.
    pub(crate) received: Time,
    /// Offset of the payload; of an acknowledgement, of the next byte expected.
    pub(crate) sequence: u64,
    pub(crate) flow: FlowId,
    pub(crate) next: PacketId,
    /// The port whose wire brought it to the present switch, for the buffer's accounts.
    pub(crate) wire_before: PortId,
    pub(crate) telemetry: TelemetryId,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    pub(crate) kind: Kind,
    /// The class in which it travels, and so does what acknowledges it.
    pub(crate) class: u8,
    /// The place of the next switch in the path of its flow.
    pub(crate) step: u8,
    /// How many telemetry records it carries.
    pub(crate) records: u8,
    pub(crate) marked: bool,
    /// Of an acknowledgement: whether its data were marked.
    pub(crate) echoes_mark: bool,
}

const EMPTY: Packet = Packet {
    next_arrival: Time::ZERO,
    next_order: Order::FIRST,
    stamp: Time::ZERO,
    received: Time::ZERO,
    sequence: 0,
    flow: FlowId::NONE,
    next: PacketId::NONE,
    wire_before: PortId::NONE,
    telemetry: TelemetryId::NONE,
    wire: 0,
    kind: Kind::Data,
    class: 0,
    step: 0,
    records: 0,
    marked: false,
    echoes_mark: false,
};

/// All packets.
#[derive(Debug)]
pub(crate) struct PacketSlab {
    packets: Vec<Packet>,
    free: PacketId,
    held: u64,
}

impl PacketSlab {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::with_capacity(1024), free: PacketId::NONE, held: 0 }
    }

    /// A fresh packet with nothing in it.
    pub(crate) fn take(&mut self) -> PacketId {
        self.held += 1;
        if !self.free.is_some() {
            self.packets.push(EMPTY);
            return PacketId::new(self.packets.len() as u32 - 1);
        }
        let id = self.free;
        self.free = self.packets[id.index()].next;
        self.packets[id.index()] = EMPTY;
        id
    }

    pub(crate) fn give_back(&mut self, id: PacketId) {
        self.held -= 1;
        self.packets[id.index()].next = self.free;
        self.free = id;
    }

    /// Brings a packet near the processor that will be read soon.
    #[inline]
    pub(crate) fn fetch(&self, id: PacketId) {
        let packet = &raw const self.packets[id.index()];
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that the program sees, and faults at no address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(packet.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = packet;
    }

    /// How many are in use.
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }
}

impl std::ops::Index<PacketId> for PacketSlab {
    type Output = Packet;

    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id.index()]
    }
}

impl std::ops::IndexMut<PacketId> for PacketSlab {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.index()]
    }
}

/// First in, first out, linked through the packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketList {
    first: PacketId,
    last: PacketId,
}

impl PacketList {
    pub(crate) const EMPTY: Self = Self { first: PacketId::NONE, last: PacketId::NONE };

    pub(crate) fn first(&self) -> Option<PacketId> {
        (!self.is_empty()).then_some(self.first)
    }

    pub(crate) const fn last(&self) -> PacketId {
        self.last
    }

    pub(crate) const fn is_empty(&self) -> bool {
        !self.first.is_some()
    }

    #[inline]
    pub(crate) fn push(&mut self, packets: &mut PacketSlab, id: PacketId) {
        packets[id].next = PacketId::NONE;
        if self.is_empty() {
            self.first = id;
        } else {
            packets[self.last].next = id;
        }
        self.last = id;
    }

    #[inline]
    pub(crate) fn pop(&mut self, packets: &PacketSlab) -> Option<PacketId> {
        if self.is_empty() {
            return None;
        }
        let id = self.first;
        self.first = packets[id].next;
        Some(id)
    }
}

/// The records of one packet, so that none lies across two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Telemetry([HopRecord; MAXIMUM_HOPS]);

const NO_RECORD: HopRecord =
    HopRecord { time: Time::ZERO, transmitted: 0, queue: Bytes::ZERO, rate: Rate::ZERO };

/// A place in [`TelemetrySlab`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TelemetryId(u32);

impl TelemetryId {
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// The records of all packets that carry some.
#[derive(Debug, Default)]
pub(crate) struct TelemetrySlab {
    blocks: Vec<Telemetry>,
    free: Vec<TelemetryId>,
}

impl TelemetrySlab {
    /// A block for a packet without records.
    pub(crate) fn take(&mut self) -> TelemetryId {
        if let Some(id) = self.free.pop() {
            return id;
        }
        self.blocks.push(Telemetry([NO_RECORD; MAXIMUM_HOPS]));
        TelemetryId(self.blocks.len() as u32 - 1)
    }

    pub(crate) fn give_back(&mut self, id: TelemetryId) {
        if id != TelemetryId::NONE {
            self.free.push(id);
        }
    }

    /// The records of a packet.
    pub(crate) fn of(&self, packet: &Packet) -> &[HopRecord] {
        if packet.telemetry == TelemetryId::NONE {
            return &[];
        }
        &self.blocks[packet.telemetry.0 as usize].0[..usize::from(packet.records)]
    }

    /// Appends a record; a packet that is full goes on without (as the header of HPCC has room for five).
    pub(crate) fn push(&mut self, packet: &mut Packet, record: HopRecord) {
        let block = &mut self.blocks[packet.telemetry.0 as usize];
        if let Some(place) = block.0.get_mut(usize::from(packet.records)) {
            *place = record;
            packet.records += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    #[test]
    fn a_list_keeps_the_order_and_the_slab_its_places() {
        let mut packets = PacketSlab::new();
        let mut list = PacketList::EMPTY;
        let ids: Vec<_> = (0..3).map(|_| packets.take()).collect();
        ids.iter().for_each(|id| list.push(&mut packets, *id));
        assert_eq!(std::iter::from_fn(|| list.pop(&packets)).collect::<Vec<_>>(), ids);
        ids.iter().for_each(|id| packets.give_back(*id));
        assert_eq!((packets.held(), packets.take()), (0, ids[2]));
    }

    #[test]
    fn a_sixth_record_finds_no_room() {
        let mut slab = TelemetrySlab::default();
        let mut packet = Packet { telemetry: slab.take(), ..EMPTY };
        for transmitted in 0..6 {
            slab.push(&mut packet, HopRecord { transmitted, ..HopRecord::default() });
        }
        let carried = slab.of(&packet).iter().map(|record| record.transmitted);
        assert_eq!(carried.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        slab.give_back(packet.telemetry);
        let next = Packet { telemetry: slab.take(), ..EMPTY };
        assert!(next.telemetry == packet.telemetry && slab.of(&next).is_empty());
    }
}
