//! What Python sees of `trialwise-simulator`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration as Elapsed, Instant};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_congestion::Algorithm;
use trialwise_simulator::{
    Configuration, Fabric, FlowId, FlowRecord, FlowSpecification, Load, Mode, NodeId, Observer, Outcome,
    PortId, PortStatistics, Progress, RouteOrder, Series, SizeDistribution, SizeTable, Snapshot, Topology,
    Totals, Workload, check, read_flows, simulate_observed, write_csv, write_hpcc, write_results_csv,
};
use trialwise_units::{Bytes, Duration, Seed, Time};

/// Adds what this file has to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFabric>()?;
    module.add_class::<SimulationSeries>()?;
    module.add_class::<SimulationResult>()?;
    module.add_function(wrap_pyfunction!(check_simulation, module)?)?;
    module.add_function(wrap_pyfunction!(expected_flows, module)?)?;
    module.add_function(wrap_pyfunction!(format_flows, module)?)?;
    module.add_function(wrap_pyfunction!(generate_flows, module)?)?;
    module.add_function(wrap_pyfunction!(network_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(parse_flows, module)?)?;
    module.add_function(wrap_pyfunction!(parse_fraction, module)?)?;
    module.add_function(wrap_pyfunction!(parse_picoseconds, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulation_controllers, module)?)
}

pub(crate) type Pairs = Vec<(String, String)>;
type Numbers<'py> = Bound<'py, PyArray1<i64>>;

/// Between two calls of `progress`, and two looks for Ctrl-C.
const LOOK_EVERY: Elapsed = Elapsed::from_millis(100);
const COLUMNS: [&str; 5] = ["flow_id", "src", "dst", "size_bytes", "start_ps"];

pub(crate) fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn text_of(path: &Path) -> PyResult<String> {
    std::fs::read_to_string(path).map_err(|error| match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string(), path.to_path_buf())),
        None => refused(format!("{} is no text", path.display())),
    })
}

/// A topology made ready: checked, routed, measured. Trials may share one.
///
/// Parameters
/// ----------
/// topology
///     A shape, such as `dumbbell:10x10,100Gbit/s,1us`.
///
/// Raises
/// ------
/// ValueError
///     What is wrong with the shape, and what to write.
#[pyclass(frozen, module = "trialwise._core", name = "Fabric")]
pub(crate) struct PyFabric(pub(crate) Fabric);

#[pymethods]
impl PyFabric {
    #[new]
    fn new(python: Python<'_>, topology: &str) -> PyResult<Self> {
        let topology: Topology = topology.parse().map_err(refused)?;
        Ok(Self(python.detach(|| Fabric::new(topology)).map_err(refused)?))
    }

    /// The topology of a file in the HPCC simulator's format; `routes` is a file with the order of equal next hops.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     A file cannot be read.
    /// ValueError
    ///     Which line is wrong; hosts that cannot reach each other.
    #[staticmethod]
    #[pyo3(signature = (path, *, routes=None))]
    fn from_file(python: Python<'_>, path: PathBuf, routes: Option<PathBuf>) -> PyResult<Self> {
        let topology = Topology::from_hpcc(&text_of(&path)?).map_err(refused)?;
        let order = match routes {
            Some(routes) => Some(RouteOrder::parse(&text_of(&routes)?).map_err(refused)?),
            None => None,
        };
        Ok(Self(python.detach(|| Fabric::with_route_order(topology, order)).map_err(refused)?))
    }

    /// The numbers of the nodes that are hosts.
    #[getter]
    fn hosts<'py>(&self, python: Python<'py>) -> Numbers<'py> {
        let hosts: Vec<_> = self.0.topology().hosts().map(|host| i64::from(host.get())).collect();
        hosts.into_pyarray(python)
    }

    /// Links, each first node, second node, rate (bit/s), delay (ps): link `n` from its first end is port `2n`, from its
    /// second end port `2n + 1`.
    #[getter]
    fn links(&self) -> Vec<(u32, u32, u64, u64)> {
        let links = self.0.topology().links.iter();
        links
            .map(|link| {
                let (rate, delay) = (link.rate.bits_per_second(), link.delay.picoseconds());
                (link.first.get(), link.second.get(), rate, delay)
            })
            .collect()
    }

    /// The rate of the link that all one-way traffic shares (bit/s); None where there is none.
    #[getter]
    fn bottleneck(&self) -> Option<u64> {
        self.0.topology().bottleneck.map(|rate| rate.bits_per_second())
    }

    /// The longest round trip of an empty path in picoseconds.
    #[getter]
    fn round_trip_ps(&self) -> u64 {
        self.0.extremes().0.picoseconds()
    }

    /// The text of a topology file in the HPCC simulator's format.
    fn to_hpcc(&self) -> String {
        self.0.topology().to_hpcc()
    }
}

/// The names of the parameters of a network.
#[pyfunction]
fn network_parameters() -> Vec<&'static str> {
    trialwise_simulator::NETWORK_PARAMETERS.to_vec()
}

/// The names of the controllers that can be simulated.
#[pyfunction]
fn simulation_controllers() -> Vec<&'static str> {
    Algorithm::NAMES.to_vec()
}

// Quantities

/// A fraction such as `30%` or `0.3`; ValueError where the text is none.
#[pyfunction]
fn parse_fraction(text: &str) -> PyResult<f64> {
    trialwise_simulator::parse_fraction(text).map_err(refused)
}

/// A span of time such as `20ms` in picoseconds; ValueError where the text is none.
#[pyfunction]
fn parse_picoseconds(text: &str) -> PyResult<u64> {
    Ok(trialwise_simulator::parse_duration(text).map_err(refused)?.picoseconds())
}

/// A size such as `100kB` in bytes; ValueError where the text is none.
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    Ok(trialwise_simulator::parse_bytes(text).map_err(refused)?.get())
}

// Flow lists

/// The flows of a mapping of columns `flow_id`, `src`, `dst`, `size_bytes`, `start_ps`.
pub(crate) fn flows_of(columns: &Bound<'_, PyDict>) -> PyResult<Vec<FlowSpecification>> {
    let column = |name: &str| {
        let found = columns.get_item(name)?.ok_or_else(|| refused(format!("the flows have no {name}")))?;
        let array = found.extract::<PyReadonlyArray1<'_, i64>>();
        array.map_err(|_| refused(format!("{name} of the flows is no array of int64")))
    };
    let [ids, sources, destinations, sizes, starts] = COLUMNS.map(column);
    let (ids, sources, destinations, sizes, starts) = (ids?, sources?, destinations?, sizes?, starts?);
    let ids = ids.as_slice()?;
    let rest = [sources.as_slice()?, destinations.as_slice()?, sizes.as_slice()?, starts.as_slice()?];
    if rest.iter().any(|column| column.len() != ids.len()) {
        return Err(refused("the columns of the flows differ in length"));
    }
    let flow = |place: usize| {
        let [source, destination, size, start] = rest.map(|column| column[place]);
        Some(FlowSpecification {
            id: u64::try_from(ids[place]).ok()?,
            source: NodeId::new(u32::try_from(source).ok()?),
            destination: NodeId::new(u32::try_from(destination).ok()?),
            size: Bytes::new(u64::try_from(size).ok()?),
            start: Time::from_picoseconds(u64::try_from(start).ok()?),
        })
    };
    let number = |place| flow(place).ok_or_else(|| refused(format!("flow {place} has a number below 0")));
    (0..ids.len()).map(number).collect()
}

pub(crate) fn columns_of<'py>(
    python: Python<'py>,
    flows: &[FlowSpecification],
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(python);
    let add = |name: &str, value: &dyn Fn(&FlowSpecification) -> u64| {
        let values: Vec<_> = flows.iter().map(|flow| signed(value(flow))).collect();
        columns.set_item(name, values.into_pyarray(python))
    };
    add(COLUMNS[0], &|flow| flow.id)?;
    add(COLUMNS[1], &|flow| u64::from(flow.source.get()))?;
    add(COLUMNS[2], &|flow| u64::from(flow.destination.get()))?;
    add(COLUMNS[3], &|flow| flow.size.get())?;
    add(COLUMNS[4], &|flow| flow.start.picoseconds())?;
    Ok(columns)
}

pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The flows of a text: comma-separated values with the columns flow_id, src, dst, size_bytes, start_ns, or the HPCC
/// simulator's format. Arrays `flow_id`, `src`, `dst`, `size_bytes`, `start_ps` of int64.
///
/// Raises
/// ------
/// ValueError
///     Which line is wrong, and what to write.
#[pyfunction]
fn parse_flows<'py>(python: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let flows = python.detach(|| read_flows(text)).map_err(refused)?;
    columns_of(python, &flows)
}

/// The text of a flow list: comma-separated values, or the HPCC simulator's format. Starts are rounded down to nanoseconds.
///
/// Raises
/// ------
/// ValueError
///     The flows are no columns as `parse_flows` gives them.
#[pyfunction]
#[pyo3(signature = (flows, *, hpcc=false))]
fn format_flows(python: Python<'_>, flows: &Bound<'_, PyDict>, hpcc: bool) -> PyResult<String> {
    let flows = flows_of(flows)?;
    Ok(python.detach(|| if hpcc { write_hpcc(&flows) } else { write_csv(&flows) }))
}

pub(crate) fn workload_of(
    sizes: &str,
    size_table: Option<&str>,
    arrivals: &str,
    pattern: &str,
    load: f64,
    load_of: &str,
    duration_ps: u64,
) -> PyResult<Workload> {
    let sizes = match size_table {
        Some(table) => SizeTable::parse(table).map(SizeDistribution::Table),
        None => sizes.parse(),
    };
    let load = match load_of {
        "host" => Load::Host(load),
        "bottleneck" => Load::Bottleneck(load),
        _ => return Err(refused(format!("a load is of host or bottleneck, not of {load_of:?}"))),
    };
    Ok(Workload {
        sizes: sizes.map_err(refused)?,
        arrivals: arrivals.parse().map_err(refused)?,
        pattern: pattern.parse().map_err(refused)?,
        load,
        duration: Duration::from_picoseconds(duration_ps),
    })
}

/// The flow list of a workload and a seed: arrays `flow_id`, `src`, `dst`, `size_bytes`, `start_ps` of int64.
///
/// Parameters
/// ----------
/// sizes
///     websearch, facebook_hadoop, alistorage, google_rpc, or as in fixed:1000B, lognormal:mean=100kB,sigma=2,
///     pareto:mean=100kB,shape=1.5.
/// arrivals
///     poisson, or as in lognormal:sigma=2, bursty:mean=10.
/// pattern
///     one-way, all-to-all, permutation, or as in incast:8.
/// load, load_of
///     Payload as a part of the capacity of "host" or "bottleneck".
/// duration_ps
///     Flows begin from 0 to this.
/// size_table
///     The text of a table of sizes and percentages, used instead of `sizes`.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[pyfunction]
#[pyo3(signature = (fabric, *, sizes, arrivals, pattern, load, load_of, duration_ps, seed, size_table=None))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn generate_flows<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    sizes: &str,
    arrivals: &str,
    pattern: &str,
    load: f64,
    load_of: &str,
    duration_ps: u64,
    seed: u64,
    size_table: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let workload = workload_of(sizes, size_table, arrivals, pattern, load, load_of, duration_ps)?;
    let flows = python.detach(|| workload.generate(&fabric.0, Seed::new(seed))).map_err(refused)?;
    columns_of(python, &flows)
}

/// How many flows such a list has in the mean; refuses what `generate_flows` refuses.
#[pyfunction]
#[pyo3(signature = (fabric, *, sizes, arrivals, pattern, load, load_of, duration_ps, size_table=None))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn expected_flows(
    fabric: &PyFabric,
    sizes: &str,
    arrivals: &str,
    pattern: &str,
    load: f64,
    load_of: &str,
    duration_ps: u64,
    size_table: Option<&str>,
) -> PyResult<f64> {
    let workload = workload_of(sizes, size_table, arrivals, pattern, load, load_of, duration_ps)?;
    workload.expected_flows(&fabric.0).map_err(refused)
}

// Trials

fn texts_of(pairs: &Pairs) -> impl Iterator<Item = (&str, &str)> {
    pairs.iter().map(|(key, text)| (key.as_str(), text.as_str()))
}

pub(crate) fn configuration_of(
    fabric: &Fabric,
    controller: &str,
    parameters: &Pairs,
    network: &Pairs,
    mode: &str,
    seed: u64,
) -> PyResult<Configuration> {
    let mode = match mode {
        "clean" => Mode::Clean,
        "compatible" => Mode::Compatible,
        _ => return Err(refused(format!("a mode is clean or compatible, not {mode:?}"))),
    };
    Configuration::new(fabric, mode, Seed::new(seed), controller, texts_of(parameters), texts_of(network))
        .map_err(refused)
}

/// Refuse what `simulate` would refuse, without running anything; flows may come later.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[pyfunction]
#[pyo3(signature = (fabric, flows=None, *, controller, parameters=Vec::new(), network=Vec::new(), mode="clean"))]
fn check_simulation(
    fabric: &PyFabric,
    flows: Option<&Bound<'_, PyDict>>,
    controller: &str,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
) -> PyResult<()> {
    let Configuration { algorithm, settings } =
        configuration_of(&fabric.0, controller, &parameters, &network, mode, 0)?;
    let flows = flows.map(flows_of).transpose()?;
    check(&fabric.0, &settings, &algorithm, flows.as_deref()).map_err(refused)
}

/// Queues and rates over time; tables have a row for each look, a column for each port or flow that was asked for.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct SimulationSeries {
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
    fn new(python: Python<'_>, series: Series, ports: usize, flows: usize) -> PyResult<Self> {
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

fn table<T: numpy::Element>(
    python: Python<'_>,
    values: Vec<T>,
    shape: [usize; 2],
) -> PyResult<Py<PyArray2<T>>> {
    Ok(values.into_pyarray(python).reshape(shape)?.unbind())
}

/// What came of a simulated trial: arrays by flow in the order of the flow list, and by port.
#[pyclass(frozen, module = "trialwise._core")]
struct SimulationResult {
    /// Completion times at the sender in picoseconds; -1 where a flow did not finish.
    #[pyo3(get)]
    fct_ps: Py<PyArray1<i64>>,
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
    flows: Vec<FlowRecord>,
}

#[pymethods]
impl SimulationResult {
    /// The flows as comma-separated values: flow_id, src, dst, size_bytes, start_ns, fct_ns (empty where a flow did not
    /// finish), times rounded down.
    fn csv(&self, python: Python<'_>) -> String {
        python.detach(|| write_results_csv(&self.flows))
    }
}

impl SimulationResult {
    fn new(python: Python<'_>, outcome: Outcome, series: Option<SimulationSeries>) -> PyResult<Self> {
        let Outcome { flows, totals, ports, end } = outcome;
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
            ideal_ps: times(&|record| signed(record.ideal.picoseconds())),
            totals: counts(python, &totals)?,
            end_ps: end.picoseconds(),
            port_sent: by_port(&|port| port.transmitted),
            port_peak_queue: by_port(&|port| port.peak_queue),
            port_paused_ps: by_port(&|port| port.paused.picoseconds()),
            series: series.map(|series| Py::new(python, series)).transpose()?,
            flows,
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

/// Keeps series, and lets Python look from time to time.
struct Watch {
    series: Series,
    progress: Option<Py<PyAny>>,
    looked: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    fn look(&self, progress: Progress) -> PyResult<()> {
        Python::attach(|python| {
            python.check_signals()?;
            if let Some(callable) = &self.progress {
                let Progress { now, events, unfinished } = progress;
                callable.call1(python, (now.picoseconds(), events, unfinished))?;
            }
            Ok(())
        })
    }
}

impl Observer for Watch {
    fn on_sample(&mut self, snapshot: &Snapshot<'_>) {
        self.series.on_sample(snapshot);
    }

    fn on_progress(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.looked.elapsed() < LOOK_EVERY {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        match self.look(progress) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Run one trial until its last flow ends, or the parameter `stop` of the network comes; other threads go on meanwhile.
///
/// Parameters
/// ----------
/// fabric, flows
///     The topology, and columns as `generate_flows` gives them, in order of start.
/// controller, parameters
///     A name of `simulation_controllers`, and pairs such as `("gain", "0.0625")`.
/// network
///     Pairs such as `("kmin", "400kB")`.
/// mode
///     "clean": exact picoseconds; "compatible": nanosecond for nanosecond as the public HPCC simulator.
/// seed
///     Of marks and losses.
/// sample_interval_ps, ports, watched_flows
///     How often, and of which ports and flows (by their place in the list), `series` is kept.
/// progress
///     Called some times a second with the simulated picoseconds, events and flows that have not ended; what it raises
///     ends the trial.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
/// KeyboardInterrupt
///     Ctrl-C came.
#[pyfunction]
#[pyo3(signature = (
    fabric, flows, *, controller, parameters=Vec::new(), network=Vec::new(), mode="clean", seed=0,
    sample_interval_ps=None, ports=Vec::new(), watched_flows=Vec::new(), progress=None
))]
#[expect(clippy::too_many_arguments, reason = "a trial as it is written")]
fn simulate(
    python: Python<'_>,
    fabric: &PyFabric,
    flows: &Bound<'_, PyDict>,
    controller: &str,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
    seed: u64,
    sample_interval_ps: Option<u64>,
    ports: Vec<u32>,
    watched_flows: Vec<u32>,
    progress: Option<Py<PyAny>>,
) -> PyResult<SimulationResult> {
    let fabric = &fabric.0;
    let flows = flows_of(flows)?;
    let Configuration { algorithm, mut settings } =
        configuration_of(fabric, controller, &parameters, &network, mode, seed)?;
    settings.sample_interval = sample_interval_ps.map(|interval| Duration::from_picoseconds(interval.max(1)));
    if let Some(port) = ports.iter().find(|port| **port as usize >= 2 * fabric.topology().links.len()) {
        return Err(refused(format!("there is no port {port}: link n has the ports 2n and 2n + 1")));
    }
    if let Some(flow) = watched_flows.iter().find(|flow| **flow as usize >= flows.len()) {
        return Err(refused(format!("the list has no flow at place {flow}: it has {} flows", flows.len())));
    }
    let (columns, watched) = (ports.len(), watched_flows.len());
    let series = Series::new(
        ports.into_iter().map(PortId::new).collect(),
        watched_flows.into_iter().map(FlowId::new).collect(),
    );
    let mut watch = Watch { series, progress, looked: Instant::now(), raised: None };
    let outcome = python.detach(|| simulate_observed(fabric, &settings, &algorithm, &flows, &mut watch));
    if let Some(error) = watch.raised {
        return Err(error);
    }
    let series = match settings.sample_interval {
        Some(_) => Some(SimulationSeries::new(python, watch.series, columns, watched)?),
        None => None,
    };
    SimulationResult::new(python, outcome.map_err(refused)?, series)
}
