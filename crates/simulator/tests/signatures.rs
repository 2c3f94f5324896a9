//! What schemes are known by, over simulated paths with packets of the UDP transport.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, PathOutcome, SimulatedPath};
use trialwise_units::{Seed, Time};

const DELIVERED: u8 = 0;

/// Opportunities to send a packet, in milliseconds: ten seconds of 12 Mbit/s and thirty of 120 Mbit/s, or the other way round.
fn steps(path: &str) -> Result<String, String> {
    let (first, second) = match path {
        "rising" => (12, 120),
        "falling" => (120, 12),
        _ => return Err(format!("{path} is not read")),
    };
    let times = |megabits: u64, from: u64, seconds: u64| {
        (0..megabits * seconds * 1000 / 12).map(move |n| from + n * 12 / megabits)
    };
    let all = times(first, 1, 10).chain(times(second, 10_001, 30));
    Ok(all.map(|time| time.to_string()).collect::<Vec<_>>().join("\n"))
}

fn run(congestion: &str, forward: &[(&str, &str)], backward: &[(&str, &str)], seconds: u64) -> PathOutcome {
    let link = |pairs: &[(&str, &str)]| LinkSpec::from_pairs(pairs.iter().copied(), &steps).unwrap();
    let path = SimulatedPath {
        forward: link(forward),
        backward: link(backward),
        seed: Seed::new(1),
        interval: None,
    };
    let flow = PathFlow {
        scheme: Scheme::named(congestion, 1500, IpVersion::Four, Marking::Declared).unwrap(),
        congestion: congestion.to_owned(),
        load: Load::read("bulk", &steps).unwrap(),
        load_text: "bulk".to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(1000 * seconds),
    };
    path.simulate(&[flow], &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Departures from the link (s) and one-way delays (ms) of the packets that arrived between these seconds.
fn arrived(outcome: &PathOutcome, from: f64, to: f64) -> Vec<(f64, f64)> {
    let packets = &outcome.packets;
    let seconds = |index: &usize| packets.time[*index] as f64 * 1e-9;
    (0..packets.time.len())
        .filter(|index| {
            packets.event[*index] == DELIVERED && packets.direction[*index] == Direction::Forward as u8
        })
        .filter(|index| (from..to).contains(&seconds(index)))
        .map(|index| (seconds(&index), packets.delay[index] as f64 * 1e-6))
        .collect()
}

fn megabits(outcome: &PathOutcome, from: f64, to: f64) -> f64 {
    arrived(outcome, from, to).len() as f64 * 0.012 / (to - from)
}

fn percentile(outcome: &PathOutcome, from: f64, share: f64) -> f64 {
    let mut delays: Vec<f64> = arrived(outcome, from, 1e9).iter().map(|(_, delay)| *delay).collect();
    delays.sort_by(f64::total_cmp);
    delays[(delays.len() as f64 * share) as usize]
}

#[test]
fn saturators_delay_as_those_of_pantheon_whatever_is_lost() {
    // Ten emulated runs of Pantheon's walkthrough: 95 % of the one-way delays were below 211.7 and 288.6 ms.
    let path = [("rate", "10Mbit/s"), ("delay", "28ms"), ("loss", "0.4%")];
    for (name, published) in [("saturator", 211.7), ("greg_saturator", 288.6)] {
        let outcome = run(name, &path, &path, 30);
        let found = percentile(&outcome, 0.0, 0.95);
        assert!((found / published - 1.0).abs() < 0.02, "{name}: {found} ms");
        assert!(megabits(&outcome, 5.0, 30.0) > 9.95, "{name}");
    }
}

#[test]
fn the_queue_of_a_cellular_link_never_empties_under_a_saturator() {
    // The rate wanders between 0 and twice its mean.
    let cellular = [("rate", "cellular:rate=5Mbit/s,dwell=50ms,levels=4"), ("delay", "20ms")];
    let outcome = run("cellular_saturator", &cellular, &[("rate", "100Mbit/s"), ("delay", "20ms")], 60);
    let arrived = arrived(&outcome, 5.0, 60.0);
    assert!(arrived.iter().all(|(_, delay)| *delay > 750.0 - 20.0));
    let within = arrived.iter().filter(|(_, delay)| *delay < 3000.0 - 20.0).count() as f64;
    assert!(within / arrived.len() as f64 > 0.75, "{within} of {}", arrived.len());
}

#[test]
fn bbr_finds_ten_times_the_rate_and_adapts_to_a_tenth() {
    let run = |trace: &str| {
        let forward = [("rate", trace), ("delay", "20ms"), ("queue", "droptail:packets=600")];
        run("bbr3", &forward, &[("rate", "100Mbit/s"), ("delay", "20ms")], 40)
    };
    // Within three seconds: a probe comes after two or three, and its step doubles in each round.
    let rising = run("trace:rising");
    assert!(megabits(&rising, 5.0, 10.0) < 12.1 && megabits(&rising, 13.0, 40.0) > 0.9 * 120.0);
    let falling = run("trace:falling");
    assert!(megabits(&falling, 5.0, 10.0) > 0.9 * 120.0 && megabits(&falling, 12.0, 40.0) > 0.95 * 12.0);
    // The old bandwidth is forgotten after two cycles, each of up to three seconds and some rounds of 600 ms; then the queue of 600
    // packets drains.
    let delay = percentile(&falling, 25.0, 0.5);
    assert!(delay < 100.0, "{delay} ms");
}
