//! What each congestion control is known for, in real packets over emulated paths; the kernel's TCP is the second
//! implementation of CUBIC and Reno. Trials run beside each other.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod support;

use std::sync::Mutex;
use std::thread;

use support::{Flow, Outcome, trial};
use trialwise_emulator::LATENESS_BOUND;

type Pairs = &'static [(&'static str, &'static str)];

const SHALLOW: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50")];
const DEEP: Pairs = &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=300")];
const LOSSY: Pairs =
    &[("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50"), ("loss", "0.4%")];
const NEAR: Pairs = &[("rate", "12Mbit/s"), ("delay", "5ms"), ("queue", "droptail:packets=300")];
const NEAR_LOSSY: Pairs =
    &[("rate", "30Mbit/s"), ("delay", "5ms"), ("queue", "droptail:packets=60"), ("loss", "1%")];
const MARKING: Pairs = &[("rate", "12Mbit/s"), ("delay", "10ms"), ("queue", "codel:ecn=yes")];

const SECONDS: u64 = 7;
const END: f64 = 6.9;
/// So many trials at the same time are enough for two processors.
static TURN: Mutex<()> = Mutex::new(());
/// A trial in which the emulator was late is no measurement; on a busy machine it is made again so often.
const ATTEMPTS: usize = 3;

struct Case {
    name: &'static str,
    pairs: Pairs,
    flows: Vec<Flow>,
    check: fn(&Outcome) -> Result<(), String>,
}

const fn flow(protocol: &'static str, congestion: &'static str) -> Flow {
    Flow::new(protocol, congestion)
}

/// Runs all cases at the same time; those that fail are tried again, with fewer beside them.
fn run(cases: &[Case]) {
    let mut left: Vec<&Case> = cases.iter().collect();
    let mut problems = Vec::new();
    for attempt in 1..=ATTEMPTS {
        let results = thread::scope(|scope| {
            let trials: Vec<_> = left
                .iter()
                .map(|case| (*case, scope.spawn(|| trial(case.pairs, 1, &case.flows, SECONDS))))
                .collect();
            trials.into_iter().map(|(case, trial)| (case, trial.join().unwrap())).collect::<Vec<_>>()
        });
        problems.clear();
        left.clear();
        for (case, outcome) in results {
            let Some(outcome) = outcome else { return };
            if let Err(problem) = (case.check)(&outcome) {
                let late = outcome.report.bottleneck(LATENESS_BOUND).map(|bottleneck| bottleneck.to_string());
                problems.push(format!("{} (attempt {attempt}): {problem}; {late:?}", case.name));
                left.push(case);
            }
        }
        problems.iter().for_each(|problem| eprintln!("{problem}"));
        if left.is_empty() {
            return;
        }
    }
    panic!("{}", problems.join("\n"));
}

fn within(what: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!("{what} is {value}, not in {low}..={high}"))
    }
}

/// Of bytes on the wire.
fn fills_12_megabits(outcome: &Outcome) -> Result<(), String> {
    within("throughput", outcome.throughput(0, 2.0, END), 0.95 * 12.0, 1.005 * 12.0)
}

#[test]
fn each_scheme_is_like_itself() {
    let _turn = TURN.lock();
    run(&[
        Case {
            name: "kernel cubic",
            pairs: SHALLOW,
            flows: vec![flow("tcp", "cubic")],
            check: fills_12_megabits,
        },
        Case {
            name: "our cubic",
            pairs: SHALLOW,
            flows: vec![flow("udp", "cubic")],
            check: fills_12_megabits,
        },
        Case {
            name: "our newreno",
            pairs: SHALLOW,
            flows: vec![flow("udp", "newreno")],
            // Half of a window that filled path and queue does not fill the path.
            check: |outcome| within("throughput", outcome.throughput(0, 2.0, END), 0.83 * 12.0, 12.06),
        },
        Case {
            name: "a fixed rate",
            pairs: SHALLOW,
            flows: vec![flow("udp", "fixed-rate:6Mbit/s")],
            check: |outcome| {
                within("throughput", outcome.throughput(0, 1.0, END), 0.99 * 6.0, 1.01 * 6.0)?;
                within("95th percentile of delay", outcome.delay(0, 1.0, END, 0.95), 29.0, 32.0)
            },
        },
        Case {
            name: "cubic fills a deep queue",
            pairs: DEEP,
            flows: vec![flow("udp", "cubic")],
            check: |outcome| {
                within("95th percentile of delay", outcome.delay(0, 2.0, END, 0.95), 200.0, 330.0)
            },
        },
        Case {
            name: "copa leaves a deep queue short",
            pairs: DEEP,
            flows: vec![flow("udp", "copa")],
            check: |outcome| {
                within("95th percentile of delay", outcome.delay(0, 2.0, END, 0.95), 29.0, 80.0)?;
                within("throughput", outcome.throughput(0, 2.0, END), 10.0, 12.06)
            },
        },
        Case {
            name: "ledbat alone takes the link and stays below its target of 100 ms",
            pairs: NEAR,
            flows: vec![flow("udp", "ledbat")],
            check: |outcome| {
                within("throughput", outcome.throughput(0, 2.0, END), 0.75 * 12.0, 12.06)?;
                within("95th percentile of delay", outcome.delay(0, 2.0, END, 0.95), 6.0, 110.0)
            },
        },
        Case {
            name: "ledbat yields to cubic",
            pairs: DEEP,
            // It has seen the empty path, and taken some of it.
            flows: vec![flow("udp", "ledbat"), Flow { start: 1, ..flow("udp", "cubic") }],
            check: |outcome| {
                within("beside cubic", outcome.throughput(0, 5.0, END), 0.0, 0.1 * 12.0)?;
                within("cubic", outcome.throughput(1, 5.0, END), 0.85 * 12.0, 12.06)
            },
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
    const LOSSY_CUBIC: (f64, f64) = (1.5, 9.0);
    run(&[
        Case {
            name: "our cubic at 0.4 % loss",
            pairs: LOSSY,
            flows: vec![flow("udp", "cubic")],
            check: |outcome| {
                within("throughput", outcome.throughput(0, 2.0, END), LOSSY_CUBIC.0, LOSSY_CUBIC.1)
            },
        },
        Case {
            name: "kernel bbr at 0.4 % loss",
            pairs: LOSSY,
            flows: vec![flow("tcp", "bbr")],
            check: |outcome| within("throughput", outcome.throughput(0, 2.0, END), 10.0, 12.06),
        },
        Case {
            name: "our copa at 0.4 % loss",
            pairs: LOSSY,
            flows: vec![flow("udp", "copa")],
            check: |outcome| within("throughput", outcome.throughput(0, 2.0, END), 10.0, 12.06),
        },
        Case {
            name: "marks are echoed and answered",
            pairs: MARKING,
            flows: vec![flow("udp", "cubic")],
            check: |outcome| {
                // A queue of 5 ms on a path of 20 ms is short for one flow.
                within("throughput", outcome.throughput(0, 2.0, END), 0.8 * 12.0, 12.06)?;
                let marked = outcome.summary(0)["marked"].as_u64().unwrap();
                within("marked packets", marked as f64, 3.0, 2000.0)
            },
        },
    ]);
}

/// Random loss holds both below the link: what they get is what the rule of the window gives.
fn against_kernel(ours: &'static str, kernels: &'static str) {
    let (ours, kernels) = ([flow("udp", ours)], [flow("tcp", kernels)]);
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        let outcomes = thread::scope(|scope| {
            let trials = [&ours, &kernels].map(|flows| scope.spawn(move || trial(NEAR_LOSSY, 3, flows, 5)));
            trials.map(|trial| trial.join().unwrap())
        });
        let [Some(ours), Some(kernels)] = outcomes else { return };
        let [ours, kernels] = [ours, kernels].map(|outcome| outcome.throughput(0, 0.5, 4.9));
        found.push((ours, kernels));
        if within("ratio", ours / kernels, 0.75, 1.33).is_ok() && within("kernel", kernels, 4.0, 25.0).is_ok()
        {
            return;
        }
    }
    panic!("{ours:?} against {kernels:?}: {found:?}");
}
