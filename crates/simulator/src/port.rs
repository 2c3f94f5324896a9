//! One direction of a link: its wire, the queues before it, and the accounts of what came the other way.

use trialwise_units::{Duration, Rate, Time};

use crate::buffer::{CLASSES, CONTROL, Held, IngressLimits};
use crate::event::Order;
use crate::fabric::End;
use crate::index::PacketId;
use crate::marking::Thresholds;
use crate::packet::{PacketList, PacketSlab};
use crate::timing::Quantum;

/// Packets of one class that wait.
#[derive(Clone, Copy, Debug)]
struct ClassQueue {
    list: PacketList,
    bytes: u64,
}

/// What a port has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatistics {
    /// Bytes that it sent.
    pub transmitted: u64,
    /// The most bytes that waited before it.
    pub peak_queue: u64,
    /// How long some class was paused.
    pub paused: Duration,
}

/// An egress port and its wire. The accounts belong to the same socket seen from the other side: what arrived
/// through it. What every packet meets comes first, by cache lines: fabrics have more ports than fit near.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// Packets on the wire, in the order of arrival.
    pub(crate) flight: PacketList,
    pub(crate) end: End,
    /// What sends through this port.
    pub(crate) owner: End,
    pub(crate) loss: f64,
    /// When the wire takes the next packet, and the place of that instant among events.
    pub(crate) free_at: Time,
    pub(crate) free_order: Order,
    queued: u64,
    last_served: u32,
    /// Whether an event stands at the place where the wire falls free.
    pub(crate) free_scheduled: bool,
    pub(crate) up: bool,
    /// One bit for each class: whether packets wait, whether the far end has paused it.
    waiting: u8,
    paused: u8,

    durations: [(u64, Duration); 2],
    pub(crate) delay: Duration,
    pub(crate) statistics: PortStatistics,

    queues: [ClassQueue; CLASSES],
    pub(crate) held: [Held; CLASSES],

    pub(crate) rate: u64,
    pub(crate) thresholds: Thresholds,
    pub(crate) limits: IngressLimits,
    paused_since: Time,
}

impl Port {
    pub(crate) fn new(
        rate: Rate,
        delay: Duration,
        (owner, end): (End, End),
        loss: f64,
        thresholds: Thresholds,
        limits: IngressLimits,
    ) -> Self {
        Self {
            rate: rate.bits_per_second(),
            delay,
            end,
            owner,
            loss,
            up: true,
            thresholds,
            free_at: Time::ZERO,
            free_order: Order::FIRST,
            free_scheduled: false,
            flight: PacketList::EMPTY,
            durations: [(0, Duration::ZERO); 2],
            waiting: 0,
            paused: 0,
            last_served: 0,
            queued: 0,
            queues: [ClassQueue { list: PacketList::EMPTY, bytes: 0 }; CLASSES],
            limits,
            held: [Held::default(); CLASSES],
            statistics: PortStatistics::default(),
            paused_since: Time::ZERO,
        }
    }

    /// Whether the wire is taken for an event in place `order` at `now`.
    #[inline]
    pub(crate) fn is_busy(&self, now: Time, order: Order) -> bool {
        now < self.free_at || (now == self.free_at && order < self.free_order)
    }

    /// How long `bytes` occupy the wire. Most packets have one of two sizes, so two results are kept.
    #[inline]
    pub(crate) fn duration(&mut self, quantum: Quantum, bytes: u64) -> Duration {
        if self.durations[0].0 != bytes {
            self.durations.swap(0, 1);
            if self.durations[0].0 != bytes {
                self.durations[0] = (bytes, quantum.transmission(bytes, self.rate));
            }
        }
        self.durations[0].1
    }

    pub(crate) fn enqueue(&mut self, packets: &mut PacketSlab, class: usize, id: PacketId) {
        let size = u64::from(packets[id].wire);
        let queue = &mut self.queues[class];
        queue.list.push(packets, id);
        queue.bytes += size;
        self.queued += size;
        self.waiting |= 1 << class;
        self.statistics.peak_queue = self.statistics.peak_queue.max(self.queued);
    }

    /// The class to serve next: control first, then round robin after the class served last, without paused
    /// ones.
    #[inline]
    pub(crate) fn next_class(&self) -> Option<usize> {
        if self.waiting & 1 << CONTROL != 0 {
            return Some(CONTROL);
        }
        let ready = self.waiting & !self.paused;
        if ready == 0 {
            return None;
        }
        let start = (self.last_served + 1) % CLASSES as u32;
        Some(((ready.rotate_right(start).trailing_zeros() + start) % CLASSES as u32) as usize)
    }

    /// Takes the first packet of `class` out.
    #[inline]
    pub(crate) fn dequeue(&mut self, packets: &PacketSlab, class: usize) -> Option<PacketId> {
        let queue = &mut self.queues[class];
        let id = queue.list.pop(packets)?;
        let size = u64::from(packets[id].wire);
        queue.bytes -= size;
        self.queued -= size;
        if queue.list.is_empty() {
            self.waiting &= !(1 << class);
        }
        if class != CONTROL {
            self.last_served = class as u32;
        }
        Some(id)
    }

    /// Takes out any packet that waits, with its class.
    pub(crate) fn dequeue_any(&mut self, packets: &PacketSlab) -> Option<(usize, PacketId)> {
        let class = (self.waiting != 0).then(|| self.waiting.trailing_zeros() as usize)?;
        self.dequeue(packets, class).map(|id| (class, id))
    }

    /// Bytes that wait in all classes.
    pub(crate) const fn queued(&self) -> u64 {
        self.queued
    }

    /// Bytes that wait in one class.
    pub(crate) const fn queued_in(&self, class: usize) -> u64 {
        self.queues[class].bytes
    }

    /// Whether the far end has paused `class`.
    pub(crate) const fn is_paused(&self, class: usize) -> bool {
        self.paused & 1 << class != 0
    }

    pub(crate) fn set_paused(&mut self, now: Time, class: usize, paused: bool) {
        let before = self.paused;
        self.paused = if paused { before | 1 << class } else { before & !(1 << class) };
        match (before, self.paused) {
            (0, after) if after != 0 => self.paused_since = now,
            (before, 0) if before != 0 => self.statistics.paused += now - self.paused_since,
            _ => {}
        }
    }

    /// What the port has seen until `now`, with a pause that still lasts.
    pub(crate) fn statistics_until(&self, now: Time) -> PortStatistics {
        let lasting = if self.paused == 0 { Duration::ZERO } else { now - self.paused_since };
        PortStatistics { paused: self.statistics.paused + lasting, ..self.statistics }
    }

    /// Ends every pause, as the loss of the link does.
    pub(crate) fn forget_pauses(&mut self, now: Time) {
        (0..CLASSES).for_each(|class| self.set_paused(now, class, false));
        self.held.iter_mut().for_each(|held| held.paused = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{HostId, PortId};
    use crate::packet::Kind;
    use crate::settings::Settings;

    fn port() -> Port {
        let rate = Rate::from_megabits_per_second(100_000);
        let host = |number| End::Host(HostId::new(number));
        let limits = IngressLimits::new(rate, Duration::ZERO, rate, &Settings::for_line_rate(rate));
        Port::new(rate, Duration::ZERO, (host(0), host(1)), 0.0, Thresholds::NEVER, limits)
    }

    fn fill(port: &mut Port, packets: &mut PacketSlab, class: usize) -> PacketId {
        let id = packets.take();
        packets[id].wire = 100;
        packets[id].kind = Kind::Data;
        packets[id].ingress = PortId::NONE;
        port.enqueue(packets, class, id);
        id
    }

    #[test]
    fn control_comes_first_and_the_rest_takes_turns() {
        let (mut port, mut packets) = (port(), PacketSlab::new());
        for class in [3, 3, 5, 5, 7, 0] {
            fill(&mut port, &mut packets, class);
        }
        let mut served = Vec::new();
        while let Some(class) = port.next_class() {
            port.dequeue(&packets, class).unwrap();
            served.push(class);
        }
        assert_eq!((served, port.queued()), (vec![0, 3, 5, 7, 3, 5], 0));
    }

    #[test]
    fn a_paused_class_waits_and_its_time_is_counted() {
        let (mut port, mut packets) = (port(), PacketSlab::new());
        fill(&mut port, &mut packets, 3);
        port.set_paused(Time::from_nanoseconds(10), 3, true);
        assert_eq!(port.next_class(), None);
        let lasting = port.statistics_until(Time::from_nanoseconds(20));
        assert_eq!(lasting.paused, Duration::from_nanoseconds(10));
        port.set_paused(Time::from_nanoseconds(25), 3, false);
        assert_eq!((port.next_class(), port.statistics.paused), (Some(3), Duration::from_nanoseconds(15)));
    }

    #[test]
    fn the_wire_is_busy_until_its_place_at_that_instant() {
        let mut port = port();
        let mut events = crate::event::EventQueue::new(Duration::from_nanoseconds(1));
        let (before, free, after) = (events.reserve(), events.reserve(), events.reserve());
        (port.free_at, port.free_order) = (Time::from_nanoseconds(7), free);
        assert!(port.is_busy(Time::from_nanoseconds(6), after));
        assert!(port.is_busy(Time::from_nanoseconds(7), before));
        assert!(!port.is_busy(Time::from_nanoseconds(7), after));
    }
}
