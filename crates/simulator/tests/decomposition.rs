//! Estimates from small networks against the packet simulator of the whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Arrivals, Estimate, Fabric, FlowSpecification, Load, Mode, NodeId, Pattern, Sample, Settings,
    SimulationError, Topology, Whole, Workload, estimate_links, estimate_paths, simulate,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const LINE: Rate = Rate::from_megabits_per_second(100_000);
const ALL: Sample = Sample { paths: 1_000_000, expected: 0.0 };

fn fabric(text: &str) -> Fabric {
    Fabric::new(text.parse().unwrap()).unwrap()
}

fn flow(id: u64, source: u32, destination: u32, size: u64, start: Time) -> FlowSpecification {
    FlowSpecification::new(id, NodeId::new(source), NodeId::new(destination), Bytes::new(size), start)
}

fn flows(
    fabric: &Fabric,
    pattern: Pattern,
    load: Load,
    microseconds: u64,
    seed: u64,
) -> Vec<FlowSpecification> {
    let workload = Workload {
        sizes: "facebook_hadoop".parse().unwrap(),
        arrivals: Arrivals::POISSON,
        pattern,
        load,
        duration: Duration::from_microseconds(microseconds),
    };
    workload.generate(fabric, Seed::new(seed)).unwrap()
}

fn set(name: &str, mode: Mode) -> (Algorithm, Settings) {
    let algorithm = Algorithm::named(name, LINE).unwrap().with_fidelity(mode.fidelity());
    let settings = Settings::for_algorithm(&algorithm, LINE).with_mode(mode);
    (algorithm, settings)
}

fn packets(fabric: &Fabric, flows: &[FlowSpecification], name: &str, mode: Mode) -> Vec<Option<Duration>> {
    let (algorithm, settings) = set(name, mode);
    let outcome = simulate(fabric, &settings, &algorithm, flows).unwrap();
    outcome.flows.iter().map(|flow| flow.completion_time()).collect()
}

fn by(
    fabric: &Fabric,
    flows: &[FlowSpecification],
    name: &str,
    mode: Mode,
    threads: usize,
    estimate: impl Fn(&Whole<'_>) -> Result<Estimate, SimulationError>,
) -> Estimate {
    let (algorithm, settings) = set(name, mode);
    estimate(&Whole { fabric, settings: &settings, factory: &algorithm, flows, threads }).unwrap()
}

fn paths(whole: &Whole<'_>) -> Result<Estimate, SimulationError> {
    estimate_paths(whole, ALL, &mut || ControlFlow::Continue(()))
}

fn links(whole: &Whole<'_>) -> Result<Estimate, SimulationError> {
    estimate_links(whole, 0.0, &mut || ControlFlow::Continue(()))
}

/// All flows of a dumbbell cross its middle: each path with its cross traffic is the whole.
#[test]
fn paths_of_a_dumbbell_are_packets() {
    let fabric = fabric("dumbbell:4x4,100Gbit/s,1us");
    for mode in [Mode::Clean, Mode::Compatible] {
        for name in ["dctcp", "dcqcn", "hpcc", "timely", "newreno"] {
            let list = flows(&fabric, Pattern::ONE_WAY, Load::Bottleneck(0.8), 1_000, 3);
            let found = by(&fabric, &list, name, mode, 1, paths);
            assert_eq!(found.times, packets(&fabric, &list, name, mode), "{name} {mode:?}");
            assert_eq!((found.networks, found.flows.len()), (1, list.len()));
        }
    }
}

/// Four switches in a row with hosts at each: what runs from end to end meets all others.
fn parking_lot() -> (Fabric, Vec<FlowSpecification>) {
    let hosts = "0 6 100Gbps 1us 0\n1 6 100Gbps 1us 0\n2 7 100Gbps 2us 0\n3 8 40Gbps 1us 0\n4 9 100Gbps 1us 0\n5 9 100Gbps 3us 0\n";
    let middle = "6 7 100Gbps 1us 0\n7 8 100Gbps 1.5us 0\n8 9 100Gbps 1us 0\n";
    let fabric =
        Fabric::new(Topology::from_hpcc(&format!("10 4 9\n6 7 8 9\n{hosts}{middle}")).unwrap()).unwrap();
    let pairs = [(0, 4), (1, 2), (2, 3), (0, 4), (3, 5), (4, 0), (2, 5), (1, 3), (0, 4)];
    let list = (0..180_u64).map(|number| {
        let (source, destination) = pairs[number as usize % pairs.len()];
        let size = 700 + number * number * 37 % 90_000;
        flow(number, source, destination, size, Time::from_nanoseconds(number * 1_300))
    });
    (fabric, list.collect())
}

#[test]
fn paths_of_a_parking_lot_are_packets_to_the_picosecond() {
    let (fabric, list) = parking_lot();
    for name in ["dctcp", "dcqcn", "hpcc"] {
        let whole = packets(&fabric, &list, name, Mode::Clean);
        let found = by(&fabric, &list, name, Mode::Clean, 1, paths);
        let through = (0..list.len()).filter(|place| {
            let ends = (list[*place].source.get(), list[*place].destination.get());
            ends == (0, 4) || ends == (4, 0)
        });
        let mut waited = 0;
        for place in through {
            let at = found.flows.iter().position(|flow| *flow == place).unwrap();
            assert_eq!(found.times[at], whole[place], "{name} {place}");
            waited += 1;
        }
        assert_eq!(waited, 80);
    }
}

/// A flow on a tree meets others with the times of its whole path, though links before and behind are one.
#[test]
fn a_lone_flow_takes_as_long_as_in_the_whole() {
    let fabric = fabric("fat-tree:4,100Gbit/s,1us");
    for size in [1, 999, 1_000, 300_000] {
        let list = [flow(0, 0, 15, size, Time::ZERO)];
        let whole = packets(&fabric, &list, "hpcc", Mode::Clean);
        assert_eq!(by(&fabric, &list, "hpcc", Mode::Clean, 1, paths).times, whole, "{size}");
        let alone = by(&fabric, &list, "hpcc", Mode::Clean, 1, links).times[0].unwrap().picoseconds();
        let off = alone.abs_diff(whole[0].unwrap().picoseconds());
        assert!(off < 100_000, "{size}: {off} ps");
    }
}

/// Where flows meet on one link only, that link is all there is.
#[test]
fn links_are_packets_where_one_link_is_shared() {
    let incast: Vec<_> = (0..7).map(|host| flow(u64::from(host), host, 7, 50_000, Time::ZERO)).collect();
    let fan: Vec<_> = (1..8).map(|host| flow(u64::from(host), 0, host, 40_000, Time::ZERO)).collect();
    let star = {
        let hosts: String = (0..8).map(|host| format!("{host} 8 100Gbps 1us 0\n")).collect();
        Fabric::new(Topology::from_hpcc(&format!("9 1 8\n8\n{hosts}")).unwrap()).unwrap()
    };
    let middle: Vec<_> = (0..8)
        .map(|host| {
            flow(
                u64::from(host),
                host,
                host + 8,
                30_000 + 977 * u64::from(host),
                Time::from_nanoseconds(u64::from(host) * 500),
            )
        })
        .collect();
    let dumbbell = fabric("dumbbell:8x8,100Gbit/s,1us");
    for name in ["dctcp", "dcqcn", "hpcc", "timely", "newreno"] {
        for (fabric, list) in [(&star, &incast), (&star, &fan), (&dumbbell, &middle)] {
            let found = by(fabric, list, name, Mode::Clean, 1, links);
            assert_eq!(found.times, packets(fabric, list, name, Mode::Clean), "{name}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    let fabric = fabric("leaf-spine:3x2x4,100Gbit/s,1us");
    let list = flows(&fabric, Pattern::ALL_TO_ALL, Load::Host(0.4), 100, 5);
    let sample = Sample { paths: 20, expected: list.len() as f64 };
    let some = |whole: &Whole<'_>| estimate_paths(whole, sample, &mut || ControlFlow::Continue(()));
    let near = |whole: &Whole<'_>| estimate_links(whole, 0.4, &mut || ControlFlow::Continue(()));
    let [one, four] = [1, 4].map(|threads| by(&fabric, &list, "dcqcn", Mode::Clean, threads, some));
    assert_eq!(one, four);
    assert!(one.flows.len() < list.len() && one.flows.len() >= 15, "{} of {}", one.flows.len(), list.len());
    for estimate in [&links as &dyn Fn(&Whole<'_>) -> _, &near] {
        let [one, four] = [1, 4].map(|threads| by(&fabric, &list, "dcqcn", Mode::Clean, threads, estimate));
        assert_eq!(one, four);
    }
}

#[test]
fn links_that_are_alike_are_simulated_once() {
    let fabric = fabric("leaf-spine:4x2x8,100Gbit/s,1us");
    let list = flows(&fabric, Pattern::ALL_TO_ALL, Load::Host(0.3), 300, 7);
    let at = |distance| {
        let near =
            move |whole: &Whole<'_>| estimate_links(whole, distance, &mut || ControlFlow::Continue(()));
        by(&fabric, &list, "dctcp", Mode::Clean, 2, near)
    };
    let (each, some) = (at(0.0), at(0.5));
    assert!(some.networks < each.networks, "{} of {}", some.networks, each.networks);
    assert_eq!((each.of, some.times.len()), (some.of, list.len()));
    // A distance that no two links have is none.
    assert_eq!(at(1e-9).times, each.times);
}

#[test]
fn whoever_looks_can_end_it() {
    let fabric = fabric("leaf-spine:4x2x8,100Gbit/s,1us");
    let list = flows(&fabric, Pattern::ALL_TO_ALL, Load::Host(0.3), 2_000, 7);
    let (algorithm, settings) = set("dctcp", Mode::Clean);
    let whole = Whole { fabric: &fabric, settings: &settings, factory: &algorithm, flows: &list, threads: 2 };
    let mut looks = 0;
    let mut look = || {
        looks += 1;
        if looks > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert_eq!(estimate_links(&whole, 0.0, &mut look), Err(SimulationError::Interrupted));
    assert_eq!(estimate_paths(&whole, ALL, &mut look), Err(SimulationError::Interrupted));
}
