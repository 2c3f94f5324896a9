//! The queue of pending events: a binary heap of 16-byte entries (heaps of three, four and eight children,
//! and one that sinks to the leaves first, were slower or no faster).
//!
//! Events at equal time run in the order in which their place was reserved, which is the order of scheduling.
//! A place may be reserved before it is known whether an event is needed there: a link that falls idle with
//! nothing to send costs no event. Packets on a wire wait in their port's own list and only the first of each
//! is here, so the heap holds about as many entries as there are busy links, not packets.

use trialwise_units::Time;

use crate::index::{FlowId, HostId, PortId};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet on the wire of this port reaches the other end.
    Arrival(PortId),
    /// The port has sent its packet and may send another.
    Free(PortId),
    /// A flow of this host may send again.
    Wake(HostId),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time: u64,
    key: u64,
}

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
        Self { time: time.picoseconds(), key: order.0 << ORDER_SHIFT | payload }
    }

    fn event(self) -> Event {
        let index = (self.key & ((1 << INDEX_BITS) - 1)) as u32;
        match self.key >> INDEX_BITS & ((1 << KIND_BITS) - 1) {
            0 => Event::Arrival(PortId::new(index)),
            1 => Event::Free(PortId::new(index)),
            2 => Event::Wake(HostId::new(index)),
            3 => Event::Timer(FlowId::new(index)),
            4 => Event::Launch,
            5 => Event::Stage(FlowId::new(index)),
            6 => Event::Fault,
            _ => Event::Sample,
        }
    }

    fn precedes(self, other: Self) -> bool {
        let wide = |entry: Self| u128::from(entry.time) << 64 | u128::from(entry.key);
        wide(self) < wide(other)
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
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    /// Whether the top has been taken out and not been filled: what is scheduled next goes there, which is
    /// cheaper than a removal and an insertion.
    hole: bool,
    reserved: u64,
}

impl EventQueue {
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
        if self.hole {
            self.hole = false;
            self.sink(entry);
            return;
        }
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }

    /// Takes the earliest event out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Due> {
        self.close_hole();
        let entry = *self.heap.first()?;
        self.hole = true;
        Some(Due {
            time: Time::from_picoseconds(entry.time),
            order: Order(entry.key >> ORDER_SHIFT),
            event: entry.event(),
        })
    }

    #[inline]
    fn close_hole(&mut self) {
        if !self.hole {
            return;
        }
        self.hole = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    #[inline]
    fn rise(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !entry.precedes(self.heap[parent]) {
                break;
            }
            self.heap[position] = self.heap[parent];
            position = parent;
        }
        self.heap[position] = entry;
    }

    /// Puts `entry` into the hole at the top.
    #[inline]
    fn sink(&mut self, entry: Entry) {
        let heap = &mut self.heap[..];
        let mut position = 0;
        loop {
            let first = 2 * position + 1;
            let child = match heap.get(first..) {
                None | Some([]) => break,
                Some([_]) => first,
                Some([left, right, ..]) => first + usize::from(right.precedes(*left)),
            };
            if !heap[child].precedes(entry) {
                break;
            }
            heap[position] = heap[child];
            position = child;
        }
        heap[position] = entry;
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
        let mut queue = EventQueue::default();
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
            Event::Wake(HostId::new(3)),
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
        fn events_come_out_sorted_whatever_is_done(steps in prop::collection::vec((0_u64..50, 0_u8..3), 1..200)) {
            let mut queue = EventQueue::default();
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
