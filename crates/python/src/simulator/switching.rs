//! Trials whose sizes are drawn from another density until a flow takes long.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{GraphOutcome, Series, SizeDistribution, SwitchingFlows, simulate_source};
use trialwise_units::{Duration, Seed};

use super::controllers::{Congestion, Setup};
use super::fabric::PyFabric;
use super::flow_lists::columns_of;
use super::result::SimulationResult;
use super::watch::Watch;
use super::workload::{density_of, workload_of};
use super::{Pairs, refused};

type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// Run one trial whose sizes are drawn from a density until the first flow takes longer than a threshold, and from the
/// workload from then on: its flows and what came of them, for each flow the logarithm of the likelihood ratio when it ended
/// (NaN where it did not), and when the switch was (ps; None for never).
///
/// Parameters
/// ----------
/// edges, heights
///     The density over quantiles, as for `generate_flows_weighted`.
/// threshold_ps
///     The completion time beyond which a flow is what the trial was run for.
/// flow_seed
///     Of the flows.
/// drawn_sizes
///     Other sizes at the arrivals of the workload, such as a distribution that was fitted to them; the load is then another one.
/// controller, parameters, network, mode, seed, progress
///     As for `simulate`.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
/// KeyboardInterrupt
///     Ctrl-C came.
/// Exception
///     What a congestion control in Python raised.
#[entry]
#[pyfunction]
#[pyo3(signature = (
    fabric, *, edges, heights, threshold_ps, flow_seed, drawn_sizes=None,
    controller, parameters=Vec::new(), network=Vec::new(), mode="clean", seed=0, progress=None, **workload
))]
#[expect(clippy::too_many_arguments, reason = "a trial as it is written")]
fn simulate_switching<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    edges: Vec<f64>,
    heights: Vec<f64>,
    threshold_ps: u64,
    flow_seed: u64,
    drawn_sizes: Option<&str>,
    controller: Congestion<'_>,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
    seed: u64,
    progress: Option<Py<PyAny>>,
    workload: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Bound<'py, PyDict>, SimulationResult, Numbers<'py>, Option<u64>)> {
    let fabric = &fabric.0;
    let workload = workload_of(workload)?;
    let drawn: Option<SizeDistribution> =
        drawn_sizes.map(|sizes| sizes.parse().map_err(refused)).transpose()?;
    let density = density_of(edges, &heights)?;
    let Setup { factory, settings, failure } =
        Setup::new(fabric, &controller, &parameters, &network, mode, seed)?;
    let generator = workload.prepare(fabric).map_err(refused)?;
    let generator = drawn.as_ref().map_or(generator, |sizes| generator.with_sizes(sizes));
    let threshold = Duration::from_picoseconds(threshold_ps);
    let mut source = SwitchingFlows::new(generator, Seed::new(flow_seed), &density, threshold);
    let mut watch = Watch::new(Series::new(Vec::new(), Vec::new()), progress, failure);
    let outcome =
        python.detach(|| simulate_source(fabric, &settings, factory.as_ref(), &mut source, &mut watch));
    watch.end()?;
    let outcome = outcome.map_err(refused)?;
    let switched = source.switched().map(|time| time.picoseconds());
    let mut log_ratios = vec![f64::NAN; outcome.flows.len()];
    for finish in source.into_finishes() {
        log_ratios[finish.flow.get() as usize] = finish.log_ratio;
    }
    let given: Vec<_> = outcome.flows.iter().map(|record| record.specification).collect();
    let flows = columns_of(python, &given)?;
    let found = GraphOutcome { outcome, jobs: Vec::new(), records: Vec::new() };
    Ok((flows, SimulationResult::new(python, found, None)?, log_ratios.into_pyarray(python), switched))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate_switching, module)?)
}
