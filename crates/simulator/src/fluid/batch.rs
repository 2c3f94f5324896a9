//! Many surrogate trials, for the mean of a control variate.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use trialwise_units::Seed;

use super::statistic::{Features, Statistic};
use super::{FluidModel, FluidSettings};
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::refusal::SimulationError;
use crate::workload::{Generator, Workload, WorkloadError};

/// Trials that a thread takes at a time: few, so that nobody looks only while the last are computed.
const CHUNK: usize = 16;

/// A surrogate trial in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surrogate {
    /// What the trial asked for.
    pub features: Features,
    /// One for each statistic; none where the trial has no flow that the statistic means.
    pub values: Vec<Option<f64>>,
    /// Flows and links that the max-min model looked at: what the trial cost beyond its flows, on any machine. 0
    /// where one bottleneck is shared, or no statistic asks for times.
    pub steps: u64,
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SurrogateError {
    /// The workload is unsound.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A flow list cannot run.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A statistic is unsound.
    #[error("statistic {0} asks for a quantile outside 0 to 1: write 0.99 for the 99th percentile")]
    Quantile(usize),
}

/// Runs the fluid surrogate of the trial that each seed makes, on `threads` threads. What comes out stands in
/// the order of the seeds and does not depend on the number of threads.
pub fn surrogate_batch(
    fabric: &Fabric,
    settings: impl Into<FluidSettings>,
    workload: &Workload,
    seeds: &[Seed],
    threads: usize,
    statistics: &[Statistic],
) -> Result<Vec<Surrogate>, SurrogateError> {
    let mut look = || ControlFlow::Continue(());
    surrogate_batch_observed(fabric, settings, workload, seeds, threads, statistics, &mut look)
}

/// The same; `look` is called on this thread after each of its trials, and to break ends it with
/// [`SimulationError::Interrupted`].
pub fn surrogate_batch_observed(
    fabric: &Fabric,
    settings: impl Into<FluidSettings>,
    workload: &Workload,
    seeds: &[Seed],
    threads: usize,
    statistics: &[Statistic],
    look: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Surrogate>, SurrogateError> {
    check(statistics)?;
    let job = Job { fabric, settings: settings.into(), generator: workload.prepare(fabric)?, seeds, threads };
    Ok(job.run(&|worker, seed| worker.trial(seed, statistics), look)?)
}

/// What [`surrogate_batch_observed`] would summarise: for each seed the numbers of the flows that the statistic
/// means, whatever its summary.
pub fn surrogate_samples_observed(
    fabric: &Fabric,
    settings: impl Into<FluidSettings>,
    workload: &Workload,
    seeds: &[Seed],
    threads: usize,
    statistic: &Statistic,
    look: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Vec<f64>>, SurrogateError> {
    let job = Job { fabric, settings: settings.into(), generator: workload.prepare(fabric)?, seeds, threads };
    Ok(job.run(&|worker, seed| worker.samples(seed, statistic), look)?)
}

fn check(statistics: &[Statistic]) -> Result<(), SurrogateError> {
    match statistics.iter().position(|statistic| !statistic.is_sound()) {
        Some(place) => Err(SurrogateError::Quantile(place)),
        None => Ok(()),
    }
}

/// Trials for some threads.
struct Job<'a> {
    fabric: &'a Fabric,
    settings: FluidSettings,
    generator: Generator<'a>,
    seeds: &'a [Seed],
    threads: usize,
}

impl Job<'_> {
    /// What `take` makes of each seed, in their order; `look` as of [`surrogate_batch_observed`].
    fn run<T: Clone + Default + Send>(
        &self,
        take: &(impl Fn(&mut Worker<'_>, Seed) -> Result<T, SimulationError> + Sync),
        look: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Vec<T>, SimulationError> {
        let seeds = self.seeds;
        let mut taken = vec![T::default(); seeds.len()];
        let work = Mutex::new(seeds.chunks(CHUNK).zip(taken.chunks_mut(CHUNK)));
        let ended = AtomicBool::new(false);
        let compute = |look: &mut dyn FnMut() -> ControlFlow<()>| {
            let mut worker = Worker::new(FluidModel::new(self.fabric, self.settings), &self.generator);
            loop {
                let claimed = work.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((seeds, places)) = claimed else { return Ok(()) };
                for (seed, place) in seeds.iter().zip(places) {
                    *place = take(&mut worker, *seed)?;
                    if look().is_break() {
                        return Err(SimulationError::Interrupted);
                    }
                }
            }
        };
        let obey =
            || if ended.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        std::thread::scope(|scope| -> Result<(), SimulationError> {
            let others: Vec<_> = (1..self.threads.clamp(1, seeds.len().max(1)))
                .map(|_| scope.spawn(|| compute(&mut || obey())))
                .collect();
            let mine = compute(look);
            // An error here ends the others too.
            ended.store(mine.is_err(), Ordering::Relaxed);
            let theirs = others.into_iter().map(|other| match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            theirs.fold(mine, Result::and)
        })?;
        Ok(taken)
    }
}

/// One thread's model and memory.
struct Worker<'a> {
    model: FluidModel<'a>,
    generator: &'a Generator<'a>,
    flows: Vec<FlowSpecification>,
    values: Vec<f64>,
}

impl<'a> Worker<'a> {
    fn new(model: FluidModel<'a>, generator: &'a Generator<'a>) -> Self {
        Self { model, generator, flows: Vec::new(), values: Vec::new() }
    }

    fn trial(&mut self, seed: Seed, statistics: &[Statistic]) -> Result<Surrogate, SimulationError> {
        self.generator.fill(seed, &mut self.flows);
        let before = self.model.steps();
        let fabric = self.model.fabric;
        let is_run = statistics.iter().any(Statistic::needs_times);
        let completion = if is_run { self.model.run(&self.flows)? } else { &[] };
        let of = |statistic: &Statistic| statistic.of(fabric, &self.flows, completion, &mut self.values);
        let values = statistics.iter().map(of).collect();
        Ok(Surrogate { features: Features::of(&self.flows), values, steps: self.model.steps() - before })
    }

    fn samples(&mut self, seed: Seed, statistic: &Statistic) -> Result<Vec<f64>, SimulationError> {
        self.generator.fill(seed, &mut self.flows);
        let fabric = self.model.fabric;
        let completion = self.model.run(&self.flows)?;
        let mut samples = Vec::new();
        statistic.fill(fabric, &self.flows, completion, &mut samples);
        Ok(samples)
    }
}
