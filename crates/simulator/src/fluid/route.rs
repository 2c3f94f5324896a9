//! The links that each flow crosses.

use trialwise_units::{Duration, Rate};

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::{HostId, PortId};
use crate::refusal::{SimulationError, check_flow};
use crate::routing::{Addresses, SourcePorts};

const PICOSECONDS_PER_SECOND: f64 = 1e12;

/// Bits per picosecond.
pub(super) fn per_picosecond(rate: Rate) -> f64 {
    rate.bits_per_second() as f64 / PICOSECONDS_PER_SECOND
}

/// The routes of the flows of a trial.
#[derive(Debug)]
pub(super) struct RouteTable {
    ports: Vec<PortId>,
    /// Where the route of each flow begins in `ports`; one more at the end.
    begins: Vec<u32>,
    round_trips: Vec<Duration>,
    source_ports: SourcePorts,
    /// For each port, how many flows of the trial cross it.
    crossing: Vec<u32>,
}

impl RouteTable {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self {
            ports: Vec::new(),
            begins: vec![0],
            round_trips: Vec::new(),
            source_ports: SourcePorts::default(),
            crossing: vec![0; 2 * fabric.topology().links.len()],
        }
    }

    /// Lays the routes that the packets of these flows would take while all links work.
    pub(super) fn lay(
        &mut self,
        fabric: &Fabric,
        flows: &[FlowSpecification],
    ) -> Result<(), SimulationError> {
        self.ports.drain(..).for_each(|port| self.crossing[port.index()] = 0);
        self.begins.truncate(1);
        self.round_trips.clear();
        self.source_ports.clear();
        for flow in flows {
            let (source, destination) = check_flow(fabric, flow)?;
            self.lay_one(fabric, flow, (source, destination));
            self.begins.push(self.ports.len() as u32);
            self.round_trips.push(fabric.path(source, destination).round_trip);
        }
        self.ports.iter().for_each(|port| self.crossing[port.index()] += 1);
        Ok(())
    }

    fn lay_one(
        &mut self,
        fabric: &Fabric,
        flow: &FlowSpecification,
        (source, destination): (HostId, HostId),
    ) {
        let Self { ports, source_ports, .. } = self;
        // A pair has a choice on its way or has none: only then do its flows need source ports.
        let mut source_port = None;
        let addresses = || {
            let source_port = *source_port.get_or_insert_with(|| source_ports.take(source, destination));
            Addresses::new(flow, source_port)
        };
        fabric.walk(source, destination, addresses, |port| ports.push(port));
    }

    /// The ports that a flow crosses.
    pub(super) fn of(&self, flow: usize) -> &[PortId] {
        &self.ports[self.begins[flow] as usize..self.begins[flow + 1] as usize]
    }

    /// The round-trip time of a flow's empty path.
    pub(super) fn round_trip(&self, flow: usize) -> Duration {
        self.round_trips[flow]
    }

    /// The rate, in bits per picosecond, of a link that all flows cross and that is the slowest of all: it
    /// then is the bottleneck of every flow at every time.
    pub(super) fn shared_bottleneck(&self, fabric: &Fabric) -> Option<f64> {
        let flows = self.round_trips.len() as u32;
        if flows == 0 {
            return None;
        }
        let rate = |port: &PortId| fabric.link(*port).rate;
        let shared = self.of(0).iter().filter(|port| self.crossing[port.index()] == flows).map(rate).min()?;
        let slowest = self.ports.iter().map(rate).min()?;
        (shared == slowest).then(|| per_picosecond(shared))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::index::NodeId;
    use trialwise_units::{Bytes, Time};

    /// A topology, and the routes of a flow of each pair of source and destination.
    pub(in crate::fluid) fn lay(topology: &str, pairs: &[(u32, u32)]) -> (Fabric, RouteTable) {
        let fabric = Fabric::new(topology.parse().unwrap()).unwrap();
        let flow = |(source, destination): &(u32, u32)| {
            FlowSpecification::new(
                0,
                NodeId::new(*source),
                NodeId::new(*destination),
                Bytes::new(1),
                Time::ZERO,
            )
        };
        let flows: Vec<_> = pairs.iter().map(flow).collect();
        let mut routes = RouteTable::new(&fabric);
        routes.lay(&fabric, &flows).unwrap();
        (fabric, routes)
    }

    #[test]
    fn a_shared_bottleneck_is_the_slowest_link_of_all() {
        let bottleneck = |topology, pairs: &[_]| {
            let (fabric, routes) = lay(topology, pairs);
            routes.shared_bottleneck(&fabric)
        };
        assert_eq!(bottleneck("dumbbell:2x2,100Gbit/s,1us", &[(0, 2), (1, 3)]), Some(0.1));
        // Hosts slower than the middle: no link holds all flows back.
        assert_eq!(bottleneck("dumbbell:2x2,10Gbit/s,1us,100Gbit/s", &[(0, 2), (1, 3)]), None);
        assert_eq!(bottleneck("dumbbell:2x2,100Gbit/s,1us", &[(0, 2), (3, 1)]), None);
    }

    #[test]
    fn flows_of_a_pair_spread_over_equal_paths() {
        let (_, routes) = lay("fat-tree:4,100Gbit/s,1us", &[(0, 15); 32]);
        let ways: std::collections::BTreeSet<_> = (0..32).map(|flow| routes.of(flow).to_vec()).collect();
        assert!(ways.iter().all(|way| way.len() == 6) && ways.len() == 4, "{ways:?}");
    }
}
