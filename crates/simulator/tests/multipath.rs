//! Equal ways: flows spread over uplinks and over parallel links by the hash of their addresses and ports.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use trialwise_congestion::Algorithm;
use trialwise_simulator::{Fabric, FlowSpecification, NodeId, Random, Settings, Topology, simulate};
use trialwise_units::{Bytes, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);
const SIZE: u64 = 1_000_000;

fn flow(source: u32, destination: u32, destination_port: u16) -> FlowSpecification {
    let (source, destination) = (NodeId::new(source), NodeId::new(destination));
    let flow = FlowSpecification::new(0, source, destination, Bytes::new(SIZE), Time::ZERO);
    FlowSpecification { destination_port, ..flow }
}

/// Of m flows to m uplinks by a fair hash, 1 - (1 - 1/m)^m of the uplinks carry some in the mean. Their number has the variance
/// m(m - 1)(1 - 2/m)^m + m(1 - 1/m)^m - m^2 (1 - 1/m)^2m, 1.58 for m = 16: below m/8.
#[test]
fn flows_spread_over_uplinks_as_by_chance() {
    let (uplinks, lists) = (16, 2000);
    let fabric = Fabric::new("leaf-spine:2x16x16,100Gbit/s,1us".parse().unwrap()).unwrap();
    let mut random = Random::new(Seed::new(5));
    let taken = (0..lists).map(|_| {
        let flows: Vec<_> =
            (0..uplinks).map(|host| flow(host, 16 + host, random.below(60_000) as u16)).collect();
        let routes = fabric.flow_routes(&flows).unwrap();
        routes.iter().map(|route| route.data[1]).collect::<BTreeSet<_>>().len()
    });
    let share = taken.sum::<usize>() as f64 / f64::from(lists) / f64::from(uplinks);
    let m = f64::from(uplinks);
    let expected = 1.0 - (1.0 - 1.0 / m).powf(m);
    assert!(
        (share - expected).abs() < 4.0 * (m / 8.0 / f64::from(lists)).sqrt() / m,
        "{share} of {expected}"
    );
}

/// Eight hosts on each of two switches that four links join: each link carries the flows of its hash and no others, which share
/// it evenly, and together they carry as many times its rate as links were taken.
#[test]
fn parallel_links_carry_the_flows_of_their_hash() {
    let hosts = (0..16).map(|host| format!("{host} {} 100Gbps 1us 0\n", 16 + host / 8));
    let middle = "16 17 100Gbps 1us 0\n".repeat(4);
    let text = format!("18 2 20\n16 17\n{}{middle}", hosts.collect::<String>());
    let fabric = Fabric::new(Topology::from_hpcc(&text).unwrap()).unwrap();
    let flows: Vec<_> = (0..8).map(|host| flow(host, 8 + host, 100)).collect();
    let mut on_link = BTreeMap::new();
    let routes = fabric.flow_routes(&flows).unwrap();
    routes.iter().for_each(|route| *on_link.entry(route.data[1]).or_insert(0_u32) += 1);
    assert!(on_link.len() > 1 && on_link.keys().all(|port| (16..20).contains(&(port.get() / 2))));
    let outcome =
        simulate(&fabric, &Settings::for_line_rate(LINE), &Algorithm::named("hpcc", LINE).unwrap(), &flows);
    for (record, route) in outcome.unwrap().flows.iter().zip(&routes) {
        let took = record.completion_time().unwrap().as_seconds();
        let fair = f64::from(on_link[&route.data[1]]) * SIZE as f64 * 1.09 * 8.0 / 100e9;
        assert!((0.95..1.15).contains(&(took / fair)), "{took} of {fair}");
    }
}
