//! What is to happen in parts of a network that are not at work, and when they may be.
//!
//! Parts are stepped one after another through a window of the lookahead: nothing that one of them does reaches another before
//! its end (K. M. Chandy and J. Misra, "Distributed simulation: a case study in design and verification of distributed
//! programs", IEEE Transactions on Software Engineering SE-5(5), 1979). So the state of one part stays near the processor.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trialwise_units::{Duration, Time};

use super::parts::Parts;
use crate::event::Entry;
use crate::index::PartId;

/// Steps of a window that the queue of events tells apart.
const STEPS: u64 = 2048;

type Heap = BinaryHeap<Reverse<Entry>>;

/// Events of all parts, by part, and those that are common to all.
pub(super) struct Windows {
    lookahead: Duration,
    parts: Vec<Heap>,
    /// When each part has something to do.
    first: Vec<u64>,
    common: Heap,
}

fn first_of(heap: &Heap) -> u64 {
    heap.peek().map_or(u64::MAX, |entry| entry.0.time())
}

fn take_before(heap: &mut Heap, end: Time) -> Option<Entry> {
    if first_of(heap) < end.picoseconds() { heap.pop().map(|entry| entry.0) } else { None }
}

impl Windows {
    pub(super) fn new(parts: &Parts) -> Self {
        Self {
            lookahead: parts.lookahead().unwrap_or(Duration::MAX),
            parts: vec![Heap::new(); parts.count()],
            first: vec![u64::MAX; parts.count()],
            common: Heap::new(),
        }
    }

    /// How far apart the queue tells events, so that a window is a small part of it.
    pub(super) fn spacing(lookahead: Duration) -> Duration {
        Duration::from_picoseconds((lookahead.picoseconds() / STEPS).max(1))
    }

    pub(super) fn push(&mut self, part: PartId, entry: Entry) {
        self.parts[part.index()].push(Reverse(entry));
        let first = &mut self.first[part.index()];
        *first = (*first).min(entry.time());
    }

    pub(super) fn push_common(&mut self, entry: Entry) {
        self.common.push(Reverse(entry));
    }

    pub(super) fn are_empty(&self) -> bool {
        self.common.is_empty() && self.parts.iter().all(Heap::is_empty)
    }

    /// When the first thing is to happen anywhere.
    pub(super) fn earliest(&self) -> u64 {
        self.first.iter().copied().min().unwrap_or(u64::MAX).min(first_of(&self.common))
    }

    /// The end of the next window: a lookahead after what comes first, but what is common to all comes when all are there.
    pub(super) fn open(&self, first: u64, by: Time) -> Option<Time> {
        let common = first_of(&self.common);
        if first == u64::MAX || first > by.picoseconds() {
            return None;
        }
        let end = first.saturating_add(self.lookahead.picoseconds());
        let last = common.min(by.picoseconds());
        Some(Time::from_picoseconds(end.min(last.saturating_add(1))))
    }

    /// When a part has something to do.
    #[inline]
    pub(super) fn first(&self, part: PartId) -> Option<Time> {
        let first = self.first[part.index()];
        (first != u64::MAX).then(|| Time::from_picoseconds(first))
    }

    /// Takes out what a part has to do before the end of a window.
    pub(super) fn take(&mut self, part: PartId, end: Time) -> Option<Entry> {
        let heap = &mut self.parts[part.index()];
        let taken = take_before(heap, end);
        if taken.is_none() {
            self.first[part.index()] = first_of(heap);
        }
        taken
    }

    /// Takes out what is common to all and comes before the end of a window.
    pub(super) fn take_common(&mut self, end: Time) -> Option<Entry> {
        take_before(&mut self.common, end)
    }
}
