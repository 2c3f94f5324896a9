//! Orders of equal next hops that somebody else had.

use std::collections::HashMap;

use super::far_end;
use crate::index::{NodeId, PortId};
use crate::topology::{Topology, TopologyError};

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

    /// The nodes and hosts for which it has an order.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.next_hops.keys().copied()
    }

    /// Puts ports of a node towards a host into the order listed; ports to nodes that are not listed come last, as they were.
    pub(super) fn sort(&self, topology: &Topology, pair: (NodeId, NodeId), towards: &mut [PortId]) {
        let Some((_, listed)) = self.next_hops.get(&pair) else { return };
        towards.sort_by_key(|port| {
            let next = far_end(topology, *port);
            listed.iter().position(|hop| *hop == next).unwrap_or(listed.len())
        });
    }
}
