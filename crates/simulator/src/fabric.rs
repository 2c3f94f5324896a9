//! A topology made ready: checked, routed, measured. Trials share one.

use std::sync::{Arc, OnceLock};

use trialwise_units::Rate;

use crate::empty_paths::{EmptyPaths, KnownPath, PathFacts};
use crate::groups::Groups;
use crate::index::{CardId, HostId, NodeId, PortId, SwitchId};
use crate::paths::SwitchPorts;
use crate::routing::{End, MAX_LINKS, RouteOrder, Routes, Wiring, ports_by_node};
use crate::topology::{Link, Topology, TopologyError};

/// A topology with its routes and the facts of its paths.
#[derive(Clone, Debug)]
pub struct Fabric {
    topology: Topology,
    order: Option<RouteOrder>,
    pub(crate) routes: Routes,
    wiring: Arc<Wiring>,
    pub(crate) hosts: Vec<NodeId>,
    /// The port of each network card, host by host.
    pub(crate) cards: Vec<PortId>,
    /// Where the cards of each host begin, and where the last end.
    first_cards: Vec<u32>,
    /// The card whose port it is, by port; none for ports of switches.
    card_of_port: Vec<CardId>,
    pub(crate) switches: Vec<NodeId>,
    pub(crate) switch_ports: SwitchPorts,
    paths: EmptyPaths,
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
        if topology.links.len() > MAX_LINKS {
            return Err(TopologyError::too_large(&topology));
        }
        order.as_ref().map_or(Ok(()), |order| order.check(&topology, &ports))?;
        let switches: Vec<_> = nodes_of(&topology, true).collect();
        let cards: Vec<_> = hosts.iter().flat_map(|host| ports[host.index()].iter().copied()).collect();
        let first_cards = first_places(hosts.iter().map(|host| ports[host.index()].len()));
        let mut card_of_port = vec![CardId::NONE; 2 * topology.links.len()];
        for (number, port) in cards.iter().enumerate() {
            card_of_port[port.index()] = CardId::new(number as u32);
        }
        let of_switches = switches.iter().map(|switch| &ports[switch.index()]);
        let switch_ports = SwitchPorts::new(Groups::new(of_switches));
        let wiring = Arc::new(Wiring::new(&topology));
        let paths = EmptyPaths::measure(&topology, &wiring)?;
        let routes = Routes::shortest(&topology, &wiring, order.as_ref())?;
        Ok(Self {
            topology,
            order,
            routes,
            wiring,
            hosts,
            cards,
            first_cards,
            card_of_port,
            switches,
            switch_ports,
            paths,
            crossings: Default::default(),
        })
    }

    /// A part of this network: what senders are told of the longest path stays that of the whole.
    pub(crate) fn part(&self, topology: Topology) -> Result<Self, TopologyError> {
        let mut part = Self::new(topology)?;
        part.paths.told_as(self.extremes());
        Ok(part)
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
        match self.wiring.node(node)? {
            End::Host(host) => Some(host),
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
        self.wiring.far(port)
    }

    /// The port of a host's own link, of several the first.
    pub(crate) fn own_port(&self, host: HostId) -> PortId {
        self.cards[self.first_cards[host.index()] as usize]
    }

    /// The rate of a host's own link, of several the first.
    pub fn host_rate(&self, host: HostId) -> Rate {
        self.link(self.own_port(host)).rate
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
        routes.departure(from, to, hash).map_or(first, |port| self.card(port))
    }

    /// The empty path between two hosts.
    pub fn path(&self, from: HostId, to: HostId) -> PathFacts {
        self.paths.between(&self.topology, &self.wiring, from, to)
    }

    /// The longest round trip, the largest bandwidth-delay product and the most links of all pairs.
    pub const fn extremes(&self) -> KnownPath {
        self.paths.extremes()
    }

    /// Routes after a link has failed or come back.
    pub(crate) fn change_routes(&self, routes: &mut Routes, link: usize, up: bool) {
        routes.change(&self.topology, self.order.as_ref(), link, up);
    }

    /// The switch to which a host's only link leads; none where it has several, or that leads to a host.
    pub(crate) fn only_switch(&self, host: HostId) -> Option<SwitchId> {
        self.wiring.only_switch(host)
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

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::{Bytes, Duration};

    fn fabric(text: &str) -> Fabric {
        Fabric::new(text.parse().unwrap()).unwrap()
    }

    fn most(round_trip: u64, window: u64, links: u32) -> KnownPath {
        KnownPath { round_trip: Duration::from_nanoseconds(round_trip), window: Bytes::new(window), links }
    }

    #[test]
    fn a_dumbbell_of_microsecond_links_has_the_published_base() {
        let fabric = fabric("dumbbell:10x10,100Gbit/s,1us");
        assert_eq!(fabric.extremes(), most(6240, 78_000, 3));
        let path = fabric.path(HostId::new(0), HostId::new(10));
        assert_eq!(path.ideal(1000).nanoseconds(), 6323);
        assert_eq!(path.ideal(10_000_000).nanoseconds(), 844_640);
    }

    #[test]
    fn a_fat_tree_is_as_long_as_its_longest_path() {
        let fabric = fabric("fat-tree:4,100Gbit/s,1us");
        assert_eq!(fabric.extremes(), most(12_480, 156_000, 6));
        assert_eq!(fabric.path(HostId::new(0), HostId::new(1)).round_trip.nanoseconds(), 4160);
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
        let path = fabric.path(HostId::new(hosts - 1), HostId::new(hosts - 2));
        let propagation = (delay(hosts - 1) + delay(hosts - 2)) * 2;
        assert_eq!(path.round_trip, propagation + Duration::from_nanoseconds(160));
    }

    /// Hosts whose two links lead to pairs of switches that no other host has: a column and facts for each.
    #[test]
    fn a_topology_too_large_for_its_tables_is_refused_at_once() {
        let switches = 200;
        let pairs = (0..switches).flat_map(|first| (first + 1..switches).map(move |second| (first, second)));
        let pairs: Vec<_> = pairs.take(12_000).collect();
        let hosts = pairs.len() as u32;
        let mut topology: Topology = "dumbbell:1x1,100Gbit/s,1us".parse().unwrap();
        let model = topology.links.remove(0);
        topology.links.clear();
        topology.is_switch = (0..hosts + switches).map(|node| node >= hosts).collect();
        for (host, (first, second)) in pairs.into_iter().enumerate() {
            let to = [first, second].map(|switch| NodeId::new(hosts + switch));
            topology.links.extend(to.map(|second| Link { first: NodeId::new(host as u32), second, ..model }));
        }
        assert_eq!(
            Fabric::new(topology).unwrap_err(),
            TopologyError::TooLarge { nodes: 12_200, hosts: 12_000 }
        );
    }

    #[test]
    fn a_topology_with_more_links_than_can_be_numbered_is_refused() {
        let mut topology: Topology = "dumbbell:1x1,100Gbit/s,1us".parse().unwrap();
        let parallel = topology.links[2];
        topology.links.resize(MAX_LINKS + 1, parallel);
        assert_eq!(Fabric::new(topology).unwrap_err(), TopologyError::TooLarge { nodes: 4, hosts: 2 });
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
