//! Shortest paths, and the choice among them (equal-cost multipath).
//!
//! What a switch does with a packet depends on the switches of its destination, not on the host itself. So there is a column
//! for each set of switches on which some host is: one for each edge switch where every host has one link.

mod addresses;
mod order;
mod ports;
mod search;
mod wiring;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use self::addresses::{Addresses, SourcePorts};
pub use self::order::RouteOrder;
pub(crate) use self::ports::{far_end, ports_by_node};
pub(crate) use self::search::Search;
pub(crate) use self::wiring::{End, Wire, Wiring};

use self::ports::{PortSetId, PortSets};
use crate::index::{HostId, PortId, SwitchId};
use crate::topology::{Topology, TopologyError};

/// Links of which every port can be named.
pub(crate) const MAX_LINKS: usize = (1 << 21) - 1;
/// Entries of a table by switch, half a gigabyte, and ports of all sets.
pub(crate) const MAX_ENTRIES: usize = 1 << 27;

/// The column of a host that no link leads to.
const NO_COLUMN: u32 = u32::MAX;

/// Which egress ports lead from a node to a host by a shortest path.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    wiring: Arc<Wiring>,
    /// Which links work.
    up: Vec<bool>,
    /// Of each host.
    column_of: Vec<u32>,
    /// By the switches that its hosts are on, in order.
    columns: HashMap<Vec<SwitchId>, u32>,
    /// Column by column, for each switch the ports that lead to the switches of the column.
    entries: Vec<PortSetId>,
    sets: PortSets,
    /// What an order of next hops changes, by node and host.
    ordered: HashMap<(End, HostId), PortSetId>,
}

impl Routes {
    /// All shortest paths while all links work; hosts forward nothing. Among equals, ports stand in the order of the links,
    /// or as `order` has it. Refuses a topology whose routes do not fit.
    pub(crate) fn shortest(
        topology: &Topology,
        wiring: &Arc<Wiring>,
        order: Option<&RouteOrder>,
    ) -> Result<Self, TopologyError> {
        let mut routes = Self {
            wiring: Arc::clone(wiring),
            up: vec![true; topology.links.len()],
            column_of: vec![NO_COLUMN; wiring.host_count()],
            columns: HashMap::new(),
            entries: Vec::new(),
            sets: PortSets::new(wiring.switch_count()),
            ordered: HashMap::new(),
        };
        let mut search = Search::new(wiring);
        for host in 0..wiring.host_count() {
            routes.place(HostId::new(host as u32), &mut search);
            if routes.entries.len().max(routes.sets.ports()) > MAX_ENTRIES {
                return Err(TopologyError::too_large(topology));
            }
        }
        routes.sort(topology, order);
        Ok(routes)
    }

    /// A link fails or comes back: the same as [`Self::shortest`] over the links that work then. Only columns whose shortest
    /// paths the link belongs to change.
    pub(crate) fn change(&mut self, topology: &Topology, order: Option<&RouteOrder>, link: usize, up: bool) {
        if std::mem::replace(&mut self.up[link], up) == up {
            return;
        }
        let port = PortId::new(2 * link as u32);
        let ends = [port.reverse(), port].map(|port| self.wiring.far(port));
        let mut search = Search::new(&self.wiring);
        if let [End::Switch(first), End::Switch(second)] = ends {
            for column in 0..self.columns.len() {
                self.adapt(column, port, [first, second], &mut search);
            }
        }
        for end in ends {
            if let End::Host(host) = end {
                self.place(host, &mut search);
            }
        }
        self.sort(topology, order);
    }

    /// Gives a host its column, of the switches that its links lead to.
    fn place(&mut self, host: HostId, search: &mut Search) {
        let mut switches: Vec<_> = self.working(host).filter_map(|wire| wire.to.switch()).collect();
        switches.sort_unstable();
        switches.dedup();
        let new = self.columns.len() as u32;
        let column = match switches.is_empty() {
            true => NO_COLUMN,
            false => *self.columns.entry(switches.clone()).or_insert(new),
        };
        self.column_of[host.index()] = column;
        if column == new {
            self.entries.resize(self.entries.len() + self.wiring.switch_count(), PortSets::EMPTY);
            self.fill(column as usize, &switches, search);
        }
    }

    /// Searches for the ways to these switches.
    fn fill(&mut self, column: usize, switches: &[SwitchId], search: &mut Search) {
        let begin = column * self.wiring.switch_count();
        search.run(&self.wiring, &self.up, switches.iter().copied());
        let mut nearer = Vec::new();
        for switch in (0..self.wiring.switch_count()).map(|place| SwitchId::new(place as u32)) {
            let entry = match search.distance(switch) {
                None => PortSets::EMPTY,
                Some(0) => PortSets::HERE,
                Some(here) => {
                    let wires = self.wiring.of_switch(switch).iter();
                    let is_nearer = |wire: &&Wire<SwitchId>| {
                        search.distance(wire.to) == Some(here - 1) && self.up[wire.port.index() / 2]
                    };
                    nearer.clear();
                    nearer.extend(wires.filter(is_nearer).map(|wire| wire.port));
                    self.sets.number(switch, &nearer)
                }
            };
            self.entries[begin + switch.index()] = entry;
        }
    }

    /// Adapts a column to a link between two switches that now works or no longer does; `port` is its direction from the first.
    fn adapt(&mut self, column: usize, port: PortId, ends: [SwitchId; 2], search: &mut Search) {
        let [first, second] = ends.map(|switch| self.steps(column, switch));
        if first == second {
            return; // on no shortest path
        }
        let up = self.up[port.index() / 2];
        let ((farther, port), adjacent) = match (first, second) {
            (Some(first), Some(second)) if first > second => ((ends[0], port), first == second + 1),
            (Some(first), Some(second)) => ((ends[1], port.reverse()), second == first + 1),
            (Some(_), None) | (None, _) => ((ends[0], port), false),
        };
        let entry = column * self.wiring.switch_count() + farther.index();
        let mut ways = self.sets.of(self.entries[entry]).to_vec();
        if up {
            ways.push(port);
            ways.sort_unstable(); // the order of the links
        } else {
            ways.retain(|way| *way != port);
        }
        if adjacent && !ways.is_empty() {
            self.entries[entry] = self.sets.number(farther, &ways);
        } else {
            let found = self.columns.iter().find(|(_, number)| **number as usize == column);
            let switches = found.map(|(switches, _)| switches.clone()).unwrap_or_default();
            self.fill(column, &switches, search);
        }
    }

    /// Puts ways into the given order, where that is another than that of the links.
    fn sort(&mut self, topology: &Topology, order: Option<&RouteOrder>) {
        self.ordered.clear();
        let Some(order) = order else { return };
        for (node, host) in order.pairs() {
            let (Some(at), Some(End::Host(to))) = (self.wiring.node(node), self.wiring.node(host)) else {
                continue;
            };
            let ways = match at {
                End::Switch(switch) => self.ways(switch, to).collect(),
                End::Host(from) => self.departures(from, to),
            };
            let mut sorted = ways.clone();
            order.sort(topology, (node, host), &mut sorted);
            if sorted != ways {
                let set = self.sets.add(&sorted);
                self.ordered.insert((at, to), set);
            }
        }
    }

    /// The links of a host that work.
    fn working(&self, host: HostId) -> impl Iterator<Item = &Wire<End>> + Clone {
        self.wiring.of_host(host).iter().filter(|wire| self.up[wire.port.index() / 2])
    }

    /// The ports among which `switch` chooses on the way to `host`.
    pub(crate) fn ways(&self, switch: SwitchId, host: HostId) -> impl Iterator<Item = PortId> + Clone {
        let column = self.column_of[host.index()];
        let set = match self.ordered.get(&(End::Switch(switch), host)) {
            Some(set) => *set,
            None if column == NO_COLUMN => PortSets::EMPTY,
            None => self.entries[column as usize * self.wiring.switch_count() + switch.index()],
        };
        let doors = if set == PortSets::HERE { self.wiring.of_host(host) } else { &[] };
        let doors =
            doors.iter().filter(move |wire| wire.to == End::Switch(switch) && self.up[wire.port.index() / 2]);
        self.sets.of(set).iter().copied().chain(doors.map(|wire| wire.port.reverse()))
    }

    /// The port by which `switch` sends to `host`; `hash` is asked for only where there is a choice.
    #[inline]
    pub(crate) fn next(&self, switch: SwitchId, host: HostId, hash: impl FnOnce() -> u32) -> Option<PortId> {
        choose(self.ways(switch, host), hash)
    }

    /// The ports among which host `from` chooses on the way to another one.
    pub(crate) fn departures(&self, from: HostId, to: HostId) -> Vec<PortId> {
        if let Some(set) = self.ordered.get(&(End::Host(from), to)) {
            return self.sets.of(*set).to_vec();
        }
        let column = self.column_of[to.index()];
        let distance = |wire: &Wire<End>| match wire.to {
            End::Host(host) => (host == to).then_some(0),
            End::Switch(switch) if column != NO_COLUMN => Some(self.steps(column as usize, switch)? + 1),
            End::Switch(_) => None,
        };
        let reaching = self.working(from).filter_map(|wire| Some((distance(wire)?, wire.port)));
        let nearest = reaching.clone().map(|(distance, _)| distance).min();
        reaching.filter(|(distance, _)| Some(*distance) == nearest).map(|(_, port)| port).collect()
    }

    /// The port by which host `from` sends to another one.
    pub(crate) fn departure(&self, from: HostId, to: HostId, hash: impl FnOnce() -> u32) -> Option<PortId> {
        choose(self.departures(from, to).into_iter(), hash)
    }

    /// Links between a switch and the switches of a column.
    fn steps(&self, column: usize, mut switch: SwitchId) -> Option<u32> {
        let entries = &self.entries[column * self.wiring.switch_count()..];
        let mut steps = 0;
        loop {
            match entries[switch.index()] {
                PortSets::HERE => return Some(steps),
                set => switch = self.wiring.far(*self.sets.of(set).first()?).switch()?,
            }
            steps += 1;
        }
    }

    /// All switches from which a host can be reached, the farthest first.
    pub(crate) fn farthest_first(&self, host: HostId) -> Vec<SwitchId> {
        let column = self.column_of[host.index()];
        if column == NO_COLUMN {
            return Vec::new();
        }
        let switches = (0..self.wiring.switch_count() as u32).map(SwitchId::new);
        let reaching = switches.filter_map(|switch| Some((self.steps(column as usize, switch)?, switch)));
        let mut reaching: Vec<_> = reaching.collect();
        reaching.sort_by_key(|(steps, _)| std::cmp::Reverse(*steps));
        reaching.into_iter().map(|(_, switch)| switch).collect()
    }
}

/// One of the ways, by the hash where there are several.
fn choose(mut ways: impl Iterator<Item = PortId> + Clone, hash: impl FnOnce() -> u32) -> Option<PortId> {
    match ways.clone().count() {
        0 => None,
        1 => ways.next(),
        count => ways.nth((hash() % count as u32) as usize),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use super::*;
    use crate::index::NodeId;
    use crate::random::Random;
    use trialwise_units::Seed;

    fn shortest(topology: &Topology, order: Option<&RouteOrder>) -> Routes {
        Routes::shortest(topology, &Arc::new(Wiring::new(topology)), order).unwrap()
    }

    fn host(number: u32) -> HostId {
        HostId::new(number)
    }

    fn switch(number: u32) -> SwitchId {
        SwitchId::new(number)
    }

    #[test]
    fn a_fat_tree_has_all_its_shortest_paths() {
        let routes = shortest(&"fat-tree:4,100Gbit/s,1us".parse().unwrap(), None);
        let ways = |at: u32, to: u32| {
            let chosen = (0..8).map(|hash| routes.next(switch(at), host(to), || hash).unwrap());
            chosen.collect::<BTreeSet<_>>().len()
        };
        assert_eq!((ways(0, 15), ways(8, 15), ways(16, 15), ways(0, 1)), (2, 2, 1, 1));
        assert_eq!(routes.departures(host(0), host(15)).len(), 1);
    }

    /// Ports on shortest paths of a node, by a search from the destination over all nodes.
    fn searched(topology: &Topology, up: &[bool], to: NodeId) -> Vec<Vec<PortId>> {
        let ports = ports_by_node(topology);
        let working = |node: NodeId| ports[node.index()].iter().filter(|port| up[port.index() / 2]);
        let mut distance = vec![None; ports.len()];
        distance[to.index()] = Some(0);
        let mut frontier = VecDeque::from([(to, 0)]);
        while let Some((node, hops)) = frontier.pop_front() {
            for next in working(node).map(|port| far_end(topology, *port)) {
                if distance[next.index()].is_none() {
                    distance[next.index()] = Some(hops + 1);
                    if topology.is_switch[next.index()] {
                        frontier.push_back((next, hops + 1));
                    }
                }
            }
        }
        let nearer = |node: NodeId, port: &PortId| {
            let next = far_end(topology, *port);
            let forwards = next == to || topology.is_switch[next.index()];
            forwards && distance[next.index()].is_some_and(|far| Some(far + 1) == distance[node.index()])
        };
        let nodes = (0..ports.len() as u32).map(NodeId::new);
        nodes.map(|node| working(node).filter(|port| nearer(node, port)).copied().collect()).collect()
    }

    fn check(topology: &Topology, routes: &Routes, up: &[bool]) {
        let wiring = Wiring::new(topology);
        for (number, to) in topology.hosts().enumerate() {
            for (node, expected) in searched(topology, up, to).into_iter().enumerate() {
                let node = NodeId::new(node as u32);
                let ways = match wiring.node(node).unwrap() {
                    End::Switch(switch) => routes.ways(switch, host(number as u32)).collect(),
                    End::Host(from) => routes.departures(from, host(number as u32)),
                };
                assert!(ways == expected || node == to, "{node:?} to {to:?}: {ways:?}, not {expected:?}");
            }
        }
    }

    /// Switches in a ring with chords, and hosts with one to three links to them or to another host; some links are parallel.
    fn tangle(random: &mut Random) -> Topology {
        let (hosts, switches) = (8, 6);
        let mut below = |end: u32| random.below(u64::from(end)) as u32;
        let mut links: Vec<_> =
            (0..switches).map(|each| (hosts + each, hosts + (each + 1) % switches)).collect();
        links.extend((0..4).map(|_| (hosts + below(switches), hosts + below(switches))));
        for host in 0..hosts {
            links.extend((0..=below(3)).map(|_| (host, hosts + below(switches))));
        }
        links.push((0, 1));
        links.retain(|(first, second)| first != second);
        let lines = links.iter().map(|(first, second)| format!("{first} {second} 100Gbps 1us 0\n"));
        let numbers: Vec<_> = (hosts..hosts + switches).map(|node| node.to_string()).collect();
        let text = format!(
            "{} {switches} {}\n{}\n{}",
            hosts + switches,
            links.len(),
            numbers.join(" "),
            lines.collect::<String>()
        );
        Topology::from_hpcc(&text).unwrap()
    }

    /// As long as links fail and come back, routes are those that a search for each host finds.
    #[test]
    fn columns_have_the_ways_that_a_search_for_each_host_finds() {
        let shapes =
            ["fat-tree:4,100Gbit/s,1us", "leaf-spine:3x2x4,100Gbit/s,1us", "dumbbell:3x2,100Gbit/s,1us"];
        let mut random = Random::new(Seed::new(1));
        let tangles: Vec<_> = (0..20).map(|_| tangle(&mut random)).collect();
        for topology in shapes.map(|shape| shape.parse().unwrap()).into_iter().chain(tangles) {
            let mut routes = shortest(&topology, None);
            let mut up = vec![true; topology.links.len()];
            check(&topology, &routes, &up);
            for _ in 0..20 {
                let link = random.below(up.len() as u64) as usize;
                up[link] = !up[link];
                routes.change(&topology, None, link, up[link]);
                check(&topology, &routes, &up);
            }
        }
    }

    #[test]
    fn a_link_that_is_down_carries_nothing() {
        let topology: Topology = "dumbbell:1x1,100Gbit/s,1us".parse().unwrap();
        let mut routes = shortest(&topology, None);
        routes.change(&topology, None, 2, false);
        assert!(routes.departures(host(0), host(1)).is_empty());
        assert_eq!(routes.next(switch(0), host(1), || 0), None);
        assert!(routes.next(switch(0), host(0), || 0).is_some());
    }

    #[test]
    fn an_order_of_another_topology_is_refused() {
        let topology: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        let ports = ports_by_node(&topology);
        let message = |text: &str| {
            let checked = RouteOrder::parse(text).unwrap().check(&topology, &ports);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(message("16 15 25 24\n\n17 0 24\n"), Ok(()));
        let refused = |text: &str| message(text).unwrap_err();
        assert_eq!(refused("16 15 25 24\n\n99 0 24\n"), "routes, line 3: the topology has no node 99");
        assert_eq!(refused("16 17 24\n"), "routes, line 1: node 17 is no host of the topology");
        assert_eq!(refused("16 15 25 26\n"), "routes, line 1: no link leads from node 16 to node 26");
    }

    /// For the host that it names, and no other on its switch; also after a link has failed and come back.
    #[test]
    fn an_order_that_is_given_is_kept() {
        let topology: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        let order = RouteOrder::parse("16 15 25 24\n").unwrap();
        let first =
            |routes: &Routes, to| far_end(&topology, routes.next(switch(0), host(to), || 0).unwrap()).get();
        let mut ordered = shortest(&topology, Some(&order));
        assert_eq!((first(&ordered, 15), first(&ordered, 14)), (25, 24));
        assert_eq!(first(&shortest(&topology, None), 15), 24);
        for up in [false, true] {
            ordered.change(&topology, Some(&order), 47, up);
        }
        assert_eq!((first(&ordered, 15), first(&ordered, 14)), (25, 24));
    }
}
