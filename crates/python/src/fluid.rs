//! What Python sees of the fluid surrogate, and of flow lists for fewer trials.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_congestion::Factory;
use trialwise_simulator::{
    Configuration, Density, Fabric, Framing, Point, Quantity, Random, Statistic, Summary, Surrogate,
    SwitchingFlows, simulate_source, surrogate_batch as run_batch,
};
use trialwise_units::{Duration, Seed, Time};

use crate::simulator::{
    Pairs, PyFabric, columns_of, configuration_of, flows_of, refused, signed, workload_of,
};

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fluid, module)?)?;
    module.add_function(wrap_pyfunction!(generate_flows_from, module)?)?;
    module.add_function(wrap_pyfunction!(generate_flows_weighted, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_switching, module)?)?;
    module.add_function(wrap_pyfunction!(surrogate_batch, module)?)
}

type Numbers<'py> = Bound<'py, PyArray1<f64>>;
type Table<'py> = Bound<'py, PyArray2<f64>>;
/// Quantity, quantile (None for the mean), payload from and below, start from and before (picoseconds).
type StatisticTuple = (String, Option<f64>, (u64, u64), (u64, u64));

fn framing_of(fabric: &Fabric, controller: &str, network: &Pairs) -> PyResult<Framing> {
    let Configuration { algorithm, settings } =
        configuration_of(fabric, controller, &Vec::new(), network, "clean", 0)?;
    Ok(Framing::new(&settings, algorithm.feedback()))
}

fn density_of(edges: Vec<f64>, heights: &[f64]) -> PyResult<Density> {
    Density::new(edges, heights).map_err(refused)
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
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[pyfunction]
#[pyo3(signature = (fabric, flows, *, controller="dctcp", network=Vec::new()))]
fn fluid<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    flows: &Bound<'_, PyDict>,
    controller: &str,
    network: Pairs,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let framing = framing_of(&fabric.0, controller, &network)?;
    let flows = flows_of(flows)?;
    let times = python.detach(|| trialwise_simulator::fluid(&fabric.0, framing, &flows)).map_err(refused)?;
    let picoseconds: Vec<_> = times.iter().map(|time| signed(time.picoseconds())).collect();
    Ok(picoseconds.into_pyarray(python))
}

/// The fluid surrogates of the trials that `seeds` make: a table with a row for each and a column for each statistic (NaN
/// where a trial has no such flow), and a table of flows, payload bytes, bytes of the largest flow, sum of squared bytes.
///
/// Parameters
/// ----------
/// seeds
///     As for `generate_flows`, which gives the same lists.
/// statistics
///     Each a quantity (fct in seconds, slowdown, throughput in bit/s), the quantile by nearest rank or None for the mean,
///     the payload of the flows meant (from, below) in bytes, their start (from, before) in picoseconds.
/// sizes, arrivals, pattern, load, load_of, duration_ps, size_table
///     The workload, as for `generate_flows`.
/// threads
///     None for one on each processor; the result is the same.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[pyfunction]
#[pyo3(signature = (
    fabric, seeds, *, statistics, sizes, arrivals, pattern, load, load_of, duration_ps, size_table=None,
    controller="dctcp", network=Vec::new(), threads=None
))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn surrogate_batch<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    seeds: PyReadonlyArray1<'py, u64>,
    statistics: Vec<StatisticTuple>,
    sizes: &str,
    arrivals: &str,
    pattern: &str,
    load: f64,
    load_of: &str,
    duration_ps: u64,
    size_table: Option<&str>,
    controller: &str,
    network: Pairs,
    threads: Option<usize>,
) -> PyResult<(Table<'py>, Table<'py>)> {
    let fabric = &fabric.0;
    let workload = workload_of(sizes, size_table, arrivals, pattern, load, load_of, duration_ps)?;
    let framing = framing_of(fabric, controller, &network)?;
    let statistics = statistics.iter().map(statistic_of).collect::<PyResult<Vec<_>>>()?;
    let seeds: Vec<_> = seeds.as_slice()?.iter().copied().map(Seed::new).collect();
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let batch = python
        .detach(|| run_batch(fabric, framing, &workload, &seeds, threads, &statistics))
        .map_err(refused)?;
    let value = |value: &Option<f64>| value.unwrap_or(f64::NAN);
    let values: Vec<_> = batch.iter().flat_map(|surrogate| surrogate.values.iter().map(value)).collect();
    let features: Vec<_> = batch.iter().flat_map(features_of).collect();
    let rows = batch.len();
    Ok((
        values.into_pyarray(python).reshape([rows, statistics.len()])?,
        features.into_pyarray(python).reshape([rows, 4])?,
    ))
}

fn statistic_of(statistic: &StatisticTuple) -> PyResult<Statistic> {
    let (quantity, quantile, sizes, starts) = statistic;
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
        summary: quantile.map_or(Summary::Mean, Summary::Quantile),
        sizes: sizes.0..sizes.1,
        starts: Time::from_picoseconds(starts.0)..Time::from_picoseconds(starts.1),
    })
}

fn features_of(surrogate: &Surrogate) -> [f64; 4] {
    let features = surrogate.features;
    [features.flows as f64, features.bytes as f64, features.largest as f64, features.squares]
}

/// The flow list that numbers in [0, 1) decide, such as a scrambled Sobol point: the first how many arrivals there are, then
/// for each the sizes of its flows and its time. What is missing, and the pairs, come from the seed.
///
/// Raises
/// ------
/// ValueError
///     The arrivals are not poisson; what `generate_flows` refuses.
#[pyfunction]
#[pyo3(signature = (
    fabric, coordinates, *, sizes, arrivals, pattern, load, load_of, duration_ps, seed, size_table=None
))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn generate_flows_from<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    coordinates: PyReadonlyArray1<'py, f64>,
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
    let seed = Seed::new(seed);
    let mut point = Point::new(coordinates.as_slice()?, Random::new(seed.named("coordinates")));
    let mut flows = Vec::new();
    python
        .detach(|| workload.prepare(&fabric.0)?.fill_from(&mut point, seed, &mut flows))
        .map_err(refused)?;
    columns_of(python, &flows)
}

/// The flow list of a seed with sizes at quantiles that a density draws: flows, and for each the logarithm of how much
/// likelier its size is under the workload than as it was drawn.
///
/// Parameters
/// ----------
/// edges, heights
///     The density over quantiles: edges that rise from 0 to 1, and one positive height between each two.
///
/// Raises
/// ------
/// ValueError
///     The density is none; what `generate_flows` refuses.
#[pyfunction]
#[pyo3(signature = (
    fabric, *, edges, heights, sizes, arrivals, pattern, load, load_of, duration_ps, seed, size_table=None
))]
#[expect(clippy::too_many_arguments, reason = "a workload as it is written")]
fn generate_flows_weighted<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    edges: Vec<f64>,
    heights: Vec<f64>,
    sizes: &str,
    arrivals: &str,
    pattern: &str,
    load: f64,
    load_of: &str,
    duration_ps: u64,
    seed: u64,
    size_table: Option<&str>,
) -> PyResult<(Bound<'py, PyDict>, Numbers<'py>)> {
    let workload = workload_of(sizes, size_table, arrivals, pattern, load, load_of, duration_ps)?;
    let density = density_of(edges, &heights)?;
    let generator = workload.prepare(&fabric.0).map_err(refused)?;
    let (mut flows, mut log_ratios) = (Vec::new(), Vec::new());
    python.detach(|| generator.fill_weighted(Seed::new(seed), &density, &mut flows, &mut log_ratios));
    Ok((columns_of(python, &flows)?, log_ratios.into_pyarray(python)))
}

/// Run one trial whose sizes are drawn from a density until the first flow takes longer than a threshold, and from the
/// workload from then on: the places of the flows in order of end, their completion times (ps), the logarithm of the
/// likelihood ratio when each ended, and when the switch was (ps; None for never).
///
/// Parameters
/// ----------
/// edges, heights
///     The density over quantiles, as for `generate_flows_weighted`.
/// threshold_ps
///     The completion time beyond which a flow is what the trial was run for.
/// controller, parameters, network, mode
///     As for `simulate`; the seed is that of the flows, and of marks and losses.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[pyfunction]
#[pyo3(signature = (
    fabric, *, edges, heights, threshold_ps, sizes, arrivals, pattern, load, load_of, duration_ps, seed,
    size_table=None, controller, parameters=Vec::new(), network=Vec::new(), mode="clean"
))]
#[expect(clippy::too_many_arguments, clippy::type_complexity, reason = "a trial as it is written")]
fn simulate_switching<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    edges: Vec<f64>,
    heights: Vec<f64>,
    threshold_ps: u64,
    sizes: &str,
    arrivals: &str,
    pattern: &str,
    load: f64,
    load_of: &str,
    duration_ps: u64,
    seed: u64,
    size_table: Option<&str>,
    controller: &str,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Numbers<'py>, Option<u64>)> {
    let fabric = &fabric.0;
    let workload = workload_of(sizes, size_table, arrivals, pattern, load, load_of, duration_ps)?;
    let density = density_of(edges, &heights)?;
    let Configuration { algorithm, settings } =
        configuration_of(fabric, controller, &parameters, &network, mode, seed)?;
    let generator = workload.prepare(fabric).map_err(refused)?;
    let threshold = Duration::from_picoseconds(threshold_ps);
    let mut source = SwitchingFlows::new(generator, Seed::new(seed), &density, threshold);
    python
        .detach(|| simulate_source(fabric, &settings, &algorithm, &mut source, &mut ()))
        .map_err(refused)?;
    let switched = source.switched().map(|time| time.picoseconds());
    let finishes = source.into_finishes();
    let places: Vec<_> = finishes.iter().map(|finish| i64::from(finish.flow.get())).collect();
    let times: Vec<_> = finishes.iter().map(|finish| signed(finish.completion.picoseconds())).collect();
    let log_ratios: Vec<_> = finishes.iter().map(|finish| finish.log_ratio).collect();
    Ok((places.into_pyarray(python), times.into_pyarray(python), log_ratios.into_pyarray(python), switched))
}
