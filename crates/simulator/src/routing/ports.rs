//! Ports of nodes, and sets of them.

use std::collections::HashMap;

use crate::groups::Groups;
use crate::index::{NodeId, PortId, SwitchId};
use crate::topology::Topology;

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

/// A set in [`PortSets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortSetId(u32);

/// The different sets of ports among which some node chooses.
#[derive(Clone, Debug)]
pub(super) struct PortSets {
    sets: Groups<PortId>,
    known: HashMap<Vec<PortId>, PortSetId>,
    /// The last set of each switch: mostly, its next one is the same.
    last: Vec<PortSetId>,
}

impl PortSets {
    /// No port: there is no way.
    pub(super) const EMPTY: PortSetId = PortSetId(0);
    /// No port here: the switch is one of those that the ways lead to.
    pub(super) const HERE: PortSetId = PortSetId(1);

    pub(super) fn new(switches: usize) -> Self {
        let none = [Vec::new(), Vec::new()];
        Self { sets: Groups::new(&none), known: HashMap::new(), last: vec![Self::EMPTY; switches] }
    }

    #[inline]
    pub(super) fn of(&self, set: PortSetId) -> &[PortId] {
        self.sets.of(set.0 as usize)
    }

    /// How many ports all sets have.
    pub(super) const fn ports(&self) -> usize {
        self.sets.items()
    }

    /// The number of a set of ports of a switch.
    pub(super) fn number(&mut self, switch: SwitchId, ports: &[PortId]) -> PortSetId {
        if self.of(self.last[switch.index()]) != ports {
            self.last[switch.index()] = self.add(ports);
        }
        self.last[switch.index()]
    }

    /// The number of a set, which is new or known.
    pub(super) fn add(&mut self, ports: &[PortId]) -> PortSetId {
        if let Some(known) = self.known.get(ports) {
            return *known;
        }
        let new = PortSetId(self.sets.count() as u32);
        self.sets.push(ports);
        self.known.insert(ports.to_vec(), new);
        new
    }
}
