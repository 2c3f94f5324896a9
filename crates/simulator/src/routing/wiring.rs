//! Who is wired to whom, by the numbers of hosts and switches: what searches go over.

use crate::groups::Groups;
use crate::index::{HostId, NodeId, PortId, SwitchId};
use crate::topology::Topology;

use super::far_end;

/// What is at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Host(HostId),
    Switch(SwitchId),
}

impl End {
    pub(crate) const fn switch(self) -> Option<SwitchId> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Host(_) => None,
        }
    }
}

/// A link from where it is listed: what it leads to, and by which port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire<To> {
    pub(crate) to: To,
    pub(crate) port: PortId,
}

/// The links of a topology, host by host and switch by switch, of each in the order of the links.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    /// What each node is.
    nodes: Vec<End>,
    /// Where each port leads.
    far: Vec<End>,
    of_hosts: Groups<Wire<End>>,
    /// Those of switches to other switches.
    of_switches: Groups<Wire<SwitchId>>,
}

impl Wiring {
    pub(crate) fn new(topology: &Topology) -> Self {
        let nodes = number_nodes(topology);
        let ports = (0..2 * topology.links.len() as u32).map(PortId::new);
        let far: Vec<_> = ports.clone().map(|port| nodes[far_end(topology, port).index()]).collect();
        let switches = topology.is_switch.iter().filter(|is_switch| **is_switch).count();
        let (mut hosts, mut inner) = (vec![Vec::new(); nodes.len() - switches], vec![Vec::new(); switches]);
        for port in ports {
            let to = far[port.index()];
            match (far[port.reverse().index()], to) {
                (End::Host(host), _) => hosts[host.index()].push(Wire { to, port }),
                (End::Switch(switch), End::Switch(to)) => inner[switch.index()].push(Wire { to, port }),
                (End::Switch(_), End::Host(_)) => {}
            }
        }
        Self { nodes, far, of_hosts: Groups::new(&hosts), of_switches: Groups::new(&inner) }
    }

    /// What a node is, where there is such a node.
    pub(crate) fn node(&self, node: NodeId) -> Option<End> {
        self.nodes.get(node.index()).copied()
    }

    /// Where a port leads.
    pub(crate) fn far(&self, port: PortId) -> End {
        self.far[port.index()]
    }

    pub(crate) fn host_count(&self) -> usize {
        self.of_hosts.count()
    }

    pub(crate) fn switch_count(&self) -> usize {
        self.of_switches.count()
    }

    /// The links of a host.
    pub(crate) fn of_host(&self, host: HostId) -> &[Wire<End>] {
        self.of_hosts.of(host.index())
    }

    /// The links of a switch to other switches.
    pub(crate) fn of_switch(&self, switch: SwitchId) -> &[Wire<SwitchId>] {
        self.of_switches.of(switch.index())
    }

    /// The switch of a host that has one link, where that leads to a switch.
    pub(crate) fn only_switch(&self, host: HostId) -> Option<SwitchId> {
        match self.of_host(host) {
            [Wire { to: End::Switch(switch), .. }] => Some(*switch),
            _ => None,
        }
    }
}

/// Hosts and switches, each counted in the order of the nodes.
fn number_nodes(topology: &Topology) -> Vec<End> {
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
