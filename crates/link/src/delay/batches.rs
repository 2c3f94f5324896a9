//! Packets released in batches, as aggregating links and coalescing receivers do with acknowledgements.

use std::collections::VecDeque;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Time, elements};

use super::{Delay, OrderedDelay};
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

/// `packets=10,wait=5ms` or `every=100ms`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchesSpec {
    /// When so many are there, or the oldest has waited so long.
    Full {
        /// How many.
        packets: u64,
        /// How long.
        wait: Duration,
    },
    /// At the multiples of a period.
    Every(Duration),
}

elements! {
    /// Release in batches as written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BatchSpec of "batches", batches! {
        Batches(BatchesSpec),
    }
}

impl Declared for BatchesSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "Release packets together: periodically, or when enough packets wait or the oldest has waited long enough.",
        head: None,
        keys: &[
            Key {
                name: "every",
                takes: Takes::Span,
                words: "Release whatever waits at multiples of this time.",
            },
            Key {
                name: "packets",
                takes: Takes::Count,
                words: "Release a batch when this many packets wait.",
            },
            Key {
                name: "wait",
                takes: Takes::Span,
                words: "Release a smaller batch when its oldest packet has waited this long; required with packets.",
            },
        ],
        example: "packets=10,wait=5ms",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        match (written.count("packets")?, written.span("wait")?, written.span("every")?) {
            (Some(packets), Some(wait), None) => Ok(Self::Full { packets, wait }),
            (None, None, Some(every)) => Ok(Self::Every(every)),
            _ => Err(written.missing("either packets and wait, or every")),
        }
    }
}

impl BatchesSpec {
    fn build<P: Packet>(self, start: Time) -> Box<dyn Stage<P>> {
        match self {
            Self::Full { packets, wait } => {
                Box::new(Batches::new(usize::try_from(packets).unwrap_or(usize::MAX), wait))
            }
            Self::Every(period) => Box::new(OrderedDelay::new(Delay::until_multiple_of(period, start))),
        }
    }
}

impl BatchSpec {
    pub(crate) fn build<P: Packet>(&self, start: Time) -> Box<dyn Stage<P>> {
        batches!(self, spec => spec.build(start))
    }
}
