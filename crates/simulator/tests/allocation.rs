//! A packet and an event cost no allocation once the slabs have grown.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_allocations::{Counting, by_this_thread};
use trialwise_congestion::Algorithm;
use trialwise_simulator::{Fabric, FlowSpecification, NodeId, Settings, simulate};
use trialwise_units::{Bytes, Rate, Time};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a trial of four flows of this size.
fn allocations(name: &str, size: u64) -> u64 {
    let line = Rate::from_megabits_per_second(100_000);
    let fabric = Fabric::new("dumbbell:4x4,100Gbit/s,1us".parse().unwrap()).unwrap();
    let flow = |id: u32| {
        FlowSpecification::new(
            u64::from(id),
            NodeId::new(id),
            NodeId::new(4 + id),
            Bytes::new(size),
            Time::ZERO,
        )
    };
    let flows: Vec<_> = (0..4).map(flow).collect();
    let algorithm = Algorithm::named(name, line).unwrap();
    let settings = Settings::for_algorithm(&algorithm, line);
    let before = by_this_thread();
    let outcome = simulate(&fabric, &settings, &algorithm, &flows).unwrap();
    assert_eq!(outcome.unfinished(), 0);
    by_this_thread() - before
}

#[test]
fn fifty_thousand_more_packets_need_no_more_allocations() {
    for name in Algorithm::in_fabrics() {
        // 17,000 and 30,000 packets in each flow: a list of all of them doubles as often.
        let (few, many) = (allocations(name, 17_000_000), allocations(name, 30_000_000));
        // The slabs may double once or twice more where queues grow longer.
        assert!(many <= few + 8, "{name}: {few} and {many}");
    }
}
