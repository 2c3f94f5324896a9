//! Parts of a network that are a link's delay away from each other.

use trialwise_units::Duration;

use super::terms::Terms;
use crate::index::{NodeId, PartId, PortId};
use crate::routing::far_end;
use crate::topology::Topology;

/// Networks of fewer hosts are one part: they fit near the processor.
const HOSTS: usize = 512;
/// A window is so many times as long as the largest packet at the fastest link.
const PACKETS: u64 = 8;

/// Each switch with the hosts at its links. Switches with a host in common are in one part.
pub(crate) struct Parts {
    of_nodes: Vec<PartId>,
    count: usize,
    lookahead: Option<Duration>,
}

impl Parts {
    /// Those of a large network; a small one is one part, and so is any where windows do not pay or everything is as in the
    /// reference.
    pub(super) fn new(terms: &Terms<'_>) -> Self {
        let is_large = terms.fabric.host_count() >= HOSTS && !terms.compatible;
        let parts = if is_large { Self::around_switches(terms) } else { None };
        parts.unwrap_or_else(|| Self::one(terms.fabric.topology()))
    }

    /// The whole network.
    pub(super) fn one(topology: &Topology) -> Self {
        Self { of_nodes: vec![PartId::FIRST; topology.is_switch.len()], count: 1, lookahead: None }
    }

    /// The parts of any network, where a window is long enough.
    pub(super) fn around_switches(terms: &Terms<'_>) -> Option<Self> {
        let topology = terms.fabric.topology();
        let (of_nodes, count) = number_parts(topology)?;
        let part = |node: NodeId| of_nodes[node.index()];
        let cut = topology.links.iter().filter(|link| part(link.first) != part(link.second));
        let lookahead = cut.map(|link| link.delay).min()?;
        let fastest = topology.links.iter().map(|link| link.rate).max()?;
        let packet = fastest.transmission_time(terms.settings.segment);
        (lookahead >= packet * PACKETS).then_some(Self { of_nodes, count, lookahead: Some(lookahead) })
    }

    /// All in one part, with windows as long as before.
    #[cfg(test)]
    pub(super) fn joined(mut self) -> Self {
        self.of_nodes.fill(PartId::FIRST);
        self.count = 1;
        self
    }

    /// What no part can do to another in less time; none where all is one part.
    pub(super) const fn lookahead(&self) -> Option<Duration> {
        self.lookahead
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// All parts.
    pub(super) fn all(&self) -> impl Iterator<Item = PartId> {
        (0..self.count).map(|number| PartId::new(number as u16))
    }

    /// The thread of each part, of so many at most: neighbours together, links evenly.
    pub(super) fn shared(&self, topology: &Topology, threads: usize) -> Vec<u8> {
        let threads = threads.clamp(1, self.count.min(usize::from(u8::MAX)));
        let mut near = vec![Vec::new(); self.count];
        let mut has_hosts = vec![false; self.count];
        for link in &topology.links {
            let ends = [link.first, link.second].map(|node| self.of_nodes[node.index()].index());
            near[ends[0]].push(ends[1]);
            near[ends[1]].push(ends[0]);
            has_hosts[ends[0]] |= ends[0] == ends[1];
        }
        let total = |chosen: &dyn Fn(usize) -> bool| -> usize {
            near.iter().enumerate().filter(|(part, _)| chosen(*part)).map(|(_, near)| near.len()).sum()
        };
        let (edges, mut passed) = (total(&|part| has_hosts[part]).max(1), 0);
        let mut of_parts: Vec<Option<usize>> = vec![None; self.count];
        let mut loads = vec![0; threads];
        // Hosts in their order, then each switch where most of what it is linked to is.
        for part in (0..self.count).filter(|part| has_hosts[*part]) {
            let thread = passed * threads / edges;
            passed += near[part].len();
            (of_parts[part], loads[thread]) = (Some(thread), loads[thread] + near[part].len());
        }
        for part in 0..self.count {
            if of_parts[part].is_none() {
                let linked = |thread| near[part].iter().filter(|to| of_parts[**to] == Some(thread)).count();
                let best =
                    (0..threads).max_by_key(|thread| (linked(*thread), std::cmp::Reverse(loads[*thread])));
                let thread = best.unwrap_or(0);
                (of_parts[part], loads[thread]) = (Some(thread), loads[thread] + near[part].len());
            }
        }
        of_parts.into_iter().map(|thread| thread.unwrap_or(0) as u8).collect()
    }

    /// The part at the end of a port's wire.
    pub(super) fn at_end(&self, topology: &Topology, port: PortId) -> PartId {
        self.of_nodes[far_end(topology, port).index()]
    }
}

/// The part of each node, and how many there are. None if they are too many to be numbered.
fn number_parts(topology: &Topology) -> Option<(Vec<PartId>, usize)> {
    let mut leaders: Vec<usize> = (0..topology.is_switch.len()).collect();
    for link in &topology.links {
        let ends = [link.first.index(), link.second.index()];
        if ends.iter().any(|end| !topology.is_switch[*end]) {
            let [first, second] = ends.map(|end| leader(&mut leaders, end));
            leaders[first.max(second)] = first.min(second);
        }
    }
    let mut numbers = vec![PartId::FIRST; leaders.len()];
    let mut count = 0;
    for node in 0..leaders.len() {
        let first = leader(&mut leaders, node);
        if first == node {
            numbers[node] = PartId::new(u16::try_from(count).ok()?);
            count += 1;
        } else {
            numbers[node] = numbers[first];
        }
    }
    Some((numbers, count))
}

/// Who stands for a node, with shorter ways to it from now on.
fn leader(leaders: &mut [usize], mut node: usize) -> usize {
    while leaders[node] != node {
        leaders[node] = leaders[leaders[node]];
        node = leaders[node];
    }
    node
}
