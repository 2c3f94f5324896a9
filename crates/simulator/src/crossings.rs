//! Which part of the flows crosses each link, where every pair is as likely as any other.

use crate::fabric::Fabric;
use crate::index::{NodeId, PortId};
use crate::routing::{distances, far_end, ports_by_node};

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
        let topology = self.topology();
        let (ports, up) = (ports_by_node(topology), vec![true; topology.links.len()]);
        let mut crossed = vec![0.0; 2 * topology.links.len()];
        let mut pairs = 0.0;
        for destination in destinations {
            let Some(host) = self.host(*destination) else { continue };
            let distance = distances(topology, &ports, &up, *destination);
            let mut through = vec![0.0; topology.is_switch.len()];
            for source in sources.iter().filter(|source| *source != destination) {
                through[source.index()] = 1.0;
                pairs += 1.0;
            }
            // Farther nodes hand on before nearer ones do.
            let mut order: Vec<_> = (0..through.len()).filter(|node| distance[*node] > Some(0)).collect();
            order.sort_by_key(|node| std::cmp::Reverse(distance[*node]));
            for node in order {
                let ways = || self.routes.ways(NodeId::new(node as u32), host.index());
                let part = through[node] / ways().count().max(1) as f64;
                for port in ways() {
                    crossed[port.index()] += part;
                    through[far_end(topology, port).index()] += part;
                }
            }
        }
        crossed.iter().map(|weight| weight / pairs).collect()
    }

    /// The port that is fullest where flows load each in proportion to `crossings`, and its crossings by its rate
    /// (seconds for each bit). None without links.
    pub(crate) fn fullest(&self, ends: Ends) -> Option<(PortId, f64)> {
        let crossings = self.crossings(ends).iter().enumerate();
        let relative = crossings.map(|(port, part)| {
            let port = PortId::new(port as u32);
            (port, part / self.link(port).rate.bits_per_second() as f64)
        });
        // The first of equals, so that the same one is named always.
        relative.reduce(|most, next| if next.1 > most.1 { next } else { most })
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
