//! A ring of waiting packets that knows how much it holds.

use std::collections::VecDeque;

use crate::packet::Tally;
use crate::queue::Waiting;

#[derive(Debug)]
pub(crate) struct Buffer<P> {
    ring: VecDeque<Waiting<P>>,
    tally: Tally,
}

impl<P> Default for Buffer<P> {
    fn default() -> Self {
        Self { ring: VecDeque::new(), tally: Tally::default() }
    }
}

impl<P> Buffer<P> {
    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.tally.add(waiting.size);
        self.ring.push_back(waiting);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.ring.pop_front()?;
        self.tally.remove(waiting.size);
        Some(waiting)
    }

    pub(crate) fn front(&self) -> Option<&Waiting<P>> {
        self.ring.front()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }
}
