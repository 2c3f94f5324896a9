//! Flow lists that a workload draws.

use std::collections::HashMap;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{Density, Fullest, Load, Point, Random, SizeDistribution, SizeTable, Workload};
use trialwise_units::{Duration, Seed};

use super::fabric::PyFabric;
use super::flow_lists::columns_of;
use super::refused;

type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// The keyword arguments of every function that draws flows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Arguments {
    sizes: String,
    arrivals: String,
    pattern: String,
    load: f64,
    load_of: String,
    duration_ps: u64,
    #[pyo3(default)]
    size_table: Option<String>,
}

const NAMES: [&str; 7] = ["sizes", "arrivals", "pattern", "load", "load_of", "duration_ps", "size_table"];

impl Arguments {
    /// TypeError for an argument that is missing, unknown, or of another type.
    fn of(given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let wrong =
            |what: String| PyTypeError::new_err(format!("{what}: a workload has {}", NAMES.join(", ")));
        let given = given.ok_or_else(|| wrong("no workload".to_owned()))?;
        for name in given.keys().iter().map(|key| key.extract::<String>()) {
            let name = name?;
            if !NAMES.contains(&name.as_str()) {
                return Err(wrong(format!("unexpected {name}")));
            }
        }
        for name in &NAMES[..6] {
            if !given.contains(name)? {
                return Err(wrong(format!("{name} is missing")));
            }
        }
        given.extract()
    }
}

pub(super) fn workload_of(given: Option<&Bound<'_, PyDict>>) -> PyResult<Workload> {
    let Arguments { sizes, arrivals, pattern, load, load_of, duration_ps, size_table } =
        Arguments::of(given)?;
    let sizes = match size_table {
        Some(table) => table_of(&sizes, &table)?,
        None => sizes.parse().map_err(refused)?,
    };
    let load = match load_of.as_str() {
        "host" => Load::Host(load),
        "bottleneck" => Load::Bottleneck(load),
        _ => return Err(refused(format!("a load is of host or bottleneck, not of {load_of:?}"))),
    };
    Ok(Workload {
        sizes,
        arrivals: arrivals.parse().map_err(refused)?,
        pattern: pattern.parse().map_err(refused)?,
        load,
        duration: Duration::from_picoseconds(duration_ps),
    })
}

/// The sizes of a table, which `name` is called.
fn table_of(name: &str, text: &str) -> PyResult<SizeDistribution> {
    let table = SizeTable::parse(text).map_err(|error| refused(format!("{name}: {error}")))?;
    Ok(SizeDistribution::Table(table))
}

pub(super) fn density_of(edges: Vec<f64>, heights: &[f64]) -> PyResult<Density> {
    Density::new(edges, heights).map_err(refused)
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
#[entry]
#[pyfunction]
#[pyo3(signature = (fabric, *, seed, **workload))]
fn generate_flows<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    seed: u64,
    workload: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let workload = workload_of(workload)?;
    let flows = python.detach(|| workload.generate(&fabric.0, Seed::new(seed))).map_err(refused)?;
    columns_of(python, &flows)
}

/// How many flows such a list has in the mean; refuses what `generate_flows` refuses.
#[entry]
#[pyfunction]
#[pyo3(signature = (fabric, **workload))]
fn expected_flows(fabric: &PyFabric, workload: Option<&Bound<'_, PyDict>>) -> PyResult<f64> {
    let workload = workload_of(workload)?;
    workload.expected_flows(&fabric.0).map_err(refused)
}

/// The link that flows fill most in the mean, from which of its nodes to which, and the payload asked of it as a part of its
/// capacity; refuses what `generate_flows` refuses.
#[entry]
#[pyfunction]
#[pyo3(signature = (fabric, **workload))]
fn fullest_link(fabric: &PyFabric, workload: Option<&Bound<'_, PyDict>>) -> PyResult<(u32, u32, f64)> {
    let Fullest { link, load } = workload_of(workload)?.fullest(&fabric.0).map_err(refused)?;
    Ok((link.0.get(), link.1.get(), load))
}

/// The flow list that numbers in [0, 1) decide, such as a scrambled Sobol point: the first how many arrivals there are, then
/// for each the sizes of its flows and its time. What is missing, and the pairs, come from the seed.
///
/// Raises
/// ------
/// ValueError
///     The arrivals are not poisson; what `generate_flows` refuses.
#[entry]
#[pyfunction]
#[pyo3(signature = (
    fabric, coordinates, *, seed, **workload
))]
fn generate_flows_from<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    coordinates: PyReadonlyArray1<'py, f64>,
    seed: u64,
    workload: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let workload = workload_of(workload)?;
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
#[entry]
#[pyfunction]
#[pyo3(signature = (
    fabric, *, edges, heights, seed, **workload
))]
fn generate_flows_weighted<'py>(
    python: Python<'py>,
    fabric: &PyFabric,
    edges: Vec<f64>,
    heights: Vec<f64>,
    seed: u64,
    workload: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyArray1<f64>>)> {
    let workload = workload_of(workload)?;
    let density = density_of(edges, &heights)?;
    let generator = workload.prepare(&fabric.0).map_err(refused)?;
    let (mut flows, mut log_ratios) = (Vec::new(), Vec::new());
    python.detach(|| generator.fill_weighted(Seed::new(seed), &density, &mut flows, &mut log_ratios));
    Ok((columns_of(python, &flows)?, log_ratios.into_pyarray(python)))
}

/// The distributions of flow sizes that have names: knots of size (bytes) and the part of flows up to it, linear between them.
#[entry]
#[pyfunction]
fn size_tables() -> PyResult<HashMap<&'static str, Vec<(f64, f64)>>> {
    let shipped = SizeTable::shipped().map_err(refused)?;
    Ok(shipped.into_iter().map(|(name, table)| (name, table.knots().to_vec())).collect())
}

/// The distribution function of a table of sizes: bytes in ascending order, and the percentage of flows up to each.
///
/// Raises
/// ------
/// ValueError
///     The sizes are no table but have a formula, or cannot be read.
#[entry]
#[pyfunction]
#[pyo3(signature = (sizes, size_table=None))]
fn size_knots<'py>(
    python: Python<'py>,
    sizes: &str,
    size_table: Option<&str>,
) -> PyResult<(Numbers<'py>, Numbers<'py>)> {
    let distribution = match size_table {
        Some(table) => table_of(sizes, table)?,
        None => sizes.parse().map_err(refused)?,
    };
    let SizeDistribution::Table(table) = distribution else {
        return Err(refused(format!(
            "{sizes} is no table of sizes, which a distribution could be fitted to"
        )));
    };
    let (bytes, shares): (Vec<_>, Vec<_>) =
        table.knots().iter().map(|(size, share)| (*size, 100.0 * share)).unzip();
    Ok((bytes.into_pyarray(python), shares.into_pyarray(python)))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(size_tables, module)?)?;
    module.add_function(wrap_pyfunction!(size_knots, module)?)?;
    module.add_function(wrap_pyfunction!(expected_flows, module)?)?;
    module.add_function(wrap_pyfunction!(fullest_link, module)?)?;
    module.add_function(wrap_pyfunction!(generate_flows, module)?)?;
    module.add_function(wrap_pyfunction!(generate_flows_from, module)?)?;
    module.add_function(wrap_pyfunction!(generate_flows_weighted, module)?)
}
