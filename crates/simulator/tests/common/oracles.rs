//! What holds of any text that is read as a flow list or a topology: for the targets in `fuzz/`, and for the replay of their corpus.

use trialwise_simulator::{
    Fabric, RouteOrder, SizeTable, Topology, parse_fraction, read_flows, write_csv, write_hpcc,
};

/// Links of a topology that is routed: larger ones take long.
const MAX_LINKS: usize = 64;

/// A flow list, or a table of sizes: what is written is read as the same.
pub(crate) fn flow_lists(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = parse_fraction(text);
    if let Ok(table) = SizeTable::parse(text) {
        assert!(table.mean() >= 0.0);
        assert!(table.knots().is_sorted_by(|before, after| before.1 <= after.1));
    }
    let Ok(list) = read_flows(text) else { return };
    let mut flows = list.flows;
    // Written lists have whole nanoseconds.
    for flow in &mut flows {
        flow.start = trialwise_units::Time::from_nanoseconds(flow.start.nanoseconds());
    }
    let read = read_flows(&write_csv(&flows)).expect("a list of our own");
    assert_eq!(read.flows, flows);
    let _ = write_hpcc(&flows);
}

/// A topology file, and after a blank line an order of routes: what is written of a topology is read as the same, and it is
/// routed or refused.
pub(crate) fn topologies(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (file, routes) = text.split_once("\n\n").unwrap_or((text, ""));
    let _ = file.parse::<Topology>();
    let order = RouteOrder::parse(routes).ok().filter(|_| !routes.is_empty());
    let Ok((topology, _)) = Topology::from_file(file) else { return };
    let again = Topology::from_hpcc(&topology.to_hpcc()).expect("a file of our own");
    assert_eq!(again, topology);
    if topology.links.len() <= MAX_LINKS && topology.is_switch.len() <= 4 * MAX_LINKS {
        let Ok(fabric) = Fabric::with_route_order(topology, order) else { return };
        let _ = fabric.extremes();
    }
}
