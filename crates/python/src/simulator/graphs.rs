//! Flows that wait for others.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{Awaited, FlowGraph, FlowSpecification, Job, JobRecord, Moment, Step};
use trialwise_units::{Duration, Seed};

use super::fabric::PyFabric;
use super::flow_lists::{columns_of, flows_of};
use super::{refused, signed};

type Numbers<'py> = PyReadonlyArray1<'py, i64>;

/// Flows, and what each waits for before it starts.
#[pyclass(frozen, name = "FlowGraph", module = "trialwise._core")]
pub(super) struct PyFlowGraph(pub(super) FlowGraph);

#[entry]
#[pymethods]
impl PyFlowGraph {
    /// The flows of a job, such as "ring-all-reduce:8MB". The seed says which hosts take part where they are drawn.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     What is wrong, and what to write.
    #[staticmethod]
    #[pyo3(signature = (job, fabric, *, seed))]
    fn of_job(python: Python<'_>, job: &str, fabric: &PyFabric, seed: u64) -> PyResult<Self> {
        let job: Job = job.parse().map_err(refused)?;
        python.detach(|| job.graph(&fabric.0, Seed::new(seed))).map(Self).map_err(refused)
    }

    /// The graph of given steps.
    ///
    /// Parameters
    /// ----------
    /// steps
    ///     Columns as `generate_flows` gives them, of flows and of pauses (a size of 0), each with `delay_ps`, what passes after all
    ///     that it waits for, and `job`, -1 for none. `start_ps` is the earliest time.
    /// waiting, awaited, acknowledged
    ///     For each wait the place of the step that waits, the place of the one that it waits for, and 1 if that has to be acknowledged
    ///     or 0 if it has to be received.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     Columns are missing or differ in length, or a wait is of no step.
    #[staticmethod]
    fn of_steps(
        steps: &Bound<'_, PyDict>,
        waiting: Numbers<'_>,
        awaited: Numbers<'_>,
        acknowledged: Numbers<'_>,
    ) -> PyResult<Self> {
        let flows = flows_of(steps)?;
        let (delays, jobs) = (column(steps, "delay_ps", flows.len())?, column(steps, "job", flows.len())?);
        let edges = [waiting.as_slice()?, awaited.as_slice()?, acknowledged.as_slice()?];
        let awaited = awaited_by(edges, flows.len()).ok_or_else(|| refused("a wait is of no step"))?;
        let mut graph = FlowGraph::default();
        for (place, flow) in flows.iter().enumerate() {
            let delay = u64::try_from(delays[place]).map_err(|_| refused("a delay is below 0"))?;
            let job = u32::try_from(jobs[place]).ok();
            if job.is_some_and(|job| job as usize >= flows.len()) {
                return Err(refused("a job has a number beyond that of the steps"));
            }
            let step = Step {
                flow: (flow.size.get() > 0).then_some(*flow),
                earliest: flow.start,
                delay: Duration::from_picoseconds(delay),
                job,
            };
            graph.add(step, &awaited[place]);
        }
        Ok(Self(graph))
    }

    /// The flows as columns, in order of `start_ps`, the earliest time at which each can start: as if those before it took no
    /// time; and the `job` of each, -1 for none.
    pub(super) fn flows<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let flows = python.detach(|| self.0.flows()).map_err(refused)?;
        let (flows, jobs): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
        columns_with_jobs(python, &flows, &jobs)
    }

    /// These flows and others, columns as `generate_flows` gives them, which wait for nothing and are of no job.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     The flows are no such columns.
    fn with_flows(&self, flows: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut graph = self.0.clone();
        graph.add_flows(&flows_of(flows)?);
        Ok(Self(graph))
    }
}

fn column(columns: &Bound<'_, PyDict>, name: &str, length: usize) -> PyResult<Vec<i64>> {
    let found = columns.get_item(name)?.and_then(|column| column.extract::<Numbers<'_>>().ok());
    let found = found.ok_or_else(|| refused(format!("the steps have no {name} of int64")))?;
    let numbers = found.as_slice()?;
    if numbers.len() != length {
        return Err(refused("the columns of the steps differ in length"));
    }
    Ok(numbers.to_vec())
}

/// What each of so many steps waits for; none where a wait is of no step.
fn awaited_by([waiting, awaited, acknowledged]: [&[i64]; 3], steps: usize) -> Option<Vec<Vec<Awaited>>> {
    if waiting.len() != awaited.len() || waiting.len() != acknowledged.len() {
        return None;
    }
    let place = |number: i64| usize::try_from(number).ok().filter(|place| *place < steps);
    let mut found = vec![Vec::new(); steps];
    for ((waiting, awaited), acknowledged) in waiting.iter().zip(awaited).zip(acknowledged) {
        let step = u32::try_from(place(*awaited)?).ok()?;
        let moment = if *acknowledged == 0 { Moment::Received } else { Moment::Acknowledged };
        found[place(*waiting)?].push(Awaited { step, moment });
    }
    Some(found)
}

/// The columns of flows, and their jobs where some have one.
pub(super) fn columns_with_jobs<'py>(
    python: Python<'py>,
    flows: &[FlowSpecification],
    jobs: &[Option<u32>],
) -> PyResult<Bound<'py, PyDict>> {
    let columns = columns_of(python, flows)?;
    if jobs.iter().any(Option::is_some) {
        let jobs: Vec<_> = jobs.iter().map(|job| job.map_or(-1, i64::from)).collect();
        columns.set_item("job", jobs.into_pyarray(python))?;
    }
    Ok(columns)
}

/// Completion times of jobs in picoseconds, -1 of those that did not end.
pub(super) fn times_of(records: &[JobRecord]) -> Vec<i64> {
    let time = |record: &JobRecord| record.completion_time().map_or(-1, |time| signed(time.picoseconds()));
    records.iter().map(time).collect()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFlowGraph>()
}
