//! A path of the network with all flows that cross a link of it: a parking lot.
//!
//! Each flow comes in where it first meets the path, over a link of its host's own rate that takes as long as what lies
//! before, and leaves where it last is on it. Links are taken with both directions, since acknowledgements wait behind data.

use std::collections::{BTreeSet, HashMap};

use super::Whole;
use super::builder::{Builder, Plan, Spot, cable, ends};
use crate::index::PortId;

/// Which flows cross each link, in either direction.
pub(super) struct Crossings(HashMap<u32, Vec<u32>>);

impl Crossings {
    pub(super) fn new(routes: &[Vec<PortId>]) -> Self {
        let mut found: HashMap<u32, Vec<u32>> = HashMap::new();
        for (flow, route) in routes.iter().enumerate() {
            for port in route {
                found.entry(cable(*port)).or_default().push(flow as u32);
            }
        }
        Self(found)
    }

    /// The links that flows cross, in order.
    pub(super) fn links(&self) -> Vec<u32> {
        let mut links: Vec<_> = self.0.keys().copied().collect();
        links.sort_unstable();
        links
    }

    /// The flows of a link, in the order of the list.
    pub(super) fn of(&self, link: u32) -> &[u32] {
        self.0.get(&link).map_or(&[], Vec::as_slice)
    }

    /// The flows that cross a link of this path, in the order of the list.
    pub(super) fn of_path(&self, path: &[PortId]) -> Vec<u32> {
        let all: BTreeSet<u32> = path.iter().flat_map(|port| self.of(cable(*port))).copied().collect();
        all.into_iter().collect()
    }
}

/// The network of `path` with these flows.
pub(super) fn lot(whole: &Whole<'_>, routes: &[Vec<PortId>], path: &[PortId], flows: &[u32]) -> Plan {
    let place: HashMap<PortId, usize> = path.iter().enumerate().map(|(place, port)| (*port, place)).collect();
    let is_on = |port: &PortId| place.contains_key(port) || place.contains_key(&port.reverse());
    let mut builder = Builder::new(whole);
    path.iter().for_each(|port| builder.keep(*port));
    let wire = builder.full();
    for number in flows {
        let (flow, route) = (&whole.flows[*number as usize], &routes[*number as usize]);
        let Some((first, last)) = route.iter().position(is_on).zip(route.iter().rposition(is_on)) else {
            continue;
        };
        let (enters, leaves) = (ends(whole, route[first]).0, ends(whole, route[last]).1);
        let source = builder.side(flow.source, enters, route[0], &route[..first], wire, None);
        let behind = &route[last + 1..];
        let own = route[route.len() - 1];
        let destination = builder.side(flow.destination, leaves, own, behind, wire, None);
        debug_assert_ne!(source, destination);
        debug_assert!(first > 0 || source == Spot::on_path(flow.source));
        builder.add(flow, source, destination);
    }
    builder.build()
}
