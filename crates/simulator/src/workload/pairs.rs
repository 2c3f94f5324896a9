//! Who sends to whom.

use super::Pattern;
use crate::fabric::Fabric;
use crate::index::{HostId, NodeId};
use crate::random::Random;

/// A source and a destination.
pub(super) type Pair = (NodeId, NodeId);

/// Draws pairs.
pub(super) struct Chooser<'a> {
    pattern: Pattern,
    fabric: &'a Fabric,
    /// The partner of each host (permutation), or memory to shuffle hosts in (incast).
    hosts: Vec<usize>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(pattern: Pattern, fabric: &'a Fabric, random: &mut Random) -> Self {
        let mut hosts = Vec::new();
        if pattern == Pattern::Permutation {
            hosts.extend(0..fabric.host_count());
            // Sattolo's algorithm: one cycle, so nobody is its own partner.
            for last in (1..hosts.len()).rev() {
                hosts.swap(last, random.below(last as u64) as usize);
            }
        }
        Self { pattern, fabric, hosts }
    }

    /// Adds the pairs of one arrival.
    pub(super) fn choose(&mut self, random: &mut Random, pairs: &mut impl Extend<Pair>) {
        let count = self.fabric.host_count();
        let fabric = self.fabric;
        let node = |host: usize| fabric.node(HostId::new(host as u32));
        match self.pattern {
            Pattern::OneWay => {
                let topology = fabric.topology();
                pairs.extend([(pick(&topology.senders, random), pick(&topology.receivers, random))]);
            }
            Pattern::AllToAll => {
                let (source, other) =
                    (random.below(count as u64) as usize, random.below(count as u64 - 1) as usize);
                pairs.extend([(node(source), node(other + usize::from(other >= source)))]);
            }
            Pattern::Permutation => {
                let source = random.below(count as u64) as usize;
                pairs.extend([(node(source), node(self.hosts[source]))]);
            }
            Pattern::Incast { senders } => {
                // The first of a partial shuffle receives, the next ones send.
                self.hosts.clear();
                self.hosts.extend(0..count);
                for place in 0..=senders {
                    let other = place + random.below((count - place) as u64) as usize;
                    self.hosts.swap(place, other);
                }
                let receiver = node(self.hosts[0]);
                pairs.extend(self.hosts[1..=senders].iter().map(|sender| (node(*sender), receiver)));
            }
        }
    }
}

fn pick(nodes: &[NodeId], random: &mut Random) -> NodeId {
    nodes[random.below(nodes.len() as u64) as usize]
}
