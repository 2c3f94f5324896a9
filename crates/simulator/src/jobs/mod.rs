//! Jobs of training and of distributed computing: flows that wait for one another, by name.
//!
//! A collective operation stands in a file of its own, beside its source; [`team`] has what all share.

mod exchange;
mod pipeline;
mod ring;
mod team;
mod tree;

use trialwise_units::Seed;
use trialwise_units::element::Declared;
use trialwise_units::elements;

use self::exchange::{AllToAll, MixtureOfExperts};
use self::pipeline::Pipeline;
use self::ring::{RingAllGather, RingAllReduce, RingReduceScatter};
use self::team::{Group, Team};
use self::tree::TreeAllReduce;
use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::graph::FlowGraph;
use crate::workload::WorkloadError;

elements! {
    /// Flows that wait for one another, by what they do together.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Job of "job", job! {
        RingAllReduce(RingAllReduce),
        RingReduceScatter(RingReduceScatter),
        RingAllGather(RingAllGather),
        TreeAllReduce(TreeAllReduce),
        AllToAll(AllToAll),
        MixtureOfExperts(MixtureOfExperts),
        Pipeline(Pipeline),
    }
}

/// A job that can be chosen by name.
trait DeclaredJob: Declared {
    /// The hosts, and how often they do it.
    fn group(&self) -> &Group;

    /// How many flows there are among this many hosts, once.
    fn flows(&self, hosts: u64) -> u128;

    /// The least number of bytes that are cut, and into how many parts.
    fn cut(&self, hosts: u64) -> (u64, u64);

    /// Adds it once.
    fn add(&self, team: &mut Team<'_>);
}

impl Job {
    /// The flows of the job. The seed says which hosts take part where they are drawn.
    ///
    /// # Errors
    /// There are fewer hosts than it needs, more flows than the simulator numbers, or fewer bytes than flows they are cut into.
    pub fn graph(&self, fabric: &Fabric, seed: Seed) -> Result<FlowGraph, WorkloadError> {
        let mut graph = FlowGraph::default();
        job!(self, job => {
            let nodes = job.group().nodes(fabric, seed)?;
            let hosts = nodes.len() as u64;
            let flows = job.flows(hosts).saturating_mul(u128::from(job.group().repeat));
            if flows >= INDEX_LIMIT as u128 {
                return Err(WorkloadError::TooMany(flows as f64));
            }
            let (bytes, parts) = job.cut(hosts);
            if bytes < parts {
                return Err(WorkloadError::Cut { bytes, parts });
            }
            let mut team = Team::new(&mut graph, nodes);
            for _ in 0..job.group().repeat {
                team.compute(job.group().compute);
                job.add(&mut team);
            }
        });
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(job: &str, topology: &str) -> Result<FlowGraph, WorkloadError> {
        let fabric = Fabric::new(topology.parse().unwrap()).unwrap();
        job.parse::<Job>().unwrap().graph(&fabric, Seed::new(1))
    }

    fn flows(graph: &FlowGraph) -> Vec<(u32, u32, u64)> {
        let flow = |(flow, _): &(crate::FlowSpecification, Option<u32>)| {
            (flow.source.get(), flow.destination.get(), flow.size.get())
        };
        graph.flows().unwrap().iter().map(flow).collect()
    }

    /// What each of so many hosts sends.
    fn sent(graph: &FlowGraph, hosts: usize) -> Vec<u64> {
        let mut sent = vec![0; hosts];
        flows(graph).iter().for_each(|(from, _, bytes)| sent[*from as usize] += bytes);
        sent
    }

    const EIGHT: &str = "dumbbell:4x4,100Gbit/s,1us";

    /// Patarasu and Yuan: 2 (n - 1) / n of the data, in 2 (n - 1) flows a host; half of it for each of its halves.
    #[test]
    fn a_ring_sends_what_the_formula_says() {
        let ring = graph("ring-all-reduce:8MB", EIGHT).unwrap();
        assert_eq!(sent(&ring, 8), [14_000_000; 8]);
        assert_eq!(ring.steps().len(), 8 * 14);
        for half in ["ring-reduce-scatter:8MB", "ring-all-gather:8MB"] {
            assert_eq!(sent(&graph(half, EIGHT).unwrap(), 8), [7_000_000; 8]);
        }
        // Chunks of sizes that are not equal are each sent the same number of times.
        let uneven = flows(&graph("ring-all-reduce:1003B", EIGHT).unwrap());
        assert_eq!(uneven.iter().map(|(_, _, bytes)| bytes).sum::<u64>(), 1003 * 14);
    }

    /// Two trees of half the data, in each of which all but one host send up and all but one receive.
    #[test]
    fn trees_send_everything_up_and_down_once() {
        for hosts in 2..9_u64 {
            let tree = graph(&format!("tree-all-reduce:1MB,hosts={hosts},chunks=4"), EIGHT).unwrap();
            let sent = sent(&tree, 8);
            assert_eq!(sent.iter().sum::<u64>(), 2 * (hosts - 1) * 1_000_000, "{hosts}");
            // A host is between others in one of the trees at most.
            assert!(sent.iter().all(|sent| *sent <= 2_000_000), "{hosts}: {sent:?}");
        }
    }

    #[test]
    fn an_exchange_goes_between_all() {
        let exchange = graph("all-to-all:8MB,hosts=4", EIGHT).unwrap();
        assert_eq!((exchange.steps().len(), sent(&exchange, 8)[..4].to_vec()), (12, vec![6_000_000; 4]));
        assert!(!exchange.has_waits());
        let experts = graph("mixture-of-experts:8MB,hosts=4,layers=3", EIGHT).unwrap();
        assert_eq!(sent(&experts, 8)[..4], [36_000_000; 4]);
    }

    #[test]
    fn a_pipeline_sends_forth_and_back() {
        let found = flows(&graph("pipeline:1MB,hosts=3,microbatches=5", EIGHT).unwrap());
        let between = |from, to| found.iter().filter(|flow| (flow.0, flow.1) == (from, to)).count();
        assert_eq!((found.len(), between(0, 1), between(1, 2), between(2, 1)), (20, 5, 5, 5));
    }

    #[test]
    fn drawn_hosts_differ_from_seed_to_seed() {
        let fabric = Fabric::new("fat-tree:4,100Gbit/s,1us".parse().unwrap()).unwrap();
        let job: Job = "all-to-all:8MB,hosts=4,placement=random".parse().unwrap();
        let of = |seed| flows(&job.graph(&fabric, Seed::new(seed)).unwrap());
        assert_eq!(of(1), of(1));
        assert!((2..9).any(|seed| of(seed) != of(1)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let message = |job: &str| graph(job, EIGHT).unwrap_err().to_string();
        assert_eq!(message("ring-all-reduce:8MB,hosts=9"), "the job needs 9 hosts and the topology has 8");
        assert!(message("ring-all-reduce:7B").starts_with("7 bytes cannot be cut into 8 parts"));
        assert!(message("all-to-all:1MB,repeat=1000000").contains("56000000 flows"));
        let unread = |job: &str| job.parse::<Job>().unwrap_err().to_string();
        assert!(unread("ring-all-reduce").contains("ring-all-reduce needs a size"));
        assert!(unread("ring-all-reduce:1MB,hosts=1").contains("hosts"));
        assert!(unread("star:1MB").contains("known: ring-all-reduce"));
    }
}
