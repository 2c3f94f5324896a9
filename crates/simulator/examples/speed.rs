//! Prints how fast the simulator is, in processor time: WebSearch on the dumbbell, 20 ms at 30 % of the
//! bottleneck, for each controller, then fat-trees of 16, 128 and 1,024 hosts.
//!
//! `cargo run --release -p trialwise-simulator --example speed [repetitions]`
#![allow(clippy::print_stdout, reason = "this is what the program is for")]

use std::error::Error;

use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Arrivals, Fabric, FlowSpecification, Load, Mode, Outcome, Pattern, Settings, Workload, simulate,
};
use trialwise_units::{Duration, Rate, Seed};

const LINE: Rate = Rate::from_megabits_per_second(100_000);
/// Gives about 66,000 data packets on the dumbbell.
const SEED: u64 = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let repetitions: u32 = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let dumbbell = Fabric::new("dumbbell:10x10,100Gbit/s,1us".parse()?)?;
    let flows =
        websearch(&dumbbell, Pattern::ONE_WAY, Load::Bottleneck(0.3), Duration::from_milliseconds(20))?;
    for mode in [Mode::Clean, Mode::Compatible] {
        for name in ["dctcp", "dcqcn", "timely", "hpcc"] {
            measure(&format!("dumbbell {name} {mode:?}"), name, mode, &dumbbell, &flows, repetitions)?;
        }
    }
    let small_tree = Fabric::new("fat-tree:4,100Gbit/s,1us".parse()?)?;
    let flows = websearch(&small_tree, Pattern::ALL_TO_ALL, Load::Host(0.3), Duration::from_milliseconds(2))?;
    measure("fat-tree of 16 hosts, hpcc", "hpcc", Mode::Clean, &small_tree, &flows, repetitions)?;
    let tree = Fabric::new("fat-tree:8,100Gbit/s,1us".parse()?)?;
    let flows = websearch(&tree, Pattern::ALL_TO_ALL, Load::Host(0.3), Duration::from_milliseconds(2))?;
    measure("fat-tree of 128 hosts, hpcc", "hpcc", Mode::Clean, &tree, &flows, 1)?;
    let large = Fabric::new("fat-tree:16,400Gbit/s,1us".parse()?)?;
    let flows = websearch(&large, Pattern::ALL_TO_ALL, Load::Host(0.3), Duration::from_microseconds(100))?;
    for name in ["dctcp", "hpcc"] {
        measure(
            &format!("fat-tree of 1024 hosts at 400 Gbit/s, {name}"),
            name,
            Mode::Clean,
            &large,
            &flows,
            1,
        )?;
    }
    println!("peak memory {} MB", peak_memory().unwrap_or(0) / 1000);
    Ok(())
}

fn websearch(
    fabric: &Fabric,
    pattern: Pattern,
    load: Load,
    duration: Duration,
) -> Result<Vec<FlowSpecification>, Box<dyn Error>> {
    let sizes = "websearch".parse()?;
    Ok(Workload { sizes, arrivals: Arrivals::POISSON, pattern, load, duration }
        .generate(fabric, Seed::new(SEED))?)
}

/// Runs the trial several times and prints the fastest.
fn measure(
    title: &str,
    controller: &str,
    mode: Mode,
    fabric: &Fabric,
    flows: &[FlowSpecification],
    repetitions: u32,
) -> Result<(), Box<dyn Error>> {
    let algorithm = Algorithm::named(controller, LINE)?.with_fidelity(mode.fidelity());
    let settings = Settings::for_algorithm(&algorithm, LINE).with_mode(mode);
    let mut best: Option<(f64, Outcome)> = None;
    for _ in 0..repetitions {
        let began = processor_seconds()?;
        let outcome = simulate(fabric, &settings, &algorithm, flows)?;
        let seconds = processor_seconds()? - began;
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, outcome));
        }
    }
    if let Some((seconds, outcome)) = best {
        let totals = outcome.totals;
        println!(
            "{title:32} {:8.2} ms, {:5.1} million packet-hops/s, {:5.1} million events/s ({} flows, {} data packets, {} hops)",
            seconds * 1e3,
            totals.hops as f64 / seconds / 1e6,
            totals.events as f64 / seconds / 1e6,
            flows.len(),
            totals.data_sent,
            totals.hops,
        );
    }
    Ok(())
}

/// Processor time of this thread (Linux): what else the machine does is not counted.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = statistics.split_whitespace().next().ok_or("schedstat is empty")?;
    Ok(nanoseconds.parse::<u64>()? as f64 / 1e9)
}

/// The most memory that this process ever had, in kB (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
