//! Delay lines: packets go in, and come out when their delay is over.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use trialwise_units::{Duration, Time};

use crate::delay::Delay;
use crate::element::{Drops, Stage};
use crate::packet::{Packet, Tally};

/// Delays packets and keeps their order: none leaves before one that came before it.
#[derive(Debug)]
pub struct OrderedDelay<P> {
    delay: Delay,
    line: VecDeque<(Time, P)>,
    held: Tally,
}

impl<P> OrderedDelay<P> {
    /// An empty line.
    pub fn new(delay: Delay) -> Self {
        Self { delay, line: VecDeque::new(), held: Tally::default() }
    }
}

impl<P: Packet> Stage<P> for OrderedDelay<P> {
    fn push(&mut self, now: Time, packet: P, _drops: &mut Drops<P>) {
        let due = now + self.delay.at(now);
        let release = self.line.back().map_or(due, |(last, _)| due.max(*last));
        self.held.add(packet.size());
        self.line.push_back((release, packet));
    }

    fn pop(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<(Time, P)> {
        self.next_event().filter(|release| *release <= now)?;
        let (release, packet) = self.line.pop_front()?;
        self.held.remove(packet.size());
        Some((release, packet))
    }

    fn next_event(&self) -> Option<Time> {
        self.line.front().map(|(release, _)| *release)
    }

    fn held(&self) -> Tally {
        self.held
    }

    fn minimum_delay(&self) -> Duration {
        self.delay.minimum()
    }
}

/// Delays packets each on its own, so that a later one may overtake; packets due together leave in the order
/// in which they came.
#[derive(Debug)]
pub struct ReorderingDelay<P> {
    delay: Delay,
    heap: BinaryHeap<Reverse<Delayed<P>>>,
    arrivals: u64,
    held: Tally,
}

#[derive(Debug)]
struct Delayed<P> {
    release: Time,
    arrival: u64,
    packet: P,
}

impl<P> ReorderingDelay<P> {
    /// An empty line.
    pub fn new(delay: Delay) -> Self {
        Self { delay, heap: BinaryHeap::new(), arrivals: 0, held: Tally::default() }
    }
}

impl<P: Packet> ReorderingDelay<P> {
    pub(crate) fn hold(&mut self, release: Time, packet: P) {
        self.arrivals += 1;
        self.held.add(packet.size());
        self.heap.push(Reverse(Delayed { release, arrival: self.arrivals, packet }));
    }
}

/// Delays the packets of some flows, each flow by a time of its own, and lets all others pass at once.
#[derive(Debug)]
pub(crate) struct FlowDelay<P> {
    delays: Vec<(u16, Duration)>,
    line: ReorderingDelay<P>,
}

impl<P> FlowDelay<P> {
    /// An empty line; flows are told apart by [`Packet::is_of`].
    pub(crate) fn new(delays: Vec<(u16, Duration)>) -> Self {
        Self { delays, line: ReorderingDelay::new(Delay::fixed(Duration::ZERO)) }
    }
}

impl<P: Packet> Stage<P> for FlowDelay<P> {
    fn push(&mut self, now: Time, packet: P, _drops: &mut Drops<P>) {
        let own = self.delays.iter().find(|(flow, _)| packet.is_of(*flow));
        self.line.hold(now + own.map_or(Duration::ZERO, |(_, delay)| *delay), packet);
    }

    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        self.line.pop(now, drops)
    }

    fn next_event(&self) -> Option<Time> {
        self.line.next_event()
    }

    fn held(&self) -> Tally {
        self.line.held()
    }
}

impl<P: Packet> Stage<P> for ReorderingDelay<P> {
    fn push(&mut self, now: Time, packet: P, _drops: &mut Drops<P>) {
        let release = now + self.delay.at(now);
        self.hold(release, packet);
    }

    fn pop(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<(Time, P)> {
        self.next_event().filter(|release| *release <= now)?;
        let Reverse(Delayed { release, packet, .. }) = self.heap.pop()?;
        self.held.remove(packet.size());
        Some((release, packet))
    }

    fn next_event(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(delayed)| delayed.release)
    }

    fn held(&self) -> Tally {
        self.held
    }

    fn minimum_delay(&self) -> Duration {
        self.delay.minimum()
    }
}

impl<P> Ord for Delayed<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.release, self.arrival).cmp(&(other.release, other.arrival))
    }
}

impl<P> PartialOrd for Delayed<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Delayed<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Delayed<P> {}
