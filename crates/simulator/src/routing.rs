//! Shortest paths, and the choice among them (equal-cost multipath).

use std::collections::{HashMap, VecDeque};

use crate::flow::FlowSpecification;
use crate::index::{HostId, NodeId, PortId};
use crate::topology::{Topology, TopologyError};

/// Which egress ports lead from a node to a host by a shortest path.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    hosts: usize,
    /// For each node and host: how many ports (high 10 bits), and the port, or the place of the first in
    /// `choices`.
    entries: Vec<u32>,
    /// The different sets of ports among which some node chooses.
    choices: Vec<PortId>,
}

const COUNT_SHIFT: u32 = 22;
const PLACE_MASK: u32 = (1 << COUNT_SHIFT) - 1;
/// Ports that a route can name, and ways among which a node can choose.
const MAX_PORTS: usize = 1 << COUNT_SHIFT;
/// Links of which every port can be named.
pub(crate) const MAX_LINKS: usize = MAX_PORTS / 2 - 1;
const MAX_WAYS: usize = 1 << (32 - COUNT_SHIFT);
/// Entries of the table: half a gigabyte.
const MAX_ENTRIES: usize = 1 << 27;

/// Refuses a topology whose routes do not fit, before anything is allocated for them.
pub(crate) fn check_size(topology: &Topology, ports: &[Vec<PortId>]) -> Result<(), TopologyError> {
    let (nodes, hosts) = (topology.is_switch.len(), topology.hosts().count());
    let ways = ports.iter().map(Vec::len).max().unwrap_or(0);
    let fits =
        nodes.saturating_mul(hosts) <= MAX_ENTRIES && topology.links.len() <= MAX_LINKS && ways < MAX_WAYS;
    if fits { Ok(()) } else { Err(TopologyError::TooLarge { nodes, hosts }) }
}

/// For each node, its ports in the order of the links.
pub(crate) fn ports_by_node(topology: &Topology) -> Vec<Vec<PortId>> {
    let mut ports = vec![Vec::new(); topology.is_switch.len()];
    for (number, link) in topology.links.iter().enumerate() {
        ports[link.first.index()].push(PortId::new(2 * number as u32));
        ports[link.second.index()].push(PortId::new(2 * number as u32 + 1));
    }
    ports
}

/// The node at the far end of a port.
pub(crate) fn far_end(topology: &Topology, port: PortId) -> NodeId {
    let link = &topology.links[port.index() / 2];
    if port.get().is_multiple_of(2) { link.second } else { link.first }
}

impl Routes {
    /// All shortest paths over the links that are `up`; hosts forward nothing. Among equals, ports stand in
    /// the order of the links, or as `order` has it.
    pub(crate) fn shortest(topology: &Topology, up: &[bool], order: Option<&RouteOrder>) -> Self {
        let ports = ports_by_node(topology);
        let hosts: Vec<_> = topology.hosts().collect();
        let nodes = topology.is_switch.len();
        let mut routes =
            Self { hosts: hosts.len(), entries: vec![0; nodes * hosts.len()], choices: Vec::new() };
        let mut known = HashMap::new();
        let siblings = if order.is_none() { siblings(topology, &ports, up, &hosts) } else { Vec::new() };
        let mut copies = siblings.iter().map(|(column, ..)| *column).peekable();
        for (column, host) in hosts.iter().enumerate() {
            if copies.next_if_eq(&column).is_some() {
                continue;
            }
            let distance = distances(topology, &ports, up, *host);
            for node in 0..nodes {
                let Some(here) = distance[node].filter(|here| *here > 0) else { continue };
                let nearer = |port: &&PortId| {
                    let next = far_end(topology, **port);
                    let forwards = next == *host || topology.is_switch[next.index()];
                    up[port.index() / 2]
                        && forwards
                        && distance[next.index()].is_some_and(|far| far + 1 == here)
                };
                let mut towards: Vec<_> = ports[node].iter().filter(nearer).copied().collect();
                if let Some(order) = order {
                    order.sort(topology, NodeId::new(node as u32), *host, &mut towards);
                }
                routes.set(node, column, &towards, &mut known);
            }
        }
        routes.copy(&siblings, &hosts, &ports);
        routes
    }

    /// Fills the columns of hosts from those of the first host on the same switch.
    fn copy(&mut self, siblings: &[(usize, usize, NodeId)], hosts: &[NodeId], ports: &[Vec<PortId>]) {
        for row in self.entries.chunks_mut(self.hosts.max(1)) {
            for (column, first, _) in siblings {
                row[*column] = row[*first];
            }
        }
        let only = |port: PortId| 1 << COUNT_SHIFT | port.get();
        for (column, first, switch) in siblings {
            let (host, other) = (hosts[*column], hosts[*first]);
            let up = ports[host.index()][0];
            let at = |node: NodeId| node.index() * self.hosts + column;
            self.entries[at(host)] = 0;
            self.entries[at(other)] = only(ports[other.index()][0]);
            self.entries[at(*switch)] = only(PortId::new(up.get() ^ 1));
        }
    }

    fn set(&mut self, node: usize, host: usize, towards: &[PortId], known: &mut HashMap<Vec<PortId>, u32>) {
        let count = towards.len() as u32;
        let place = match towards {
            [] => return,
            [only] => only.get(),
            several => *known.entry(several.to_vec()).or_insert_with(|| {
                self.choices.extend_from_slice(several);
                (self.choices.len() - several.len()) as u32
            }),
        };
        self.entries[node * self.hosts + host] = count << COUNT_SHIFT | place;
    }

    /// The port by which `node` sends to the host in this column; `hash` is asked for only where there is a
    /// choice.
    #[inline]
    pub(crate) fn next(&self, node: NodeId, host: usize, hash: impl FnOnce() -> u32) -> Option<PortId> {
        let entry = self.entries[node.index() * self.hosts + host];
        let (count, place) = (entry >> COUNT_SHIFT, entry & PLACE_MASK);
        match count {
            0 => None,
            1 => Some(PortId::new(place)),
            _ => Some(self.choices[(place + hash() % count) as usize]),
        }
    }

    /// The ports among which `node` chooses on the way to the host in this column.
    pub(crate) fn ways(&self, node: NodeId, host: usize) -> impl Iterator<Item = PortId> {
        let count = self.entries[node.index() * self.hosts + host] >> COUNT_SHIFT;
        (0..count).filter_map(move |way| self.next(node, host, || way))
    }
}

/// Hosts whose routes are, but for the last link, those of an earlier host on the same switch: their columns, those of
/// the earlier hosts, and the switches.
fn siblings(
    topology: &Topology,
    ports: &[Vec<PortId>],
    up: &[bool],
    hosts: &[NodeId],
) -> Vec<(usize, usize, NodeId)> {
    let mut first_on = HashMap::new();
    let mut found = Vec::new();
    for (column, host) in hosts.iter().enumerate() {
        let [port] = ports[host.index()][..] else { continue };
        let switch = far_end(topology, port);
        if !up[port.index() / 2] || !topology.is_switch[switch.index()] {
            continue;
        }
        let first = *first_on.entry(switch).or_insert(column);
        if first != column {
            found.push((column, first, switch));
        }
    }
    found
}

/// Hops from each node to `host`.
pub(crate) fn distances(
    topology: &Topology,
    ports: &[Vec<PortId>],
    up: &[bool],
    host: NodeId,
) -> Vec<Option<u32>> {
    let mut distance = vec![None; topology.is_switch.len()];
    distance[host.index()] = Some(0);
    let mut frontier = VecDeque::from([(host, 0)]);
    while let Some((node, hops)) = frontier.pop_front() {
        for port in ports[node.index()].iter().filter(|port| up[port.index() / 2]) {
            let next = far_end(topology, *port);
            if distance[next.index()].is_none() {
                distance[next.index()] = Some(hops + 1);
                if topology.is_switch[next.index()] {
                    frontier.push_back((next, hops + 1));
                }
            }
        }
    }
    distance
}

/// The first source port of a pair, as in the HPCC simulator.
const FIRST_SOURCE_PORT: u16 = 10_000;

/// Source ports of flows: those of a pair count up, and begin again at 0 after 65,535.
#[derive(Debug, Default)]
pub(crate) struct SourcePorts(HashMap<(HostId, HostId), u16>);

impl SourcePorts {
    /// The port of the next flow of this pair.
    pub(crate) fn take(&mut self, source: HostId, destination: HostId) -> u16 {
        let next = self.0.entry((source, destination)).or_insert(FIRST_SOURCE_PORT);
        std::mem::replace(next, next.wrapping_add(1))
    }

    /// Begins again, in the same memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// An order of equal next hops that the topology does not imply: for repeating somebody's run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOrder {
    /// And the lines on which they stand.
    next_hops: HashMap<(NodeId, NodeId), (usize, Vec<NodeId>)>,
}

impl RouteOrder {
    /// Reads lines of `node host next-hop next-hop …`.
    pub fn parse(text: &str) -> Result<Self, TopologyError> {
        let mut order = Self::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let nodes: Result<Vec<u32>, _> = line.split_whitespace().map(str::parse).collect();
            let nodes = nodes.ok().filter(|nodes| nodes.len() >= 3).ok_or_else(|| TopologyError::Line {
                line: number + 1,
                problem: "here stand a node, a host and the next hops".to_owned(),
            })?;
            let key = (NodeId::new(nodes[0]), NodeId::new(nodes[1]));
            let hops = nodes[2..].iter().copied().map(NodeId::new).collect();
            order.next_hops.insert(key, (number + 1, hops));
        }
        Ok(order)
    }

    /// Refuses an order of another topology: nodes that it does not have, and next hops that no link leads to.
    pub(crate) fn check(&self, topology: &Topology, ports: &[Vec<PortId>]) -> Result<(), TopologyError> {
        let mut lines: Vec<_> =
            self.next_hops.iter().map(|(ends, (line, hops))| (*line, *ends, hops)).collect();
        lines.sort_unstable();
        lines.into_iter().try_for_each(|(line, (node, host), hops)| {
            let wrong = |problem| Err(TopologyError::Routes { line, problem });
            if topology.is_switch.get(host.index()) != Some(&false) {
                return wrong(format!("node {} is no host of the topology", host.get()));
            }
            let Some(own) = ports.get(node.index()) else {
                return wrong(format!("the topology has no node {}", node.get()));
            };
            let is_next = |hop: &NodeId| own.iter().any(|port| far_end(topology, *port) == *hop);
            match hops.iter().find(|hop| !is_next(hop)) {
                Some(hop) => wrong(format!("no link leads from node {} to node {}", node.get(), hop.get())),
                None => Ok(()),
            }
        })
    }

    /// Puts `towards` into the order listed; ports to nodes that are not listed come last, as they were.
    fn sort(&self, topology: &Topology, node: NodeId, host: NodeId, towards: &mut [PortId]) {
        let Some((_, listed)) = self.next_hops.get(&(node, host)) else { return };
        towards.sort_by_key(|port| {
            let next = far_end(topology, *port);
            listed.iter().position(|hop| *hop == next).unwrap_or(listed.len())
        });
    }
}

/// The seed of ns-3's hash of any bytes.
const CARD_SEED: u32 = 0x8bad_f00d;

/// What tells the packets of a flow from those of others where a way is chosen by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

impl Addresses {
    /// Those of a flow whose source port is given.
    pub(crate) const fn new(flow: &FlowSpecification, source_port: u16) -> Self {
        let FlowSpecification { source, destination, destination_port, .. } = *flow;
        Self { source, destination, source_port, destination_port }
    }

    /// Those of what the receiver sends back.
    #[must_use]
    pub(crate) const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }

    /// The hash by which `node` chooses a way.
    pub(crate) fn hash(self, node: NodeId) -> u32 {
        let ports = u32::from(self.source_port) | u32::from(self.destination_port) << 16;
        murmur3([address(self.source), address(self.destination), ports], node.get())
    }

    /// The hash by which the source chooses among its own links. The reference hashes the same words there, by the seed of
    /// its general-purpose hash.
    pub(crate) fn card_hash(self) -> u32 {
        self.hash(NodeId::new(CARD_SEED))
    }
}

/// The hash by which the HPCC simulator's switches choose: MurmurHash3 (Appleby, public domain), 32 bits,
/// over three words.
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = words.iter().fold(seed, |hash, word| {
        let scrambled = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ scrambled).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    hash ^= 4 * words.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// The address that the HPCC simulator gives to a host.
const fn address(host: NodeId) -> u32 {
    0x0b00_0001 + (host.get() / 256) * 0x1_0000 + (host.get() % 256) * 0x100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3() {
        // MurmurHash3_x86_32 of the twelve bytes "abcdefghijkl" with seed 0, by the reference implementation.
        let words = [*b"abcd", *b"efgh", *b"ijkl"].map(u32::from_le_bytes);
        assert_eq!(murmur3(words, 0), REFERENCE);
    }

    const REFERENCE: u32 = 0xa36f_3d27;

    #[test]
    fn a_fat_tree_has_all_its_shortest_paths() {
        let topology: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        let routes = Routes::shortest(&topology, &vec![true; topology.links.len()], None);
        let ways = |node: u32, host: usize| {
            let chosen = (0..8).map(|hash| routes.next(NodeId::new(node), host, || hash).unwrap());
            chosen.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((ways(0, 15), ways(16, 15), ways(24, 15), ways(32, 15), ways(16, 1)), (1, 2, 2, 1, 1));
    }

    /// With an order, even an empty one, every host is searched for by itself.
    #[test]
    fn hosts_on_one_switch_have_the_routes_that_a_search_for_each_finds() {
        let alone = RouteOrder::default();
        for (shape, down) in [
            ("fat-tree:4,100Gbit/s,1us", [0, 5, 20]),
            ("leaf-spine:3x2x4,100Gbit/s,1us", [0, 7, 12]),
            ("dumbbell:3x2,100Gbit/s,1us", [0, 3, 5]),
        ] {
            let topology: Topology = shape.parse().unwrap();
            for links in [&[][..], &down[..1], &down[1..2], &down[2..], &down[..]] {
                let up: Vec<_> = (0..topology.links.len()).map(|link| !links.contains(&link)).collect();
                let (copied, searched) =
                    (Routes::shortest(&topology, &up, None), Routes::shortest(&topology, &up, Some(&alone)));
                assert_eq!(copied.entries, searched.entries, "{shape} without {links:?}");
                assert_eq!(copied.choices, searched.choices, "{shape} without {links:?}");
            }
        }
    }

    #[test]
    fn a_link_that_is_down_carries_nothing() {
        let topology: Topology = "dumbbell:1x1,100Gbit/s,1us".parse().unwrap();
        let routes = Routes::shortest(&topology, &[true, true, false], None);
        assert_eq!(routes.next(NodeId::new(0), 1, || 0), None);
        assert!(routes.next(NodeId::new(2), 0, || 0).is_some());
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

    #[test]
    fn an_order_that_is_given_is_kept() {
        let topology: Topology = "fat-tree:4,100Gbit/s,1us".parse().unwrap();
        let up = vec![true; topology.links.len()];
        let order = RouteOrder::parse("16 15 25 24\n").unwrap();
        let first = |order| {
            let routes = Routes::shortest(&topology, &up, order);
            far_end(&topology, routes.next(NodeId::new(16), 15, || 0).unwrap()).get()
        };
        assert_eq!((first(None), first(Some(&order))), (24, 25));
    }
}
