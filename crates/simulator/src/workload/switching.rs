//! Importance sampling that stops within a trial.

use trialwise_units::{Duration, Seed, Time};

use super::density::Density;
use super::generator::{FlowStream, Generator};
use crate::flow::FlowSpecification;
use crate::index::FlowId;
use crate::source::FlowSource;

/// A flow that has ended, with the weight that its trial had then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedFinish {
    /// Which, counted in the order of starts.
    pub flow: FlowId,
    /// From its start to its end.
    pub completion: Duration,
    /// The logarithm of the likelihood ratio of all sizes drawn before this end.
    pub log_ratio: f64,
}

/// Flows whose sizes are drawn from a density over quantiles until one takes longer than a threshold, and from
/// the workload from then on (CCEval's switching change of measure): what would follow a rare event adds no
/// noise to the weights.
pub struct SwitchingFlows<'a> {
    generator: Generator<'a>,
    stream: FlowStream<'a>,
    density: &'a Density,
    threshold: Duration,
    starts: Vec<Time>,
    log_ratio: f64,
    switched: Option<Time>,
    finishes: Vec<WeightedFinish>,
}

impl<'a> SwitchingFlows<'a> {
    /// The flows of this seed.
    pub fn new(generator: Generator<'a>, seed: Seed, density: &'a Density, threshold: Duration) -> Self {
        Self {
            generator,
            stream: FlowStream::new(generator, seed),
            density,
            threshold,
            starts: Vec::new(),
            log_ratio: 0.0,
            switched: None,
            finishes: Vec::new(),
        }
    }

    /// The end of the first flow over the threshold; none as long as there is none.
    pub const fn switched(&self) -> Option<Time> {
        self.switched
    }

    /// The flows that have ended, in that order.
    pub fn into_finishes(self) -> Vec<WeightedFinish> {
        self.finishes
    }
}

impl FlowSource for SwitchingFlows<'_> {
    fn next_start(&mut self) -> Option<Time> {
        self.stream.next_start()
    }

    fn next_flow(&mut self) -> FlowSpecification {
        let (generator, density, switched) = (self.generator, self.density, self.switched.is_some());
        let log_ratio = &mut self.log_ratio;
        let flow = self.stream.next_flow(|u| {
            let (quantile, weight) = if switched { (u, 0.0) } else { density.draw(u) };
            *log_ratio += weight;
            generator.size(quantile)
        });
        self.starts.push(flow.start);
        flow
    }

    fn on_finish(&mut self, flow: FlowId, finish: Time) {
        let completion = finish - self.starts[flow.index()];
        if completion > self.threshold && self.switched.is_none() {
            self.switched = Some(finish);
        }
        self.finishes.push(WeightedFinish { flow, completion, log_ratio: self.log_ratio });
    }
}
