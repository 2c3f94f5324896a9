//! Hosts with several links: each flow takes one of them by its hash, and another when that fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Fabric, Fault, FlowSpecification, Load, NodeId, Outcome, Pattern, Settings, Topology, Workload, simulate,
};
use trialwise_units::{Bytes, Duration, Rate, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);
/// Hosts 0 and 1, each with a link to the switches 2 and 3.
const DUAL: &str = "4 2 4\n2 3\n0 2 100Gbps 1us 0\n0 3 100Gbps 1us 0\n1 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n";
const SIZE: u64 = 1_000_000;
/// Receiver's ports of a first flow, and of a second one that takes the same link as that or the other.
const FIRST: u16 = 101;
const SAME: u16 = 100;
const OTHER: u16 = 105;

fn fabric() -> Fabric {
    Fabric::new(Topology::from_hpcc(DUAL).unwrap()).unwrap()
}

fn flow(id: u64, destination_port: u16) -> FlowSpecification {
    let (source, destination) = (NodeId::new(0), NodeId::new(1));
    let flow = FlowSpecification::new(id, source, destination, Bytes::new(SIZE), Time::ZERO);
    FlowSpecification { destination_port, ..flow }
}

fn run(settings: &Settings, ports: [u16; 2]) -> Outcome {
    let algorithm = Algorithm::named("dctcp", LINE).unwrap();
    let [first, second] = ports;
    simulate(&fabric(), settings, &algorithm, &[flow(0, first), flow(1, second)]).unwrap()
}

fn first_ports(ports: [u16; 2]) -> Vec<u32> {
    let [first, second] = ports;
    let routes = fabric().flow_routes(&[flow(0, first), flow(1, second)]).unwrap();
    routes.iter().map(|route| route.data[0].get()).collect()
}

fn times(outcome: &Outcome) -> Vec<f64> {
    outcome.flows.iter().map(|flow| flow.completion_time().unwrap().as_seconds() * 1e9).collect()
}

/// The links are those of MurmurHash3 with the seed of ns-3 over (source, destination, source port | destination port << 16),
/// worked out by a program of its own: even for the flows to `FIRST` and `SAME`, odd for that to `OTHER`.
#[test]
fn a_flow_takes_the_link_of_its_hash() {
    assert_eq!(first_ports([FIRST, OTHER]), [0, 2]);
    assert_eq!(first_ports([FIRST, SAME]), [0, 0]);
}

#[test]
fn two_links_carry_twice_as_much_and_one_flow_takes_one() {
    let settings = Settings::for_line_rate(LINE);
    let alone = SIZE as f64 * 1.048 * 8.0 / 100.0 + 4000.0;
    for time in times(&run(&settings, [FIRST, OTHER])) {
        assert!((time / alone - 1.0).abs() < 0.02, "{time} of {alone}");
    }
    for time in times(&run(&settings, [FIRST, SAME])) {
        assert!((time / (2.0 * alone) - 1.0).abs() < 0.04, "{time} of twice {alone}");
    }
}

#[test]
fn a_flow_goes_on_by_the_other_link_when_its_own_fails() {
    let fault = Fault { time: Time::from_nanoseconds(20_000), link: 0, up: false };
    let settings = Settings { faults: vec![fault], ..Settings::for_line_rate(LINE) };
    let outcome = run(&settings, [FIRST, SAME]);
    assert_eq!(outcome.unfinished(), 0);
    assert!(outcome.totals.dropped_fault > 0 && outcome.ports[2].transmitted > SIZE);
}

/// The hosts' load is a part of all their links.
#[test]
fn the_capacity_of_a_host_is_that_of_its_links() {
    let workload = Workload {
        sizes: "fixed:1000B".parse().unwrap(),
        arrivals: trialwise_simulator::Arrivals::POISSON,
        pattern: Pattern::ALL_TO_ALL,
        load: Load::Host(0.5),
        duration: Duration::from_milliseconds(10),
    };
    // 0.5 of four links of 100 Gbit/s for 10 ms, in flows of 8000 bits.
    let expected = workload.expected_flows(&fabric()).unwrap();
    assert!((expected / 250_000.0 - 1.0).abs() < 1e-9, "{expected}");
}

#[test]
fn hosts_forward_nothing() {
    let ring = "3 0 3\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 0 1Gbps 1us 0\n";
    assert!(Fabric::new(Topology::from_hpcc(ring).unwrap()).is_ok());
    let open = "3 0 2\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n";
    let refused = Fabric::new(Topology::from_hpcc(open).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("host 0 cannot reach host 2") && refused.contains("hosts forward nothing"));
}
