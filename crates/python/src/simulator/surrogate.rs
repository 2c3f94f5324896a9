//! The fluid surrogate: of one flow list, and of many.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{
    FluidSettings, Quantity, Statistic, Summary, Surrogate, fluid_observed, surrogate_batch_observed,
    surrogate_samples_observed,
};
use trialwise_units::{Duration, Seed, Time};

use super::controllers::{Congestion, Setup};
use super::fabric::PyFabric;
use super::flow_lists::flows_of;
use super::watch::Looks;
use super::workload::workload_of;
use super::{Pairs, refused, signed};
use crate::border::Whole;
use crate::kernels::threads_of;

type Table<'py> = Bound<'py, PyArray2<f64>>;
type Samples<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);
/// Quantity, summary, payload from and below, start from and before (picoseconds).
type StatisticTuple = (String, Option<SummaryArgument>, (u64, u64), (u64, u64));

/// A summary other than the mean, which is None.
#[derive(FromPyObject)]
enum SummaryArgument {
    /// A quantile by nearest rank.
    Quantile(f64),
    /// Its name.
    Named(String),
    /// Its name and its number.
    With(String, f64),
}

/// Completion times in picoseconds if flows shared links max-min fairly and without packets: from start to last
/// acknowledgement, in the order of the list.
///
/// Parameters
/// ----------
/// fabric, flows
///     The topology, and columns as `generate_flows` gives them, in order of start.
/// controller, network
///     Whose packets: their headers count (telemetry enlarges HPCC's), and pairs such as `("segment", "1500B")`.
/// window_ps
///     Rates are found anew at most once in this many picoseconds; 0 for whenever a flow begins or ends.
/// progress
///     Called without arguments some times a second; what it raises ends it.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
/// KeyboardInterrupt
///     Ctrl-C came.
#[entry]
#[pyfunction]
#[pyo3(signature = (
    fabric, flows, *, controller=Congestion::default(), network=Vec::new(), window_ps=0, progress=None
))]
fn fluid<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    flows: &Bound<'_, PyDict>,
    controller: Congestion<'_>,
    network: Pairs,
    window_ps: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let framing = Setup::framing(&fabric.0, &controller, &network)?;
    let flows = flows_of(flows)?;
    let window = Duration::from_picoseconds(window_ps);
    let mut looks = Looks::new();
    let times = python.detach(|| {
        let told = |python: Python<'_>| match &progress {
            Some(progress) => progress.call0(python).map(|_| ()),
            None => Ok(()),
        };
        fluid_observed(&fabric.0, framing, &flows, window, &mut || looks.look(told))
    });
    looks.end()?;
    let times = times.map_err(refused)?;
    let picoseconds: Vec<_> = times.iter().map(|time| signed(time.picoseconds())).collect();
    Ok(picoseconds.into_pyarray(python))
}

/// The fluid surrogates of the trials that `seeds` make: a table with a row for each and a column for each statistic (NaN
/// where a trial has no such flow, but 0 for counts and sums), and a table of flows, payload bytes, bytes of the largest flow,
/// sum of squared bytes, and flows and links that the max-min model looked at, which tell what the trial cost.
///
/// Parameters
/// ----------
/// seeds
///     As for `generate_flows`, which gives the same lists.
/// statistics
///     Each a quantity (fct in seconds, slowdown, throughput in bit/s), a summary, that is None for the mean, the quantile by
///     nearest rank, ("linear", quantile), "count", "sum", or ("above", level) for how many are above a level,
///     the payload of the flows meant (from, below) in bytes, their start (from, before) in picoseconds.
/// sizes, arrivals, pattern, load, load_of, duration_ps, size_table
///     The workload, as for `generate_flows`.
/// window_ps
///     As for `fluid`.
/// threads
///     None for one on each processor; the result is the same.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
/// KeyboardInterrupt
///     Ctrl-C came.
#[entry]
#[pyfunction]
#[pyo3(signature = (
    fabric, seeds, *, statistics, controller=Congestion::default(), network=Vec::new(), window_ps=0, threads=None,
    **workload
))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn surrogate_batch<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    seeds: PyReadonlyArray1<'py, u64>,
    statistics: Vec<StatisticTuple>,
    controller: Congestion<'_>,
    network: Pairs,
    window_ps: u64,
    threads: Option<Whole>,
    workload: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Table<'py>, Table<'py>)> {
    let fabric = &fabric.0;
    let workload = workload_of(workload)?;
    let framing = Setup::framing(fabric, &controller, &network)?;
    let settings = FluidSettings { framing, window: Duration::from_picoseconds(window_ps) };
    let statistics = statistics.iter().map(statistic_of).collect::<PyResult<Vec<_>>>()?;
    let seeds = seeds_of(&seeds)?;
    let threads = threads_of(threads)?;
    let mut looks = Looks::new();
    let batch = python.detach(|| {
        let mut look = || looks.look(|_| Ok(()));
        surrogate_batch_observed(fabric, settings, &workload, &seeds, threads, &statistics, &mut look)
    });
    looks.end()?;
    let batch = batch.map_err(refused)?;
    let value = |value: &Option<f64>| value.unwrap_or(f64::NAN);
    let values: Vec<_> = batch.iter().flat_map(|surrogate| surrogate.values.iter().map(value)).collect();
    let features: Vec<_> = batch.iter().flat_map(features_of).collect();
    let rows = batch.len();
    Ok((
        values.into_pyarray(python).reshape([rows, statistics.len()])?,
        features.into_pyarray(python).reshape([rows, 5])?,
    ))
}

/// The numbers of the flows that one statistic means, whatever its summary, trial after trial, and how many each trial has. The
/// arguments are those of `surrogate_batch`.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
/// KeyboardInterrupt
///     Ctrl-C came.
#[entry]
#[pyfunction]
#[pyo3(signature = (
    fabric, seeds, *, statistic, controller=Congestion::default(), network=Vec::new(), window_ps=0, threads=None,
    **workload
))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn surrogate_samples<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    seeds: PyReadonlyArray1<'py, u64>,
    statistic: StatisticTuple,
    controller: Congestion<'_>,
    network: Pairs,
    window_ps: u64,
    threads: Option<Whole>,
    workload: Option<&Bound<'_, PyDict>>,
) -> PyResult<Samples<'py>> {
    let fabric = &fabric.0;
    let workload = workload_of(workload)?;
    let framing = Setup::framing(fabric, &controller, &network)?;
    let settings = FluidSettings { framing, window: Duration::from_picoseconds(window_ps) };
    let statistic = statistic_of(&statistic)?;
    let seeds = seeds_of(&seeds)?;
    let threads = threads_of(threads)?;
    let mut looks = Looks::new();
    let samples = python.detach(|| {
        let mut look = || looks.look(|_| Ok(()));
        surrogate_samples_observed(fabric, settings, &workload, &seeds, threads, &statistic, &mut look)
    });
    looks.end()?;
    let samples = samples.map_err(refused)?;
    let counts: Vec<_> = samples.iter().map(|of_trial| signed(of_trial.len() as u64)).collect();
    Ok((samples.concat().into_pyarray(python), counts.into_pyarray(python)))
}

/// Payload and headers, in bytes, of a full packet under a controller and these parameters of the network: all that a
/// surrogate takes from them.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[entry]
#[pyfunction]
#[pyo3(signature = (fabric, *, controller=Congestion::default(), network=Vec::new()))]
fn surrogate_framing(fabric: &PyFabric, controller: Congestion<'_>, network: Pairs) -> PyResult<(u64, u64)> {
    let framing = Setup::framing(&fabric.0, &controller, &network)?;
    Ok((framing.segment, framing.header))
}

fn seeds_of(seeds: &PyReadonlyArray1<'_, u64>) -> PyResult<Vec<Seed>> {
    Ok(seeds.as_slice()?.iter().copied().map(Seed::new).collect())
}

fn statistic_of(statistic: &StatisticTuple) -> PyResult<Statistic> {
    let (quantity, summary, sizes, starts) = statistic;
    let quantity = match quantity.as_str() {
        "fct" => Quantity::CompletionTime,
        "slowdown" => Quantity::Slowdown,
        "throughput" => Quantity::Throughput,
        _ => {
            return Err(refused(format!(
                "no quantity is called {quantity:?}: write fct, slowdown or throughput"
            )));
        }
    };
    Ok(Statistic {
        quantity,
        summary: summary.as_ref().map_or(Ok(Summary::Mean), summary_of)?,
        sizes: sizes.0..sizes.1,
        starts: Time::from_picoseconds(starts.0)..Time::from_picoseconds(starts.1),
    })
}

fn summary_of(argument: &SummaryArgument) -> PyResult<Summary> {
    let (name, number) = match argument {
        SummaryArgument::Quantile(p) => return Ok(Summary::Quantile(*p)),
        SummaryArgument::Named(name) => (name, None),
        SummaryArgument::With(name, number) => (name, Some(*number)),
    };
    match (name.as_str(), number) {
        ("count", None) => Ok(Summary::Count),
        ("sum", None) => Ok(Summary::Sum),
        ("above", Some(level)) => Ok(Summary::Above(level)),
        ("linear", Some(p)) => Ok(Summary::Linear(p)),
        _ => Err(refused(format!(
            "no summary is called {name:?}: write None for the mean, a quantile as in 0.99, \"count\", \"sum\", \
             (\"above\", level) or (\"linear\", 0.99)"
        ))),
    }
}

fn features_of(surrogate: &Surrogate) -> [f64; 5] {
    let Surrogate { features, steps, .. } = surrogate;
    let counts = [features.flows, features.bytes, features.largest].map(|count| count as f64);
    [counts[0], counts[1], counts[2], features.squares, *steps as f64]
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fluid, module)?)?;
    module.add_function(wrap_pyfunction!(surrogate_batch, module)?)?;
    module.add_function(wrap_pyfunction!(surrogate_samples, module)?)?;
    module.add_function(wrap_pyfunction!(surrogate_framing, module)?)
}
