//! Flows that wait for others: a directed graph of steps, each a flow or a time that passes.
//!
//! Every form of dependent flows (collectives, trigger files, traces of training) is brought into this one.

mod cycle;
mod pending;
mod source;

use trialwise_units::{Duration, Time};

pub use self::source::JobRecord;

pub(crate) use self::source::GraphSource;
use crate::event::INDEX_LIMIT;
use crate::fabric::Fabric;
use crate::flow::FlowSpecification;
use crate::groups::Groups;
use crate::refusal::{SimulationError, check_count, check_flow};

/// When a flow counts as over for a step that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its last byte has reached the receiver.
    Received,
    /// The sender knows: its last acknowledgement has come back.
    Acknowledged,
}

/// A step that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Which, in the order in which steps were added.
    pub step: u32,
    /// Of a step without a flow, both moments are the same.
    pub moment: Moment,
}

impl Awaited {
    /// The step, until its flow has been received.
    pub const fn received(step: u32) -> Self {
        Self { step, moment: Moment::Received }
    }
}

/// A flow, or a time that passes without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is sent; none where only the delay passes. Its `start` is not used.
    pub flow: Option<FlowSpecification>,
    /// Nothing happens before this.
    pub earliest: Time,
    /// What passes after that and after all that the step waits for, before its flow starts.
    pub delay: Duration,
    /// The job that the step is a part of, if it is of any.
    pub job: Option<u32>,
}

/// Flows, and what each waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowGraph {
    steps: Vec<Step>,
    /// Of each step, what it waits for.
    awaited: Groups<Awaited>,
}

impl Default for FlowGraph {
    fn default() -> Self {
        Self { steps: Vec::new(), awaited: Groups::new([]) }
    }
}

impl FlowGraph {
    /// Adds a step and gives its number. What it waits for may be added later.
    pub fn add(&mut self, step: Step, awaited: &[Awaited]) -> u32 {
        self.steps.push(step);
        self.awaited.push(awaited);
        self.steps.len() as u32 - 1
    }

    /// Adds the steps of another graph, whose jobs are numbered after those here.
    pub fn join(&mut self, other: &Self) {
        let (steps, jobs) = (self.steps.len() as u32, self.job_count() as u32);
        for (place, step) in other.steps.iter().enumerate() {
            let moved = |awaited: &Awaited| Awaited { step: awaited.step + steps, ..*awaited };
            let step = Step { job: step.job.map(|job| job + jobs), ..*step };
            let awaited: Vec<_> = other.awaited.of(place).iter().map(moved).collect();
            self.add(step, &awaited);
        }
    }

    /// Adds flows that wait for their start alone and are of no job.
    pub fn add_flows(&mut self, flows: &[FlowSpecification]) {
        for flow in flows {
            let (earliest, delay) = (flow.start, Duration::ZERO);
            self.add(Step { flow: Some(*flow), earliest, delay, job: None }, &[]);
        }
    }

    /// All steps, in the order in which they were added.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What a step waits for.
    pub fn awaited_by(&self, step: usize) -> &[Awaited] {
        self.awaited.of(step)
    }

    /// Whether some step waits for another.
    pub fn has_waits(&self) -> bool {
        self.awaited.items() > 0
    }

    /// How many jobs there are: one more than the largest number of one.
    pub fn job_count(&self) -> usize {
        self.steps.iter().filter_map(|step| step.job).map(|job| job as usize + 1).max().unwrap_or(0)
    }

    /// The flows, each with the earliest time at which it can start: as if the flows before it took no time. In order
    /// of that time, with the job of each.
    ///
    /// # Errors
    /// Steps wait for one another.
    pub fn flows(&self) -> Result<Vec<(FlowSpecification, Option<u32>)>, SimulationError> {
        let mut flows: Vec<_> = self.earliest()?.into_iter().zip(&self.steps).collect();
        flows.sort_by_key(|(start, _)| *start);
        let flow = |(start, step): (Time, &Step)| Some((FlowSpecification { start, ..step.flow? }, step.job));
        Ok(flows.into_iter().filter_map(flow).collect())
    }

    /// Refuses a graph that cannot run on this network.
    ///
    /// # Errors
    /// What is wrong with a flow; steps wait for one another, or are too many.
    pub fn check(&self, fabric: &Fabric) -> Result<(), SimulationError> {
        if self.steps.len() >= INDEX_LIMIT {
            let (count, limit) = (self.steps.len(), INDEX_LIMIT);
            return Err(SimulationError::TooMany { what: "flows and pauses", count, limit });
        }
        let mut flows = self.steps.iter().filter_map(|step| step.flow.as_ref());
        check_count(flows.clone().count())?;
        flows.try_for_each(|flow| check_flow(fabric, flow).map(|_| ()))?;
        self.earliest().map(|_| ())
    }

    /// The flows of steps that are not among these.
    pub(crate) fn not_among(&self, given: &[u32]) -> Vec<(u32, FlowSpecification)> {
        let mut is_given = vec![false; self.steps.len()];
        given.iter().for_each(|step| is_given[*step as usize] = true);
        let steps = self.steps.iter().zip(0..).filter(|(_, step)| !is_given[*step as usize]);
        steps.filter_map(|(found, step)| Some((step, found.flow?))).collect()
    }

    /// The jobs of these steps.
    pub(crate) fn jobs_of(&self, steps: &[u32]) -> Vec<Option<u32>> {
        steps.iter().map(|step| self.steps[*step as usize].job).collect()
    }

    /// The flows in the order of their steps.
    pub fn listed(&self) -> Vec<FlowSpecification> {
        self.steps.iter().filter_map(|step| step.flow).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::index::NodeId;
    use trialwise_units::Bytes;

    /// A flow of 1000 bytes from host 0 to host 1, without delay.
    pub(crate) fn step(id: u64) -> Step {
        let (source, destination) = (NodeId::new(0), NodeId::new(1));
        let flow = FlowSpecification::new(id, source, destination, Bytes::new(1000), Time::ZERO);
        Step { flow: Some(flow), earliest: Time::ZERO, delay: Duration::ZERO, job: Some(0) }
    }

    #[test]
    fn flows_come_in_order_of_their_earliest_start() {
        let (microseconds, time) = (Duration::from_microseconds, Time::from_nanoseconds);
        let mut graph = FlowGraph::default();
        let pause = Step { flow: None, delay: microseconds(5), ..step(0) };
        let pause = graph.add(pause, &[]);
        let late = graph.add(Step { delay: microseconds(1), ..step(7) }, &[Awaited::received(pause)]);
        graph.add(Step { earliest: time(9000), ..step(8) }, &[Awaited::received(late)]);
        graph.add(Step { earliest: time(2000), ..step(9) }, &[]);
        let starts: Vec<_> = graph.flows().unwrap().iter().map(|(flow, _)| (flow.id, flow.start)).collect();
        assert_eq!(starts, [(9, time(2000)), (7, time(6000)), (8, time(9000))]);
    }

    #[test]
    fn a_graph_that_joins_another_keeps_its_numbers() {
        let mut graph = FlowGraph::default();
        graph.add(step(0), &[]);
        let mut other = FlowGraph::default();
        let first = other.add(step(1), &[]);
        other.add(step(2), &[Awaited::received(first)]);
        graph.join(&other);
        assert_eq!(graph.awaited_by(2), &[Awaited::received(1)]);
        assert_eq!(
            graph.steps().iter().map(|step| step.job).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(1)]
        );
    }
}
