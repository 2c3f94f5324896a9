//! Trials: checked, run, and run many at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use trialwise_congestion::{Context, Factory};
use trialwise_units::Time;

use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::graph::{FlowGraph, GraphSource, JobRecord};
use crate::index::HostId;
use crate::metrics::Outcome;
use crate::network::{Network, Observer, run_on_threads};
use crate::refusal::{SimulationError, check_flows, check_settings};
use crate::settings::Settings;
use crate::source::{FlowSource, Recording};

/// Runs one trial: the flows in order of start, until the last ends, [`Settings::stop`] comes,
/// or none can get on: those that are left are cut off by links that never come back, or nothing more arrives.
///
/// The same arguments give the same bits on every machine.
pub fn simulate(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: &[FlowSpecification],
) -> Result<Outcome, SimulationError> {
    simulate_observed(fabric, settings, factory, flows, &mut ())
}

/// The same, with somebody who looks.
pub fn simulate_observed(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: &[FlowSpecification],
    observer: &mut impl Observer,
) -> Result<Outcome, SimulationError> {
    simulate_on_threads(fabric, settings, factory, flows, observer, 1)
}

/// The same on so many threads at most, which changes no bit. Small networks, compatible mode, failures and samples take
/// one.
pub fn simulate_on_threads(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: &[FlowSpecification],
    observer: &mut impl Observer,
    threads: usize,
) -> Result<Outcome, SimulationError> {
    check_settings(fabric, settings)?;
    check_flows(fabric, flows)?;
    run_on_threads(fabric, settings, factory, flows, observer, threads)
}

/// The same with flows that a source gives while the trial runs. Until the last flow ends, or
/// [`Settings::stop`] comes.
pub fn simulate_source(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    source: &mut dyn FlowSource,
    observer: &mut impl Observer,
) -> Result<Outcome, SimulationError> {
    check_settings(fabric, settings)?;
    let mut recording = Recording::new(source);
    let mut network = Network::new(fabric, settings, factory, &[]);
    network.run(observer, &mut recording);
    network.outcome(&recording.given)
}

/// The same with flows that wait for others: each starts when what it waits for is over.
///
/// Records come in the order of starts. Flows that had not started by the end come last, with the end as their start.
pub fn simulate_graph(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    graph: &FlowGraph,
    observer: &mut impl Observer,
) -> Result<GraphOutcome, SimulationError> {
    check_settings(fabric, settings)?;
    graph.check(fabric)?;
    let mut source = GraphSource::new(graph);
    let mut recording = Recording::new(&mut source);
    let mut network = Network::in_order(fabric, settings, factory, &graph.listed());
    network.run(observer, &mut recording);
    let mut flows = recording.given;
    let (mut steps, jobs) = source.into_records();
    for (step, flow) in graph.not_among(&steps) {
        flows.push(FlowSpecification { start: network.now(), ..flow });
        steps.push(step);
    }
    let outcome = network.outcome(&flows)?;
    Ok(GraphOutcome { outcome, jobs: graph.jobs_of(&steps), records: jobs })
}

/// What came of a graph of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphOutcome {
    /// The flows as they went, and all counts.
    pub outcome: Outcome,
    /// The job of each flow, in the order of the records.
    pub jobs: Vec<Option<u32>>,
    /// What came of each job.
    pub records: Vec<JobRecord>,
}

/// Refuses what [`simulate`] refuses, and a controller that refuses the longest path; nothing runs. Flows may
/// come later.
pub fn check(
    fabric: &Fabric,
    settings: &Settings,
    factory: &dyn Factory,
    flows: Option<&[FlowSpecification]>,
) -> Result<(), SimulationError> {
    check_settings(fabric, settings)?;
    if let Some(flows) = flows {
        check_flows(fabric, flows)?;
    }
    let known = fabric.extremes();
    let context = Context {
        now: Time::ZERO,
        segment: settings.segment,
        line_rate: (fabric.host_count() > 0).then(|| fabric.host_rate(HostId::new(0))),
        base_rtt: Some(known.round_trip),
        path_window: Some(known.window),
        hops: Some(known.switches()),
        seed: settings.seed,
    };
    factory.build(&context)?;
    Ok(())
}

/// One trial of a batch.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The parameters of the network.
    pub settings: Settings,
    /// The flows.
    pub flows: Vec<FlowSpecification>,
}

/// Runs trials on `threads` threads; outcomes come in the order of the trials and do not depend on the number
/// of threads.
pub fn simulate_batch(
    fabric: &Fabric,
    factory: &dyn Factory,
    trials: &[Trial],
    threads: usize,
) -> Vec<Result<Outcome, SimulationError>> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut outcomes: Vec<_> =
        std::iter::repeat_with(|| Err(SimulationError::Interrupted)).take(trials.len()).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, trials.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((place, trial)) = claim(trials, next) {
                    let outcome = simulate(fabric, &trial.settings, factory, &trial.flows);
                    if sender.send((place, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.iter().for_each(|(place, outcome)| outcomes[place] = outcome);
    });
    outcomes
}

fn claim<'a>(trials: &'a [Trial], next: &AtomicUsize) -> Option<(usize, &'a Trial)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    trials.get(place).map(|trial| (place, trial))
}
