//! Flow lists from sizes, arrivals, a pattern and a load.

use trialwise_units::{Duration, Seed};

use super::{Arrivals, Generator, Load, Pattern, SizeDistribution, WorkloadError};
use crate::crossings::Ends;
use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;

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
        Ok(Generator { workload: self, sizes: &self.sizes, fabric, mean_gap: self.check(fabric)? })
    }

    /// How many flows a list has in the mean; refuses what [`Self::generate`] refuses.
    pub fn expected_flows(&self, fabric: &Fabric) -> Result<f64, WorkloadError> {
        Ok(self.together() as f64 * self.duration.as_seconds() / self.check(fabric)?)
    }

    /// Flows of one arrival.
    fn together(&self) -> usize {
        self.pattern.together()
    }

    /// Checks everything; gives the mean gap between arrivals in seconds.
    pub(super) fn check(&self, fabric: &Fabric) -> Result<f64, WorkloadError> {
        let (fraction, name) = self.fraction();
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(WorkloadError::Load(fraction, name));
        }
        self.check_pattern(fabric)?;
        self.check_links(fabric)?;
        let flows_per_second = fraction * self.capacity(fabric)? / (8.0 * self.sizes.mean());
        let expected = flows_per_second * self.duration.as_seconds();
        if expected >= INDEX_LIMIT as f64 {
            return Err(WorkloadError::TooMany(expected));
        }
        Ok(self.together() as f64 / flows_per_second)
    }

    fn check_pattern(&self, fabric: &Fabric) -> Result<(), WorkloadError> {
        let topology = fabric.topology();
        if self.pattern.ends() == Ends::Sides
            && (topology.senders.is_empty() || topology.receivers.is_empty())
        {
            return Err(WorkloadError::NoSides);
        }
        let (needed, there) = (self.pattern.hosts(), fabric.host_count());
        if there < needed { Err(WorkloadError::Hosts { needed, there }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::NodeId;
    use std::collections::{BTreeMap, BTreeSet};

    fn fabric(text: &str) -> Fabric {
        Fabric::new(text.parse().unwrap()).unwrap()
    }

    fn workload(pattern: Pattern, load: Load) -> Workload {
        Workload {
            sizes: "fixed:100kB".parse().unwrap(),
            arrivals: Arrivals::POISSON,
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
        let generate = |load| workload(Pattern::ONE_WAY, load).generate(&fabric, Seed::new(4)).unwrap();
        let (bottleneck, host) = (generate(Load::Bottleneck(0.3)), generate(Load::Host(0.03)));
        assert!((offered(&bottleneck) / 30e9 - 1.0).abs() < 0.1);
        assert!((offered(&host) / 30e9 - 1.0).abs() < 0.1);
        assert!(bottleneck.iter().all(|flow| flow.source.get() < 10 && flow.destination.get() >= 10));
        assert!(bottleneck.is_sorted_by_key(|flow| flow.start));
    }

    #[test]
    fn the_same_seed_gives_the_same_list_and_sizes_have_their_own_stream() {
        let fabric = fabric("fat-tree:4,100Gbit/s,1us");
        let fixed = workload(Pattern::ALL_TO_ALL, Load::Host(0.2));
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
        let flows =
            workload("incast:8".parse().unwrap(), Load::Host(0.1)).generate(&fabric, Seed::new(4)).unwrap();
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
        let flows = workload(Pattern::PERMUTATION, Load::Host(0.5)).generate(&fabric, Seed::new(4)).unwrap();
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
        assert!(refuse(Pattern::ONE_WAY, Load::Bottleneck(1.5), &dumbbell).to_string().contains("at most 1"));
        assert!(refuse(Pattern::ONE_WAY, Load::Host(0.8), &dumbbell).to_string().contains("at most 0.5000"));
        assert_eq!(refuse(Pattern::ONE_WAY, Load::Host(0.5), &tree), WorkloadError::NoSides);
        assert_eq!(refuse(Pattern::ALL_TO_ALL, Load::Bottleneck(0.5), &tree), WorkloadError::NoBottleneck);
        let incast = refuse("incast:4".parse().unwrap(), Load::Host(0.5), &dumbbell);
        assert_eq!(incast, WorkloadError::Hosts { needed: 5, there: 4 });
    }

    #[test]
    fn a_link_that_is_asked_for_more_than_it_carries_is_named() {
        let refusal = |text: &str, pattern, load| {
            workload(pattern, load).generate(&fabric(text), Seed::new(4)).unwrap_err().to_string()
        };
        // A leaf has 8 hosts and 2 uplinks; 24 of 31 flows leave it: 0.6 * 8 * 24 / 31 / 2 of each uplink.
        let spine = refusal("leaf-spine:4x2x8,100Gbit/s,1us", Pattern::ALL_TO_ALL, Load::Host(0.6));
        assert!(spine.contains("is 1.86 of the capacity of the link from node 32 to node 36"), "{spine}");
        assert!(spine.ends_with("give at most 0.3229"), "{spine}");
        // 4 of 7 flows of the hosts of each side cross: 0.9 * 4 * 4 / 7.
        let middle = refusal("dumbbell:4x4,10Gbit/s,1us", Pattern::ALL_TO_ALL, Load::Host(0.9));
        assert!(middle.contains("is 2.06") && middle.contains("node 8 to node 9"), "{middle}");
        // One sender cannot fill a middle link that is ten times its own.
        let sender = refusal("dumbbell:1x10,10Gbit/s,1us,100Gbit/s", Pattern::ONE_WAY, Load::Bottleneck(0.2));
        assert!(sender.contains("is 2.00") && sender.contains("node 0 to node 11"), "{sender}");
        let full = workload(Pattern::ALL_TO_ALL, Load::Host(0.3229));
        assert!(full.generate(&fabric("leaf-spine:4x2x8,100Gbit/s,1us"), Seed::new(4)).is_ok());
    }

    #[test]
    fn the_load_of_a_bottleneck_is_of_the_flows_that_cross_it() {
        let fabric = fabric("dumbbell:4x4,10Gbit/s,1us");
        let all = workload(Pattern::ALL_TO_ALL, Load::Bottleneck(0.3));
        let flows = all.generate(&fabric, Seed::new(4)).unwrap();
        let crossing: Vec<_> = flows
            .iter()
            .filter(|flow| flow.source.get() < 4 && flow.destination.get() >= 4)
            .copied()
            .collect();
        assert!((offered(&crossing) / 3e9 - 1.0).abs() < 0.1, "{}", offered(&crossing));
        let fullest = all.fullest(&fabric).unwrap();
        assert!((fullest.load - 0.3).abs() < 1e-9 && fullest.link == (NodeId::new(8), NodeId::new(9)));
    }
}
