//! First in, first out; an arrival beyond the limit pushes out the oldest.

use trialwise_units::Time;
use trialwise_units::element::{Arguments, Declared, ElementError, Form};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{Packet, Tally};
use crate::queue::buffer::Buffer;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};

/// A queue that takes every arrival and then drops from its head until it is within its limit.
#[derive(Debug)]
pub struct DropHead<P> {
    limit: Limit,
    buffer: Buffer<P>,
}

impl<P> DropHead<P> {
    /// An empty queue.
    pub fn new(limit: Limit) -> Self {
        Self { limit, buffer: Buffer::default() }
    }
}

impl<P: Send> Queue<P> for DropHead<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        let now = waiting.arrival;
        self.buffer.push(waiting);
        while !self.limit.allows(self.buffer.tally())
            && let Some(oldest) = self.buffer.pop()
        {
            drops.record(now, oldest.packet, Cause::Overflow);
        }
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        self.buffer.pop()
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }
}

/// `drophead:packets=50`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropHeadSpec {
    /// At least one limit.
    pub(crate) limit: LimitSpec,
}

impl Declared for DropHeadSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "drophead",
        words: "An arrival beyond the limit pushes out the oldest packet.",
        head: None,
        keys: &[LimitSpec::PACKETS, LimitSpec::BYTES, LimitSpec::BDP],
        example: "drophead:packets=50",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { limit: LimitSpec::required(arguments)? })
    }
}

impl DeclaredQueue for DropHeadSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(DropHead::new(self.limit.resolve(surroundings)?)))
    }
}
