//! `Path`: an emulated path for real packets, and what it reports.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trialwise_emulator as emulator;
use trialwise_emulator::{
    CeilingLimit, Crossing, DeviceKind, EcnCounts, End, NamespaceSettings, PacketLog, PathError,
    PathSettings, Percentiles, Priority,
};
use trialwise_link::{Ecn, Tally};
use trialwise_python_macros::entry;
use trialwise_units::{Duration, Rate, Seed};

use crate::border::simulated;
use crate::link::{FlowDelays, further_away, link_of};
use crate::linux::span;

type Groups = Vec<Vec<(String, String)>>;

/// How much later than planned packets were handled, seconds.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
#[derive(Clone)]
struct Lateness {
    median: f64,
    p99: f64,
    largest: f64,
}

/// What became of the packets of one direction: `arrived` = `delivered` + `dropped` + `held`.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
#[derive(Clone)]
struct LinkReport {
    arrived: u64,
    delivered: u64,
    dropped: u64,
    held: u64,
    /// Copies that the link made: arrived + copied = delivered + dropped + held.
    copied: u64,
    /// Packets of which the link changed a bit of the payload.
    changed: u64,
    /// Packets that arrived with Not-ECT, ECT(1), ECT(0), CE.
    arrived_ecn: [u64; 4],
    /// Packets that were delivered with Not-ECT, ECT(1), ECT(0), CE.
    delivered_ecn: [u64; 4],
    delivered_bytes: u64,
    /// Frames that the kernel dropped without a record.
    unlogged: u64,
    lateness: Lateness,
}

/// What an emulated path did from its opening to its closing.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
struct PathReport {
    /// The origin of all times in the packet log: nanoseconds on CLOCK_MONOTONIC.
    started_ns: u64,
    /// Seconds.
    duration: f64,
    /// Processor time of the emulator, as a share of one core.
    processor_share: f64,
    /// Whether it had real-time priority.
    realtime: bool,
    /// How long packets may have waited unseen.
    unseen: Lateness,
    uplink: LinkReport,
    downlink: LinkReport,
    /// Why the emulator was itself the bottleneck, so that what was measured is not valid; None where it kept up.
    bottleneck: Option<String>,
}

/// An emulated path for real packets: two ends, and a link each way between them.
///
/// The links start when the path is made. Programs are started at either end with `prefix`. When the path is closed, or
/// this process dies by whatever cause, every program inside ends, and nothing is left of it.
///
/// Parameters
/// ----------
/// uplink, downlink
///     The links from the sender to the receiver and back: groups of (key, value), in the order in which a packet meets
///     them.
/// directory
///     Where files that the links name are looked up.
/// seed
///     Of everything random in the links.
/// mtu
///     The largest IP packet, bytes.
/// log
///     A file for the packet log.
/// bound
///     Lateness in seconds from which the emulator counts as the bottleneck; None for the usual one.
///
/// Raises
/// ------
/// ValueError
///     A link or an MTU that cannot be; the message says what to write.
/// OSError
///     What this machine does not permit; the message says what would lift it.
#[pyclass(frozen, module = "trialwise._linux")]
struct Path {
    path: Mutex<Option<emulator::Path>>,
    bound: Duration,
}

#[entry]
#[pymethods]
impl Path {
    #[new]
    #[pyo3(signature = (uplink, downlink, *, directory, seed, mtu=1500, log=None, bound=None, flow_delays=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "one keyword for each thing that can be said about a path")]
    fn new(
        python: Python<'_>,
        uplink: Groups,
        downlink: Groups,
        directory: PathBuf,
        seed: u64,
        mtu: u16,
        log: Option<PathBuf>,
        bound: Option<f64>,
        flow_delays: FlowDelays,
    ) -> PyResult<Self> {
        let bound = lateness_bound(bound)?;
        let mut settings = settings(&uplink, &downlink, &directory, seed, mtu)?;
        [settings.forward, settings.backward] =
            further_away([settings.forward, settings.backward], &flow_delays)?;
        let path = opened(python, &settings, log.as_deref(), emulator::Path::open)?;
        Ok(Self { path: Mutex::new(Some(path)), bound })
    }

    /// What to put before a program and its arguments so that it runs at an end, "sender" or "receiver".
    fn prefix<'py>(&self, python: Python<'py>, end: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let end = end_named(end)?;
        let path = lock(&self.path);
        Ok(words(python, path.as_ref().ok_or_else(closed)?.namespaces().prefix(end).map_err(system_error)?))
    }

    /// The address of an end, "sender" or "receiver", in IP version 4 or 6.
    #[staticmethod]
    #[pyo3(signature = (end, version=4))]
    fn address(end: &str, version: u8) -> PyResult<String> {
        let end = end_named(end)?;
        match version {
            4 => Ok(end.address().to_string()),
            6 => Ok(end.address6().to_string()),
            _ => Err(PyValueError::new_err(format!("there is no IP version {version}; choose 4 or 6"))),
        }
    }

    /// Stop the emulator, end what still runs inside, and tell what it did.
    fn close(&self, python: Python<'_>) -> PyResult<PathReport> {
        let path = lock(&self.path).take().ok_or_else(closed)?;
        let report = python.detach(|| path.close()).map_err(system_error)?;
        Ok(PathReport::new(&report, self.bound))
    }
}

impl PathReport {
    fn new(report: &emulator::Report, bound: Duration) -> Self {
        Self {
            started_ns: report.started,
            duration: report.duration.as_seconds(),
            processor_share: report.processor_share(),
            realtime: report.priority == Priority::Realtime,
            unseen: Lateness::new(&report.unseen),
            uplink: LinkReport::new(&report.forward),
            downlink: LinkReport::new(&report.backward),
            bottleneck: report.bottleneck(bound).map(|bottleneck| bottleneck.to_string()),
        }
    }
}

impl LinkReport {
    fn new(report: &emulator::DirectionReport) -> Self {
        let packets = |tally: Tally| tally.packets;
        Self {
            arrived: packets(report.arrived),
            delivered: packets(report.delivered),
            dropped: packets(report.dropped),
            held: packets(report.held),
            copied: packets(report.copied),
            changed: report.elements.iter().map(|(_, counters)| counters.changed).sum(),
            arrived_ecn: fields(&report.arrived_ecn),
            delivered_ecn: fields(&report.delivered_ecn),
            delivered_bytes: report.delivered.bytes.get(),
            unlogged: report.overrun + report.refused,
            lateness: Lateness::new(&report.lateness),
        }
    }
}

/// By the bits of the field.
fn fields(counts: &EcnCounts) -> [u64; 4] {
    [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced].map(|ecn| counts.of(ecn))
}

impl Lateness {
    fn new(percentiles: &Percentiles) -> Self {
        Self {
            median: percentiles.median.as_seconds(),
            p99: percentiles.p99.as_seconds(),
            largest: percentiles.largest.as_seconds(),
        }
    }
}

/// A path between programs that run inside and the network that this process is in, where the host's servers answer.
///
/// When it is closed, or this process dies by whatever cause, every program inside ends, and nothing is left of it. The
/// parameters and errors are those of `Path`.
#[pyclass(frozen, module = "trialwise._linux")]
struct OuterPath {
    path: Mutex<Option<emulator::OuterPath>>,
    bound: Duration,
    /// The outer end's IPv4 address.
    #[pyo3(get)]
    address: String,
    /// What the environment of a program inside has more.
    #[pyo3(get)]
    environment: BTreeMap<String, String>,
    /// Whether packets cross to this network directly; else a relay carries TCP and UDP on.
    #[pyo3(get)]
    direct: bool,
}

#[entry]
#[pymethods]
impl OuterPath {
    #[new]
    #[pyo3(signature = (uplink, downlink, *, directory, seed, mtu=1500, log=None, bound=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword for each thing that can be said about a path")]
    fn new(
        python: Python<'_>,
        uplink: Groups,
        downlink: Groups,
        directory: PathBuf,
        seed: u64,
        mtu: u16,
        log: Option<PathBuf>,
        bound: Option<f64>,
    ) -> PyResult<Self> {
        let bound = lateness_bound(bound)?;
        let settings = settings(&uplink, &downlink, &directory, seed, mtu)?;
        let path = opened(python, &settings, log.as_deref(), emulator::OuterPath::open)?;
        let environment = path.environment().map(|(name, value)| (name.to_owned(), value)).into();
        Ok(Self {
            address: path.address().to_string(),
            environment,
            direct: path.crossing() == Crossing::Direct,
            path: Mutex::new(Some(path)),
            bound,
        })
    }

    /// What to put before a program and its arguments so that it runs inside.
    fn prefix<'py>(&self, python: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let path = lock(&self.path);
        Ok(words(python, path.as_ref().ok_or_else(closed)?.prefix().map_err(system_error)?))
    }

    /// Stop the emulator, end what still runs inside, and tell what it did.
    fn close(&self, python: Python<'_>) -> PyResult<PathReport> {
        let path = lock(&self.path).take().ok_or_else(closed)?;
        let report = python.detach(|| path.close()).map_err(system_error)?;
        Ok(PathReport::new(&report, self.bound))
    }
}

/// What this machine's emulator can do. Rates are in bit/s of payload, delays in seconds.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
struct Ceiling {
    /// The highest link rate tried at which one TCP connection over 28 ms each way filled 88 % of the link while the
    /// emulator kept up; None where it did not even at the lowest.
    rate: Option<u64>,
    /// The payload that it brought there.
    goodput: u64,
    /// Why the next rate was not reached; None where time or rates ran out first.
    limit: Option<String>,
    /// One TCP connection over a path that limits nothing.
    unrestricted: u64,
    /// Datagrams of 100 bytes that cross in a second.
    packets_per_second: f64,
    /// How much later than the model has it a datagram arrives over an idle path.
    delay_error_median: f64,
    delay_error_p99: f64,
    realtime: bool,
    /// What the ends' devices are: "tun" or "packet".
    device: &'static str,
}

/// Measure what this machine's emulator can do.
///
/// Parameters
/// ----------
/// seconds
///     How long it may take, about; 20 give steady figures.
/// progress
///     Called with the name of each stage and the share of the whole that is done.
///
/// Raises
/// ------
/// OSError
///     No path can be made here; the message says what would lift that.
#[entry]
#[pyfunction]
fn measure_ceiling(python: Python<'_>, seconds: f64, progress: Py<PyAny>) -> PyResult<Ceiling> {
    let budget = span("seconds", seconds)?;
    let tell = |stage: &str, share: f64| {
        Python::attach(|python| {
            if let Err(error) = progress.call1(python, (stage, share)) {
                error.write_unraisable(python, None);
            }
        });
    };
    let measure = || emulator::measure_ceiling(NamespaceSettings::default(), budget, tell);
    python.detach(measure).map(|found| Ceiling::new(&found)).map_err(path_error)
}

impl Ceiling {
    fn new(found: &emulator::Ceiling) -> Self {
        Self {
            rate: found.rate.map(Rate::bits_per_second),
            goodput: found.goodput.bits_per_second(),
            limit: found.limit.as_ref().map(limit_words),
            unrestricted: found.unrestricted.bits_per_second(),
            packets_per_second: found.packets_per_second,
            delay_error_median: found.delay_error_median.as_seconds(),
            delay_error_p99: found.delay_error_p99.as_seconds(),
            realtime: found.priority == Priority::Realtime,
            device: match found.device {
                DeviceKind::Tun => "tun",
                DeviceKind::Packet => "packet",
            },
        }
    }
}

fn limit_words(limit: &CeilingLimit) -> String {
    match limit {
        CeilingLimit::Emulator(bottleneck) => bottleneck.to_string(),
        CeilingLimit::Goodput(rate) => {
            let megabits = rate.bits_per_second() as f64 / 1e6;
            format!("one TCP connection brought only {megabits:.0} Mbit/s over the next rate")
        }
    }
}

fn settings(
    uplink: &Groups,
    downlink: &Groups,
    directory: &std::path::Path,
    seed: u64,
    mtu: u16,
) -> PyResult<PathSettings> {
    Ok(PathSettings {
        forward: link_of(uplink, directory)?,
        backward: link_of(downlink, directory)?,
        seed: Seed::new(seed),
        namespaces: NamespaceSettings { mtu, ..NamespaceSettings::default() },
    })
}

/// Opens a path, with a packet log where there is to be one, while other threads run.
fn opened<P: Send>(
    python: Python<'_>,
    settings: &PathSettings,
    log: Option<&std::path::Path>,
    open: fn(&PathSettings, Option<PacketLog>) -> Result<P, PathError>,
) -> PyResult<P> {
    python.detach(|| {
        let log = log.map(PacketLog::create).transpose()?;
        open(settings, log).map_err(path_error)
    })
}

fn lateness_bound(seconds: Option<f64>) -> PyResult<Duration> {
    seconds.map_or(Ok(emulator::LATENESS_BOUND), |seconds| simulated("bound", seconds))
}

fn words(python: Python<'_>, words: Vec<OsString>) -> Vec<Bound<'_, PyBytes>> {
    words.into_iter().map(|word| PyBytes::new(python, &word.into_vec())).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_named(end: &str) -> PyResult<End> {
    match end {
        "sender" => Ok(End::Sender),
        "receiver" => Ok(End::Receiver),
        _ => {
            Err(PyValueError::new_err(format!("there is no end {end:?}; choose \"sender\" or \"receiver\"")))
        }
    }
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("the path is closed")
}

fn path_error(error: PathError) -> PyErr {
    match error {
        PathError::Spec(error) => PyValueError::new_err(error.to_string()),
        PathError::System(error) => system_error(error),
    }
}

fn system_error(error: emulator::Error) -> PyErr {
    match error {
        emulator::Error::Mtu { .. } => PyValueError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Ceiling>()?;
    module.add_function(wrap_pyfunction!(measure_ceiling, module)?)?;
    module.add_class::<Lateness>()?;
    module.add_class::<LinkReport>()?;
    module.add_class::<OuterPath>()?;
    module.add_class::<PathReport>()?;
    module.add_class::<Path>()
}
