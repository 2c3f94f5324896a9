//! The ports that the packets of each flow cross.

use trialwise_units::Duration;

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::index::{HostId, PortId};
use crate::refusal::{SimulationError, check_flow, check_flows};
use crate::routing::{Addresses, End, SourcePorts};

/// The route of a flow, by ports: its sender's own first, then as each switch chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRoute {
    /// Of its data.
    pub data: Vec<PortId>,
    /// Of what its receiver sends back; among equals, it need not be the same links.
    pub replies: Vec<PortId>,
}

impl Fabric {
    /// The routes that the packets of a flow list take in a trial while all links work, in the order of the list.
    pub fn flow_routes(&self, flows: &[FlowSpecification]) -> Result<Vec<FlowRoute>, SimulationError> {
        check_flows(self, flows)?;
        let mut source_ports = SourcePorts::default();
        let route = |flow: &FlowSpecification| {
            let (source, destination) = check_flow(self, flow)?;
            let there = Addresses::new(flow, source_ports.take(source, destination));
            let (mut data, mut replies) = (Vec::new(), Vec::new());
            self.walk(source, destination, || there, |port| data.push(port));
            self.walk(destination, source, || there.reversed(), |port| replies.push(port));
            Ok(FlowRoute { data, replies })
        };
        flows.iter().map(route).collect()
    }

    /// The approximate time that each flow of a list takes alone ([`crate::PathFacts::ideal`]), in the order of the list.
    pub fn ideal_times(&self, flows: &[FlowSpecification]) -> Result<Vec<Duration>, SimulationError> {
        check_flows(self, flows)?;
        let ideal = |flow: &FlowSpecification| {
            let (source, destination) = check_flow(self, flow)?;
            Ok(self.path(source, destination).ideal(flow.size.get()))
        };
        flows.iter().map(ideal).collect()
    }

    /// Crosses each port from one host to another; `addresses` are asked for only where there is a choice.
    pub(crate) fn walk(
        &self,
        from: HostId,
        to: HostId,
        mut addresses: impl FnMut() -> Addresses,
        mut cross: impl FnMut(PortId),
    ) {
        let card = self.card_towards(&self.routes, from, to, || addresses().card_hash());
        let mut port = self.cards[card.index()];
        cross(port);
        while let End::Switch(switch) = self.end(port) {
            let node = self.switches[switch.index()];
            let Some(next) = self.routes.next(switch, to, || addresses().hash(node)) else { return };
            port = next;
            cross(port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::NodeId;
    use trialwise_units::{Bytes, Time};

    fn flow(destination: u32) -> FlowSpecification {
        FlowSpecification::new(0, NodeId::new(0), NodeId::new(destination), Bytes::new(1), Time::ZERO)
    }

    #[test]
    fn data_and_replies_join_the_ends_and_choose_on_their_own() {
        let fabric = Fabric::new("fat-tree:4,100Gbit/s,1us".parse().unwrap()).unwrap();
        let routes = fabric.flow_routes(&[flow(15); 32]).unwrap();
        for FlowRoute { data, replies } in &routes {
            assert_eq!((data.len(), replies.len()), (6, 6));
            assert_eq!((data[0], data[5]), (replies[5].reverse(), replies[0].reverse()));
        }
        let there_and_back = |route: &&FlowRoute| {
            route.data.iter().rev().map(|port| port.reverse()).eq(route.replies.iter().copied())
        };
        let same = routes.iter().filter(there_and_back).count();
        assert!((1..32).contains(&same), "{same}");
    }

    #[test]
    fn a_list_that_cannot_run_has_no_routes() {
        let fabric = Fabric::new("dumbbell:1x1,100Gbit/s,1us".parse().unwrap()).unwrap();
        assert!(fabric.flow_routes(&[flow(1)]).is_ok());
        assert!(fabric.flow_routes(&[flow(0)]).is_err());
        assert!(fabric.flow_routes(&[flow(2)]).is_err());
    }
}
