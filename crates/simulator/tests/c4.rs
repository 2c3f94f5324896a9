//! C4 over simulated paths: the case of media for which it is made, and a link that loses nine tenths of its rate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, PathOutcome, SimulatedPath};
use trialwise_units::{Duration, Seed, Time};

const DELIVERED: u8 = 0;
/// When the link falls from 20 to 2 Mbit/s, in milliseconds.
const FALL: u64 = 10_000;
/// Seconds after which a flow has found its rate.
const START: f64 = 3.0;
/// Of a packet of data.
const PAYLOAD: f64 = 1440.0;

/// Opportunities to send a packet.
fn falling(_path: &str) -> Result<String, String> {
    let times = |megabits: u64, from: u64, to: u64| {
        (0..megabits * (to - from) / 12).map(move |n| from + n * 12 / megabits)
    };
    let all = times(20, 0, FALL).skip(1).chain(times(2, FALL, 30_000));
    Ok(all.map(|time| time.to_string()).collect::<Vec<_>>().join("\n"))
}

fn run(
    congestion: &str,
    load: &str,
    forward: &[(&str, &str)],
    backward: &[(&str, &str)],
    seconds: u64,
    seed: u64,
) -> PathOutcome {
    let link = |pairs: &[(&str, &str)]| LinkSpec::from_pairs(pairs.iter().copied(), &falling).unwrap();
    let path = SimulatedPath {
        forward: link(forward),
        backward: link(backward),
        seed: Seed::new(seed),
        interval: Some(Duration::from_milliseconds(10)),
    };
    let flow = PathFlow {
        scheme: Scheme::named(congestion, 1500, IpVersion::Four, Marking::Declared).unwrap(),
        congestion: congestion.to_owned(),
        load: Load::read(load, &falling).unwrap(),
        load_text: load.to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(1000 * seconds),
    };
    path.simulate(&[flow], &mut |_| ControlFlow::Continue(())).unwrap()
}

/// When each packet of data came to the link, in seconds.
fn departures(outcome: &PathOutcome) -> Vec<f64> {
    let packets = &outcome.packets;
    let mut times: Vec<f64> = (0..packets.time.len())
        .filter(|index| {
            packets.event[*index] == DELIVERED && packets.direction[*index] == Direction::Forward as u8
        })
        .map(|index| (packets.time[index] - packets.delay[index]) as f64 * 1e-9)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// How long what leaves after the first seconds has waited at its sender since it was written, at most, in milliseconds.
fn longest_lateness(times: &[f64]) -> f64 {
    let written = |number: usize| number as f64 * PAYLOAD * 8.0 / 5e6;
    let late = times.iter().enumerate().map(|(number, time)| (*time, 1e3 * (time - written(number))));
    late.filter(|(time, _)| *time > START).map(|(_, late)| late).fold(0.0, f64::max)
}

/// The longest that a packet which leaves after the first seconds waits for others that leave one each `gap` seconds, in milliseconds.
fn longest_wait(times: &[f64], gap: f64) -> f64 {
    let (mut free, mut longest) = (0.0_f64, 0.0_f64);
    for time in times {
        free = free.max(*time);
        if *time > START {
            longest = longest.max(1e3 * (free - time));
        }
        free += gap;
    }
    longest
}

/// A sample of the sender: seconds, its round trip, packets deemed lost, bits per second.
struct Row {
    time: f64,
    rtt: f64,
    lost: u64,
    pacing: f64,
}

fn samples(outcome: &PathOutcome) -> Vec<Row> {
    let report = std::str::from_utf8(&outcome.flows[0].report).unwrap();
    let lines = report.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let row = |line: serde_json::Value| {
        Some(Row {
            time: line["time_ns"].as_f64()? * 1e-9,
            rtt: line["rtt_ms"].as_f64()? * 1e-3,
            lost: line["retransmits"].as_u64()?,
            pacing: line["pacing_rate_bps"].as_f64()?,
        })
    };
    lines.filter_map(row).collect()
}

#[test]
fn media_keep_their_rate_and_queue_nowhere_whatever_the_jitter() {
    for seed in 1..=5 {
        let forward =
            [("rate", "20Mbit/s"), ("delay", "30ms,jitter=30ms"), ("queue", "droptail:packets=100")];
        let outcome =
            run("c4", "rate:5Mbit/s", &forward, &[("rate", "20Mbit/s"), ("delay", "20ms")], 30, seed);
        let times = departures(&outcome);
        // Less than a frame of 33 ms waits at the sender, and nothing before the link.
        let sender = longest_lateness(&times);
        assert!(sender < 33.0, "seed {seed}: {sender} ms");
        let link = longest_wait(&times, 1500.0 * 8.0 / 20e6);
        assert!(link < 1.0, "seed {seed}: {link} ms");
        let megabits =
            times.iter().filter(|time| **time > START).count() as f64 * PAYLOAD * 8e-6 / (30.0 - START);
        assert!((megabits / 5.0 - 1.0).abs() < 0.005, "seed {seed}: {megabits} Mbit/s");
    }
}

#[test]
fn an_encoder_comes_to_its_highest_rate_whatever_the_jitter() {
    for seed in 1..=5 {
        let forward =
            [("rate", "20Mbit/s"), ("delay", "30ms,jitter=30ms"), ("queue", "droptail:packets=100")];
        let load = "media:rate=150kbit/s..5Mbit/s";
        let outcome = run("c4", load, &forward, &[("rate", "20Mbit/s"), ("delay", "20ms")], 30, seed);
        let times = departures(&outcome);
        // The last packet of a frame, one of 15 at 30 frames a second, is on average half full.
        let megabits = times.iter().filter(|time| **time > 10.0).count() as f64 * PAYLOAD * 8e-6 / 20.0;
        let link = longest_wait(&times, 1500.0 * 8.0 / 20e6);
        assert!((4.9..5.25).contains(&megabits), "seed {seed}: {megabits} Mbit/s");
        // What leaves together is worth 4 ms of the pacing rate.
        assert!(link < 4.0, "seed {seed}: {link} ms");
    }
}

#[test]
fn nine_tenths_of_the_rate_are_given_up_soon() {
    for buffer in [33, 66, 132] {
        let queue = format!("droptail:packets={buffer}");
        let forward = [("rate", "trace:falling"), ("delay", "20ms"), ("queue", queue.as_str())];
        let outcome = run("c4", "bulk", &forward, &[("rate", "20Mbit/s"), ("delay", "20ms")], 30, 1);
        let rows = samples(&outcome);
        let before = rows.iter().rfind(|row| row.time < 10.0).unwrap();
        let signal = rows.iter().find(|row| row.time >= 10.0 && row.lost > before.lost).unwrap();
        let given = rows.iter().find(|row| row.time >= 10.0 && row.pacing < 2.5e6).unwrap();
        // What tells of the fall is the first loss, as C4 takes longer round trips for the path's own while it does not push.
        let eras = (given.time - signal.time) / signal.rtt;
        assert!(eras < 3.0, "{buffer} packets: {eras}");
        let filled = buffer as f64 * 1500.0 * 8.0 / 2e6;
        assert!(signal.time < 10.0 + 2.0 * filled + 0.1, "{buffer} packets: {}", signal.time);
    }
}
