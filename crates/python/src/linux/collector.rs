//! `Collector`: a collection server inside this process.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trialwise_collector::{self as collector, Access, Config, Identity, Store, Upstream};
use trialwise_python_macros::entry;

use crate::border::Whole;
use crate::linux::span;

pyo3::create_exception!(
    trialwise._linux,
    CollectorError,
    PyOSError,
    "A collector that cannot start: one word of why in `reason` (address, spool_in_use, spool, store)."
);

/// What a collector counted since it started.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
struct CollectorCounters {
    /// Connections accepted.
    connections: u64,
    /// Of them open now.
    open: u64,
    /// Connections closed for what they sent.
    refused: u64,
    /// Bytes received.
    bytes: u64,
    /// Rows stored.
    rows: u64,
    /// Rows of stream 0 that were stored before.
    repeated: u64,
    /// Rows that no table of the store can hold.
    unstorable: u64,
    /// How often a database could not be written and was put off.
    suspensions: u64,
    /// Bytes of the spool that were damaged on disk and passed over.
    spool_damage: u64,
    /// Strings with bytes that the store's texts cannot hold, stored with replacements (the bytes beside them).
    replaced: u64,
    /// Rows stored with NULL for values that their fields' types cannot hold.
    nulled: u64,
    /// Bytes that wait in the spool for the loader.
    backlog: u64,
    /// Connections closed for what they sent, by reason; reasons that did not occur are left out.
    refused_for: BTreeMap<String, u64>,
    /// Damaged rows by reason; reasons that did not occur are left out.
    damaged: BTreeMap<String, u64>,
}

impl From<collector::Counters> for CollectorCounters {
    fn from(counters: collector::Counters) -> Self {
        Self {
            connections: counters.connections,
            open: counters.open,
            refused: counters.refused,
            bytes: counters.bytes,
            rows: counters.rows,
            repeated: counters.repeated,
            unstorable: counters.unstorable,
            suspensions: counters.suspensions,
            spool_damage: counters.spool_damage,
            replaced: counters.replaced,
            nulled: counters.nulled,
            backlog: counters.backlog,
            refused_for: counters.refused_by_reason(),
            damaged: counters.damaged_by_reason(),
        }
    }
}

/// A running collector, or what is left of one.
enum State {
    Running(Box<collector::Collector>),
    Stopped(Box<collector::StopReport>),
}

impl State {
    /// Whether everything that arrived is stored.
    fn is_done(&self) -> bool {
        match self {
            Self::Running(running) => running.wait_loaded(Duration::ZERO),
            Self::Stopped(report) => report.counters.backlog == 0,
        }
    }
}

/// A collection server: takes measurement streams in OML's protocol and the native one on one port, and stores them.
///
/// It runs on threads of its own from here until `stop`.
///
/// Parameters
/// ----------
/// listen
///     ``HOST:PORT``; port 0 chooses a free one (see `address`).
/// store
///     Where the rows go: ``sqlite:DIR``, ``parquet:DIR`` or ``postgresql://USER:PASSWORD@HOST/DATABASE``.
/// spool
///     The folder in which what arrives is made durable first; None for ``.spool`` in the store's folder, or for PostgreSQL
///     ``trialwise-spool`` in the present one.
/// spool_capacity
///     Bytes of it that may wait for the store; then clients wait. None for 64 GiB.
/// token
///     What native clients must show for domains without a token of their own; None for nothing.
/// domain_tokens
///     Tokens of single domains; those take native clients alone.
/// connections
///     Connections at a time; more wait. None for 10,000.
/// longest_row
///     Bytes of the longest row that is taken; None for the usual bound.
/// certificate, key
///     Files in PEM that the native protocol's TLS shows; None for no TLS.
/// forward
///     Instead of a store: another collector, ``HOST:PORT``, or ``tls:HOST:PORT``. It needs a `spool`.
/// forward_certificate
///     For ``tls:``: the certificates to trust, a file in PEM.
/// forward_token, forward_domain_tokens
///     What to show there.
/// allow_oml
///     Take OML's senders, which show nothing, though there are tokens.
///
/// Raises
/// ------
/// ValueError
///     An address or a store that cannot be read.
/// CollectorError
///     What this machine does not permit; the message says what would lift it.
#[pyclass(frozen, module = "trialwise._linux")]
struct Collector {
    state: Mutex<Option<State>>,
    /// Where it listens, ``HOST:PORT``.
    #[pyo3(get)]
    address: String,
    /// Clients that it serves at a time: as many as were asked for, or as the limit of descriptors allows.
    #[pyo3(get)]
    places: usize,
}

/// As many as Linux lets a process have descriptors, whatever its limits.
const MAX_CONNECTIONS: usize = 1 << 30;
/// Bytes.
const MAX_ROW: usize = 1 << 30;

#[entry]
#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (listen, store=None, *, spool=None, spool_capacity=None, token=None, domain_tokens=None,
        connections=None, longest_row=None, certificate=None, key=None, forward=None, forward_certificate=None,
        forward_token=None, forward_domain_tokens=None, allow_oml=false))]
    #[expect(
        clippy::too_many_arguments,
        reason = "one keyword for each thing that can be said about a collector"
    )]
    fn new(
        python: Python<'_>,
        listen: &str,
        store: Option<&str>,
        spool: Option<PathBuf>,
        spool_capacity: Option<u64>,
        token: Option<String>,
        domain_tokens: Option<BTreeMap<String, String>>,
        connections: Option<Whole>,
        longest_row: Option<Whole>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        forward: Option<&str>,
        forward_certificate: Option<PathBuf>,
        forward_token: Option<String>,
        forward_domain_tokens: Option<BTreeMap<String, String>>,
        allow_oml: bool,
    ) -> PyResult<Self> {
        let domains = forward_domain_tokens.unwrap_or_default();
        let shown = Access { token: forward_token, domains, oml: false };
        let store = match (store, forward) {
            (Some(store), None) => store.parse().map_err(refused)?,
            (None, Some(to)) if spool.is_some() => {
                Store::Collector(upstream(to, forward_certificate, shown)?)
            }
            (None, Some(_)) => return Err(refused("what is forwarded needs a folder for its spool")),
            _ => return Err(refused("a collector has either a store or another collector to forward to")),
        };
        let mut config = Config::new(store);
        config.identity = identity(certificate, key)?;
        config.listen = python.detach(|| address_of(listen))?;
        config.spool = spool.unwrap_or(config.spool);
        config.spool_capacity = spool_capacity.unwrap_or(config.spool_capacity);
        config.access.token = token;
        config.access.domains = domain_tokens.unwrap_or_default();
        config.access.oml = allow_oml;
        if let Some(connections) = connections {
            config.connections = connections.within("connections", 1..=MAX_CONNECTIONS)?;
        }
        if let Some(row) = longest_row {
            config.limits.row = row.within("longest_row", 1..=MAX_ROW)?;
        }
        let started = python.detach(|| collector::Collector::start(config));
        let running = started.map_err(|error| exception(python, &error))?;
        let (address, places) = (running.address().to_string(), running.places());
        Ok(Self { state: Mutex::new(Some(State::Running(Box::new(running)))), address, places })
    }

    /// What was counted so far.
    fn counters(&self) -> CollectorCounters {
        let counters = match &*self.lock() {
            Some(State::Running(running)) => running.counters(),
            Some(State::Stopped(report)) => report.counters.clone(),
            None => collector::Counters::default(),
        };
        counters.into()
    }

    /// What the collector says of itself, senders and all, as JSON (format trialwise.collector/1); None when it has stopped.
    fn status(&self) -> Option<String> {
        match &*self.lock() {
            Some(State::Running(running)) => Some(running.status().to_json()),
            _ => None,
        }
    }

    /// Why domains cannot be stored at present, by domain: their rows wait in the spool. Empty when it has stopped.
    fn troubles(&self) -> BTreeMap<String, String> {
        match &*self.lock() {
            Some(State::Running(running)) => running.troubles(),
            _ => BTreeMap::new(),
        }
    }

    /// Why nothing is taken any more, or None: the disk of the spool failed. Stop, and start when it is well.
    #[getter]
    fn failure(&self) -> Option<String> {
        match &*self.lock() {
            Some(State::Running(running)) => running.failure(),
            Some(State::Stopped(report)) => report.failure.clone(),
            None => None,
        }
    }

    /// Why clients wait at present, or None: the disk of the spool is full. It goes on by itself when there is room.
    #[getter]
    fn waits(&self) -> Option<String> {
        match &*self.lock() {
            Some(State::Running(running)) => running.waits(),
            _ => None,
        }
    }

    /// Wait until everything that arrived is stored; False after `timeout` seconds.
    fn wait_stored(&self, python: Python<'_>, timeout: f64) -> PyResult<bool> {
        let deadline = Instant::now() + span("timeout", timeout)?;
        Ok(python.detach(|| {
            while !self.lock().as_ref().is_some_and(State::is_done) {
                if Instant::now() >= deadline {
                    return false;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            true
        }))
    }

    /// Take what clients have sent, and end: everything is stored (as far as that goes within `timeout` seconds) or in the
    /// spool, from where the next start goes on. Returns what was counted.
    #[pyo3(signature = (timeout=2.0))]
    fn stop(&self, python: Python<'_>, timeout: f64) -> PyResult<CollectorCounters> {
        let patience = span("timeout", timeout)?;
        python.detach(|| {
            let mut state = self.lock();
            *state = match state.take() {
                Some(State::Running(running)) => Some(State::Stopped(Box::new(running.stop(patience)))),
                stopped => stopped,
            };
        });
        self.counters()
    }
}

impl Collector {
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The other collector that `to` names.
fn upstream(to: &str, certificate: Option<PathBuf>, access: Access) -> PyResult<Upstream> {
    let tls = to.strip_prefix("tls:");
    if tls.is_some() != certificate.is_some() {
        return Err(refused("tls:HOST:PORT and the certificates to trust belong together"));
    }
    let (host, port) = match tls.unwrap_or(to).rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| refused(format!("port {port:?} is none")))?),
        None => (tls.unwrap_or(to), collector::DEFAULT_PORT),
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(Upstream { host, port, certificate, access })
}

fn identity(certificate: Option<PathBuf>, key: Option<PathBuf>) -> PyResult<Option<Identity>> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Identity::read(&certificate, &key).map(Some).map_err(refused),
        (None, None) => Ok(None),
        _ => Err(refused("a certificate and its key belong together")),
    }
}

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn address_of(text: &str) -> PyResult<SocketAddr> {
    let found = text.to_socket_addrs().map_err(|error| {
        refused(format!("address {text:?}: {error}; write HOST:PORT, such as 127.0.0.1:3003"))
    });
    found?.next().ok_or_else(|| refused(format!("address {text:?} is of no machine")))
}

fn exception(python: Python<'_>, error: &collector::CollectorError) -> PyErr {
    let reason = match error {
        collector::CollectorError::Listen(..) => "address",
        collector::CollectorError::Spool(collector::SpoolError::InUse(_)) => "spool_in_use",
        collector::CollectorError::Spool(_) => "spool",
        collector::CollectorError::Store(_) | collector::CollectorError::Io(_) => "store",
    };
    let raised = CollectorError::new_err(error.to_string());
    match raised.value(python).setattr("reason", reason) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CollectorError", module.py().get_type::<CollectorError>())?;
    module.add_class::<CollectorCounters>()?;
    module.add_class::<Collector>()
}
