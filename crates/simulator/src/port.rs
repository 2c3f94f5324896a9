//! One direction of a link: its wire, the queues before it, and the accounts of what came over it.

use trialwise_units::{Duration, Time};

use crate::buffer::{CONTROL, Held};
use crate::event::Order;
use crate::flight::Flight;
use crate::index::{CardId, PacketId, PartId, SwitchId};
use crate::link_kind::LinkKindId;
use crate::packet::{PacketList, PacketSlab};
use crate::scheduling::{Deficits, choose_class};
use crate::settings::{CLASSES, Scheduling, Weights};

/// Packets of one class that wait.
#[derive(Clone, Copy, Debug)]
struct ClassQueue {
    list: PacketList,
    bytes: u64,
}

impl ClassQueue {
    const EMPTY: Self = Self { list: PacketList::EMPTY, bytes: 0 };
}

/// A class of data: what waits, and what the switch at the far end holds that came over this wire.
#[derive(Clone, Copy, Debug)]
struct DataClass {
    queue: ClassQueue,
    held: Held,
}

impl DataClass {
    const EMPTY: Self = Self { queue: ClassQueue::EMPTY, held: Held::NOTHING };
}

/// Classes of data that few use, by their numbers, and what all have left of their turns.
#[derive(Clone, Debug)]
struct Others {
    classes: [DataClass; CLASSES],
    deficits: Deficits,
}

impl Others {
    const EMPTY: Self = Self { classes: [DataClass::EMPTY; CLASSES], deficits: Deficits::NONE };
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

/// What sends through a port, or takes what comes out of its wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Card(CardId),
    Switch(SwitchId),
}

/// The class of data that is kept in the port itself: that of all, if nobody wants another.
const USUAL_CLASS: usize = 3;

/// An egress port and its wire, and the accounts of what came over it. What every packet meets stands in the first two cache
/// lines: fabrics have more ports than fit near. Classes that few use are elsewhere. The number of lines is odd, so that the
/// first ones of all ports do not share a few sets of the cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// Packets on the wire.
    pub(crate) flight: Flight,
    /// When the wire takes the next packet, and the place of that instant among events.
    pub(crate) free_at: Time,
    pub(crate) free_order: Order,
    queued: u64,
    pub(crate) end: Side,
    pub(crate) kind: LinkKindId,
    last_served: u8,
    /// Whether an event stands at the place where the wire falls free.
    pub(crate) free_scheduled: bool,
    pub(crate) up: bool,
    /// One bit for each class: whether packets wait, whether the far end has paused it.
    waiting: u8,
    paused: u8,
    /// The part of the network at the far end.
    pub(crate) end_part: PartId,

    /// Bytes sent.
    pub(crate) transmitted: u64,
    peak_queue: u64,
    /// What sends through this port.
    pub(crate) owner: Side,
    usual: DataClass,

    control: ClassQueue,
    /// Other classes of data, once one was used.
    others: Option<Box<Others>>,
    paused_since: Time,
    paused_before: Duration,
}

impl Port {
    pub(crate) fn new(kind: LinkKindId, owner: Side, end: Side) -> Self {
        Self {
            flight: Flight::EMPTY,
            free_at: Time::ZERO,
            free_order: Order::FIRST,
            queued: 0,
            end,
            kind,
            last_served: 0,
            free_scheduled: false,
            up: true,
            waiting: 0,
            paused: 0,
            end_part: PartId::FIRST,
            transmitted: 0,
            peak_queue: 0,
            owner,
            usual: DataClass::EMPTY,
            control: ClassQueue::EMPTY,
            others: None,
            paused_since: Time::ZERO,
            paused_before: Duration::ZERO,
        }
    }

    /// The same, into this part of the network.
    pub(crate) const fn in_part(mut self, part: PartId) -> Self {
        self.end_part = part;
        self
    }

    /// Whether the wire is taken for an event in place `order` at `now`.
    #[inline]
    pub(crate) fn is_busy(&self, now: Time, order: Order) -> bool {
        now < self.free_at || (now == self.free_at && order < self.free_order)
    }

    /// A class of data.
    #[inline]
    fn data(&mut self, class: usize) -> &mut DataClass {
        if class == USUAL_CLASS { &mut self.usual } else { self.other(class) }
    }

    #[cold]
    fn other(&mut self, class: usize) -> &mut DataClass {
        &mut self.others.get_or_insert_with(|| Box::new(Others::EMPTY)).classes[class]
    }

    #[inline]
    fn queue(&mut self, class: usize) -> &mut ClassQueue {
        if class == CONTROL { &mut self.control } else { &mut self.data(class).queue }
    }

    /// What the far end holds of one class of data.
    #[inline]
    pub(crate) fn held(&mut self, class: usize) -> &mut Held {
        &mut self.data(class).held
    }

    /// Lets a packet through at once where the wire is idle and nothing keeps its class or waits before it. The port is
    /// then as if it had been queued and taken out.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, order: Order, class: usize, size: u64) -> bool {
        if self.waiting != 0
            || self.is_busy(now, order)
            || !self.up
            || (class != CONTROL && self.is_paused(class))
        {
            return false;
        }
        self.peak_queue = self.peak_queue.max(size);
        self.note_served(class);
        true
    }

    #[inline]
    const fn note_served(&mut self, class: usize) {
        if class != CONTROL {
            self.last_served = class as u8;
        }
    }

    pub(crate) fn enqueue(&mut self, packets: &mut PacketSlab, class: usize, id: PacketId) {
        let size = u64::from(packets[id].wire);
        let queue = self.queue(class);
        queue.list.push(packets, id);
        queue.bytes += size;
        self.queued += size;
        self.waiting |= 1 << class;
        self.peak_queue = self.peak_queue.max(self.queued);
    }

    /// Whether some class may go next.
    #[inline]
    pub(crate) const fn has_next(&self) -> bool {
        self.waiting & (!self.paused | 1 << CONTROL) != 0
    }

    /// The class to serve now: control first, then as the scheduling has it, without paused ones. By weights, `unit` bytes of a
    /// class with a weight of 1 go out in its turn.
    #[inline]
    pub(crate) fn next_class(
        &mut self,
        packets: &PacketSlab,
        scheduling: Scheduling,
        unit: u64,
    ) -> Option<usize> {
        if self.waiting & 1 << CONTROL != 0 {
            return Some(CONTROL);
        }
        let ready = self.waiting & !self.paused;
        if let Scheduling::Weighted(weights) = scheduling {
            return self.next_by_weight(packets, weights, unit, ready);
        }
        choose_class(scheduling, ready, self.last_served)
    }

    #[cold]
    fn next_by_weight(
        &mut self,
        packets: &PacketSlab,
        weights: Weights,
        unit: u64,
        ready: u8,
    ) -> Option<usize> {
        let Some(others) = &mut self.others else { return (ready != 0).then_some(USUAL_CLASS) };
        let Others { classes, deficits } = &mut **others;
        let head = |class: usize| {
            let queue = if class == USUAL_CLASS { &self.usual.queue } else { &classes[class].queue };
            queue.list.first().map_or(0, |id| u64::from(packets[id].wire))
        };
        deficits.choose(weights, unit, ready, self.last_served, head)
    }

    /// Takes the first packet of `class` out.
    #[inline]
    pub(crate) fn dequeue(&mut self, packets: &PacketSlab, class: usize) -> Option<PacketId> {
        let queue = self.queue(class);
        let id = queue.list.pop(packets)?;
        let size = u64::from(packets[id].wire);
        queue.bytes -= size;
        let is_empty = queue.list.is_empty();
        self.queued -= size;
        if is_empty {
            self.waiting &= !(1 << class);
        }
        if let Some(others) = &mut self.others {
            others.deficits.spend(class, size, is_empty);
        }
        self.note_served(class);
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
    #[inline]
    pub(crate) fn queued_in(&self, class: usize) -> u64 {
        match class {
            USUAL_CLASS => self.usual.queue.bytes,
            CONTROL => self.control.bytes,
            _ => self.others.as_ref().map_or(0, |others| others.classes[class].queue.bytes),
        }
    }

    /// The classes that the far end has paused, a bit for each.
    pub(crate) const fn paused(&self) -> u8 {
        self.paused
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
            (before, 0) if before != 0 => self.paused_before += now - self.paused_since,
            _ => {}
        }
    }

    /// What the port has seen until `now`, with a pause that still lasts.
    pub(crate) fn statistics_until(&self, now: Time) -> PortStatistics {
        let lasting = if self.paused == 0 { Duration::ZERO } else { now - self.paused_since };
        PortStatistics {
            transmitted: self.transmitted,
            peak_queue: self.peak_queue,
            paused: self.paused_before + lasting,
        }
    }

    /// Ends every pause, as the loss of the link does.
    pub(crate) fn forget_pauses(&mut self, now: Time) {
        (0..CLASSES).for_each(|class| self.set_paused(now, class, false));
        let others = self.others.iter_mut().flat_map(|others| others.classes.iter_mut());
        others.chain([&mut self.usual]).for_each(|class| class.held.paused = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, EventQueue, Ties};
    use crate::packet::Kind;

    fn port() -> Port {
        let card = |number| Side::Card(CardId::new(number));
        Port::new(LinkKindId::FIRST, card(0), card(1))
    }

    fn fill(port: &mut Port, packets: &mut PacketSlab, class: usize) -> PacketId {
        let id = packets.take();
        packets[id].wire = 100;
        packets[id].kind = Kind::Data;
        port.enqueue(packets, class, id);
        id
    }

    #[test]
    fn a_port_is_an_odd_number_of_cache_lines_and_packets_meet_two() {
        assert_eq!((size_of::<Port>(), std::mem::offset_of!(Port, control)), (192, 128));
        assert_eq!(std::mem::offset_of!(Port, transmitted), 64);
    }

    #[test]
    fn a_packet_passes_only_an_idle_port() {
        let (mut port, mut packets) = (port(), PacketSlab::new());
        let now = Time::from_nanoseconds(5);
        assert!(port.pass(now, Order::FIRST, 3, 100));
        assert_eq!((port.statistics_until(now).peak_queue, port.last_served), (100, 3));
        port.set_paused(now, 3, true);
        assert!(!port.pass(now, Order::FIRST, 3, 100) && port.pass(now, Order::FIRST, CONTROL, 100));
        port.set_paused(now, 3, false);
        fill(&mut port, &mut packets, 5);
        assert!(!port.pass(now, Order::FIRST, 3, 100));
        port.dequeue(&packets, 5).unwrap();
        port.up = false;
        assert!(!port.pass(now, Order::FIRST, 3, 100));
        (port.up, port.free_at) = (true, Time::from_nanoseconds(6));
        assert!(!port.pass(now, Order::FIRST, 3, 100));
    }

    #[test]
    fn control_comes_first_and_the_rest_takes_turns() {
        let (mut port, mut packets) = (port(), PacketSlab::new());
        for class in [3, 3, 5, 5, 7, 0] {
            fill(&mut port, &mut packets, class);
        }
        let mut served = Vec::new();
        while let Some(class) = port.next_class(&packets, Scheduling::RoundRobin, 0) {
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
        assert_eq!((port.next_class(&packets, Scheduling::RoundRobin, 0), port.has_next()), (None, false));
        let lasting = port.statistics_until(Time::from_nanoseconds(20));
        assert_eq!(lasting.paused, Duration::from_nanoseconds(10));
        port.set_paused(Time::from_nanoseconds(25), 3, false);
        let over = port.statistics_until(Time::from_nanoseconds(30));
        assert_eq!(
            (port.next_class(&packets, Scheduling::RoundRobin, 0), over.paused),
            (Some(3), Duration::from_nanoseconds(15))
        );
    }

    #[test]
    fn the_wire_is_busy_until_its_place_at_that_instant() {
        let mut port = port();
        let mut events = EventQueue::new(Duration::from_nanoseconds(1), Ties::Reserved);
        let [before, free, after] = [0, 1, 2].map(|card| events.reserve(Event::Wake(CardId::new(card))));
        (port.free_at, port.free_order) = (Time::from_nanoseconds(7), free);
        assert!(port.is_busy(Time::from_nanoseconds(6), after));
        assert!(port.is_busy(Time::from_nanoseconds(7), before));
        assert!(!port.is_busy(Time::from_nanoseconds(7), after));
    }
}
