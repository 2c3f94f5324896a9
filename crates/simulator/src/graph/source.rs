//! A graph of flows as a source of them while a trial runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trialwise_units::{Duration, Time};

use super::pending::Pending;
use super::{FlowGraph, Moment};
use crate::flow::FlowSpecification;
use crate::index::FlowId;
use crate::source::FlowSource;

/// What came of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// When the first of its steps that wait for nothing may begin; their delays are part of the job.
    pub begin: Time,
    /// When its last flow was received and its last delay was over; none where the trial ended before.
    pub end: Option<Time>,
}

impl JobRecord {
    /// The job completion time.
    pub fn completion_time(&self) -> Option<Duration> {
        self.end.map(|end| end - self.begin)
    }
}

/// A job as far as it is.
#[derive(Clone, Copy)]
struct Job {
    begin: Time,
    last: Time,
    steps_left: u32,
}

/// Gives each flow when all that it waits for is over.
pub(crate) struct GraphSource<'a> {
    graph: &'a FlowGraph,
    pending: Pending<'a>,
    /// Flows that wait for nothing but their time, the earliest first, of one time in the order of the graph.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// The steps whose flows were given.
    given: Vec<u32>,
    jobs: Vec<Job>,
}

impl<'a> GraphSource<'a> {
    pub(crate) fn new(graph: &'a FlowGraph) -> Self {
        let (pending, jobs) = (Pending::new(graph), jobs(graph));
        let mut source = Self { graph, pending, due: BinaryHeap::new(), given: Vec::new(), jobs };
        let roots = source.pending.roots();
        source.queue(roots);
        source
    }

    /// The steps whose flows were given, in that order, and what came of the jobs.
    pub(crate) fn into_records(self) -> (Vec<u32>, Vec<JobRecord>) {
        let record =
            |job: Job| JobRecord { begin: job.begin, end: (job.steps_left == 0).then_some(job.last) };
        (self.given, self.jobs.into_iter().map(record).collect())
    }

    /// Takes steps that wait for nothing any more; where nothing is sent, those behind them too.
    fn queue(&mut self, mut due: Vec<(u32, Time)>) {
        while let Some((step, time)) = due.pop() {
            if self.graph.steps[step as usize].flow.is_some() {
                self.due.push(Reverse((time, step)));
            } else {
                self.count(step, time);
                self.pending.pass(step, time, &mut due);
            }
        }
    }

    fn end(&mut self, flow: FlowId, moment: Moment, time: Time) {
        let mut due = Vec::new();
        self.pending.end(self.given[flow.index()], moment, time, &mut due);
        self.queue(due);
    }

    /// A step of a job is over.
    fn count(&mut self, step: u32, time: Time) {
        let Some(job) = self.graph.steps[step as usize].job else { return };
        let job = &mut self.jobs[job as usize];
        job.steps_left -= 1;
        job.last = job.last.max(time);
    }
}

fn jobs(graph: &FlowGraph) -> Vec<Job> {
    let mut jobs = vec![Job { begin: Time::MAX, last: Time::ZERO, steps_left: 0 }; graph.job_count()];
    for (place, step) in graph.steps.iter().enumerate() {
        let Some(job) = step.job.and_then(|job| jobs.get_mut(job as usize)) else { continue };
        job.steps_left += 1;
        if graph.awaited_by(place).is_empty() {
            job.begin = job.begin.min(step.earliest);
        }
    }
    jobs
}

impl FlowSource for GraphSource<'_> {
    fn waits(&self) -> bool {
        true
    }

    fn next_start(&mut self) -> Option<Time> {
        self.due.peek().map(|Reverse((time, _))| *time)
    }

    #[expect(
        clippy::expect_used,
        reason = "asked for only after a start was given, and only steps with flows are due"
    )]
    fn next_flow(&mut self) -> FlowSpecification {
        let Reverse((start, step)) = self.due.pop().expect("a start was given");
        self.given.push(step);
        let flow = self.graph.steps[step as usize].flow.expect("a step that is due has a flow");
        FlowSpecification { start, ..flow }
    }

    fn on_receipt(&mut self, flow: FlowId, time: Time) {
        self.count(self.given[flow.index()], time);
        self.end(flow, Moment::Received, time);
    }

    fn on_finish(&mut self, flow: FlowId, finish: Time) {
        self.end(flow, Moment::Acknowledged, finish);
    }
}
