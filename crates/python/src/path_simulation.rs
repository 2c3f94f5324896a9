//! `simulate_path`: flows over an emulated path without real packets.

use std::fs::read_to_string;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::create_exception;
use pyo3::exceptions::{PyInterruptedError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trialwise_link::log::Columns;
use trialwise_protocol::load::Load;
use trialwise_protocol::media::{Frames, Media};
use trialwise_protocol::report::Ending;
use trialwise_protocol::scheme::{IpVersion, Marking, Scheme};
use trialwise_python_macros::entry;
use trialwise_simulator::path::{Direction, PathError, PathFlow, PathOutcome, SimulatedPath};
use trialwise_units::{Duration, Seed, Time};

use crate::border::simulated;
use crate::link::{FlowDelays, PacketColumns, further_away, link_of};
use crate::python_controller::{Failure, PythonFactory};

type Groups = Vec<Vec<(String, String)>>;
/// Congestion control (a name, or a class), load, direction, start and stop in seconds.
type Flow<'py> = (Bound<'py, PyAny>, String, String, f64, f64);

/// Instants between two looks for Ctrl-C and at whether to go on.
const LOOK_EVERY: u64 = 1 << 12;

create_exception!(
    trialwise._core,
    PathSimulationError,
    PyValueError,
    "A path, a load or a congestion control that cannot be; the message says what to write."
);

/// What flows over a simulated path came to.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct PathSimulation {
    /// What became of each packet; `flow` is the number of its flow, from 1.
    packets: Py<PacketColumns>,
    /// The report of each flow's sender, in the format of the flow programs, with nanoseconds of the simulation.
    reports: Vec<Py<PyBytes>>,
    /// Whether each flow's load was done before the flow was stopped.
    completed: Vec<bool>,
    /// When the last flow had ended, seconds.
    end: f64,
}

/// Run flows of the UDP transport over the links of an emulated path, without real packets: the same code, in simulated time.
/// The same arguments give the same bits on every machine.
///
/// Parameters
/// ----------
/// uplink, downlink
///     The links, as of `Path`.
/// flows
///     Of each flow its congestion control (`newreno`, `cubic`, `ledbat`, `copa`, `fixed_rate:12Mbit/s`, or a class), its load
///     (`bulk`, `rate:5Mbit/s`, …), the direction of its data ("uplink", "downlink"), and when it starts and stops (seconds).
/// directory
///     Where files that the links name are looked up; those of loads are named as they are.
/// seed
///     Of everything random in the links.
/// mtu
///     The largest IP packet, bytes.
/// interval
///     Seconds between samples of each connection in the reports.
/// cancelled
///     Asked now and then, without arguments, whether to break off.
/// flow_delays
///     Of flows that are further away: the place of each, from 0, and its seconds, which are added each way.
///
/// Raises
/// ------
/// PathSimulationError
///     A link, a load or a congestion control that cannot be, or a flow that stops before it starts; the message says what to write.
/// InterruptedError
///     `cancelled` said so.
/// Exception
///     What a congestion control in Python raised.
#[entry]
#[pyfunction]
#[pyo3(signature = (uplink, downlink, flows, *, directory, seed, mtu=1500, interval=0.01, cancelled=None, flow_delays=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "one keyword for each thing that can be said about a path")]
fn simulate_path(
    python: Python<'_>,
    uplink: Groups,
    downlink: Groups,
    flows: Vec<Flow<'_>>,
    directory: PathBuf,
    seed: u64,
    mtu: u16,
    interval: f64,
    cancelled: Option<Py<PyAny>>,
    flow_delays: FlowDelays,
) -> PyResult<PathSimulation> {
    let failure = Arc::new(Failure::default());
    let flows: Vec<PathFlow> =
        flows.into_iter().map(|flow| flow_of(flow, mtu, &failure)).collect::<PyResult<_>>()?;
    let links =
        || further_away([link_of(&uplink, &directory)?, link_of(&downlink, &directory)?], &flow_delays);
    let [forward, backward] = links().map_err(|error| refused(&error.value(python)))?;
    let path = SimulatedPath {
        forward,
        backward,
        seed: Seed::new(seed),
        interval: Some(simulated("interval", interval)?).filter(|interval| *interval > Duration::ZERO),
    };
    let mut instants = 0_u64;
    let mut raised = None;
    let outcome = python.detach(|| {
        path.simulate(&flows, &mut |_| {
            instants += 1;
            if instants.is_multiple_of(LOOK_EVERY) {
                raised = Python::attach(|python| look(python, cancelled.as_ref())).err();
            }
            if raised.is_some() || failure.is_there() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    });
    if let Some(error) = failure.take().or(raised) {
        return Err(error);
    }
    PathSimulation::new(python, outcome.map_err(|error: PathError| refused(&error))?)
}

/// Raises where Ctrl-C was pressed, or the caller wants no more.
fn look(python: Python<'_>, cancelled: Option<&Py<PyAny>>) -> PyResult<()> {
    python.check_signals()?;
    match cancelled {
        Some(cancelled) if cancelled.bind(python).call0()?.is_truthy()? => {
            Err(PyInterruptedError::new_err("the simulation was broken off"))
        }
        _ => Ok(()),
    }
}

fn flow_of(
    (congestion, load, direction, start, stop): Flow<'_>,
    mtu: u16,
    failure: &Arc<Failure>,
) -> PyResult<PathFlow> {
    let name = congestion.extract::<String>();
    let scheme = match &name {
        Ok(name) => {
            Scheme::named(name, mtu, IpVersion::Four, Marking::Declared).map_err(|error| refused(&error))?
        }
        Err(_) => {
            let factory = PythonFactory::new(&congestion, Arc::clone(failure))?;
            let manner = factory.manner(congestion.py())?;
            Scheme::new(Arc::new(factory), mtu, IpVersion::Four, manner).map_err(|error| refused(&error))?
        }
    };
    if stop < start {
        let said = format!("a flow that starts at {start} s cannot stop at {stop} s, before that");
        return Err(PathSimulationError::new_err(said));
    }
    let read = |path: &str| read_to_string(path).map_err(|error| error.to_string());
    Ok(PathFlow {
        scheme,
        congestion: name.unwrap_or_else(|_| "python".to_owned()),
        load: Load::read(&load, &read).map_err(|error| refused(&error))?,
        load_text: load,
        direction: direction_named(&direction)?,
        start: Time::ZERO + simulated("the start of a flow", start)?,
        stop: Time::ZERO + simulated("the stop of a flow", stop)?,
    })
}

/// Reads a load whose file, where it names one, has this content; the range of rates of one that adapts, bit/s.
#[entry]
#[pyfunction]
#[pyo3(signature = (load, content=None))]
pub(crate) fn check_load(load: &str, content: Option<&str>) -> PyResult<Option<(u64, u64)>> {
    let read = |_: &str| content.map(str::to_owned).ok_or_else(|| "it is not there".to_owned());
    let load = Load::read(load, &read).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(match load {
        Load::Media(Media { frames: Frames::Encoded { slowest, fastest, .. }, .. }) => {
            Some((slowest.bits_per_second(), fastest.bits_per_second()))
        }
        _ => None,
    })
}

fn direction_named(name: &str) -> PyResult<Direction> {
    match name {
        "uplink" => Ok(Direction::Forward),
        "downlink" => Ok(Direction::Backward),
        _ => Err(PyValueError::new_err(format!(
            "there is no direction {name:?}; choose \"uplink\" or \"downlink\""
        ))),
    }
}

fn refused(error: &impl ToString) -> PyErr {
    PathSimulationError::new_err(error.to_string())
}

impl PathSimulation {
    fn new(python: Python<'_>, outcome: PathOutcome) -> PyResult<Self> {
        let packets = outcome.packets;
        let columns = Columns {
            made: 0,
            lateness: vec![0; packets.time.len()],
            time: packets.time,
            delay: packets.delay,
            flow: packets.flow,
            size: packets.size,
            event: packets.event,
            direction: packets.direction,
            ecn: packets.ecn,
            element: packets.element,
        };
        let flows = &outcome.flows;
        Ok(Self {
            packets: Py::new(python, PacketColumns::new(python, columns))?,
            reports: flows.iter().map(|flow| PyBytes::new(python, &flow.report).unbind()).collect(),
            completed: flows.iter().map(|flow| flow.ended == Ending::Complete).collect(),
            end: outcome.end.as_seconds(),
        })
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PathSimulation>()?;
    module.add("PathSimulationError", module.py().get_type::<PathSimulationError>())?;
    module.add_function(wrap_pyfunction!(check_load, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_path, module)?)
}
