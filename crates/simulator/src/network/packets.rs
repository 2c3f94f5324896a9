//! Packets on their way, and the records that they carry.

use std::ops::{Index, IndexMut};

use trialwise_congestion::HopRecord;

use crate::index::PacketId;
use crate::packet::{Kind, Packet, PacketSlab, TelemetryId, TelemetrySlab};

/// All packets and their telemetry.
pub(super) struct Packets {
    slab: PacketSlab,
    telemetry: TelemetrySlab,
}

impl Packets {
    pub(super) fn new() -> Self {
        Self { slab: PacketSlab::new(), telemetry: TelemetrySlab::default() }
    }

    /// A fresh packet with nothing in it.
    #[inline]
    pub(super) fn take(&mut self) -> PacketId {
        self.slab.take()
    }

    /// A packet of another thread, with its records.
    pub(super) fn take_over(
        &mut self,
        packet: Packet,
        records: &mut impl Iterator<Item = HopRecord>,
    ) -> PacketId {
        let id = self.slab.take();
        self.slab[id] = Packet { telemetry: TelemetryId::NONE, records: 0, ..packet };
        if packet.telemetry != TelemetryId::NONE {
            self.add_telemetry(id);
        }
        records.take(usize::from(packet.records)).for_each(|record| self.record(id, record));
        id
    }

    /// Gives a packet room for records.
    #[inline]
    pub(super) fn add_telemetry(&mut self, id: PacketId) {
        self.slab[id].telemetry = self.telemetry.take();
    }

    /// Frees a packet and its records.
    pub(super) fn give_back(&mut self, id: PacketId) {
        self.telemetry.give_back(self.slab[id].telemetry);
        self.slab.give_back(id);
    }

    /// How many are in use.
    pub(super) const fn held(&self) -> u64 {
        self.slab.held()
    }

    /// Whether this is a packet of data that asks for records.
    #[inline]
    pub(super) fn wants_record(&self, id: PacketId) -> bool {
        let packet = &self.slab[id];
        packet.kind == Kind::Data && packet.telemetry != TelemetryId::NONE
    }

    /// Appends a record to a packet that has room for some.
    #[inline]
    pub(super) fn record(&mut self, id: PacketId, record: HopRecord) {
        self.telemetry.push(&mut self.slab[id], record);
    }

    /// The records of a packet.
    pub(super) fn records(&self, packet: &Packet) -> &[HopRecord] {
        self.telemetry.of(packet)
    }

    /// The packets alone, for the lists in which they stand.
    #[inline]
    pub(super) const fn slab(&self) -> &PacketSlab {
        &self.slab
    }

    /// The packets alone, for the lists in which they stand.
    #[inline]
    pub(super) const fn slab_mut(&mut self) -> &mut PacketSlab {
        &mut self.slab
    }
}

impl Index<PacketId> for Packets {
    type Output = Packet;

    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slab[id]
    }
}

impl IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slab[id]
    }
}
