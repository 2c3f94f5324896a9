//! What the tests of queues share.

use trialwise_units::{Bytes, Time};

use crate::Ecn;
use crate::element::{Cause, Drops};
use crate::packet::Packet;
use crate::queue::{Queue, Waiting};

/// A packet with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) flow: u64,
    pub(super) ecn: Ecn,
    pub(super) size: u64,
}

impl Packet for Numbered {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow(&self) -> u64 {
        self.flow
    }
}

/// A queue with a clock in milliseconds and a memory of what it dropped.
pub(super) struct Bench<Q> {
    pub(super) queue: Q,
    pub(super) size: u64,
    pub(super) ecn: Ecn,
    drops: Drops<Numbered>,
    next: u64,
}

impl<Q: Queue<Numbered>> Bench<Q> {
    pub(super) fn new(queue: Q) -> Self {
        Self { queue, size: 1500, ecn: Ecn::NotCapable, drops: Drops::default(), next: 0 }
    }

    /// Puts the next packet in; packets are numbered from 0.
    pub(super) fn enqueue(&mut self, now: u64, flow: u64) {
        let packet = Numbered { number: self.next, flow, ecn: self.ecn, size: self.size };
        self.next += 1;
        let (size, arrival) = (Bytes::new(self.size), Time::from_milliseconds(now));
        self.queue.enqueue(Waiting { packet, size, arrival }, &mut self.drops);
    }

    pub(super) fn dequeue(&mut self, now: u64) -> Option<Numbered> {
        self.queue.dequeue(Time::from_milliseconds(now), &mut self.drops).map(|waiting| waiting.packet)
    }

    /// (millisecond, number, cause) of what was dropped since the call before.
    pub(super) fn take_drops(&mut self) -> Vec<(u64, u64, Cause)> {
        let drops = std::iter::from_fn(|| self.drops.take());
        drops.map(|dropped| (dropped.time.milliseconds(), dropped.packet.number, dropped.cause)).collect()
    }
}
