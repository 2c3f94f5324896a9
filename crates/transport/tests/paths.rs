//! What each congestion control is known for, in real packets over emulated paths; the kernel's TCP is the second
//! implementation of CUBIC and Reno. Trials run beside each other.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../emulator/tests/support/measuring.rs"]
mod measuring;
mod support;

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::thread;

use measuring::{until_undisturbed, within};
use support::{Flow, Outcome, trial};
use trialwise_emulator::LATENESS_BOUND;
use trialwise_link::Ecn;

type Pairs = &'static [(&'static str, &'static str)];

const SHALLOW: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50")];
const DEEP: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=300")];
const LOSSY: Pairs =
    &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50"), ("loss", "0.4%")];
const NEAR: Pairs = &[("rate", "12Mbit/s"), ("delay", "5ms"), ("queue", "droptail:packets=300")];
const NEAR_LOSSY: Pairs =
    &[("rate", "30Mbit/s"), ("delay", "5ms"), ("queue", "droptail:packets=60"), ("loss", "1%")];
const L4S: Pairs = &[("rate", "12Mbit/s"), ("delay", "10ms"), ("queue", "dualpi2")];
const MARKING: Pairs = &[("rate", "12Mbit/s"), ("delay", "10ms"), ("queue", "codel:ecn=yes")];

const SECONDS: u64 = 7;
const END: f64 = 6.9;
/// So many trials at the same time are enough for two processors.
static TURN: Mutex<()> = Mutex::new(());

struct Case {
    name: &'static str,
    pairs: Pairs,
    flows: Vec<Flow>,
    check: Box<Check>,
}

type Check = dyn Fn(&Outcome) -> Result<(), String> + Sync;

const fn flow(protocol: &'static str, congestion: &'static str) -> Flow {
    Flow::new(protocol, congestion)
}

/// One flow of ours: from the second second on, the one-way delay (ms) that a share of packets does not exceed, and Mbit/s on the wire.
fn alone(
    name: &'static str,
    (congestion, pairs): (&'static str, Pairs),
    (share, delay): (f64, RangeInclusive<f64>),
    throughput: RangeInclusive<f64>,
) -> Case {
    let check = move |outcome: &Outcome| {
        within(format_args!("quantile {share} of delay"), outcome.delay(0, 2.0, END, share), delay.clone())?;
        within("throughput", outcome.throughput(0, 2.0, END), throughput.clone())
    };
    Case { name, pairs, flows: vec![flow("udp", congestion)], check: Box::new(check) }
}

/// The same of a flow, ours or the kernel's, whatever its delay.
fn rate(
    name: &'static str,
    (protocol, congestion, pairs): (&'static str, &'static str, Pairs),
    throughput: RangeInclusive<f64>,
) -> Case {
    let check =
        move |outcome: &Outcome| within("throughput", outcome.throughput(0, 2.0, END), throughput.clone());
    Case { name, pairs, flows: vec![flow(protocol, congestion)], check: Box::new(check) }
}

/// Runs all cases at the same time.
fn run(cases: &[Case]) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| until_undisturbed(|| check(case)));
        }
    });
}

fn check(case: &Case) -> Result<(), String> {
    let Some(outcome) = trial(case.pairs, 1, &case.flows, SECONDS) else { return Ok(()) };
    (case.check)(&outcome).map_err(|problem| {
        let late = outcome.report.bottleneck(LATENESS_BOUND).map(|bottleneck| bottleneck.to_string());
        format!("{}: {problem}; {late:?}", case.name)
    })
}

/// Of bytes on the wire.
const FILLED: RangeInclusive<f64> = 0.95 * 12.0..=1.005 * 12.0;

#[test]
fn each_scheme_is_like_itself() {
    let _turn = TURN.lock();
    run(&[
        rate("kernel cubic", ("tcp", "cubic", SHALLOW), FILLED),
        rate("our cubic", ("udp", "cubic", SHALLOW), FILLED),
        // Half of a window that filled path and queue does not fill the path.
        rate("our newreno", ("udp", "newreno", SHALLOW), 0.83 * 12.0..=12.06),
        alone("a fixed rate", ("fixed-rate:6Mbit/s", SHALLOW), (0.95, 29.0..=32.0), 0.99 * 6.0..=1.01 * 6.0),
        alone("cubic fills a deep queue", ("cubic", DEEP), (0.95, 200.0..=330.0), 8.0..=12.06),
        alone("copa leaves a deep queue short", ("copa", DEEP), (0.95, 29.0..=80.0), 10.0..=12.06),
        alone("sprout leaves a deep queue short", ("sprout", DEEP), (0.95, 29.0..=110.0), 4.0..=12.06),
        alone("verus fills the link and not the queue", ("verus", DEEP), (0.95, 29.0..=330.0), 8.0..=12.06),
        alone("gcc leaves a deep queue short", ("gcc", DEEP), (0.95, 29.0..=120.0), 4.0..=12.06),
        alone("remy keeps the queue short", ("remy", DEEP), (0.5, 28.0..=80.0), 5.0..=12.06),
        alone("aurora does not fill a deep queue", ("aurora", DEEP), (0.5, 28.0..=200.0), 3.0..=12.06),
        alone("indigo does not fill a deep queue", ("indigo", DEEP), (0.5, 28.0..=200.0), 3.0..=12.06),
        alone(
            "ledbat alone stays below its target of 100 ms",
            ("ledbat", NEAR),
            (0.95, 6.0..=110.0),
            0.75 * 12.0..=12.06,
        ),
        Case {
            name: "c4 leaves a deep queue short",
            pairs: DEEP,
            flows: vec![flow("udp", "c4")],
            check: Box::new(|outcome| {
                within("95th percentile of delay", outcome.delay(0, 4.0, END, 0.95), 29.0..=150.0)?;
                within("throughput", outcome.throughput(0, 2.0, END), 10.0..=12.06)
            }),
        },
        Case {
            name: "ledbat yields to cubic",
            pairs: DEEP,
            // It has seen the empty path, and taken some of it.
            flows: vec![flow("udp", "ledbat"), Flow { start: 1, ..flow("udp", "cubic") }],
            check: Box::new(|outcome| {
                within("beside cubic", outcome.throughput(0, 5.0, END), 0.0..=0.1 * 12.0)?;
                within("cubic", outcome.throughput(1, 5.0, END), 0.85 * 12.0..=12.06)
            }),
        },
    ]);
}

#[test]
fn losses_are_borne_as_by_the_kernel() {
    let _turn = TURN.lock();
    thread::scope(|scope| {
        scope.spawn(losses_and_marks);
        for (ours, kernels) in [("newreno", "reno"), ("cubic", "cubic")] {
            scope.spawn(move || against_kernel(ours, kernels));
        }
    });
}

fn losses_and_marks() {
    run(&[
        rate("our cubic at 0.4 % loss", ("udp", "cubic", LOSSY), 1.5..=9.0),
        rate("kernel bbr at 0.4 % loss", ("tcp", "bbr", LOSSY), 10.0..=12.06),
        rate("our copa at 0.4 % loss", ("udp", "copa", LOSSY), 10.0..=12.06),
        Case {
            name: "marks are echoed and answered",
            pairs: MARKING,
            flows: vec![flow("udp", "cubic")],
            check: Box::new(|outcome| {
                // A queue of 5 ms on a path of 20 ms is short for one flow.
                within("throughput", outcome.throughput(0, 2.0, END), 0.8 * 12.0..=12.06)?;
                let marked = outcome.summary(0)["marked"].as_u64().unwrap();
                within("marked packets", marked as f64, 3.0..=2000.0)?;
                carries_nothing_but(outcome, Ecn::Capable0)
            }),
        },
        Case {
            name: "prague and cubic share dualpi2",
            pairs: L4S,
            flows: vec![flow("udp", "prague"), flow("udp", "cubic")],
            check: Box::new(share_dualpi2),
        },
        Case {
            name: "scream leaves a marking queue short",
            pairs: MARKING,
            flows: vec![flow("udp", "scream")],
            check: Box::new(|outcome| {
                within("throughput", outcome.throughput(0, 2.0, END), 0.75 * 12.0..=12.06)?;
                within("median of delay", outcome.delay(0, 2.0, END, 0.5), 11.0..=31.0)?;
                carries_nothing_but(outcome, Ecn::Capable0)
            }),
        },
        Case {
            name: "scream2 leaves the short queue of dualpi2 short",
            pairs: L4S,
            flows: vec![flow("udp", "scream2")],
            check: Box::new(|outcome| {
                // 7.2 in the simulator, which has a test of it. What a busy machine adds is marked as a queue is.
                within("throughput", outcome.throughput(0, 2.0, END), 5.0..=12.06)?;
                let waits = outcome.delay(0, 2.0, END, 0.5) - 11.0;
                within("milliseconds in the low-latency queue", waits, 0.0..=3.0)?;
                let fields = outcome.ecn_fields(0, 0.0, END);
                within("packets without ECT(1) or a mark", (fields[0] + fields[2]) as f64, 0.0..=0.0)
            }),
        },
        Case {
            name: "packets with ECT(1) stay so, and are marked",
            pairs: MARKING,
            flows: vec![Flow { ecn: Some("ect1"), ..flow("udp", "cubic") }],
            check: Box::new(|outcome| carries_nothing_but(outcome, Ecn::Capable1)),
        },
    ]);
}

/// The medians of both queues: of the low-latency one less than two packets and what a busy machine adds, of the classic one the target.
fn share_dualpi2(outcome: &Outcome) -> Result<(), String> {
    let [prague, cubic] = [0, 1].map(|flow| outcome.throughput(flow, 3.0, END));
    within("throughput of both", prague + cubic, 0.95 * 12.0..=12.06)?;
    within("Prague over CUBIC", prague / cubic, 0.5..=2.0)?;
    let [low, classic] = [0, 1].map(|flow| outcome.delay(flow, 3.0, END, 0.5) - 11.0);
    within("milliseconds in the low-latency queue", low, 0.0..=3.0)?;
    within("milliseconds in the classic queue", classic, 10.0..=20.0)?;
    // What says that the session has ended says nothing of marks.
    let fields = [0, 1].map(|flow| outcome.ecn_fields(flow, 0.0, END));
    within("packets of Prague without ECT(1) or a mark", (fields[0][0] + fields[0][2]) as f64, 0.0..=0.0)?;
    within("packets of CUBIC with ECT(1)", fields[1][1] as f64, 0.0..=0.0)?;
    within("marks of Prague", fields[0][3] as f64, 20.0..=3000.0)
}

/// All that arrives has this ECN field or is marked, some of it each, and the sender is told of as many marks.
fn carries_nothing_but(outcome: &Outcome, ecn: Ecn) -> Result<(), String> {
    // What says that the session has ended says nothing of marks.
    let counts = outcome.ecn_fields(0, 0.0, END);
    let all = outcome.ecn_fields(0, 0.0, f64::INFINITY)[usize::from(Ecn::CongestionExperienced.bits())];
    let [own, marked] = [ecn, Ecn::CongestionExperienced].map(|field| counts[usize::from(field.bits())]);
    let told = outcome.summary(0)["marked"].as_u64().unwrap() as f64;
    within("packets with another field", (counts.iter().sum::<usize>() - own - marked) as f64, 0.0..=0.0)?;
    within("packets with the field", own as f64, 100.0..=1e6)?;
    // What arrives last is not acknowledged any more.
    within("marks that the sender knows of", told, all as f64 - 3.0..=all as f64)
}

/// Random loss holds both below the link: what they get is what the rule of the window gives.
fn against_kernel(ours: &'static str, kernels: &'static str) {
    let flows = [[flow("udp", ours)], [flow("tcp", kernels)]];
    until_undisturbed(|| {
        let outcomes = thread::scope(|scope| {
            let trials = flows.each_ref().map(|flows| scope.spawn(move || trial(NEAR_LOSSY, 3, flows, 5)));
            trials.map(|trial| trial.join().unwrap())
        });
        let [Some(ours), Some(kernels)] = outcomes else { return Ok(()) };
        let [ours, kernels] = [ours, kernels].map(|outcome| outcome.throughput(0, 0.5, 4.9));
        within("what the kernel's gets in Mbit/s", kernels, 4.0..=25.0)?;
        within("what ours gets over what the kernel's gets", ours / kernels, 0.75..=1.33)
    });
}
