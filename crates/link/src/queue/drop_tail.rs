//! First in, first out; an arrival beyond the limit is dropped, and one that finds more than a threshold may be marked.

use trialwise_units::Time;
use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};

/// A queue that drops what arrives when it is full; without a limit, mm-link's `infinite`.
///
/// With a threshold it is DCTCP's switch (Alizadeh and others, "Data center TCP (DCTCP)", SIGCOMM 2010, section 3.1, item 1):
/// each ECN-capable packet that finds more than that in the queue is marked, and packets that are not capable pass as they are.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: Limit,
    threshold: Limit,
    buffer: Buffer<P>,
    marked: u64,
}

impl<P> DropTail<P> {
    /// An empty queue that marks nothing.
    pub fn new(limit: Limit) -> Self {
        Self::marking(limit, Limit::NONE)
    }

    /// An empty queue that marks what arrives while more than `threshold` waits, be it packets or bytes.
    pub fn marking(limit: Limit, threshold: Limit) -> Self {
        Self { limit, threshold, buffer: Buffer::default(), marked: 0 }
    }
}

impl<P: Packet> Queue<P> for DropTail<P> {
    fn enqueue(&mut self, mut waiting: Waiting<P>, drops: &mut Drops<P>) {
        let backlog = self.buffer.tally();
        if !self.limit.admits(backlog, waiting.size) {
            return drops.record(waiting.arrival, waiting.packet, Cause::Overflow);
        }
        if !self.threshold.allows(backlog) {
            self.marked += u64::from(mark_congestion(&mut waiting.packet));
        }
        self.buffer.push(waiting);
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        self.buffer.pop()
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}

/// `infinite`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InfiniteSpec;

impl Declared for InfiniteSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "infinite",
        words: "No limit: nothing is dropped.",
        head: None,
        keys: &[],
        example: "infinite",
    }];

    fn read(_arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self)
    }
}

impl DeclaredQueue for InfiniteSpec {
    fn build<P: Packet>(&self, _surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(DropTail::new(Limit::NONE)))
    }
}

/// `droptail:packets=50,mark=20`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropTailSpec {
    /// At least one limit.
    pub(crate) limit: LimitSpec,
    /// Up to which nothing is marked.
    pub(crate) threshold: Limit,
}

impl Declared for DropTailSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "droptail",
        words: "An arrival beyond the limit is dropped.",
        head: None,
        keys: &[
            LimitSpec::PACKETS,
            LimitSpec::BYTES,
            LimitSpec::BDP,
            Key {
                name: "mark",
                takes: Takes::Other("packets or a size"),
                words: "Mark ECN-capable packets that find more than this waiting, as DCTCP's switch does.",
            },
        ],
        example: "droptail:packets=50",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let threshold = arguments.with("mark", parse_threshold)?.unwrap_or(Limit::NONE);
        Ok(Self { limit: LimitSpec::required(arguments)?, threshold })
    }
}

/// A whole number of packets, or a size.
fn parse_threshold(text: &str) -> Result<Limit, String> {
    let size = || text.parse().map(Limit::bytes);
    text.parse()
        .map(Limit::packets)
        .or_else(|_| size())
        .map_err(|_| format!("`{text}` is neither packets nor a size; write 20 or 30kB"))
}

impl DeclaredQueue for DropTailSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(DropTail::marking(self.limit.resolve(surroundings)?, self.threshold)))
    }
}

#[cfg(test)]
mod tests {
    use trialwise_units::Bytes;

    use super::*;
    use crate::Ecn;
    use crate::queue::testing::{Bench, Numbered};

    fn bench(limit: u64, threshold: Limit) -> Bench<DropTail<Numbered>> {
        let mut bench = Bench::new(DropTail::marking(Limit::packets(limit), threshold));
        bench.ecn = Ecn::Capable0;
        bench
    }

    /// Which of the packets that still wait are marked.
    fn marked(bench: &mut Bench<DropTail<Numbered>>) -> Vec<bool> {
        std::iter::from_fn(|| bench.dequeue(0))
            .map(|packet| packet.ecn == Ecn::CongestionExperienced)
            .collect()
    }

    #[test]
    fn what_finds_more_than_the_threshold_is_marked_and_nothing_else() {
        for threshold in [Limit::packets(2), Limit::bytes(Bytes::new(3000))] {
            let mut bench = bench(5, threshold);
            (0..6).for_each(|_| bench.enqueue(0, 0));
            assert_eq!(bench.take_drops().len(), 1, "the sixth, by the limit");
            // Arrivals 0 to 4 find 0, 1, 2, 3, 4 packets of 1500 bytes.
            assert_eq!(marked(&mut bench), [false, false, false, true, true]);
            assert_eq!(bench.queue.marked(), 2, "what is dropped does not count");
        }
    }

    #[test]
    fn marks_follow_the_queue_as_it_is_at_each_arrival() {
        let mut bench = bench(9, Limit::packets(1));
        (0..3).for_each(|_| bench.enqueue(0, 0));
        (0..2).for_each(|now| assert!(bench.dequeue(now).is_some()));
        bench.enqueue(2, 0);
        assert_eq!(marked(&mut bench), [true, false], "the fourth finds one, which is not more than one");
    }

    #[test]
    fn packets_that_are_not_capable_pass_unmarked() {
        let mut bench = bench(9, Limit::packets(0));
        bench.ecn = Ecn::NotCapable;
        (0..3).for_each(|_| bench.enqueue(0, 0));
        assert_eq!(marked(&mut bench), [false; 3]);
        assert!(bench.queue.marked() == 0 && bench.take_drops().is_empty());
    }

    #[test]
    fn without_a_threshold_nothing_is_marked() {
        let mut bench = Bench::new(DropTail::new(Limit::NONE));
        bench.ecn = Ecn::Capable0;
        (0..100).for_each(|_| bench.enqueue(0, 0));
        assert_eq!(marked(&mut bench), [false; 100]);
    }
}
