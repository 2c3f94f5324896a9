//! The hosts of a job, and what each has to have before it goes on.

use trialwise_units::element::{Arguments, ElementError, HEAD, Key, Takes};
use trialwise_units::{Bytes, Duration, Seed, Time};

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::graph::{Awaited, FlowGraph, Step};
use crate::index::{HostId, NodeId};
use crate::random::Random;
use crate::workload::WorkloadError;

pub(super) const SIZE: Key = Key { name: "size", takes: Takes::Amount, words: "Data of each host." };
pub(super) const HOSTS: Key = Key {
    name: "hosts",
    takes: Takes::Other("a whole number from 2"),
    words: "How many hosts take part; default all.",
};
pub(super) const PLACEMENT: Key = Key {
    name: "placement",
    takes: Takes::Word(&["in-order", "random"]),
    words: "Which hosts take part, and in which order: the first ones, or hosts that the seed draws; default in-order.",
};
pub(super) const REPEAT: Key = Key {
    name: "repeat",
    takes: Takes::Count,
    words: "How often it is done, each host going on when it is ready; default 1.",
};
pub(super) const COMPUTE: Key = Key {
    name: "compute",
    takes: Takes::Time,
    words: "What each host computes before each repetition; default 0s.",
};

/// The part of a job that all have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    hosts: Option<usize>,
    is_drawn: bool,
    pub(super) repeat: u64,
    pub(super) compute: Duration,
}

impl Group {
    pub(super) fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let hosts = written.with("hosts", |text| match text.parse() {
            Ok(hosts) if hosts >= 2 => Ok(hosts),
            _ => Err(format!("`{text}` is not a whole number from 2; write one like 8")),
        })?;
        Ok(Self {
            hosts,
            is_drawn: written.word("placement", &[false, true])?.unwrap_or(false),
            repeat: written.count("repeat")?.unwrap_or(1),
            compute: written.time("compute")?.unwrap_or(Duration::ZERO),
        })
    }

    /// The nodes of the hosts that take part.
    pub(super) fn nodes(&self, fabric: &Fabric, seed: Seed) -> Result<Vec<NodeId>, WorkloadError> {
        let there = fabric.host_count();
        let needed = self.hosts.unwrap_or(there).max(2);
        if there < needed {
            return Err(WorkloadError::Job { needed, there });
        }
        let mut hosts: Vec<_> = (0..there as u32).map(|host| fabric.node(HostId::new(host))).collect();
        if self.is_drawn {
            let mut random = Random::new(seed.named("job"));
            for place in 0..needed {
                hosts.swap(place, place + random.below((there - place) as u64) as usize);
            }
        }
        hosts.truncate(needed);
        Ok(hosts)
    }
}

/// The size that stands first.
pub(super) fn size_of(written: &Arguments<'_>) -> Result<u64, ElementError> {
    Ok(written.needed(written.amount(HEAD)?, "a size")?.get())
}

/// The hosts of a job, numbered from 0, while its flows are added to a graph.
pub(super) struct Team<'a> {
    graph: &'a mut FlowGraph,
    nodes: Vec<NodeId>,
    /// Of each host, what it waits for before it goes on.
    ready: Vec<Vec<Awaited>>,
    flows: u64,
}

impl<'a> Team<'a> {
    pub(super) fn new(graph: &'a mut FlowGraph, nodes: Vec<NodeId>) -> Self {
        let ready = vec![Vec::new(); nodes.len()];
        Self { graph, nodes, ready, flows: 0 }
    }

    /// How many hosts there are.
    pub(super) const fn hosts(&self) -> usize {
        self.nodes.len()
    }

    /// What this host waits for.
    pub(super) fn ready(&self, host: usize) -> &[Awaited] {
        &self.ready[host]
    }

    /// From now on this host waits for these flows, each received.
    pub(super) fn set_ready(&mut self, host: usize, steps: impl IntoIterator<Item = u32>) {
        self.ready[host] = steps.into_iter().map(Awaited::received).collect();
    }

    /// Every host computes for so long when it is ready, and is ready after that.
    pub(super) fn compute(&mut self, delay: Duration) {
        for host in 0..self.hosts() {
            if delay > Duration::ZERO || self.ready[host].len() > 1 {
                let awaited = std::mem::take(&mut self.ready[host]);
                let done = self.pause(delay, &awaited);
                self.set_ready(host, [done]);
            }
        }
    }

    /// So long passes when these are over.
    pub(super) fn pause(&mut self, delay: Duration, awaited: &[Awaited]) -> u32 {
        self.graph.add(Step { flow: None, earliest: Time::ZERO, delay, job: Some(0) }, awaited)
    }

    /// A flow between two hosts when these are over.
    pub(super) fn send(&mut self, from: usize, to: usize, bytes: u64, awaited: &[Awaited]) -> u32 {
        let (source, destination) = (self.nodes[from], self.nodes[to]);
        let flow = FlowSpecification::new(self.flows, source, destination, Bytes::new(bytes), Time::ZERO);
        self.flows += 1;
        let step = Step { flow: Some(flow), earliest: Time::ZERO, delay: Duration::ZERO, job: Some(0) };
        self.graph.add(step, awaited)
    }
}

/// The size of part `part` of `parts` that are as equal as whole bytes allow.
pub(super) fn part(bytes: u64, part: u64, parts: u64) -> u64 {
    let edge = |edge: u64| (u128::from(bytes) * u128::from(edge) / u128::from(parts)) as u64;
    edge(part + 1) - edge(part)
}
