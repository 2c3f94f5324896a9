//! Runs one trial and prints its flows as comma-separated values, and what happened on the standard error.
//!
//! `cargo run --release -p trialwise-simulator --example trial -- dumbbell:10x10,100Gbit/s,1us hpcc websearch
//! 30% 20ms 1 [compatible]`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is what the program is for")]

use std::error::Error;

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Arrivals, Fabric, HostId, Load, Mode, Outcome, Pattern, Settings, Topology, Workload, parse_duration,
    parse_fraction, simulate, write_results_csv,
};
use trialwise_units::{Rate, Seed};

const USAGE: &str = "trial TOPOLOGY CONTROLLER SIZES LOAD DURATION SEED [compatible]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [topology, controller, sizes, load, duration, seed, mode @ ..] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let mode = match mode {
        [] => Mode::Clean,
        [mode] if mode == "compatible" => Mode::Compatible,
        _ => return Err(USAGE.into()),
    };
    let fabric = Fabric::new(topology.parse()?)?;
    let first = (fabric.host_count() > 0).then(|| fabric.host_rate(HostId::new(0)));
    let line = first.unwrap_or(Rate::ZERO);
    let (pattern, load) = pattern_and_load(fabric.topology(), parse_fraction(load)?);
    let workload = Workload {
        sizes: sizes.parse()?,
        arrivals: Arrivals::POISSON,
        pattern,
        load,
        duration: parse_duration(duration)?,
    };
    let seed = Seed::new(seed.parse()?);
    let flows = workload.generate(&fabric, seed)?;
    let algorithm = Algorithm::named(controller, line)?.with_fidelity(mode.fidelity());
    let settings = Settings { seed, ..Settings::for_algorithm(&algorithm, line).with_mode(mode) };
    let outcome = simulate(&fabric, &settings, &algorithm, &flows)?;
    print!("{}", write_results_csv(&outcome.flows));
    summarise(&outcome);
    Ok(())
}

/// On a dumbbell, one way and loading the bottleneck; elsewhere all to all and loading the hosts.
fn pattern_and_load(topology: &Topology, load: f64) -> (Pattern, Load) {
    match topology.bottleneck {
        Some(_) => (Pattern::ONE_WAY, Load::Bottleneck(load)),
        None => (Pattern::ALL_TO_ALL, Load::Host(load)),
    }
}

fn summarise(outcome: &Outcome) {
    let mut slowdowns: Vec<_> = outcome.flows.iter().filter_map(|record| record.slowdown()).collect();
    slowdowns.sort_by(f64::total_cmp);
    for percent in [50, 95, 99] {
        // Nearest rank.
        let rank = (slowdowns.len() * percent).div_ceil(100);
        if let Some(value) = rank.checked_sub(1).and_then(|rank| slowdowns.get(rank)) {
            eprintln!("slowdown {percent}%: {value:.3}");
        }
    }
    eprintln!("{} flows, {} unfinished, ended at {}", outcome.flows.len(), outcome.unfinished(), outcome.end);
    eprintln!("{:?}", outcome.totals);
}
