//! Facts of the empty path between any two hosts.
//!
//! Hosts with one link to the same switch differ in that link alone, so facts are kept by switch and the links of the two hosts
//! are added; hosts with several links have facts of their own, but for those on equal links to the same nodes.

use std::collections::HashMap;

use trialwise_units::{Bytes, Duration, Rate};

use crate::index::{HostId, NodeId, PortId, SwitchId};
use crate::routing::{End, MAX_ENTRIES, Search, Wiring};
use crate::topology::{Link, Topology, TopologyError};

/// Payload of the packet whose transmission the round-trip time of an empty path includes once for each hop.
const PROBE_PAYLOAD: u64 = 1000;
/// Headers that the ideal completion time counts for each packet of the probe's size.
const IDEAL_HEADER: u64 = 48;

/// The empty path between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathFacts {
    /// Twice the propagation delay, and one transmission of a 1000-byte packet on each link.
    pub round_trip: Duration,
    /// The slowest link.
    pub bottleneck: Rate,
    /// Links from one end to the other.
    pub links: u32,
}

/// What controllers are told of a path: of one, or the most that any two hosts have between them, each by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownPath {
    /// See [`PathFacts::round_trip`].
    pub round_trip: Duration,
    /// See [`PathFacts::window`].
    pub window: Bytes,
    /// See [`PathFacts::links`].
    pub links: u32,
}

impl KnownPath {
    /// Switches on the way.
    pub const fn switches(&self) -> u32 {
        self.links.saturating_sub(1)
    }
}

impl PathFacts {
    /// What a controller is told of this path.
    pub const fn known(&self) -> KnownPath {
        KnownPath { round_trip: self.round_trip, window: self.window(), links: self.links }
    }

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

impl PathFacts {
    /// No link at all.
    const NONE: Self =
        Self { round_trip: Duration::ZERO, bottleneck: Rate::from_bits_per_second(u64::MAX), links: 0 };

    fn of(link: &Link) -> Self {
        let transmission = link.rate.transmission_time(Bytes::new(PROBE_PAYLOAD));
        Self { round_trip: link.delay * 2 + transmission, bottleneck: link.rate, links: 1 }
    }

    /// Of this path, then that one.
    fn then(self, next: Self) -> Self {
        Self {
            round_trip: self.round_trip + next.round_trip,
            bottleneck: self.bottleneck.min(next.bottleneck),
            links: self.links + next.links,
        }
    }
}

/// Hosts that are equally far from all others.
#[derive(Clone, Debug)]
struct Class {
    /// The switch on which they are by one link each, which does not count; none where all their links do.
    switch: Option<SwitchId>,
    first: HostId,
    /// Another one, where there is one.
    second: Option<HostId>,
}

/// What makes hosts of a class alike.
#[derive(PartialEq, Eq, Hash)]
enum Likeness {
    Switch(SwitchId),
    Links(Vec<(End, Rate, Duration)>),
}

/// The facts of all pairs.
#[derive(Clone, Debug)]
pub(crate) struct EmptyPaths {
    classes: Vec<Class>,
    class_of: Vec<u32>,
    /// The different facts, and which go from one class (row) to another one (column).
    facts: Vec<PathFacts>,
    between: Vec<u32>,
    extremes: KnownPath,
}

impl EmptyPaths {
    /// Measures the first shortest path of each pair. Refuses a topology without one, or with too many classes of hosts.
    pub(crate) fn measure(topology: &Topology, wiring: &Wiring) -> Result<Self, TopologyError> {
        let (classes, class_of) = classify(topology, wiring);
        if classes.len().saturating_mul(classes.len()) > MAX_ENTRIES {
            return Err(TopologyError::too_large(topology));
        }
        let mut paths = Self {
            between: Vec::with_capacity(classes.len() * classes.len()),
            facts: Vec::new(),
            classes,
            class_of,
            extremes: KnownPath::default(),
        };
        let mut known = HashMap::new();
        let mut measuring = Measuring::new(topology, wiring);
        for row in 0..paths.classes.len() {
            measuring.measure(&paths.classes[row]);
            paths.add_row(row, &measuring, &mut known)?;
        }
        paths.extremes = paths.find_extremes(topology, wiring);
        Ok(paths)
    }

    /// The facts from the hosts of one class to all of each other one, and to others of its own.
    fn add_row(
        &mut self,
        row: usize,
        measuring: &Measuring<'_>,
        known: &mut HashMap<PathFacts, u32>,
    ) -> Result<(), TopologyError> {
        let from = self.classes[row].first;
        let mut cut_off = Vec::new();
        for (column, class) in self.classes.iter().enumerate() {
            let to = if column == row { class.second } else { Some(class.first) };
            let facts = match (class.switch, to) {
                (Some(switch), _) => measuring.to_switch(switch),
                (None, Some(to)) => measuring.to_host(from, to),
                (None, None) => Some(PathFacts::NONE),
            };
            match facts {
                Some(facts) => self.between.push(*known.entry(facts).or_insert_with(|| {
                    self.facts.push(facts);
                    self.facts.len() as u32 - 1
                })),
                None => cut_off.extend(to),
            }
        }
        match cut_off.into_iter().min() {
            Some(to) => Err(measuring.not_connected(from, to)),
            None => Ok(()),
        }
    }

    /// Facts of the path from one host to another one.
    pub(crate) fn between(
        &self,
        topology: &Topology,
        wiring: &Wiring,
        from: HostId,
        to: HostId,
    ) -> PathFacts {
        if from == to {
            return PathFacts::NONE;
        }
        let [row, column] = [from, to].map(|host| self.class_of[host.index()] as usize);
        let [first, last] = [from, to].map(|host| self.own(topology, wiring, host));
        first.then(self.inner(row, column)).then(last)
    }

    /// The link of a host that does not count in the facts of its class.
    fn own(&self, topology: &Topology, wiring: &Wiring, host: HostId) -> PathFacts {
        match self.classes[self.class_of[host.index()] as usize].switch {
            Some(_) => PathFacts::of(link(topology, wiring.of_host(host)[0].port)),
            None => PathFacts::NONE,
        }
    }

    fn inner(&self, row: usize, column: usize) -> PathFacts {
        self.facts[self.between[row * self.classes.len() + column] as usize]
    }

    /// The most of all pairs.
    pub(crate) const fn extremes(&self) -> KnownPath {
        self.extremes
    }

    /// Has others as the extremes.
    pub(crate) const fn told_as(&mut self, extremes: KnownPath) {
        self.extremes = extremes;
    }

    fn find_extremes(&self, topology: &Topology, wiring: &Wiring) -> KnownPath {
        let own = self.longest_links(topology, wiring);
        let mut most = KnownPath::default();
        for (row, column) in (0..own.len()).flat_map(|row| (0..own.len()).map(move |column| (row, column))) {
            let inner = self.inner(row, column);
            let pairs = own[row].iter().flat_map(|from| own[column].iter().map(move |to| (from, to)));
            for (from, to) in pairs {
                // A host is not its own other end.
                let last = if std::ptr::eq(from, to) { to.next } else { Some(to.first) };
                let Some(last) = last else { continue };
                let facts = from.first.then(inner).then(last);
                most.round_trip = most.round_trip.max(facts.round_trip);
                most.window = most.window.max(facts.window());
                most.links = most.links.max(facts.links);
            }
        }
        most
    }

    /// For each class the longest own links of its hosts, by their rates.
    fn longest_links(&self, topology: &Topology, wiring: &Wiring) -> Vec<Vec<Longest>> {
        let mut longest: Vec<Vec<Longest>> = vec![Vec::new(); self.classes.len()];
        for (host, class) in self.class_of.iter().enumerate() {
            let own = self.own(topology, wiring, HostId::new(host as u32));
            let known = &mut longest[*class as usize];
            match known.iter_mut().find(|known| known.first.bottleneck == own.bottleneck) {
                Some(known) => known.add(own),
                None => known.push(Longest { first: own, next: None }),
            }
        }
        longest
    }
}

/// The two longest links of a rate that hosts of a class have.
#[derive(Clone, Copy, Debug)]
struct Longest {
    first: PathFacts,
    next: Option<PathFacts>,
}

impl Longest {
    fn add(&mut self, link: PathFacts) {
        let mut shorter = link;
        if link.round_trip > self.first.round_trip {
            shorter = std::mem::replace(&mut self.first, link);
        }
        if self.next.is_none_or(|next| shorter.round_trip > next.round_trip) {
            self.next = Some(shorter);
        }
    }
}

fn link(topology: &Topology, port: PortId) -> &Link {
    &topology.links[port.index() / 2]
}

/// The classes of hosts, and which host is of which.
fn classify(topology: &Topology, wiring: &Wiring) -> (Vec<Class>, Vec<u32>) {
    let (mut classes, mut known): (Vec<Class>, _) = (Vec::new(), HashMap::new());
    let class_of = (0..wiring.host_count() as u32).map(HostId::new).map(|host| {
        let switch = wiring.only_switch(host);
        let likeness = switch.map_or_else(|| alike(topology, wiring, host), Likeness::Switch);
        let new = classes.len() as u32;
        let class = *known.entry(likeness).or_insert(new);
        if class == new {
            classes.push(Class { switch, first: host, second: None });
        } else {
            classes[class as usize].second.get_or_insert(host);
        }
        class
    });
    let class_of = class_of.collect();
    (classes, class_of)
}

fn alike(topology: &Topology, wiring: &Wiring, host: HostId) -> Likeness {
    let links = wiring.of_host(host).iter().map(|wire| {
        let Link { rate, delay, .. } = *link(topology, wire.port);
        (wire.to, rate, delay)
    });
    Likeness::Links(links.collect())
}

/// Facts of the first shortest path from the hosts of a class to wherever one leads.
struct Measuring<'a> {
    topology: &'a Topology,
    wiring: &'a Wiring,
    up: Vec<bool>,
    search: Search,
    /// Of each switch, with its place in the order in which switches were found.
    reached: Vec<Option<(usize, PathFacts)>>,
}

impl<'a> Measuring<'a> {
    fn new(topology: &'a Topology, wiring: &'a Wiring) -> Self {
        let (up, search) = (vec![true; topology.links.len()], Search::new(wiring));
        Self { topology, wiring, up, search, reached: Vec::new() }
    }

    fn measure(&mut self, from: &Class) {
        let Self { topology, wiring, .. } = *self;
        let links = if from.switch.is_some() { &[] } else { wiring.of_host(from.first) };
        let on = || links.iter().filter_map(|wire| Some((wire.to.switch()?, wire.port)));
        let begin = on().map(|(switch, _)| switch).chain(from.switch);
        self.search.run(wiring, &self.up, begin);
        self.reached.clear();
        self.reached.resize(wiring.switch_count(), None);
        for (place, (switch, port)) in self.search.found().enumerate() {
            let facts = if port.is_some() {
                let before = wiring.far(port.reverse()).switch();
                let before = before.and_then(|before| self.reached[before.index()]);
                before.map_or(PathFacts::NONE, |(_, facts)| facts).then(PathFacts::of(link(topology, port)))
            } else {
                let own = on().find(|(first, _)| *first == switch);
                own.map_or(PathFacts::NONE, |(_, port)| PathFacts::of(link(topology, port)))
            };
            self.reached[switch.index()] = Some((place, facts));
        }
    }

    fn not_connected(&self, from: HostId, to: HostId) -> TopologyError {
        let node = |host: HostId| self.topology.hosts().nth(host.index()).map_or(0, NodeId::get);
        TopologyError::NotConnected { from: node(from), to: node(to) }
    }

    fn to_switch(&self, switch: SwitchId) -> Option<PathFacts> {
        self.reached[switch.index()].map(|(_, facts)| facts)
    }

    /// By the link between the two hosts or by the switch that was found first, of several links the first.
    fn to_host(&self, from: HostId, to: HostId) -> Option<PathFacts> {
        let wires = self.wiring.of_host(to).iter();
        let reached = wires.enumerate().filter_map(|(number, wire)| {
            let (place, before) = match wire.to {
                End::Host(host) => (host == from).then_some((0, PathFacts::NONE))?,
                End::Switch(switch) => {
                    self.reached[switch.index()].map(|(place, facts)| (place + 1, facts))?
                }
            };
            Some(((place, number), before.then(PathFacts::of(link(self.topology, wire.port)))))
        });
        reached.min_by_key(|(order, _)| *order).map(|(_, facts)| facts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::fabric::Fabric;
    use crate::routing::{far_end, ports_by_node};

    /// Facts of the first shortest path from `from` to each node, by a search over all nodes.
    fn facts_from(topology: &Topology, from: NodeId) -> Vec<Option<PathFacts>> {
        let ports = ports_by_node(topology);
        let mut facts: Vec<Option<PathFacts>> = vec![None; ports.len()];
        facts[from.index()] = Some(PathFacts::NONE);
        let mut frontier = VecDeque::from([(from, PathFacts::NONE)]);
        while let Some((node, here)) = frontier.pop_front() {
            for port in &ports[node.index()] {
                let next = far_end(topology, *port);
                if facts[next.index()].is_some() {
                    continue;
                }
                let there = here.then(PathFacts::of(link(topology, *port)));
                facts[next.index()] = Some(there);
                if topology.is_switch[next.index()] {
                    frontier.push_back((next, there));
                }
            }
        }
        facts
    }

    fn check(topology: &Topology) {
        let fabric = Fabric::new(topology.clone()).unwrap();
        let mut most = KnownPath::default();
        for (row, from) in topology.hosts().enumerate() {
            let reached = facts_from(topology, from);
            for (column, to) in topology.hosts().enumerate() {
                let path = fabric.path(HostId::new(row as u32), HostId::new(column as u32));
                assert_eq!(Some(path), reached[to.index()], "{row} to {column}");
                most = KnownPath {
                    round_trip: most.round_trip.max(path.round_trip),
                    window: most.window.max(path.window()),
                    links: most.links.max(path.links),
                };
            }
        }
        assert_eq!(fabric.extremes(), most);
    }

    #[test]
    fn every_pair_has_the_facts_of_its_own_path() {
        let mut topology: Topology = "leaf-spine:3x2x4,100Gbit/s,1us".parse().unwrap();
        check(&topology);
        topology.links[1].rate = Rate::from_megabits_per_second(10_000);
        topology.links[6].delay = Duration::from_nanoseconds(2500);
        check(&topology);
    }

    /// Of the one class, hosts 0 and 1 are on equal links to two switches; host 2 has its own, and one to host 0.
    #[test]
    fn hosts_with_several_links_have_facts_of_their_own() {
        let links = "0 4 100Gbps 1us 0\n0 5 25Gbps 2us 0\n1 4 100Gbps 1us 0\n1 5 25Gbps 2us 0\n\
                     2 5 40Gbps 1us 0\n2 0 10Gbps 3us 0\n3 4 10Gbps 5us 0\n4 5 100Gbps 7us 0\n4 5 25Gbps 1us 0\n";
        check(&Topology::from_hpcc(&format!("6 2 9\n4 5\n{links}")).unwrap());
    }
}
