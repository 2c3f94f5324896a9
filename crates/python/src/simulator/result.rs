//! What came of a simulated trial.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{
    FlowRecord, GraphOutcome, Outcome, PortStatistics, Series, Totals, write_results_csv,
};

use super::graphs::{columns_with_jobs, times_of};
use super::signed;

/// Queues and rates over time; tables have a row for each look, a column for each port or flow that was asked for.
#[pyclass(frozen, get_all, module = "trialwise._core")]
pub(super) struct SimulationSeries {
    /// When, picoseconds.
    time_ps: Py<PyArray1<i64>>,
    /// Bytes that wait before each port.
    queue: Py<PyArray2<u64>>,
    /// Bytes that each port has sent since the trial began.
    sent: Py<PyArray2<u64>>,
    /// Payload bytes of each flow that are acknowledged.
    acknowledged: Py<PyArray2<u64>>,
    /// The pacing rate of each flow, bit/s; NaN where it is not in progress or not paced.
    rate: Py<PyArray2<f64>>,
    /// The window of each flow, bytes; NaN where it is not in progress or has none.
    window: Py<PyArray2<f64>>,
}

impl SimulationSeries {
    pub(super) fn new(python: Python<'_>, series: Series, ports: usize, flows: usize) -> PyResult<Self> {
        let looks = series.times.len();
        let times: Vec<_> = series.times.iter().map(|time| signed(time.picoseconds())).collect();
        Ok(Self {
            time_ps: times.into_pyarray(python).unbind(),
            queue: table(python, series.queues, [looks, ports])?,
            sent: table(python, series.sent, [looks, ports])?,
            acknowledged: table(python, series.acknowledged, [looks, flows])?,
            rate: table(python, series.rates, [looks, flows])?,
            window: table(python, series.windows, [looks, flows])?,
        })
    }
}

pub(super) fn table<T: numpy::Element>(
    python: Python<'_>,
    values: Vec<T>,
    shape: [usize; 2],
) -> PyResult<Py<PyArray2<T>>> {
    Ok(values.into_pyarray(python).reshape(shape)?.unbind())
}

/// What came of a simulated trial: arrays by flow in the order of the flow list, and by port.
#[pyclass(frozen, module = "trialwise._core")]
pub(super) struct SimulationResult {
    /// Completion times at the sender in picoseconds; -1 where a flow did not finish.
    #[pyo3(get)]
    fct_ps: Py<PyArray1<i64>>,
    /// Payload bytes of each flow that were acknowledged by the end.
    #[pyo3(get)]
    delivered: Py<PyArray1<i64>>,
    /// The approximate completion times of the flows alone, picoseconds.
    #[pyo3(get)]
    ideal_ps: Py<PyArray1<i64>>,
    /// Counts over the whole trial, by name.
    #[pyo3(get)]
    totals: Py<PyDict>,
    /// When the trial ended, picoseconds.
    #[pyo3(get)]
    end_ps: u64,
    /// Bytes that each port sent.
    #[pyo3(get)]
    port_sent: Py<PyArray1<u64>>,
    /// The most bytes that waited before each port.
    #[pyo3(get)]
    port_peak_queue: Py<PyArray1<u64>>,
    /// Picoseconds for which some class of each port was paused.
    #[pyo3(get)]
    port_paused_ps: Py<PyArray1<u64>>,
    /// Queues and rates over time, where they were asked for.
    #[pyo3(get)]
    series: Option<Py<SimulationSeries>>,
    /// Completion times of jobs in picoseconds: until the last flow of each was received; -1 where one did not end.
    #[pyo3(get)]
    jct_ps: Py<PyArray1<i64>>,
    flows: Vec<FlowRecord>,
    /// The job of each flow, of a graph.
    jobs: Vec<Option<u32>>,
}

#[entry]
#[pymethods]
impl SimulationResult {
    /// The flows as they started, in that order, as columns; with the `job` of each (-1 for none) where some have one. Those of a
    /// graph that never started come last, with the end of the trial as their start.
    fn started<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let flows: Vec<_> = self.flows.iter().map(|record| record.specification).collect();
        columns_with_jobs(python, &flows, &self.jobs)
    }

    /// The flows as comma-separated values: flow_id, src, dst, size_bytes, start_ns, fct_ns (empty where a flow did not
    /// finish), times rounded down.
    fn csv(&self, python: Python<'_>) -> String {
        python.detach(|| write_results_csv(&self.flows))
    }
}

impl SimulationResult {
    pub(super) fn new(
        python: Python<'_>,
        found: GraphOutcome,
        series: Option<SimulationSeries>,
    ) -> PyResult<Self> {
        let GraphOutcome { outcome: Outcome { flows, totals, ports, end }, jobs, records } = found;
        let times = |value: &dyn Fn(&FlowRecord) -> i64| {
            flows.iter().map(value).collect::<Vec<_>>().into_pyarray(python).unbind()
        };
        let by_port = |value: &dyn Fn(&PortStatistics) -> u64| {
            ports.iter().map(value).collect::<Vec<_>>().into_pyarray(python).unbind()
        };
        let finished =
            |record: &FlowRecord| record.completion_time().map_or(-1, |time| signed(time.picoseconds()));
        Ok(Self {
            fct_ps: times(&finished),
            delivered: times(&|record| signed(record.delivered.get())),
            ideal_ps: times(&|record| signed(record.ideal.picoseconds())),
            totals: counts(python, &totals)?,
            end_ps: end.picoseconds(),
            port_sent: by_port(&|port| port.transmitted),
            port_peak_queue: by_port(&|port| port.peak_queue),
            port_paused_ps: by_port(&|port| port.paused.picoseconds()),
            series: series.map(|series| Py::new(python, series)).transpose()?,
            jct_ps: times_of(&records).into_pyarray(python).unbind(),
            flows,
            jobs,
        })
    }
}

fn counts(python: Python<'_>, totals: &Totals) -> PyResult<Py<PyDict>> {
    let counts = PyDict::new(python);
    for (name, value) in [
        ("created", totals.created),
        ("consumed", totals.consumed),
        ("held", totals.held),
        ("dropped_buffer", totals.dropped_buffer),
        ("dropped_link", totals.dropped_link),
        ("dropped_fault", totals.dropped_fault),
        ("data_sent", totals.data_sent),
        ("data_resent", totals.data_resent),
        ("hops", totals.hops),
        ("events", totals.events),
        ("marks", totals.marks),
        ("pauses", totals.pauses),
        ("resumes", totals.resumes),
        ("negative_acknowledgements", totals.negative_acknowledgements),
        ("timeouts", totals.timeouts),
        ("peak_buffer", totals.peak_buffer.get()),
    ] {
        counts.set_item(name, value)?;
    }
    Ok(counts.unbind())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SimulationResult>()?;
    module.add_class::<SimulationSeries>()
}
