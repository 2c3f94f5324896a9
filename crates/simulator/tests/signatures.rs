//! What schemes are known by, over simulated paths with packets of the UDP transport.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/ways.rs"]
mod ways;

use ways::{Arrivals, Flow, Ways};

/// Opportunities to send a packet, in milliseconds: ten seconds of 12 Mbit/s and thirty of 120 Mbit/s, or the other way round. Or delays: two
/// seconds of 26.8 ms, then 28 ms.
fn files(path: &str) -> Result<String, String> {
    let (first, second) = match path {
        "rising" => (12, 120),
        "falling" => (120, 12),
        "longer" => return Ok("0 26.8ms\n2000 28ms\n".to_owned()),
        _ => return Err(format!("{path} is not read")),
    };
    let times = |megabits: u64, from: u64, seconds: u64| {
        (0..megabits * seconds * 1000 / 12).map(move |n| from + n * 12 / megabits)
    };
    let all = times(first, 1, 10).chain(times(second, 10_001, 30));
    Ok(all.map(|time| time.to_string()).collect::<Vec<_>>().join("\n"))
}

fn run(scheme: &str, forward: &[(&str, &str)], backward: &[(&str, &str)], seconds: u64) -> Arrivals {
    Ways { forward, backward, read: &files }.run(&[Flow { scheme, ..Flow::default() }], seconds)
}

#[test]
fn saturators_delay_as_those_of_pantheon_whatever_is_lost() {
    // Ten emulated runs of Pantheon's walkthrough: 95 % of the one-way delays were below 211.7 and 288.6 ms.
    let path = [("rate", "10Mbit/s"), ("delay", "28ms"), ("loss", "0.4%")];
    for (name, published) in [("saturator", 211.7), ("greg_saturator", 288.6)] {
        let outcome = run(name, &path, &path, 30);
        let found = outcome.delay(1, 0.0, 0.95);
        assert!((found / published - 1.0).abs() < 0.02, "{name}: {found} ms");
        assert!(outcome.megabits(1, 5.0, 30.0) > 9.95, "{name}");
    }
}

#[test]
fn the_queue_of_a_cellular_link_never_empties_under_a_saturator() {
    // The rate wanders between 0 and twice its mean.
    let cellular = [("rate", "cellular:rate=5Mbit/s,dwell=50ms,levels=4"), ("delay", "20ms")];
    let outcome = run("cellular_saturator", &cellular, &[("rate", "100Mbit/s"), ("delay", "20ms")], 60);
    let delays: Vec<f64> =
        outcome.of(1, 5.0, 60.0).map(|index| outcome.0.delay[index] as f64 * 1e-6).collect();
    assert!(delays.iter().all(|delay| *delay > 750.0 - 20.0));
    let within = delays.iter().filter(|delay| **delay < 3000.0 - 20.0).count() as f64;
    assert!(within / delays.len() as f64 > 0.75, "{within} of {}", delays.len());
}

#[test]
fn bbr_finds_ten_times_the_rate_and_adapts_to_a_tenth() {
    let run = |trace: &str| {
        let forward = [("rate", trace), ("delay", "20ms"), ("queue", "droptail:packets=600")];
        run("bbr3", &forward, &[("rate", "100Mbit/s"), ("delay", "20ms")], 40)
    };
    // Within three seconds: a probe comes after two or three, and its step doubles in each round.
    let rising = run("trace:rising");
    assert!(rising.megabits(1, 5.0, 10.0) < 12.1 && rising.megabits(1, 13.0, 40.0) > 0.9 * 120.0);
    let falling = run("trace:falling");
    assert!(falling.megabits(1, 5.0, 10.0) > 0.9 * 120.0 && falling.megabits(1, 12.0, 40.0) > 0.95 * 12.0);
    // The old bandwidth is forgotten after two cycles, each of up to three seconds and some rounds of 600 ms; then the queue of 600
    // packets drains.
    let delay = falling.delay(1, 25.0, 0.5);
    assert!(delay < 100.0, "{delay} ms");
}

#[test]
fn copa_sends_a_packet_in_delta_times_the_queueing_delay() {
    // The shortest round trip is that of the first two seconds for ten more: 2.4 ms of each later one count as queue, and nothing waits.
    // 1 / (delta dq) is 417 packets/s of 1500 bytes for a delta of 1, and twice as many for a half.
    let path = [("rate", "100Mbit/s"), ("delay", "series:longer")];
    for (scheme, megabits) in [("copa:delta=1,mode=default", 5.0), ("copa:delta=0.5,mode=default", 10.0)] {
        let found = run(scheme, &path, &path, 9).megabits(1, 4.0, 9.0);
        assert!((found / megabits - 1.0).abs() < 0.05, "{scheme}: {found} Mbit/s");
    }
}
