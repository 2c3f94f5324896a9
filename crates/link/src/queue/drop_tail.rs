//! First in, first out; an arrival beyond the limit is dropped.

use trialwise_units::Time;

use crate::element::{Cause, Drops};
use crate::packet::Tally;
use crate::queue::buffer::Buffer;
use crate::queue::{Limit, Queue, Waiting};

/// A queue that drops what arrives when it is full; without a limit, mm-link's `infinite`.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: Limit,
    buffer: Buffer<P>,
}

impl<P> DropTail<P> {
    /// An empty queue.
    pub fn new(limit: Limit) -> Self {
        Self { limit, buffer: Buffer::default() }
    }
}

impl<P: Send> Queue<P> for DropTail<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        match self.limit.admits(self.buffer.tally(), waiting.size) {
            true => self.buffer.push(waiting),
            false => drops.record(waiting.arrival, waiting.packet, Cause::Overflow),
        }
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        self.buffer.pop()
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }
}
