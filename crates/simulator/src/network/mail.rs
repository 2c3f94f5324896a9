//! Packets that cross from the parts of one thread to those of another.

use trialwise_congestion::HopRecord;
use trialwise_units::Time;

use super::packets::Packets;
use crate::event::Order;
use crate::index::{PacketId, PartId, PortId};
use crate::packet::Packet;

/// A packet on a wire whose ends belong to two threads: it waits for its arrival at the far end.
pub(super) struct Letter {
    pub(super) port: PortId,
    pub(super) arrival: (Time, Order),
    pub(super) packet: Packet,
}

/// Packets for one thread, and the records of all of them.
#[derive(Default)]
pub(super) struct Letters {
    pub(super) packets: Vec<Letter>,
    pub(super) records: Vec<HopRecord>,
}

/// What leaves a thread, by thread.
#[derive(Default)]
pub(super) struct Mail {
    own: usize,
    /// The thread of each part; empty where there is one.
    threads: Vec<u8>,
    boxes: Vec<Letters>,
}

impl Mail {
    /// The thread `own`, where the parts belong to these threads.
    pub(super) fn new(own: usize, threads: &[u8]) -> Self {
        let count = threads.iter().max().map_or(0, |last| usize::from(*last) + 1);
        Self { own, threads: threads.to_vec(), boxes: (0..count).map(|_| Letters::default()).collect() }
    }

    /// Whether another thread has this part.
    #[inline]
    pub(super) fn is_elsewhere(&self, part: PartId) -> bool {
        self.threads.get(part.index()).is_some_and(|thread| usize::from(*thread) != self.own)
    }

    /// Sends a packet to a part that another thread has.
    pub(super) fn send(
        &mut self,
        part: PartId,
        (port, arrival): (PortId, (Time, Order)),
        id: PacketId,
        packets: &mut Packets,
    ) {
        let letters = &mut self.boxes[usize::from(self.threads[part.index()])];
        let packet = packets[id];
        letters.records.extend_from_slice(packets.records(&packet));
        letters.packets.push(Letter { port, arrival, packet });
        packets.give_back(id);
    }

    /// What is to go to each thread.
    pub(super) const fn boxes(&mut self) -> &mut Vec<Letters> {
        &mut self.boxes
    }
}
