//! The queue of pending events: 16-byte entries on a wheel, and in a binary heap what the wheel refuses.
//!
//! Events at equal time run in the order in which their place was reserved, which is the order of scheduling.
//! A place may be reserved before it is known whether an event is needed there: a link that falls idle with
//! nothing to send costs no event. Packets on a wire wait in their port's own list and only the first of each
//! is here, so the queue holds about as many entries as there are busy links, not packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trialwise_units::{Duration, Time};

use crate::index::{CardId, FlowId, PortId};
use crate::wheel::Wheel;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet on the wire of this port reaches the other end.
    Arrival(PortId),
    /// The port has sent its packet and may send another.
    Free(PortId),
    /// A flow of this host may send again.
    Wake(CardId),
    /// A timer of this flow.
    Timer(FlowId),
    /// The next flows of the list begin.
    Launch,
    /// A begun flow goes through its stages (compatible mode).
    Stage(FlowId),
    /// The next failure or repair of a link.
    Fault,
    /// The observer looks.
    Sample,
}

/// The place of an event among those of its instant, and in the same number what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u64);

impl Order {
    /// Before all others.
    pub(crate) const FIRST: Self = Self(0);
}

const INDEX_BITS: u32 = 23;
const KIND_BITS: u32 = 3;
const PAYLOAD_BITS: u32 = INDEX_BITS + KIND_BITS;
/// Flows, hosts and ports that an event can name.
pub(crate) const INDEX_LIMIT: usize = 1 << INDEX_BITS;

/// What decides between events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ties {
    /// Which was reserved first.
    Reserved,
    /// Their kind, then the number of what they happen to, then which was reserved first: whoever reserves for others does not
    /// matter.
    Place,
}

impl Ties {
    /// By how many bits the count of reservations, which stands above kind and number, is turned below them.
    const fn turn(self) -> u32 {
        match self {
            Self::Reserved => 0,
            Self::Place => PAYLOAD_BITS,
        }
    }
}

const fn payload(event: Event) -> u64 {
    let (kind, index) = match event {
        Event::Arrival(port) => (0, port.get()),
        Event::Free(port) => (1, port.get()),
        Event::Wake(host) => (2, host.get()),
        Event::Timer(flow) => (3, flow.get()),
        Event::Launch => (4, 0),
        Event::Stage(flow) => (5, flow.get()),
        Event::Fault => (6, 0),
        Event::Sample => (7, 0),
    };
    kind << INDEX_BITS | index as u64
}

const fn event_of(payload: u64) -> Event {
    let index = (payload & ((1 << INDEX_BITS) - 1)) as u32;
    match payload >> INDEX_BITS & ((1 << KIND_BITS) - 1) {
        0 => Event::Arrival(PortId::new(index)),
        1 => Event::Free(PortId::new(index)),
        2 => Event::Wake(CardId::new(index)),
        3 => Event::Timer(FlowId::new(index)),
        4 => Event::Launch,
        5 => Event::Stage(FlowId::new(index)),
        6 => Event::Fault,
        _ => Event::Sample,
    }
}

/// Time above place, in one number: it compares without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    pub(crate) const fn new(time: Time, order: Order) -> Self {
        Self((time.picoseconds() as u128) << 64 | order.0 as u128)
    }

    pub(crate) const fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    const fn order(self) -> Order {
        Order(self.0 as u64)
    }
}

/// An event that is due: when, in which place, what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) time: Time,
    pub(crate) order: Order,
    pub(crate) event: Event,
}

/// Pending events, earliest first.
#[derive(Debug)]
pub(crate) struct EventQueue {
    near: Wheel<Entry>,
    /// What the wheel does not take.
    far: BinaryHeap<Reverse<Entry>>,
    reserved: u64,
    turn: u32,
}

impl EventQueue {
    /// An empty queue that is fastest where events lie about so far apart.
    pub(crate) fn new(spacing: Duration, ties: Ties) -> Self {
        Self {
            near: Wheel::new(spacing.picoseconds()),
            far: BinaryHeap::new(),
            reserved: 0,
            turn: ties.turn(),
        }
    }

    /// The next place for this event.
    #[inline]
    pub(crate) const fn reserve(&mut self, event: Event) -> Order {
        self.reserved += 1;
        Order((self.reserved << PAYLOAD_BITS | payload(event)).rotate_right(self.turn))
    }

    /// Schedules an event at `time` in a place reserved before.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        if !self.near.insert(entry.time(), entry) {
            self.far.push(Reverse(entry));
        }
    }

    /// Whether nothing is to happen any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.far.is_empty() && self.near.first().is_none()
    }

    /// Goes to any time, also an earlier one. The queue is empty.
    pub(crate) fn restart(&mut self, time: Time) {
        debug_assert!(self.is_empty());
        self.near.restart(time.picoseconds());
    }

    /// Takes the earliest event out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Due> {
        let near = self.near.first();
        let entry = match (near, self.far.peek()) {
            (Some((slot, entry)), far) if far.is_none_or(|far| entry < far.0) => {
                self.near.remove_first(slot);
                entry
            }
            _ => self.far.pop()?.0,
        };
        self.near.advance(entry.time());
        Some(self.due(entry))
    }

    /// What an entry stands for.
    #[inline]
    pub(crate) const fn due(&self, entry: Entry) -> Due {
        let order = entry.order();
        let event = event_of(order.0.rotate_left(self.turn));
        Due { time: Time::from_picoseconds(entry.time()), order, event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn queue(ties: Ties) -> EventQueue {
        EventQueue::new(Duration::from_nanoseconds(1), ties)
    }

    fn schedule(queue: &mut EventQueue, time: u64, event: Event) -> Order {
        let order = queue.reserve(event);
        queue.push(Entry::new(Time::from_picoseconds(time), order));
        order
    }

    fn drain(queue: &mut EventQueue) -> Vec<Due> {
        let mut drained = Vec::new();
        while let Some(due) = queue.pop() {
            drained.push(due);
        }
        drained
    }

    #[test]
    fn equal_times_run_in_the_order_of_scheduling() {
        let mut queue = queue(Ties::Reserved);
        let late = queue.reserve(Event::Launch);
        let ports = [7, 3, 5].map(|port| Event::Free(PortId::new(port)));
        ports.iter().for_each(|event| _ = schedule(&mut queue, 5, *event));
        queue.push(Entry::new(Time::from_picoseconds(5), late));
        let events: Vec<_> = drain(&mut queue).iter().map(|due| due.event).collect();
        assert_eq!((events[0], &events[1..]), (Event::Launch, ports.as_slice()));
    }

    #[test]
    fn equal_times_run_in_the_order_of_places_whoever_reserved_first() {
        let mut queue = queue(Ties::Place);
        let (flow, port) = (FlowId::new(1), |number| Event::Arrival(PortId::new(number)));
        let mixed = [Event::Timer(flow), Event::Free(PortId::new(0)), port(9), port(2), Event::Timer(flow)];
        let orders = mixed.map(|event| schedule(&mut queue, 5, event));
        let due = drain(&mut queue);
        let events: Vec<_> = due.iter().map(|due| due.event).collect();
        assert_eq!(events, [port(2), port(9), mixed[1], mixed[0], mixed[0]]);
        assert_eq!((due[3].order, due[4].order), (orders[0], orders[4]));
    }

    #[test]
    fn every_kind_survives_packing() {
        let kinds = [
            Event::Arrival(PortId::new(1)),
            Event::Free(PortId::new(2)),
            Event::Wake(CardId::new(3)),
            Event::Timer(FlowId::new(INDEX_LIMIT as u32 - 1)),
            Event::Launch,
            Event::Stage(FlowId::new(5)),
            Event::Fault,
            Event::Sample,
        ];
        for ties in [Ties::Reserved, Ties::Place] {
            let mut queue = queue(ties);
            for kind in kinds {
                let order = queue.reserve(kind);
                assert_eq!(queue.due(Entry::new(Time::ZERO, order)).event, kind);
            }
        }
    }

    proptest! {
        #[test]
        fn events_come_out_sorted_whatever_is_done(steps in prop::collection::vec((0_u64..5_000_000, 0_u8..3), 1..200)) {
            let mut queue = queue(Ties::Reserved);
            let mut model: Vec<(u64, Order)> = Vec::new();
            for (time, action) in steps {
                if action == 0 && !model.is_empty() {
                    model.sort_unstable();
                    prop_assert_eq!(queue.pop().map(|due| (due.time.picoseconds(), due.order)), Some(model.remove(0)));
                } else {
                    model.push((time, schedule(&mut queue, time, Event::Sample)));
                }
            }
            model.sort_unstable();
            let drained: Vec<_> = drain(&mut queue).iter().map(|due| (due.time.picoseconds(), due.order)).collect();
            prop_assert_eq!(drained, model);
        }
    }
}
