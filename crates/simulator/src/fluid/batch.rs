//! Many surrogate trials, for the mean of a control variate.

use std::sync::{Mutex, PoisonError};

use trialwise_units::Seed;

use super::FluidModel;
use super::statistic::{Features, Statistic};
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::framing::Framing;
use crate::run::SimulationError;
use crate::workload::{Generator, Workload, WorkloadError};

/// Trials that a thread takes at a time.
const CHUNK: usize = 256;

/// A surrogate trial in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surrogate {
    /// What the trial asked for.
    pub features: Features,
    /// One for each statistic; none where the trial has no flow that the statistic means.
    pub values: Vec<Option<f64>>,
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
    framing: Framing,
    workload: &Workload,
    seeds: &[Seed],
    threads: usize,
    statistics: &[Statistic],
) -> Result<Vec<Surrogate>, SurrogateError> {
    if let Some(place) = statistics.iter().position(|statistic| !statistic.is_sound()) {
        return Err(SurrogateError::Quantile(place));
    }
    let generator = workload.prepare(fabric)?;
    let mut surrogates = vec![Surrogate::default(); seeds.len()];
    let work = Mutex::new(seeds.chunks(CHUNK).zip(surrogates.chunks_mut(CHUNK)));
    let compute = || {
        let mut worker = Worker::new(FluidModel::new(fabric, framing), &generator, statistics);
        loop {
            let claimed = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((seeds, places)) = claimed else { return Ok(()) };
            for (seed, place) in seeds.iter().zip(places) {
                *place = worker.trial(*seed)?;
            }
        }
    };
    std::thread::scope(|scope| -> Result<(), SimulationError> {
        let others: Vec<_> =
            (1..threads.clamp(1, seeds.len().max(1))).map(|_| scope.spawn(compute)).collect();
        let mine = compute();
        let theirs = others.into_iter().map(|other| match other.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        theirs.fold(mine, Result::and)
    })?;
    Ok(surrogates)
}

/// One thread's model and memory.
struct Worker<'a> {
    model: FluidModel<'a>,
    generator: &'a Generator<'a>,
    statistics: &'a [Statistic],
    flows: Vec<FlowSpecification>,
    values: Vec<f64>,
}

impl<'a> Worker<'a> {
    fn new(model: FluidModel<'a>, generator: &'a Generator<'a>, statistics: &'a [Statistic]) -> Self {
        Self { model, generator, statistics, flows: Vec::new(), values: Vec::new() }
    }

    fn trial(&mut self, seed: Seed) -> Result<Surrogate, SimulationError> {
        self.generator.fill(seed, &mut self.flows);
        let fabric = self.model.fabric;
        let completion = if self.flows.is_empty() { &[][..] } else { self.model.run(&self.flows)? };
        let of = |statistic: &Statistic| statistic.of(fabric, &self.flows, completion, &mut self.values);
        let values = self.statistics.iter().map(of).collect();
        Ok(Surrogate { features: Features::of(&self.flows), values })
    }
}
