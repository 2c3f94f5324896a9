//! The same schemes over the same paths twice: with real packets through an emulator, and simulated. The code of queues,
//! controllers and loss recovery is the same; what differs is that real machines take time.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../emulator/tests/support/measuring.rs"]
mod measuring;
mod support;

use std::ops::ControlFlow;
use std::thread;

use measuring::{until_undisturbed, within};
use support::{Flow, trial};
use trialwise_link::LinkSpec;
use trialwise_protocol::load::{Bulk, Load};
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_simulator::path::{Direction, PathFlow, SimulatedPath};
use trialwise_units::{Seed, Time};

type Pairs = &'static [(&'static str, &'static str)];

const SHALLOW: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50")];
const MANAGED: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "codel:packets=300")];

const SECONDS: u64 = 9;
const START: f64 = 2.0;
const END: f64 = 8.9;

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
        scheme: Scheme::named(congestion, 1500, IpVersion::Four, Marking::Declared).unwrap(),
        congestion: congestion.to_owned(),
        load: Load::Bulk(Bulk),
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

fn agree(pairs: Pairs, congestion: &'static str, tolerance: Tolerance) {
    let simulated = simulated(pairs, congestion);
    until_undisturbed(|| {
        let Some(emulated) = emulated(pairs, congestion) else { return Ok(()) };
        eprintln!("{congestion} over {pairs:?}: simulated {simulated:?}, emulated {emulated:?}");
        let difference = (emulated.throughput / simulated.throughput - 1.0).abs();
        within(
            format_args!("how far {congestion} got another throughput, a share,"),
            difference,
            ..tolerance.throughput,
        )?;
        let difference = (emulated.delay - simulated.delay).abs();
        within(format_args!("how far {congestion} saw another delay, in ms,"), difference, ..tolerance.delay)
    });
}

#[test]
fn the_simulator_and_the_emulator_agree() {
    for (pairs, schemes) in CASES {
        thread::scope(|scope| {
            for (congestion, tolerance) in schemes {
                scope.spawn(move || agree(pairs, congestion, tolerance));
            }
        });
    }
}
