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

/// A place in the order of events at equal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u64);

impl Order {
    /// Before all others.
    pub(crate) const FIRST: Self = Self(0);
}

const INDEX_BITS: u32 = 23;
const KIND_BITS: u32 = 3;
const ORDER_SHIFT: u32 = INDEX_BITS + KIND_BITS;
/// Flows, hosts and ports that an event can name.
pub(crate) const INDEX_LIMIT: usize = 1 << INDEX_BITS;

/// Time above place and payload, in one number: it compares without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(time: Time, order: Order, event: Event) -> Self {
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
        let payload = kind << INDEX_BITS | u64::from(index);
        let key = order.0 << ORDER_SHIFT | payload;
        Self(u128::from(time.picoseconds()) << 64 | u128::from(key))
    }

    const fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    const fn key(self) -> u64 {
        self.0 as u64
    }

    fn event(self) -> Event {
        let index = (self.key() & ((1 << INDEX_BITS) - 1)) as u32;
        match self.key() >> INDEX_BITS & ((1 << KIND_BITS) - 1) {
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
}

impl EventQueue {
    /// An empty queue that is fastest where events lie about so far apart.
    pub(crate) fn new(spacing: Duration) -> Self {
        Self { near: Wheel::new(spacing.picoseconds()), far: BinaryHeap::new(), reserved: 0 }
    }

    /// The next place: after everything scheduled so far.
    #[inline]
    pub(crate) const fn reserve(&mut self) -> Order {
        self.reserved += 1;
        Order(self.reserved)
    }

    /// Schedules `event` at `time` in the next place.
    pub(crate) fn schedule(&mut self, time: Time, event: Event) -> Order {
        let order = self.reserve();
        self.push(time, order, event);
        order
    }

    /// Schedules `event` at `time` in a place reserved before.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, order: Order, event: Event) {
        let entry = Entry::new(time, order, event);
        if !self.near.insert(entry.time(), entry) {
            self.far.push(Reverse(entry));
        }
    }

    /// Whether nothing is to happen any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.far.is_empty() && self.near.first().is_none()
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
        Some(Due {
            time: Time::from_picoseconds(entry.time()),
            order: Order(entry.key() >> ORDER_SHIFT),
            event: entry.event(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(queue: &mut EventQueue) -> Vec<Due> {
        let mut drained = Vec::new();
        while let Some(due) = queue.pop() {
            drained.push(due);
        }
        drained
    }

    #[test]
    fn equal_times_run_in_the_order_of_scheduling() {
        let mut queue = EventQueue::new(Duration::from_nanoseconds(1));
        let late = queue.reserve();
        for port in 0..20 {
            queue.schedule(Time::from_nanoseconds(5), Event::Free(PortId::new(port)));
        }
        queue.push(Time::from_nanoseconds(5), late, Event::Launch);
        let events: Vec<_> = drain(&mut queue).iter().map(|due| due.event).collect();
        assert_eq!(events[0], Event::Launch);
        assert!(
            events[1..]
                .iter()
                .enumerate()
                .all(|(port, event)| *event == Event::Free(PortId::new(port as u32)))
        );
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
        for kind in kinds {
            assert_eq!(Entry::new(Time::ZERO, Order(9), kind).event(), kind);
        }
    }

    proptest! {
        #[test]
        fn events_come_out_sorted_whatever_is_done(steps in prop::collection::vec((0_u64..5_000_000, 0_u8..3), 1..200)) {
            let mut queue = EventQueue::new(Duration::from_nanoseconds(1));
            let mut model: Vec<(u64, Order)> = Vec::new();
            for (time, action) in steps {
                if action == 0 && !model.is_empty() {
                    model.sort_unstable();
                    prop_assert_eq!(queue.pop().map(|due| (due.time.picoseconds(), due.order)), Some(model.remove(0)));
                } else {
                    model.push((time, queue.schedule(Time::from_picoseconds(time), Event::Sample)));
                }
            }
            model.sort_unstable();
            let drained: Vec<_> = drain(&mut queue).iter().map(|due| (due.time.picoseconds(), due.order)).collect();
            prop_assert_eq!(drained, model);
        }
    }
}
