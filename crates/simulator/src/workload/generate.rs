//! Flow lists from sizes, arrivals, a pattern and a load.

use trialwise_units::{Duration, Rate, Seed};

use super::{Arrivals, Generator, SizeDistribution};
use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::NodeId;

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A sender of the topology to a receiver, each uniformly.
    OneWay,
    /// Any host to any other, uniformly.
    AllToAll,
    /// This many different hosts to one at one instant.
    Incast {
        /// How many senders.
        senders: usize,
    },
    /// Each host to one other, the same for the whole trial; every host receives from one.
    Permutation,
}

/// Of which capacity the load is a part: the two differ by the number of senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Of the links of the hosts that send, in the mean.
    Host(f64),
    /// Of the topology's bottleneck.
    Bottleneck(f64),
}

/// A random flow list.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// How large flows are.
    pub sizes: SizeDistribution,
    /// When they begin.
    pub arrivals: Arrivals,
    /// Who sends to whom.
    pub pattern: Pattern,
    /// How much payload is asked for, as a part of capacity. Headers come on top.
    pub load: Load,
    /// Flows begin from 0 to this.
    pub duration: Duration,
}

/// Why there is no flow list.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// More is asked for than a link carries, or nothing.
    #[error("a load of {0} is not above 0 and at most 1: the capacity is {1}")]
    Load(f64, &'static str),
    /// The topology has no bottleneck.
    #[error(
        "the topology has no bottleneck that all flows share: give the load of the hosts, or take a dumbbell"
    )]
    NoBottleneck,
    /// The topology has no senders and receivers.
    #[error("the topology has no separate senders and receivers: choose all-to-all, or take a dumbbell")]
    NoSides,
    /// Too few hosts.
    #[error("the pattern needs {needed} hosts and the topology has {there}")]
    Hosts {
        /// How many it needs.
        needed: usize,
        /// How many there are.
        there: usize,
    },
    /// More flows than the simulator numbers.
    #[error("about {0:.0} flows are expected and {INDEX_LIMIT} fit: shorten the trial or enlarge the flows")]
    TooMany(f64),
    /// The hosts offer more than their common link carries.
    #[error(
        "a load of {load} on the hosts is {offered:.2} of the bottleneck's capacity: give at most {most:.3}, or give \
         the load of the bottleneck"
    )]
    Overload {
        /// The load of the hosts.
        load: f64,
        /// What that is of the bottleneck's.
        offered: f64,
        /// The load of the hosts that fills the bottleneck.
        most: f64,
    },
    /// There is no pattern of this name.
    #[error("no pattern is called {0:?}: write one-way, all-to-all, permutation or incast:8")]
    Pattern(String),
    /// There are no arrivals of this name.
    #[error("no arrivals are called {0:?}: write poisson, lognormal:sigma=2 or bursty:mean=10")]
    UnknownArrivals(String),
    /// Points can only drive arrivals that are independent of one another.
    #[error("arrivals {0:?} cannot be driven by given numbers: choose Poisson arrivals")]
    NotPoisson(Arrivals),
    /// A density is none.
    #[error(
        "a density over 0 to 1 needs edges that rise from 0 to 1 and one positive height for each part between"
    )]
    Density,
    /// A parameter of the arrivals is out of range.
    #[error("arrivals {0:?}: sigma is from 0 to 10, the mean burst at least 1")]
    Arrivals(Arrivals),
}

impl Workload {
    /// The flow list of this seed. Arrivals, sizes and pairs have streams of their own, so that trials that
    /// differ in one keep the others.
    pub fn generate(&self, fabric: &Fabric, seed: Seed) -> Result<Vec<FlowSpecification>, WorkloadError> {
        let mut flows = Vec::new();
        self.prepare(fabric)?.fill(seed, &mut flows);
        Ok(flows)
    }

    /// Checks the workload once for many flow lists.
    pub fn prepare<'a>(&'a self, fabric: &'a Fabric) -> Result<Generator<'a>, WorkloadError> {
        Ok(Generator { workload: self, fabric, mean_gap: self.check(fabric)? })
    }

    /// How many flows a list has in the mean; refuses what [`Self::generate`] refuses.
    pub fn expected_flows(&self, fabric: &Fabric) -> Result<f64, WorkloadError> {
        Ok(self.together() as f64 * self.duration.as_seconds() / self.check(fabric)?)
    }

    /// Flows of one arrival.
    const fn together(&self) -> usize {
        if let Pattern::Incast { senders } = self.pattern { senders } else { 1 }
    }

    /// Checks everything; gives the mean gap between arrivals in seconds.
    fn check(&self, fabric: &Fabric) -> Result<f64, WorkloadError> {
        let (fraction, name) = match self.load {
            Load::Host(fraction) => (fraction, "that of the hosts' links"),
            Load::Bottleneck(fraction) => (fraction, "that of the bottleneck"),
        };
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(WorkloadError::Load(fraction, name));
        }
        if !self.arrivals.is_sound() {
            return Err(WorkloadError::Arrivals(self.arrivals));
        }
        self.check_pattern(fabric)?;
        let capacity = self.capacity(fabric)?.bits_per_second() as f64;
        self.check_bottleneck(fabric, capacity)?;
        let flows_per_second = fraction * capacity / (8.0 * self.sizes.mean());
        let expected = flows_per_second * self.duration.as_seconds();
        if expected >= INDEX_LIMIT as f64 {
            return Err(WorkloadError::TooMany(expected));
        }
        Ok(self.together() as f64 / flows_per_second)
    }

    /// Refuses hosts that overload the link which all one-way traffic shares.
    fn check_bottleneck(&self, fabric: &Fabric, capacity: f64) -> Result<(), WorkloadError> {
        let (Load::Host(load), Pattern::OneWay, Some(bottleneck)) =
            (self.load, self.pattern, fabric.topology().bottleneck)
        else {
            return Ok(());
        };
        let offered = load * capacity / bottleneck.bits_per_second() as f64;
        if offered > 1.0 {
            Err(WorkloadError::Overload { load, offered, most: load / offered })
        } else {
            Ok(())
        }
    }

    fn check_pattern(&self, fabric: &Fabric) -> Result<(), WorkloadError> {
        let topology = fabric.topology();
        let needed = match self.pattern {
            Pattern::OneWay if topology.senders.is_empty() || topology.receivers.is_empty() => {
                return Err(WorkloadError::NoSides);
            }
            Pattern::OneWay | Pattern::AllToAll | Pattern::Permutation => 2,
            Pattern::Incast { senders } => senders.max(1) + 1,
        };
        let there = fabric.host_count();
        if there < needed { Err(WorkloadError::Hosts { needed, there }) } else { Ok(()) }
    }

    /// The capacity of which the load is a part.
    fn capacity(&self, fabric: &Fabric) -> Result<Rate, WorkloadError> {
        let rate = |host: &NodeId| fabric.topology().host_rate(*host).map_or(0, Rate::bits_per_second);
        match (self.load, self.pattern) {
            (Load::Bottleneck(_), _) => fabric.topology().bottleneck.ok_or(WorkloadError::NoBottleneck),
            (Load::Host(_), Pattern::OneWay) => {
                Ok(Rate::from_bits_per_second(fabric.topology().senders.iter().map(rate).sum()))
            }
            (Load::Host(_), _) => Ok(Rate::from_bits_per_second(fabric.hosts.iter().map(rate).sum())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn fabric(text: &str) -> Fabric {
        Fabric::new(text.parse().unwrap()).unwrap()
    }

    fn workload(pattern: Pattern, load: Load) -> Workload {
        Workload {
            sizes: "fixed:100kB".parse().unwrap(),
            arrivals: Arrivals::Poisson,
            pattern,
            load,
            duration: Duration::from_milliseconds(100),
        }
    }

    fn offered(flows: &[FlowSpecification]) -> f64 {
        flows.iter().map(|flow| flow.size.get()).sum::<u64>() as f64 * 8.0 / 0.1
    }

    #[test]
    fn the_load_is_of_what_is_said() {
        let fabric = fabric("dumbbell:10x10,100Gbit/s,1us");
        let generate = |load| workload(Pattern::OneWay, load).generate(&fabric, Seed::new(4)).unwrap();
        let (bottleneck, host) = (generate(Load::Bottleneck(0.3)), generate(Load::Host(0.03)));
        assert!((offered(&bottleneck) / 30e9 - 1.0).abs() < 0.1);
        assert!((offered(&host) / 30e9 - 1.0).abs() < 0.1);
        assert!(bottleneck.iter().all(|flow| flow.source.get() < 10 && flow.destination.get() >= 10));
        assert!(bottleneck.is_sorted_by_key(|flow| flow.start));
    }

    #[test]
    fn the_same_seed_gives_the_same_list_and_sizes_have_their_own_stream() {
        let fabric = fabric("fat-tree:4,100Gbit/s,1us");
        let fixed = workload(Pattern::AllToAll, Load::Host(0.2));
        let first = fixed.generate(&fabric, Seed::new(4)).unwrap();
        assert_eq!(first, fixed.generate(&fabric, Seed::new(4)).unwrap());
        let larger = Workload { sizes: "fixed:200kB".parse().unwrap(), load: Load::Host(0.4), ..fixed };
        let second = larger.generate(&fabric, Seed::new(4)).unwrap();
        let ends = |flows: &[FlowSpecification]| {
            flows.iter().map(|flow| (flow.start, flow.source, flow.destination)).collect::<Vec<_>>()
        };
        assert_eq!(ends(&first), ends(&second));
    }

    #[test]
    fn incast_has_different_senders_at_one_instant() {
        let fabric = fabric("leaf-spine:4x2x8,100Gbit/s,1us");
        let flows = workload(Pattern::Incast { senders: 8 }, Load::Host(0.1))
            .generate(&fabric, Seed::new(4))
            .unwrap();
        for burst in flows.chunks(8) {
            let senders: BTreeSet<_> = burst.iter().map(|flow| flow.source).collect();
            assert!(senders.len() == 8 && !senders.contains(&burst[0].destination));
            assert!(
                burst
                    .iter()
                    .all(|flow| (flow.start, flow.destination) == (burst[0].start, burst[0].destination))
            );
        }
    }

    #[test]
    fn a_permutation_gives_every_host_one_partner() {
        let fabric = fabric("fat-tree:4,100Gbit/s,1us");
        let flows = workload(Pattern::Permutation, Load::Host(0.5)).generate(&fabric, Seed::new(4)).unwrap();
        let partners: BTreeMap<_, _> = flows.iter().map(|flow| (flow.source, flow.destination)).collect();
        assert_eq!(partners.values().collect::<BTreeSet<_>>().len(), 16);
        assert!(
            flows
                .iter()
                .all(|flow| partners[&flow.source] == flow.destination && flow.source != flow.destination)
        );
    }

    #[test]
    fn as_many_flows_come_as_are_expected() {
        let fabric = fabric("dumbbell:10x10,100Gbit/s,1us");
        for pattern in ["one-way", "incast:8", "permutation", "all-to-all"] {
            let workload = workload(pattern.parse().unwrap(), Load::Bottleneck(0.5));
            let (expected, came) = (
                workload.expected_flows(&fabric).unwrap(),
                workload.generate(&fabric, Seed::new(4)).unwrap().len(),
            );
            assert!((came as f64 / expected - 1.0).abs() < 0.1, "{pattern}: {came} of {expected}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let (dumbbell, tree) = (fabric("dumbbell:2x2,100Gbit/s,1us"), fabric("fat-tree:4,100Gbit/s,1us"));
        let refuse =
            |pattern, load, fabric| workload(pattern, load).generate(fabric, Seed::new(4)).unwrap_err();
        assert!(refuse(Pattern::OneWay, Load::Bottleneck(1.5), &dumbbell).to_string().contains("at most 1"));
        assert!(refuse(Pattern::OneWay, Load::Host(0.8), &dumbbell).to_string().contains("at most 0.5"));
        assert_eq!(refuse(Pattern::OneWay, Load::Host(0.5), &tree), WorkloadError::NoSides);
        assert_eq!(refuse(Pattern::AllToAll, Load::Bottleneck(0.5), &tree), WorkloadError::NoBottleneck);
        let incast = refuse(Pattern::Incast { senders: 4 }, Load::Host(0.5), &dumbbell);
        assert_eq!(incast, WorkloadError::Hosts { needed: 5, there: 4 });
    }
}
