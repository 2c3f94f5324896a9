//! Prints what fluid surrogate trials cost, with the generation of their flows and their summaries.
//!
//! `cargo run --release -p trialwise-simulator --example surrogate [trials [threads]]`
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "this is what the program is for")]

use std::error::Error;
use std::time::Instant;

use trialwise_congestion::Feedback;
use trialwise_simulator::{
    Arrivals, Fabric, Framing, Load, Pattern, Quantity, Settings, Statistic, Summary, Workload,
    surrogate_batch,
};
use trialwise_units::{Duration, Rate, Seed};

const LINE: Rate = Rate::from_megabits_per_second(100_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let trials: u64 = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let threads: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let (one_way, all) = (Pattern::ONE_WAY, Pattern::ALL_TO_ALL);
    measure("dumbbell:10x10,100Gbit/s,1us", one_way, Load::Bottleneck(0.3), 20, trials, threads)?;
    measure("fat-tree:4,100Gbit/s,1us", all, Load::Host(0.3), 2, trials.div_ceil(50), threads)?;
    measure("fat-tree:8,100Gbit/s,1us", all, Load::Host(0.3), 2, trials.div_ceil(2000), threads)
}

fn measure(
    topology: &str,
    pattern: Pattern,
    load: Load,
    milliseconds: u64,
    trials: u64,
    threads: usize,
) -> Result<(), Box<dyn Error>> {
    let fabric = Fabric::new(topology.parse()?)?;
    let duration = Duration::from_milliseconds(milliseconds);
    let workload =
        Workload { sizes: "websearch".parse()?, arrivals: Arrivals::POISSON, pattern, load, duration };
    let framing = Framing::new(&Settings::for_line_rate(LINE), Feedback::Marks);
    let time = Quantity::CompletionTime;
    let statistics = [Summary::Mean, Summary::Quantile(0.5), Summary::Quantile(0.99)]
        .map(|summary| Statistic::of_all(time, summary));
    let seeds: Vec<_> = (0..trials).map(Seed::new).collect();
    let began = Instant::now();
    let surrogates = surrogate_batch(&fabric, framing, &workload, &seeds, threads, &statistics)?;
    let seconds = began.elapsed().as_secs_f64();
    let flows: u64 = surrogates.iter().map(|surrogate| surrogate.features.flows).sum();
    println!(
        "{topology:30} {milliseconds:3} ms, {trials} trials on {threads} threads: {:9.2} us/trial, {:6.1} ns/flow, {:.1} flows/trial",
        seconds / trials as f64 * 1e6,
        seconds / flows as f64 * 1e9,
        flows as f64 / trials as f64,
    );
    Ok(())
}
