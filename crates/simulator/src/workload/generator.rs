//! Flow lists of one workload, seed by seed.

use std::collections::VecDeque;

use trialwise_units::{Bytes, Duration, Seed, Time};

use super::density::Density;
use super::pairs::{Chooser, Pair};
use super::points::{self, Uniforms};
use super::{Arrivals, SizeDistribution, Workload, WorkloadError};
use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::random::Random;

/// A workload that is checked for its fabric.
#[derive(Clone, Copy, Debug)]
pub struct Generator<'a> {
    pub(super) workload: &'a Workload,
    /// How large flows are: the workload's sizes, or others at its arrivals.
    pub(super) sizes: &'a SizeDistribution,
    pub(super) fabric: &'a Fabric,
    /// Seconds.
    pub(super) mean_gap: f64,
}

impl<'a> Generator<'a> {
    /// Draws sizes from another distribution at the same arrivals: if its mean is another one, so is the load,
    /// which may be more than the capacity.
    #[must_use]
    pub const fn with_sizes(self, sizes: &'a SizeDistribution) -> Self {
        Self { sizes, ..self }
    }

    /// Puts the flow list of this seed into `flows`, in place of what is there.
    pub fn fill(&self, seed: Seed, flows: &mut Vec<FlowSpecification>) {
        self.fill_with(seed, flows, |u| self.size(u));
    }

    /// The flow list of this seed with sizes at quantiles that `density` draws instead of uniform ones, and
    /// for each flow the logarithm of how much likelier its size is under the workload than as it was drawn.
    /// The density of the quantile is all that changes: the logarithm is that of `1 / density(u)`.
    pub fn fill_weighted(
        &self,
        seed: Seed,
        density: &Density,
        flows: &mut Vec<FlowSpecification>,
        log_ratios: &mut Vec<f64>,
    ) {
        log_ratios.clear();
        self.fill_with(seed, flows, |u| {
            let (quantile, log_ratio) = density.draw(u);
            log_ratios.push(log_ratio);
            self.size(quantile)
        });
    }

    fn fill_with(&self, seed: Seed, flows: &mut Vec<FlowSpecification>, mut size: impl FnMut(f64) -> Bytes) {
        flows.clear();
        let mut stream = FlowStream::new(*self, seed);
        while stream.next_start().is_some() {
            flows.push(stream.next_flow(&mut size));
        }
    }

    /// Puts a flow list that given numbers decide into `flows`: the first how many arrivals there are (the
    /// quantile of the Poisson distribution), then for each arrival the sizes of its flows and when it comes,
    /// uniformly over the duration. Pairs come from the seed. With scrambled Sobol points as numbers the mean
    /// over lists converges faster than with independent ones (Owen, "Scrambled net variance for integrals of
    /// smooth functions", 1997).
    pub fn fill_from(
        &self,
        uniforms: &mut impl Uniforms,
        seed: Seed,
        flows: &mut Vec<FlowSpecification>,
    ) -> Result<(), WorkloadError> {
        if self.workload.arrivals != Arrivals::POISSON {
            return Err(WorkloadError::NotPoisson(self.workload.arrivals.name()));
        }
        flows.clear();
        let mut random = Random::new(seed.named("pairs"));
        let mut chooser = Chooser::new(self.workload.pattern, self.fabric, &mut random);
        let mut pairs: Vec<Pair> = Vec::new();
        let seconds = self.workload.duration.as_seconds();
        for _ in 0..points::poisson_quantile(seconds / self.mean_gap, uniforms.next_uniform()) {
            pairs.clear();
            chooser.choose(&mut random, &mut pairs);
            let begin = flows.len();
            for (source, destination) in pairs.iter().copied() {
                let size = self.size(uniforms.next_uniform());
                flows.push(FlowSpecification::new(0, source, destination, size, Time::ZERO));
            }
            let start = Time::ZERO + Duration::from_seconds(seconds * uniforms.next_uniform());
            flows[begin..].iter_mut().for_each(|flow| flow.start = start);
        }
        flows.sort_by_key(|flow| flow.start);
        flows.iter_mut().zip(0..).for_each(|(flow, id)| flow.id = id);
        Ok(())
    }

    pub(super) fn size(&self, quantile: f64) -> Bytes {
        self.sizes.quantile(quantile)
    }
}

/// The flows of a seed one by one.
pub(super) struct FlowStream<'a> {
    generator: Generator<'a>,
    arrivals: Random,
    sizes: Random,
    pairs: Random,
    chooser: Chooser<'a>,
    seconds: f64,
    start: Time,
    /// Of the arrival at `start`, those that were not given yet.
    waiting: VecDeque<Pair>,
    given: usize,
}

impl<'a> FlowStream<'a> {
    pub(super) fn new(generator: Generator<'a>, seed: Seed) -> Self {
        let [arrivals, sizes, mut pairs] =
            ["arrivals", "sizes", "pairs"].map(|name| Random::new(seed.named(name)));
        let chooser = Chooser::new(generator.workload.pattern, generator.fabric, &mut pairs);
        let (start, waiting) = (Time::ZERO, VecDeque::new());
        Self { generator, arrivals, sizes, pairs, chooser, seconds: 0.0, start, waiting, given: 0 }
    }

    /// When the next flow starts; none after the last.
    pub(super) fn next_start(&mut self) -> Option<Time> {
        if self.waiting.is_empty() {
            let workload = self.generator.workload;
            self.seconds += workload.arrivals.gap(self.generator.mean_gap, &mut self.arrivals);
            if self.seconds > workload.duration.as_seconds() || self.given >= INDEX_LIMIT {
                return None;
            }
            self.start = Time::ZERO + Duration::from_seconds(self.seconds);
            self.chooser.choose(&mut self.pairs, &mut self.waiting);
        }
        Some(self.start)
    }

    /// The flow whose start was given last, with the size that `size` makes of a uniform number.
    #[expect(clippy::expect_used, reason = "asked for only after a start was given")]
    pub(super) fn next_flow(&mut self, size: impl FnOnce(f64) -> Bytes) -> FlowSpecification {
        let (source, destination) = self.waiting.pop_front().expect("a start was given");
        let id = self.given as u64;
        self.given += 1;
        let size = size(self.sizes.uniform());
        FlowSpecification::new(id, source, destination, size, self.start)
    }
}
