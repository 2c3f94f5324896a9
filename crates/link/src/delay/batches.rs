//! Packets released in batches, as aggregating links and coalescing receivers do with acknowledgements.

use std::collections::VecDeque;

use trialwise_units::{Duration, Time};

use crate::element::{Drops, Stage};
use crate::packet::{Packet, Tally};

/// Holds packets until `packets` of them are there or the oldest has waited for `wait`, then releases all
/// together, in order.
///
/// For batches at fixed instants, see [`Delay::until_multiple_of`](crate::delay::Delay::until_multiple_of).
#[derive(Debug)]
pub struct Batches<P> {
    packets: usize,
    wait: Duration,
    line: VecDeque<P>,
    /// When the oldest waiting packet has waited enough.
    deadline: Option<Time>,
    /// How many at the front are released, and when they were.
    released: usize,
    release: Time,
    held: Tally,
}

impl<P> Batches<P> {
    /// An empty stage; a batch has at least one packet.
    pub fn new(packets: usize, wait: Duration) -> Self {
        Self {
            packets: packets.max(1),
            wait,
            line: VecDeque::new(),
            deadline: None,
            released: 0,
            release: Time::ZERO,
            held: Tally::default(),
        }
    }

    fn release_all(&mut self, now: Time) {
        self.released = self.line.len();
        self.release = now;
        self.deadline = None;
    }
}

impl<P: Packet> Stage<P> for Batches<P> {
    fn push(&mut self, now: Time, packet: P, _drops: &mut Drops<P>) {
        self.held.add(packet.size());
        self.line.push_back(packet);
        self.deadline.get_or_insert(now + self.wait);
        if self.line.len() - self.released >= self.packets {
            self.release_all(now);
        }
    }

    fn pop(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<(Time, P)> {
        if self.released == 0 {
            let deadline = self.deadline.filter(|deadline| *deadline <= now)?;
            self.release_all(deadline);
        }
        let packet = self.line.pop_front()?;
        self.released -= 1;
        self.held.remove(packet.size());
        Some((self.release, packet))
    }

    fn next_event(&self) -> Option<Time> {
        if self.released > 0 { Some(self.release) } else { self.deadline }
    }

    fn held(&self) -> Tally {
        self.held
    }
}
