//! FlowQueue-CoDel (RFC 8290).

use std::collections::VecDeque;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Bytes, Seed, Time};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{MAX_BYTES, bounded};
use crate::packet::{Packet, Tally};
use crate::queue::codel::{CoDelParameters, Controller, ECN, INTERVAL, Source, TARGET};
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};

/// No more packets are dropped at one overflow (RFC 8290 section 4.1).
const DROP_BATCH: u64 = 64;
const NONE: u32 = u32::MAX;

/// What FlowQueue-CoDel goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelParameters {
    /// CoDel inside each queue.
    pub codel: CoDelParameters,
    /// How many queues flows are hashed to (RFC 8290 section 5.2.5: 1024).
    pub flows: u32,
    /// How many bytes a queue may send in its turn (RFC 8290 section 5.2.4: 1514).
    pub quantum: Bytes,
}

impl Default for FqCoDelParameters {
    fn default() -> Self {
        let codel = CoDelParameters { ecn: true, ..CoDelParameters::default() };
        Self { codel, flows: 1024, quantum: Bytes::new(1514) }
    }
}

/// Flows in queues of their own, each under CoDel, served by deficit round robin with new flows first.
#[derive(Debug)]
pub struct FqCoDel<P> {
    parameters: FqCoDelParameters,
    limit: Limit,
    perturbation: Seed,
    flows: Vec<Flow>,
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    store: Store<P>,
}

#[derive(Clone, Debug)]
struct Flow {
    chain: Chain,
    deficit: i64,
    is_listed: bool,
    controller: Controller,
}

/// The packets of one flow in the store.
#[derive(Clone, Debug)]
struct Chain {
    head: u32,
    tail: u32,
    tally: Tally,
}

/// The packets of all flows, in cells that are used again.
#[derive(Debug)]
struct Store<P> {
    cells: Vec<Cell<P>>,
    free: u32,
    tally: Tally,
}

#[derive(Debug)]
struct Cell<P> {
    waiting: Option<Waiting<P>>,
    next: u32,
}

impl<P> Store<P> {
    fn push(&mut self, chain: &mut Chain, waiting: Waiting<P>) {
        self.tally.add(waiting.size);
        chain.tally.add(waiting.size);
        let index = self.place(Cell { waiting: Some(waiting), next: NONE });
        match chain.tail {
            NONE => chain.head = index,
            tail => self.cells[tail as usize].next = index,
        }
        chain.tail = index;
    }

    fn place(&mut self, cell: Cell<P>) -> u32 {
        if self.free == NONE {
            self.cells.push(cell);
            return (self.cells.len() - 1) as u32;
        }
        let index = self.free;
        self.free = std::mem::replace(&mut self.cells[index as usize], cell).next;
        index
    }

    fn pop(&mut self, chain: &mut Chain) -> Option<Waiting<P>> {
        let index = chain.head;
        let cell = self.cells.get_mut(index as usize)?;
        let waiting = cell.waiting.take()?;
        chain.head = std::mem::replace(&mut cell.next, self.free);
        self.free = index;
        if chain.head == NONE {
            chain.tail = NONE;
        }
        self.tally.remove(waiting.size);
        chain.tally.remove(waiting.size);
        Some(waiting)
    }
}

struct FlowSource<'a, P> {
    chain: &'a mut Chain,
    store: &'a mut Store<P>,
}

impl<P> Source<P> for FlowSource<'_, P> {
    fn take(&mut self) -> Option<Waiting<P>> {
        self.store.pop(self.chain)
    }

    /// The occupancy of all queues of the link (RFC 8289 section 4.4).
    fn bytes_left(&self) -> Bytes {
        self.store.tally.bytes
    }
}

impl<P: Packet> FqCoDel<P> {
    /// An empty queue; `seed` perturbs the hash of flows (RFC 8290 section 4.1).
    pub fn new(mut parameters: FqCoDelParameters, limit: Limit, seed: Seed) -> Self {
        // With none, no turn would ever come.
        parameters.quantum = parameters.quantum.clamp(Bytes::new(1), MAX_BYTES);
        let chain = Chain { head: NONE, tail: NONE, tally: Tally::default() };
        let flow = Flow { chain, deficit: 0, is_listed: false, controller: Controller::default() };
        let count = parameters.flows.max(1) as usize;
        Self {
            parameters,
            limit,
            perturbation: seed,
            flows: vec![flow; count],
            new_flows: VecDeque::with_capacity(count),
            old_flows: VecDeque::with_capacity(count),
            store: Store { cells: Vec::new(), free: NONE, tally: Tally::default() },
        }
    }

    fn index_of(&self, packet: &P) -> u32 {
        // Fibonacci hashing spreads keys that are not hashes; the upper bits of the product choose the queue.
        let hash = (packet.flow() ^ self.perturbation.get()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(hash) * self.flows.len() as u128) >> 64) as u32
    }

    /// Drops from the head of the queue with the most bytes half of its packets, 64 at most (RFC 8290 section
    /// 4.1).
    fn drop_from_fattest(&mut self, now: Time, drops: &mut Drops<P>) {
        let Some(fattest) = self.flows.iter_mut().max_by_key(|flow| flow.chain.tally.bytes.get()) else {
            return;
        };
        let batch = fattest.chain.tally.packets.div_ceil(2).min(DROP_BATCH);
        for _ in 0..batch {
            if let Some(waiting) = self.store.pop(&mut fattest.chain) {
                drops.record(now, waiting.packet, Cause::Overflow);
            }
        }
    }

    /// The queue whose turn it is: new ones first (RFC 8290 section 4.2).
    fn front(&self) -> Option<(u32, bool)> {
        let new = self.new_flows.front().map(|index| (*index, true));
        new.or_else(|| self.old_flows.front().map(|index| (*index, false)))
    }

    fn take_front(&mut self, is_new: bool) {
        if is_new {
            self.new_flows.pop_front()
        } else {
            self.old_flows.pop_front()
        };
    }
}

impl<P: Packet> Queue<P> for FqCoDel<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        let now = waiting.arrival;
        let index = self.index_of(&waiting.packet);
        let flow = &mut self.flows[index as usize];
        self.store.push(&mut flow.chain, waiting);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = self.parameters.quantum.get().cast_signed();
            self.new_flows.push_back(index);
        }
        while !self.limit.allows(self.store.tally) {
            self.drop_from_fattest(now, drops);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Waiting<P>> {
        loop {
            let (index, is_new) = self.front()?;
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.parameters.quantum.get().cast_signed();
                self.take_front(is_new);
                self.old_flows.push_back(index);
                continue;
            }
            let source = &mut FlowSource { chain: &mut flow.chain, store: &mut self.store };
            if let Some(waiting) = flow.controller.dequeue(&self.parameters.codel, now, source, drops) {
                flow.deficit -= waiting.size.get().cast_signed();
                return Some(waiting);
            }
            // An empty new queue goes to the end of the old ones, so that it cannot come back as new at once.
            flow.is_listed = is_new;
            self.take_front(is_new);
            if is_new {
                self.old_flows.push_back(index);
            }
        }
    }

    fn backlog(&self) -> Tally {
        self.store.tally
    }

    fn marked(&self) -> u64 {
        self.flows.iter().map(|flow| flow.controller.marked).sum()
    }
}

/// Queues that are kept at most.
const MAX_FLOWS: u32 = 65_536;

/// `fq_codel:packets=10240,target=5ms,interval=100ms`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCoDelSpec {
    /// 10240 packets unless given.
    pub(crate) limit: LimitSpec,
    /// What it goes by.
    pub(crate) parameters: FqCoDelParameters,
}

impl Declared for FqCoDelSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "fq_codel",
        words: "FQ-CoDel (RFC 8290), with ecn = yes by default; default limit 10240 packets.",
        head: None,
        keys: &[
            LimitSpec::PACKETS,
            LimitSpec::BYTES,
            LimitSpec::BDP,
            TARGET,
            INTERVAL,
            ECN,
            Key {
                name: "flows",
                takes: Takes::Count,
                words: "Number of queues that flows are hashed to; default 1024.",
            },
            Key {
                name: "quantum",
                takes: Takes::Count,
                words: "Bytes that a queue may send in its turn; default 1514.",
            },
        ],
        example: "fq_codel:packets=10240,target=5ms,interval=100ms",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let default = FqCoDelParameters::default();
        let flows = arguments.count("flows")?.unwrap_or(default.flows.into());
        let quantum = arguments.count("quantum")?.map(Bytes::new);
        let parameters = FqCoDelParameters {
            codel: CoDelParameters::read(arguments, default.codel)?,
            flows: u32::try_from(flows).ok().filter(|flows| *flows <= MAX_FLOWS).ok_or_else(|| {
                arguments.bad("flows", format!("more than {MAX_FLOWS} queues are not kept; write 1024"))
            })?,
            quantum: bounded(arguments, "quantum", quantum, "sent in one turn; write 1514")?
                .unwrap_or(default.quantum),
        };
        Ok(Self { limit: LimitSpec::read(arguments)?.or_packets(10_240), parameters })
    }
}

impl DeclaredQueue for FqCoDelSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(FqCoDel::new(self.parameters, self.limit.resolve(surroundings)?, surroundings.seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{Bench, Numbered};

    fn bench(limit: u64) -> Bench<FqCoDel<Numbered>> {
        Bench::new(FqCoDel::new(FqCoDelParameters::default(), Limit::packets(limit), Seed::new(1)))
    }

    #[test]
    fn a_turn_beyond_all_deficits_is_refused_and_the_law_bounds_it() {
        use crate::QueueSpec;
        for quantum in ["4294967296", "9223372036854775808", "17938878571701105040"] {
            let refused = format!("fq_codel:quantum={quantum}").parse::<QueueSpec>().unwrap_err().to_string();
            assert!(refused.contains("are not sent in one turn"), "{refused}");
        }
        assert!("fq_codel:quantum=4294967295".parse::<QueueSpec>().is_ok());
        let parameters = FqCoDelParameters { quantum: Bytes::new(u64::MAX), ..FqCoDelParameters::default() };
        let mut bench = Bench::new(FqCoDel::new(parameters, Limit::NONE, Seed::new(1)));
        (0..4).for_each(|_| bench.enqueue(0, 1));
        assert!((0..4).all(|_| bench.dequeue(0).is_some()));
    }

    #[test]
    fn rounds_are_those_of_deficit_round_robin() {
        let mut bench = bench(1_000);
        (0..4).for_each(|_| bench.enqueue(0, 1));
        (0..4).for_each(|_| bench.enqueue(0, 2));
        // With a quantum of 1514 a new queue sends 1500 (14 left), 1500 more (−1486), gets 1514 (28), waits;
        // then 1500 for each turn.
        let flows: Vec<u64> = (0..8).map(|_| bench.dequeue(1).unwrap().flow).collect();
        assert_eq!(flows, [1, 1, 2, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn a_sparse_flow_goes_first_and_does_not_come_back_as_new_at_once() {
        let parameters = FqCoDelParameters { quantum: Bytes::new(4_500), ..FqCoDelParameters::default() };
        let mut bench = Bench::new(FqCoDel::new(parameters, Limit::NONE, Seed::new(1)));
        let next = |bench: &mut Bench<FqCoDel<Numbered>>| bench.dequeue(0).unwrap().flow;
        (0..20).for_each(|_| bench.enqueue(0, 1));
        assert_eq!([(); 3].map(|()| next(&mut bench)), [1, 1, 1]);
        bench.enqueue(0, 2);
        // The first flow has used its turn up and becomes old; the second is new.
        assert_eq!([(); 2].map(|()| next(&mut bench)), [2, 1]);
        // The second was found empty and went to the end of the old ones: it waits until the first has had its turn.
        bench.enqueue(0, 2);
        assert_eq!([(); 3].map(|()| next(&mut bench)), [1, 1, 2]);
    }

    #[test]
    fn the_cells_of_packets_that_left_are_used_again() {
        let mut bench = bench(1_000);
        (0..10).for_each(|_| bench.enqueue(0, 1));
        for _ in 0..1_000 {
            bench.enqueue(0, 2);
            assert!(bench.dequeue(0).is_some());
        }
        assert_eq!(bench.queue.store.cells.len(), 11);
    }

    #[test]
    fn an_overflow_takes_half_of_the_fattest_queue_and_64_at_most() {
        for (fat, dropped) in [(10, 5), (11, 6), (200, 64)] {
            let mut bench = bench(fat);
            (0..fat).for_each(|_| bench.enqueue(0, 1));
            bench.enqueue(3, 2);
            let expected: Vec<_> = (0..dropped).map(|number| (3, number, Cause::Overflow)).collect();
            assert_eq!(bench.take_drops(), expected);
            assert_eq!(bench.queue.backlog().packets, fat + 1 - dropped);
        }
    }

    #[test]
    fn each_flow_is_under_codel_of_its_own() {
        let mut bench = bench(10_000);
        (0..500).for_each(|_| bench.enqueue(0, 1));
        let mut waiting = 0;
        for now in 10..250 {
            bench.enqueue(now, 2);
            waiting += 1;
            let sent = [bench.dequeue(now), bench.dequeue(now)].map(|packet| packet.unwrap().flow);
            waiting -= sent.iter().filter(|flow| **flow == 2).count();
            assert!(waiting <= 1, "the sparse flow waits at {now}");
        }
        // Only the fat one, whose packets are the first 500, is dropped from.
        let drops = bench.take_drops();
        assert!(
            drops.len() > 1
                && drops.iter().all(|(_, number, cause)| *number < 500 && *cause == Cause::Managed)
        );
    }
}
