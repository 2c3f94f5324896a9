//! What Python sees of `trialwise-link`, and the reader of `trialwise-emulator`'s packet logs.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trialwise_link::log::{Columns, read_columns};
use trialwise_link::{ByteConvention, EcnGate, LinkSpec, Packet, RateSpec, Trace};
use trialwise_python_macros::entry;
use trialwise_units::{Bytes, Duration, Seed, Time};

use crate::border::simulated;

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LinkDescription>()?;
    module.add_class::<PacketColumns>()?;
    module.add_function(wrap_pyfunction!(check_link, module)?)?;
    module.add_function(wrap_pyfunction!(check_recording, module)?)?;
    module.add_function(wrap_pyfunction!(cut_trace, module)?)?;
    module.add_function(wrap_pyfunction!(format_trace, module)?)?;
    module.add_function(wrap_pyfunction!(make_trace, module)?)?;
    module.add_function(wrap_pyfunction!(parse_trace, module)?)?;
    module.add_function(wrap_pyfunction!(read_packet_log, module)?)?;
    module.add_function(wrap_pyfunction!(scale_trace, module)?)?;
    module.add_function(wrap_pyfunction!(trace_from_departures, module)?)?;
    module.add_function(wrap_pyfunction!(trace_mean_rate, module)?)
}

type Milliseconds<'py> = Bound<'py, PyArray1<u64>>;

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn trace_of(milliseconds: &PyReadonlyArray1<'_, u64>) -> PyResult<Trace> {
    Trace::new(milliseconds.as_slice()?.to_vec()).map_err(refused)
}

fn milliseconds<'py>(python: Python<'py>, trace: &Trace) -> Milliseconds<'py> {
    trace.milliseconds().to_vec().into_pyarray(python)
}

fn convention(mahimahi: bool) -> ByteConvention {
    if mahimahi { ByteConvention::Mahimahi } else { ByteConvention::Documented }
}

/// The trace of a rate as written in a path, such as `poisson:rate=3Mbit/s`, over `length`, such as `60s` (its own
/// unless given): milliseconds.
///
/// Raises
/// ------
/// ValueError
///     What is wrong with the rate or the length.
#[entry]
#[pyfunction]
#[pyo3(signature = (rate, *, length, seed))]
fn make_trace<'py>(
    python: Python<'py>,
    rate: &str,
    length: Option<&str>,
    seed: u64,
) -> PyResult<Milliseconds<'py>> {
    let rate: RateSpec = rate.parse().map_err(refused)?;
    let length = length.map(str::parse).transpose().map_err(refused)?;
    let trace = python.detach(|| rate.trace(length, Seed::new(seed))).map_err(refused)?;
    Ok(milliseconds(python, &trace))
}

/// The milliseconds that stand in the text of a trace file.
///
/// Raises
/// ------
/// ValueError
///     Which line is wrong, and what to write.
#[entry]
#[pyfunction]
fn parse_trace<'py>(python: Python<'py>, text: &str) -> PyResult<Milliseconds<'py>> {
    let trace: Trace = python.detach(|| text.parse()).map_err(refused)?;
    Ok(milliseconds(python, &trace))
}

/// Check the text of a recording of a path.
///
/// Raises
/// ------
/// ValueError
///     Which line is wrong, and what to write.
#[entry]
#[pyfunction]
fn check_recording(python: Python<'_>, text: &str) -> PyResult<()> {
    python.detach(|| trialwise_link::check_recording(text)).map_err(refused)
}

/// The text of a trace file with these milliseconds.
///
/// Raises
/// ------
/// ValueError
///     They are no trace.
#[entry]
#[pyfunction]
fn format_trace(trace: PyReadonlyArray1<'_, u64>) -> PyResult<String> {
    Ok(trace_of(&trace)?.to_string())
}

/// The mean rate of the repeated trace in bit/s, with opportunities of 1500 bytes, or of mahimahi's 1504.
#[entry]
#[pyfunction]
#[pyo3(signature = (trace, *, mahimahi))]
fn trace_mean_rate(trace: PyReadonlyArray1<'_, u64>, mahimahi: bool) -> PyResult<u64> {
    Ok(trace_of(&trace)?.mean_rate(convention(mahimahi)).bits_per_second())
}

/// The trace with `factor` times as many opportunities in the same period.
///
/// Raises
/// ------
/// ValueError
///     None would be left, or too many.
#[entry]
#[pyfunction]
fn scale_trace<'py>(
    python: Python<'py>,
    trace: PyReadonlyArray1<'py, u64>,
    factor: f64,
) -> PyResult<Milliseconds<'py>> {
    Ok(milliseconds(python, &trace_of(&trace)?.scaled(factor).map_err(refused)?))
}

/// The opportunities after `start` and up to `end` (milliseconds), counted from `start`.
///
/// Raises
/// ------
/// ValueError
///     There is none.
#[entry]
#[pyfunction]
fn cut_trace<'py>(
    python: Python<'py>,
    trace: PyReadonlyArray1<'py, u64>,
    start: u64,
    end: u64,
) -> PyResult<Milliseconds<'py>> {
    Ok(milliseconds(python, &trace_of(&trace)?.cut(start, end).map_err(refused)?))
}

/// The trace that a saturating sender saw: one opportunity for each full packet's worth of bytes that departed.
///
/// `times` are nanoseconds in order, `sizes` bytes of IP packets.
///
/// Raises
/// ------
/// ValueError
///     Times out of order, or too few bytes for one opportunity.
#[entry]
#[pyfunction]
#[pyo3(signature = (times, sizes, *, mahimahi))]
fn trace_from_departures<'py>(
    python: Python<'py>,
    times: PyReadonlyArray1<'py, u64>,
    sizes: PyReadonlyArray1<'py, u64>,
    mahimahi: bool,
) -> PyResult<Milliseconds<'py>> {
    let times = times.as_slice()?.iter().map(|time| Time::from_nanoseconds(*time));
    let departures = times.zip(sizes.as_slice()?.iter().map(|size| Bytes::new(*size)));
    Ok(milliseconds(python, &Trace::from_departures(departures, convention(mahimahi)).map_err(refused)?))
}

/// What can be said of a link before any packet crosses it.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct LinkDescription {
    /// Seconds that its delays take together, without jitter.
    base_delay: f64,
    /// The smallest mean rate on the way in bit/s, or None where nothing limits it; outages are not regarded.
    capacity: Option<u64>,
    /// The names of its elements, in the order in which a packet meets them.
    elements: Vec<String>,
    /// Whether it changes payloads so that no checksum tells.
    changes_payloads: bool,
    /// What it does to packets with ECT(1): "bleach", "drop-ect1", or None where they keep it or are marked.
    ecn: Option<&'static str>,
}

/// A full packet, for links that are built to see whether they can be.
#[derive(Clone)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

/// Check a link, and describe it.
///
/// Parameters
/// ----------
/// groups
///     Lists of pairs such as `("rate", "12Mbit/s")`; a packet meets the groups in their order, and in each its elements
///     in that of `LinkSpec::from_pairs`.
/// directory
///     From where relative files are read.
/// round_trip
///     Seconds of the round trip without queues, for limits in BDPs; None does not check what needs it.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, and what to write.
#[entry]
#[pyfunction]
#[pyo3(signature = (groups, directory, round_trip=None))]
fn check_link(
    python: Python<'_>,
    groups: Vec<Vec<(String, String)>>,
    directory: PathBuf,
    round_trip: Option<f64>,
) -> PyResult<LinkDescription> {
    let link = python.detach(|| link_of(&groups, &directory))?;
    if let Some(seconds) = round_trip {
        let round_trip = Some(simulated("round_trip", seconds)?);
        python.detach(|| link.build::<Full>(Time::ZERO, Seed::new(0), round_trip)).map_err(refused)?;
    }
    Ok(LinkDescription {
        base_delay: link.base_delay().picoseconds() as f64 / 1e12,
        capacity: link.capacity().map(|rate| rate.bits_per_second()),
        elements: link.names(),
        changes_payloads: link.changes_payloads(),
        ecn: link.ecn_gate().map(|gate| match gate {
            EcnGate::Bleach => "bleach",
            EcnGate::DropCapable1 => "drop-ect1",
        }),
    })
}

/// The link of these groups; its files are read from `directory`.
pub(crate) fn link_of(groups: &[Vec<(String, String)>], directory: &Path) -> PyResult<LinkSpec> {
    let read = |path: &str| read_to_string(directory.join(path)).map_err(|error| error.to_string());
    let mut elements = Vec::new();
    for group in groups {
        let pairs = group.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        elements.extend(LinkSpec::from_pairs(pairs, &read).map_err(refused)?.elements);
    }
    Ok(LinkSpec { elements })
}

/// The numbers of flows, each with the seconds by which it is further away, each way.
pub(crate) type FlowDelays = Vec<(u16, f64)>;

/// Both ways of a path on which some flows are further away than others: their packets meet the delay outside of all else.
pub(crate) fn further_away(
    [forward, backward]: [LinkSpec; 2],
    delays: &FlowDelays,
) -> PyResult<[LinkSpec; 2]> {
    let delays: Vec<(u16, Duration)> = delays
        .iter()
        .map(|(flow, seconds)| Ok((*flow, simulated("flow_delays", *seconds)?)))
        .collect::<PyResult<_>>()?;
    Ok([forward.with_flow_delays(&delays, false), backward.with_flow_delays(&delays, true)])
}

/// A packet log by columns: the values of each record at one index.
#[pyclass(frozen, get_all, module = "trialwise._core")]
pub(crate) struct PacketColumns {
    /// When the log was made, nanoseconds of CLOCK_REALTIME.
    made_ns: u64,
    /// When each packet left its link (was dropped; was still held at the end), nanoseconds since the emulator started.
    time_ns: Py<PyArray1<u64>>,
    /// Nanoseconds since it came.
    delay_ns: Py<PyArray1<u64>>,
    /// From the highest bits: 16 hash of addresses, 16 protocol, 16 higher port, 16 lower port.
    flow: Py<PyArray1<u64>>,
    /// How much later than `time_ns` it was written, nanoseconds.
    lateness_ns: Py<PyArray1<u32>>,
    /// Bytes of the IP packet.
    size: Py<PyArray1<u16>>,
    /// 0 delivered, 1 held, else dropped: 2 loss, 3 outage, 4 policed, 5 overflow, 6 managed, 7 corrupt, 8 filtered; and 128
    /// for a copy that the link made.
    event: Py<PyArray1<u8>>,
    /// 0 uplink, 1 downlink.
    direction: Py<PyArray1<u8>>,
    /// The ECN field it left with.
    ecn: Py<PyArray1<u8>>,
    /// The index of the element that dropped it.
    element: Py<PyArray1<u8>>,
}

impl PacketColumns {
    pub(crate) fn new(python: Python<'_>, columns: Columns) -> Self {
        Self {
            made_ns: columns.made,
            time_ns: columns.time.into_pyarray(python).unbind(),
            delay_ns: columns.delay.into_pyarray(python).unbind(),
            flow: columns.flow.into_pyarray(python).unbind(),
            lateness_ns: columns.lateness.into_pyarray(python).unbind(),
            size: columns.size.into_pyarray(python).unbind(),
            event: columns.event.into_pyarray(python).unbind(),
            direction: columns.direction.into_pyarray(python).unbind(),
            ecn: columns.ecn.into_pyarray(python).unbind(),
            element: columns.element.into_pyarray(python).unbind(),
        }
    }
}

/// Read at most `most` records (all unless given) after the first `skip` of a packet log; a record that is cut off at the end is left out.
///
/// Raises
/// ------
/// OSError
///     The file cannot be read.
/// ValueError
///     It is no packet log of this version.
#[entry]
#[pyfunction]
#[pyo3(signature = (path, *, skip=0, most=None))]
fn read_packet_log(
    python: Python<'_>,
    path: PathBuf,
    skip: u64,
    most: Option<u64>,
) -> PyResult<PacketColumns> {
    let read = || read_columns(&path, skip, most.unwrap_or(u64::MAX));
    let columns = python.detach(read).map_err(|error| match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string(), path.clone())),
        None => refused(error),
    })?;
    Ok(PacketColumns::new(python, columns))
}
