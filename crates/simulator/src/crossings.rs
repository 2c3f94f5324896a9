//! Which part of the flows crosses each link, where every pair is as likely as any other.

use std::collections::BTreeMap;

use crate::fabric::Fabric;
use crate::index::{HostId, NodeId, PortId};
use crate::routing::End;

/// Parts of one are the same up to this.
const ROUNDING: f64 = 1e-9;

/// Between whom flows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// From a sender of the topology to a receiver.
    Sides,
    /// From a host to any other.
    Hosts,
}

impl Fabric {
    /// The part of all flows that crosses each port in expectation, by port. Equal-cost paths share evenly at each
    /// node, as the hash of flows does in the mean. Worked out once for a fabric.
    pub(crate) fn crossings(&self, ends: Ends) -> &[f64] {
        let known = match ends {
            Ends::Sides => &self.crossings.0,
            Ends::Hosts => &self.crossings.1,
        };
        known.get_or_init(|| {
            let hosts: Vec<_> = self.topology().hosts().collect();
            match ends {
                Ends::Sides => self.shares(&self.topology().senders, &self.topology().receivers),
                Ends::Hosts => self.shares(&hosts, &hosts),
            }
        })
    }

    /// Flows of weight 1 from each source to each other destination, as parts of all of them.
    fn shares(&self, sources: &[NodeId], destinations: &[NodeId]) -> Vec<f64> {
        let hosts = |nodes: &[NodeId]| nodes.iter().filter_map(|node| self.host(*node)).collect::<Vec<_>>();
        let (sources, destinations) = (hosts(sources), hosts(destinations));
        let mut spread = Spread::new(self, &sources);
        let pairs = spread.cross_own_links(&sources, &destinations);
        // Destinations on one switch by their only links go together.
        let mut groups = BTreeMap::new();
        for host in destinations {
            let switch = self.only_switch(host);
            let alone = switch.is_none().then_some(host);
            groups.entry((switch, alone)).or_insert((host, 0.0)).1 += 1.0;
        }
        groups.values().for_each(|(host, count)| spread.cross_to(*host, *count));
        spread.crossed.iter().map(|weight| weight / pairs).collect()
    }

    /// The port that is fullest where flows load each in proportion to `crossings`, and its crossings by its rate
    /// (seconds for each bit). None without links.
    pub(crate) fn fullest(&self, ends: Ends) -> Option<(PortId, f64)> {
        let crossings = self.crossings(ends).iter().enumerate();
        let relative = crossings.map(|(port, part)| {
            let port = PortId::new(port as u32);
            (port, part / self.link(port).rate.bits_per_second() as f64)
        });
        // The first of equals, so that the same one is named always; sums in another order may differ in their last bits.
        relative.reduce(|most, next| if next.1 > most.1 * (1.0 + ROUNDING) { next } else { most })
    }
}

/// What sources send, spread over the ports on its way.
struct Spread<'a> {
    fabric: &'a Fabric,
    /// Sources with one link to this switch.
    into: Vec<f64>,
    /// Sources with several links.
    several: Vec<HostId>,
    crossed: Vec<f64>,
}

impl<'a> Spread<'a> {
    fn new(fabric: &'a Fabric, sources: &[HostId]) -> Self {
        let (mut into, mut several) = (vec![0.0; fabric.switches.len()], Vec::new());
        for source in sources {
            match fabric.only_switch(*source) {
                Some(switch) => into[switch.index()] += 1.0,
                None => several.push(*source),
            }
        }
        Self { fabric, into, several, crossed: vec![0.0; 2 * fabric.topology().links.len()] }
    }

    /// Crosses the only links of sources and destinations, and counts the pairs.
    fn cross_own_links(&mut self, sources: &[HostId], destinations: &[HostId]) -> f64 {
        let times = |hosts: &[HostId]| {
            let mut times = vec![0.0; self.fabric.host_count()];
            hosts.iter().for_each(|host| times[host.index()] += 1.0);
            times
        };
        let (sends, receives) = (times(sources), times(destinations));
        let mut pairs = 0.0;
        for host in (0..self.fabric.host_count() as u32).map(HostId::new) {
            let (sends, receives) = (sends[host.index()], receives[host.index()]);
            pairs += receives * (sources.len() as f64 - sends);
            if self.fabric.only_switch(host).is_some() {
                let port = self.fabric.own_port(host);
                self.crossed[port.index()] += sends * (destinations.len() as f64 - receives);
                self.crossed[port.reverse().index()] += receives * (sources.len() as f64 - sends);
            }
        }
        pairs
    }

    /// Crosses all other links on the ways to so many hosts that differ in their only links alone.
    fn cross_to(&mut self, to: HostId, count: f64) {
        let routes = &self.fabric.routes;
        let mut through = self.into.clone();
        for source in self.several.clone().into_iter().filter(|source| *source != to) {
            self.hand_on(&routes.departures(source, to), 1.0, count, &mut through);
        }
        let edge = self.fabric.only_switch(to);
        for switch in routes.farthest_first(to).into_iter().filter(|switch| Some(*switch) != edge) {
            let (ways, weight): (Vec<_>, _) = (routes.ways(switch, to).collect(), through[switch.index()]);
            self.hand_on(&ways, weight, count, &mut through);
        }
    }

    /// Shares what goes to each of so many hosts evenly among ports, to the switches behind them.
    fn hand_on(&mut self, ways: &[PortId], weight: f64, count: f64, through: &mut [f64]) {
        let part = weight / ways.len() as f64;
        for port in ways {
            self.crossed[port.index()] += part * count;
            if let End::Switch(next) = self.fabric.end(*port) {
                through[next.index()] += part;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(text: &str) -> Fabric {
        Fabric::new(text.parse().unwrap()).unwrap()
    }

    #[test]
    fn one_way_traffic_shares_the_middle_link() {
        let fabric = fabric("dumbbell:2x4,100Gbit/s,1us");
        let crossings = fabric.crossings(Ends::Sides);
        // Links 0 and 1 are those of the senders, 2 to 5 those of the receivers, 6 the middle one.
        let expected = [0.5, 0.0, 0.5, 0.0, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25, 1.0, 0.0];
        assert!(crossings.iter().zip(expected).all(|(part, wanted)| (part - wanted).abs() < 1e-12));
    }

    #[test]
    fn equal_paths_share_evenly() {
        // Of 8 hosts each sends to 7; 4 of these are beyond the leaf, over 2 spines.
        let fabric = fabric("leaf-spine:2x2x4,100Gbit/s,1us");
        let uplink = fabric.crossings(Ends::Hosts)[2 * 4];
        assert!((uplink - 4.0 * 4.0 / 56.0 / 2.0).abs() < 1e-12, "{uplink}");
        let leaving: f64 = (0..4).map(|host| fabric.crossings(Ends::Hosts)[2 * host]).sum();
        assert!((leaving - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_fat_tree_is_nowhere_fuller_than_at_its_hosts() {
        let fabric = fabric("fat-tree:4,100Gbit/s,1us");
        let (_, fullest) = fabric.fullest(Ends::Hosts).unwrap();
        assert!((fullest * 100e9 - 1.0 / 16.0).abs() < 1e-12);
    }
}
