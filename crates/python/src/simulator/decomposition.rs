//! Estimates of a trial from small networks.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{Estimate, Look, Sample, SimulationError, Whole, estimate_links, estimate_paths};

use super::controllers::{Congestion, Setup};
use super::fabric::PyFabric;
use super::flow_lists::flows_of;
use super::watch::Looks;
use super::{Pairs, refused, signed};

/// Places in the list, completion times, and the numbers of parts, of networks, and of hops.
type Estimated<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, (usize, usize, u64));

/// Estimate a trial by packets of parts of its network.
///
/// Parameters
/// ----------
/// part
///     "paths": the flows of sampled paths, each path with all flows that cross it; "links": all flows, link by link.
/// fabric, flows, controller, parameters, network, mode, seed
///     As for `simulate`; the seed is also that of the sample.
/// paths, expected
///     All paths if the list has no more than `paths`, else the share `paths / expected` of them.
/// distance
///     Links that are as near as this are simulated once; 0 for each by itself.
/// threads
///     So many networks at a time, which changes no number.
/// progress
///     Called without arguments some times a second; what it raises ends it.
///
/// Returns
/// -------
/// (flows, times, (parts, networks, hops))
///     Places of the estimated flows in the list; their completion times in picoseconds, -1 for one that did not end; how many paths or
///     links the list has, how many networks were simulated, and links that packets crossed in them.
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
    part, fabric, flows, *, controller, parameters=Vec::new(), network=Vec::new(), mode="clean", seed=0, paths=0, expected=0.0,
    distance=0.0, threads=1, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "a trial as it is written")]
fn estimate<'py>(
    python: Python<'py>,
    part: &str,
    fabric: &PyFabric,
    flows: &Bound<'_, PyDict>,
    controller: Congestion<'_>,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
    seed: u64,
    paths: usize,
    expected: f64,
    distance: f64,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Estimated<'py>> {
    let by = match part {
        "paths" => Part::Paths(Sample { paths: paths.max(1), expected }),
        "links" => Part::Links(distance),
        _ => return Err(refused(format!("a part is paths or links, not {part:?}"))),
    };
    let fabric = &fabric.0;
    let flows = flows_of(flows)?;
    let Setup { factory, settings, failure } =
        Setup::new(fabric, &controller, &parameters, &network, mode, seed)?;
    let threads = if matches!(controller, Congestion::Named(_)) { threads } else { 1 };
    let mut looks = Looks::new();
    let found = python.detach(|| {
        let told = |python: Python<'_>| match (failure.is_there(), &progress) {
            (false, Some(progress)) => progress.call0(python).map(|_| ()),
            _ => Ok(()),
        };
        let whole = Whole { fabric, settings: &settings, factory: factory.as_ref(), flows: &flows, threads };
        by.estimate(&whole, &mut || looks.look(told))
    });
    if let Some(error) = failure.take() {
        return Err(error);
    }
    looks.end()?;
    let Estimate { flows, times, of, networks, hops } = found.map_err(refused)?;
    let places: Vec<_> = flows.into_iter().map(|place| signed(place as u64)).collect();
    let times: Vec<_> =
        times.into_iter().map(|time| time.map_or(-1, |time| signed(time.picoseconds()))).collect();
    Ok((places.into_pyarray(python), times.into_pyarray(python), (of, networks, hops)))
}

/// What the small networks are of.
enum Part {
    Paths(Sample),
    Links(f64),
}

impl Part {
    fn estimate(self, whole: &Whole<'_>, look: Look<'_>) -> Result<Estimate, SimulationError> {
        match self {
            Self::Paths(sample) => estimate_paths(whole, sample, look),
            Self::Links(distance) => estimate_links(whole, distance, look),
        }
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(estimate, module)?)
}
