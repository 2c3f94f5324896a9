//! A topology made ready: checked, routed, measured. Trials share one.

use std::collections::{HashMap, VecDeque};
use std::sync::OnceLock;

use trialwise_units::{Bytes, Duration, Rate};

use crate::index::{CardId, HostId, NodeId, PortId, SwitchId};
use crate::paths::SwitchPorts;
use crate::routing::{RouteOrder, Routes, check_size, far_end, ports_by_node};
use crate::topology::{Link, Topology, TopologyError};

/// Payload of the packet whose transmission the round-trip time of an empty path includes once for each hop.
const PROBE_PAYLOAD: u64 = 1000;
/// Headers that the ideal completion time counts for each packet of the probe's size.
const IDEAL_HEADER: u64 = 48;

/// What is at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Host(HostId),
    Switch(SwitchId),
}

/// The empty path between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathFacts {
    /// Twice the propagation delay, and one transmission of a 1000-byte packet on each link.
    pub round_trip: Duration,
    /// The slowest link.
    pub bottleneck: Rate,
}

impl PathFacts {
    /// The bandwidth-delay product.
    pub const fn window(&self) -> Bytes {
        self.bottleneck.bytes_in(self.round_trip)
    }

    /// The completion time of a lone flow by the usual approximation: the round trip, and every byte with its
    /// headers at the bottleneck (it counts one transmission twice, so that a slowdown may be a little below
    /// 1).
    pub fn ideal(&self, size: u64) -> Duration {
        let wire = size + IDEAL_HEADER * size.div_ceil(PROBE_PAYLOAD);
        self.round_trip + self.bottleneck.transmission_time(Bytes::new(wire))
    }
}

/// A topology with its routes and the facts of its paths.
#[derive(Clone, Debug)]
pub struct Fabric {
    topology: Topology,
    order: Option<RouteOrder>,
    pub(crate) routes: Routes,
    pub(crate) ends: Vec<End>,
    pub(crate) hosts: Vec<NodeId>,
    /// The port of each network card, host by host.
    pub(crate) cards: Vec<PortId>,
    /// Where the cards of each host begin, and where the last end.
    first_cards: Vec<u32>,
    /// The card whose port it is, by port; none for ports of switches.
    card_of_port: Vec<CardId>,
    pub(crate) switches: Vec<NodeId>,
    pub(crate) switch_ports: SwitchPorts,
    path_classes: Vec<PathFacts>,
    path_of_pair: Vec<u32>,
    /// Between senders and receivers, and among all hosts.
    pub(crate) crossings: (OnceLock<Vec<f64>>, OnceLock<Vec<f64>>),
}

impl Fabric {
    /// Checks and prepares `topology`; next hops of equal length stand in the order of the links.
    pub fn new(topology: Topology) -> Result<Self, TopologyError> {
        Self::with_route_order(topology, None)
    }

    /// The same, with equal next hops in an order that somebody else had.
    pub fn with_route_order(topology: Topology, order: Option<RouteOrder>) -> Result<Self, TopologyError> {
        check_links(&topology)?;
        let ports = ports_by_node(&topology);
        let hosts: Vec<_> = topology.hosts().collect();
        check_hosts(&hosts, &ports)?;
        check_size(&topology, &ports)?;
        order.as_ref().map_or(Ok(()), |order| order.check(&topology, &ports))?;
        let switches: Vec<_> = nodes_of(&topology, true).collect();
        let cards: Vec<_> = hosts.iter().flat_map(|host| ports[host.index()].iter().copied()).collect();
        let first_cards = first_places(hosts.iter().map(|host| ports[host.index()].len()));
        let mut card_of_port = vec![CardId::NONE; 2 * topology.links.len()];
        for (number, port) in cards.iter().enumerate() {
            card_of_port[port.index()] = CardId::new(number as u32);
        }
        let switch_ports = SwitchPorts::new(switches.iter().map(|switch| &ports[switch.index()]));
        let (path_classes, path_of_pair) = measure_paths(&topology, &ports, &hosts)?;
        let routes = Routes::shortest(&topology, &vec![true; topology.links.len()], order.as_ref());
        let ends = number_ends(&topology);
        Ok(Self {
            topology,
            order,
            routes,
            ends,
            hosts,
            cards,
            first_cards,
            card_of_port,
            switches,
            switch_ports,
            path_classes,
            path_of_pair,
            crossings: Default::default(),
        })
    }

    /// The topology.
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How many hosts there are.
    pub const fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// The host that is this node, if it is one.
    pub fn host(&self, node: NodeId) -> Option<HostId> {
        match self.ends.get(node.index())? {
            End::Host(host) => Some(*host),
            End::Switch(_) => None,
        }
    }

    /// The node of a host.
    pub fn node(&self, host: HostId) -> NodeId {
        self.hosts[host.index()]
    }

    /// The link whose direction this port is.
    pub fn link(&self, port: PortId) -> &Link {
        &self.topology.links[port.index() / 2]
    }

    /// Where this port leads.
    pub(crate) fn end(&self, port: PortId) -> End {
        self.ends[far_end(&self.topology, port).index()]
    }

    /// The rate of a host's own link, of several the first.
    pub fn host_rate(&self, host: HostId) -> Rate {
        self.link(self.cards[self.first_cards[host.index()] as usize]).rate
    }

    /// The rates of a host's links together, in bit/s.
    pub(crate) fn capacity(&self, host: HostId) -> u64 {
        let [begin, end] = [0, 1].map(|next| self.first_cards[host.index() + next] as usize);
        let rates = self.cards[begin..end].iter().map(|port| self.link(*port).rate.bits_per_second());
        rates.fold(0, u64::saturating_add)
    }

    /// The card of a port of a host.
    pub(crate) fn card(&self, port: PortId) -> CardId {
        self.card_of_port[port.index()]
    }

    /// Whether some host has several links.
    pub(crate) const fn has_choice_at_hosts(&self) -> bool {
        self.cards.len() > self.hosts.len()
    }

    /// The card by which a host sends: of several that lead to `to` by a shortest path, the one of the hash. Where none does, the
    /// first.
    pub(crate) fn card_towards(
        &self,
        routes: &Routes,
        from: HostId,
        to: HostId,
        hash: impl FnOnce() -> u32,
    ) -> CardId {
        let first = CardId::new(self.first_cards[from.index()]);
        if self.first_cards[from.index() + 1] == first.get() + 1 {
            return first;
        }
        routes.next(self.node(from), to.index(), hash).map_or(first, |port| self.card(port))
    }

    /// The empty path between two hosts.
    pub fn path(&self, from: HostId, to: HostId) -> PathFacts {
        self.path_classes[self.path_of_pair[from.index() * self.hosts.len() + to.index()] as usize]
    }

    /// The longest round trip and the largest bandwidth-delay product of all pairs.
    pub fn extremes(&self) -> (Duration, Bytes) {
        let longest = self.path_classes.iter().map(|facts| facts.round_trip).max();
        let largest = self.path_classes.iter().map(PathFacts::window).max();
        (longest.unwrap_or(Duration::ZERO), largest.unwrap_or(Bytes::ZERO))
    }

    /// Routes over the links that are still up.
    pub(crate) fn routes_over(&self, up: &[bool]) -> Routes {
        Routes::shortest(&self.topology, up, self.order.as_ref())
    }
}

/// Where groups of these sizes begin when they stand behind each other, and where the last ends.
fn first_places(sizes: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut end = 0;
    let ends = sizes.map(|size| {
        end += size as u32;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn nodes_of(topology: &Topology, switches: bool) -> impl Iterator<Item = NodeId> {
    let nodes = topology.is_switch.iter().enumerate();
    nodes.filter(move |(_, is_switch)| **is_switch == switches).map(|(node, _)| NodeId::new(node as u32))
}

fn number_ends(topology: &Topology) -> Vec<End> {
    let (mut hosts, mut switches) = (0, 0);
    let number = |is_switch: &bool| {
        let counter = if *is_switch { &mut switches } else { &mut hosts };
        *counter += 1;
        if *is_switch {
            End::Switch(SwitchId::new(*counter - 1))
        } else {
            End::Host(HostId::new(*counter - 1))
        }
    };
    topology.is_switch.iter().map(number).collect()
}

fn check_links(topology: &Topology) -> Result<(), TopologyError> {
    let exists = |node: NodeId| node.index() < topology.is_switch.len();
    let sound = |link: &Link| {
        let Link { first, second, rate, loss, .. } = *link;
        let ends = exists(first) && exists(second) && first != second;
        ends && rate > Rate::ZERO && (0.0..1.0).contains(&loss)
    };
    match topology.links.iter().position(|link| !sound(link)) {
        Some(link) => Err(TopologyError::Link(link)),
        None => Ok(()),
    }
}

fn check_hosts(hosts: &[NodeId], ports: &[Vec<PortId>]) -> Result<(), TopologyError> {
    match hosts.iter().find(|host| ports[host.index()].is_empty()) {
        Some(host) => Err(TopologyError::HostLinks(host.get())),
        None => Ok(()),
    }
}

/// Facts of all pairs: the different ones, and which pair has which.
fn measure_paths(
    topology: &Topology,
    ports: &[Vec<PortId>],
    hosts: &[NodeId],
) -> Result<(Vec<PathFacts>, Vec<u32>), TopologyError> {
    let mut classes = Vec::new();
    let mut known = HashMap::new();
    let mut of_pair = Vec::with_capacity(hosts.len() * hosts.len());
    // Hosts on equal links to the same switch are equally far from all but each other.
    let mut first_like = HashMap::new();
    for (row, from) in hosts.iter().enumerate() {
        let like = ports[from.index()].iter().map(|port| {
            let link = &topology.links[port.index() / 2];
            (far_end(topology, *port), link.rate, link.delay)
        });
        let first = *first_like.entry(like.collect::<Vec<_>>()).or_insert(row);
        if first != row {
            let begin = first * hosts.len();
            of_pair.extend_from_within(begin..begin + hosts.len());
            of_pair.swap(row * hosts.len() + row, row * hosts.len() + first);
            continue;
        }
        let reached = facts_from(topology, ports, *from);
        for to in hosts {
            let unreachable = TopologyError::NotConnected { from: from.get(), to: to.get() };
            let facts = reached[to.index()].ok_or(unreachable)?;
            of_pair.push(*known.entry(facts).or_insert_with(|| {
                classes.push(facts);
                classes.len() as u32 - 1
            }));
        }
    }
    Ok((classes, of_pair))
}

/// Facts of the first shortest path from `from` to each node.
fn facts_from(topology: &Topology, ports: &[Vec<PortId>], from: NodeId) -> Vec<Option<PathFacts>> {
    let mut facts: Vec<Option<PathFacts>> = vec![None; topology.is_switch.len()];
    let start = PathFacts { round_trip: Duration::ZERO, bottleneck: Rate::from_bits_per_second(u64::MAX) };
    facts[from.index()] = Some(start);
    let mut frontier = VecDeque::from([(from, start)]);
    while let Some((node, here)) = frontier.pop_front() {
        for port in &ports[node.index()] {
            let next = far_end(topology, *port);
            if facts[next.index()].is_some() {
                continue;
            }
            let there = extend(here, &topology.links[port.index() / 2]);
            facts[next.index()] = Some(there);
            if topology.is_switch[next.index()] {
                frontier.push_back((next, there));
            }
        }
    }
    facts
}

fn extend(facts: PathFacts, link: &Link) -> PathFacts {
    let transmission = link.rate.transmission_time(Bytes::new(PROBE_PAYLOAD));
    PathFacts {
        round_trip: facts.round_trip + link.delay * 2 + transmission,
        bottleneck: facts.bottleneck.min(link.rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(text: &str) -> Fabric {
        Fabric::new(text.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_dumbbell_of_microsecond_links_has_the_published_base() {
        let fabric = fabric("dumbbell:10x10,100Gbit/s,1us");
        assert_eq!(fabric.extremes(), (Duration::from_nanoseconds(6240), Bytes::new(78_000)));
        let path = fabric.path(HostId::new(0), HostId::new(10));
        assert_eq!(path.ideal(1000).nanoseconds(), 6323);
        assert_eq!(path.ideal(10_000_000).nanoseconds(), 844_640);
    }

    #[test]
    fn a_fat_tree_is_as_long_as_its_longest_path() {
        let fabric = fabric("fat-tree:4,100Gbit/s,1us");
        assert_eq!(fabric.extremes(), (Duration::from_nanoseconds(12_480), Bytes::new(156_000)));
        assert_eq!(fabric.path(HostId::new(0), HostId::new(1)).round_trip.nanoseconds(), 4160);
    }

    #[test]
    fn every_pair_has_the_facts_of_its_own_path() {
        let mut topology: Topology = "leaf-spine:3x2x4,100Gbit/s,1us".parse().unwrap();
        topology.links[1].rate = Rate::from_megabits_per_second(10_000);
        topology.links[6].delay = Duration::from_nanoseconds(2500);
        let (ports, hosts): (_, Vec<_>) = (ports_by_node(&topology), topology.hosts().collect());
        let fabric = Fabric::new(topology.clone()).unwrap();
        for (row, from) in hosts.iter().enumerate() {
            let reached = facts_from(&topology, &ports, *from);
            for (column, to) in hosts.iter().enumerate() {
                let path = fabric.path(HostId::new(row as u32), HostId::new(column as u32));
                assert_eq!(Some(path), reached[to.index()], "{row} to {column}");
            }
        }
    }

    #[test]
    fn paths_that_are_all_different_keep_their_own_facts() {
        // Sums of two links' delays, of which no two are equal: 400 hosts have 79 800 of them, beyond 16 bits.
        let hosts = 400;
        let mut topology = Topology::leaf_spine(
            1,
            1,
            hosts,
            Rate::from_megabits_per_second(100_000),
            Rate::from_megabits_per_second(100_000),
            Duration::ZERO,
        );
        let delay = |host: u32| Duration::from_nanoseconds(u64::from(host * 1000 + host * host % 401));
        (0..hosts).for_each(|host| topology.links[host as usize].delay = delay(host));
        let fabric = Fabric::new(topology).unwrap();
        assert!(fabric.path_classes.len() > usize::from(u16::MAX));
        let path = fabric.path(HostId::new(hosts - 1), HostId::new(hosts - 2));
        let propagation = (delay(hosts - 1) + delay(hosts - 2)) * 2;
        assert_eq!(path.round_trip, propagation + Duration::from_nanoseconds(160));
    }

    #[test]
    fn a_topology_too_large_for_its_routes_is_refused_at_once() {
        let topology = "fat-tree:64,100Gbit/s,1us".parse().unwrap();
        assert_eq!(
            Fabric::new(topology).unwrap_err(),
            TopologyError::TooLarge { nodes: 70_656, hosts: 65_536 }
        );
    }

    #[test]
    fn unsound_topologies_are_refused() {
        let mut topology: Topology = "dumbbell:2x2,100Gbit/s,1us".parse().unwrap();
        let middle = topology.links.pop().unwrap();
        assert_eq!(
            Fabric::new(topology.clone()).unwrap_err(),
            TopologyError::NotConnected { from: 0, to: 2 }
        );
        topology.links.push(Link { loss: 1.0, ..middle });
        assert_eq!(Fabric::new(topology.clone()).unwrap_err(), TopologyError::Link(4));
        topology.links[4].loss = 0.0;
        topology.links.remove(0);
        assert_eq!(Fabric::new(topology).unwrap_err(), TopologyError::HostLinks(0));
    }
}
