//! One simulated trial.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trialwise_python_macros::entry;
use trialwise_simulator::{
    FlowId, FlowSpecification, GraphOutcome, PortId, Series, cautions, check, simulate_graph,
    simulate_on_threads,
};
use trialwise_units::Duration;

use super::controllers::{Congestion, Setup};
use super::fabric::PyFabric;
use super::flow_lists::flows_of;
use super::graphs::PyFlowGraph;
use super::result::{SimulationResult, SimulationSeries};
use super::watch::Watch;
use super::{Pairs, refused};
use crate::border::Whole;

/// Numbers that a series may hold.
const MAX_NUMBERS: usize = 1 << 26;

/// What is to be simulated.
enum Asked {
    List(Vec<FlowSpecification>),
    Graph(Py<PyFlowGraph>),
}

impl Asked {
    /// A graph, or columns of a list.
    fn of(flows: &Bound<'_, PyAny>) -> PyResult<Self> {
        match flows.cast::<PyFlowGraph>() {
            Ok(graph) => Ok(Self::Graph(graph.clone().unbind())),
            Err(_) => Ok(Self::List(flows_of(flows.cast::<PyDict>()?)?)),
        }
    }
}

/// Refuse what `simulate` would refuse, without running anything; flows may come later.
///
/// Returns
/// -------
/// list of str
///     What can be simulated and is hardly meant: marks before a packet waits, a buffer of which ports share nothing.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
/// Exception
///     What a congestion control in Python raised when it was made.
#[entry]
#[pyfunction]
#[pyo3(signature = (fabric, flows=None, *, controller, parameters=Vec::new(), network=Vec::new(), mode="clean"))]
fn check_simulation(
    fabric: &PyFabric,
    flows: Option<&Bound<'_, PyAny>>,
    controller: Congestion<'_>,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
) -> PyResult<Vec<String>> {
    let Setup { factory, settings, failure } =
        Setup::new(&fabric.0, &controller, &parameters, &network, mode, 0)?;
    let (flows, listed) = match flows.map(Asked::of).transpose()? {
        Some(Asked::List(flows)) => (flows, true),
        Some(Asked::Graph(graph)) => {
            graph.get().0.check(&fabric.0).map_err(refused)?;
            (graph.get().0.listed(), false)
        }
        None => (Vec::new(), false),
    };
    let checked = check(&fabric.0, &settings, factory.as_ref(), listed.then_some(&flows));
    if let Some(error) = failure.take() {
        return Err(error);
    }
    checked.map_err(refused)?;
    Ok(cautions(&fabric.0, &settings, factory.feedback(), &flows).iter().map(ToString::to_string).collect())
}

/// Run one trial until its last flow ends, the parameter `stop` of the network comes, or no flow can get on; other threads go
/// on meanwhile.
///
/// Parameters
/// ----------
/// fabric, flows
///     The topology, and columns as `generate_flows` gives them, in order of start, or a graph of flows that wait for others.
/// controller, parameters
///     A name of `simulation_controllers` and pairs such as `("gain", "0.0625")`, or a class (docs/reference/simulation.md), which
///     takes none.
/// network
///     Pairs such as `("kmin", "400kB")`.
/// mode
///     "clean": exact picoseconds; "compatible": nanosecond for nanosecond as the public HPCC simulator.
/// seed
///     Of marks and losses.
/// sample_interval_ps, ports, watched_flows
///     How often, and of which ports and flows (by their place in the list; none of a graph), `series` is kept.
/// most_looks
///     The series has so many looks at most, an even number: the interval doubles as often as it takes. As many as half a
///     gigabyte holds when it is None.
/// threads
///     On so many at most, which changes no number. Networks of fewer than 512 hosts, compatible mode, failures, series and
///     classes as controllers take one.
/// progress
///     Called some times a second with the simulated picoseconds, packets of data that flows have to send for the first time
///     yet, and flows that have not ended; what it raises ends the trial.
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
    fabric, flows, *, controller, parameters=Vec::new(), network=Vec::new(), mode="clean", seed=0,
    sample_interval_ps=None, most_looks=None, ports=Vec::new(), watched_flows=Vec::new(), threads=1, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "a trial as it is written")]
fn simulate(
    python: Python<'_>,
    fabric: &PyFabric,
    flows: &Bound<'_, PyAny>,
    controller: Congestion<'_>,
    parameters: Pairs,
    network: Pairs,
    mode: &str,
    seed: u64,
    sample_interval_ps: Option<u64>,
    most_looks: Option<Whole>,
    ports: Vec<u32>,
    watched_flows: Vec<u32>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<SimulationResult> {
    let fabric = &fabric.0;
    let asked = Asked::of(flows)?;
    let Setup { factory, mut settings, failure } =
        Setup::new(fabric, &controller, &parameters, &network, mode, seed)?;
    settings.sample_interval = sample_interval_ps.map(|interval| Duration::from_picoseconds(interval.max(1)));
    if let Some(port) = ports.iter().find(|port| **port as usize >= 2 * fabric.topology().links.len()) {
        return Err(refused(format!("there is no port {port}: link n has the ports 2n and 2n + 1")));
    }
    let known = if let Asked::List(flows) = &asked { flows.len() } else { 0 };
    if let Some(flow) = watched_flows.iter().find(|flow| **flow as usize >= known) {
        return Err(refused(format!("the list has no flow at place {flow}: it has {known} flows")));
    }
    let (columns, watched) = (ports.len(), watched_flows.len());
    let series = Series::new(
        ports.into_iter().map(PortId::new).collect(),
        watched_flows.into_iter().map(FlowId::new).collect(),
    );
    let most = (MAX_NUMBERS / (1 + 2 * columns + 3 * watched)).max(2);
    let series = series.at_most(most_looks.map_or(Ok(most), |looks| looks.within("most_looks", 2..=most))?);
    let mut watch = Watch::new(series, progress, failure);
    let threads = if matches!(controller, Congestion::Named(_)) { threads } else { 1 };
    let found = python.detach(|| match &asked {
        Asked::List(flows) => {
            simulate_on_threads(fabric, &settings, factory.as_ref(), flows, &mut watch, threads)
                .map(|outcome| GraphOutcome { outcome, jobs: Vec::new(), records: Vec::new() })
        }
        Asked::Graph(graph) => {
            simulate_graph(fabric, &settings, factory.as_ref(), &graph.get().0, &mut watch)
        }
    });
    let series = watch.end()?;
    let series = match settings.sample_interval {
        Some(_) => Some(SimulationSeries::new(python, series, columns, watched)?),
        None => None,
    };
    SimulationResult::new(python, found.map_err(refused)?, series)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_simulation, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
