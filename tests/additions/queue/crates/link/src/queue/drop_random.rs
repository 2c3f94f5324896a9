//! First in, first out; an arrival beyond the limit pushes out one that waits, each with the same probability.

use trialwise_units::Time;
use trialwise_units::element::{Arguments, Declared, ElementError, Form};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{Packet, Tally};
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, LimitSpec, Queue, Surroundings, Waiting};

/// Multiplier and increment of a linear congruential generator (Knuth, MMIX).
const STEP: (u64, u64) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);

/// A queue that drops at random.
#[derive(Debug)]
pub(crate) struct DropRandom<P> {
    limit: Limit,
    waiting: Vec<Waiting<P>>,
    tally: Tally,
    state: u64,
}

impl<P> DropRandom<P> {
    /// An empty queue.
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, waiting: Vec::new(), tally: Tally::default(), state: 1 }
    }

    fn remove(&mut self, place: usize) -> Waiting<P> {
        let removed = self.waiting.remove(place);
        self.tally.remove(removed.size);
        removed
    }

    fn draw(&mut self) -> usize {
        self.state = self.state.wrapping_mul(STEP.0).wrapping_add(STEP.1);
        usize::try_from(self.state >> 33).unwrap_or(0) % self.waiting.len()
    }
}

impl<P: Send> Queue<P> for DropRandom<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        let now = waiting.arrival;
        self.tally.add(waiting.size);
        self.waiting.push(waiting);
        while !self.waiting.is_empty() && !self.limit.allows(self.tally) {
            let place = self.draw();
            drops.record(now, self.remove(place).packet, Cause::Overflow);
        }
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        (!self.waiting.is_empty()).then(|| self.remove(0))
    }

    fn backlog(&self) -> Tally {
        self.tally
    }
}

/// `droprandom:packets=50`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropRandomSpec {
    /// At least one limit.
    pub(crate) limit: LimitSpec,
}

impl Declared for DropRandomSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "droprandom",
        words: "An arrival beyond the limit pushes out a packet that waits, at random.",
        head: None,
        keys: &[LimitSpec::PACKETS, LimitSpec::BYTES, LimitSpec::BDP],
        example: "droprandom:packets=50",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { limit: LimitSpec::required(arguments)? })
    }
}

impl DeclaredQueue for DropRandomSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(DropRandom::new(self.limit.resolve(surroundings)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::Bench;

    #[test]
    fn each_of_those_that_wait_is_dropped_about_as_often() {
        let mut bench = Bench::new(DropRandom::new(Limit::packets(4)));
        let mut dropped = [0_u32; 5];
        for round in 0..10_000 {
            (0..5).for_each(|_| bench.enqueue(round, 0));
            let left: Vec<_> = std::iter::from_fn(|| bench.dequeue(round)).map(|one| one.number % 5).collect();
            let lost = (0..5).find(|number| !left.contains(number)).unwrap();
            dropped[usize::try_from(lost).unwrap()] += 1;
        }
        // Binomial(10,000, 1/5): a standard deviation is 40.
        assert!(dropped.iter().all(|count| (1_800..2_200).contains(count)), "{dropped:?}");
    }
}
