//! One link with the flows that cross it, each on a lane of its own behind it, on the link of its host before it.

use super::Whole;
use super::builder::{Builder, Plan, cable, ends};
use crate::index::PortId;

/// The network of the link `of` with these flows, both directions of it.
pub(super) fn lanes(whole: &Whole<'_>, routes: &[Vec<PortId>], of: u32, flows: &[u32]) -> Plan {
    let mut builder = Builder::new(whole);
    builder.keep(PortId::new(2 * of));
    for number in flows {
        let place = *number as usize;
        let (flow, route) = (&whole.flows[place], &routes[place]);
        let Some(at) = route.iter().position(|port| cable(*port) == of) else { continue };
        let (near, far) = ends(whole, route[at]);
        // A lone small packet takes as long for the lane as for the links that it stands for.
        let wire = builder.largest(flow);
        let source = builder.side(flow.source, near, route[0], &route[..at], wire, None);
        let own = route[route.len() - 1];
        let destination = builder.side(flow.destination, far, own, &route[at + 1..], wire, Some(place));
        builder.add(flow, source, destination);
    }
    builder.build()
}
