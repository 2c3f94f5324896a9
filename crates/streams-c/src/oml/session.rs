//! The one measurement of a process that uses OML's calls.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use streams::client::{Client, ClientError, CloseReport, DeclareError, RouteCounters};
use streams::config::Config;
use streams::protocol::FieldType;

use super::point::OmlMP;
use super::value::Kind;
use crate::log::{ERROR, INFO, WARN, log};

/// Longest time of a close, when nothing else is said.
const CLOSE_PATIENCE: Duration = Duration::from_secs(10);
/// Between attempts at a lock.
const NAP: Duration = Duration::from_millis(10);

/// What `omlc_init` makes and `omlc_close` ends.
pub(super) struct Session {
    client: Client,
    started: bool,
    /// A point of the program could not be declared.
    refused: bool,
    /// The process that made it.
    process: c_int,
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);
/// Every point there ever was: a thread may inject into one after the close, which then is refused, and is no crash.
static POINTS: Mutex<Vec<&'static OmlMP>> = Mutex::new(Vec::new());

pub(super) fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

fn process() -> c_int {
    // SAFETY: getpid reads.
    unsafe { libc::getpid() }
}

impl Session {
    /// A session that streams as the configuration says.
    pub(super) fn new(app: &str, config: &Config) -> Result<Self, ClientError> {
        let places: Vec<_> = config.collects.iter().map(|collect| collect.destination.to_string()).collect();
        log(
            INFO,
            &format!(
                "Trialwise streams {}, OML protocol 5: {app} as {} in domain {}, to {}",
                env!("CARGO_PKG_VERSION"),
                config.sender_id,
                config.domain,
                places.join(", ")
            ),
        );
        Ok(Self::with(Client::new(app, config)?))
    }

    /// A session that does nothing (`--oml-noop`).
    pub(super) fn disabled(app: &str) -> Result<Self, ClientError> {
        Ok(Self::with(Client::disabled(app)?))
    }

    fn with(client: Client) -> Self {
        Self { client, started: false, refused: false, process: process() }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn add_point(
        &mut self,
        name: &str,
        fields: &[(String, Kind)],
    ) -> Result<&'static OmlMP, DeclareError> {
        let typed: Vec<(&str, FieldType)> =
            fields.iter().map(|(name, kind)| (name.as_str(), kind.field_type())).collect();
        let point = self.client.point(name, &typed).inspect_err(|_| self.refused = true)?;
        let kinds = fields.iter().map(|&(_, kind)| kind).collect();
        let point = &*Box::leak(Box::new(OmlMP::new(point, kinds)));
        POINTS.lock().unwrap_or_else(PoisonError::into_inner).push(point);
        Ok(point)
    }

    /// Starts, unless a point was refused or the configuration lists one that is not there (OML.md section 11).
    pub(super) fn start(&mut self) -> Result<(), String> {
        if self.refused {
            return Err("a measurement point could not be declared, see above".to_owned());
        }
        let undeclared = self.client.undeclared();
        if !undeclared.is_empty() {
            let names = undeclared.join(", ");
            return Err(format!(
                "the configuration lists measurement points that the program has not declared: {names}"
            ));
        }
        self.client.start().map_err(|error| error.to_string())?;
        self.started = true;
        self.client.warnings().iter().for_each(|warning| log(WARN, warning));
        Ok(())
    }
}

/// Ends the session, if there is one; whether nothing was lost.
pub(super) fn close(session: &mut Option<Session>) -> bool {
    let Some(Session { client, started, process: maker, .. }) = session.take() else { return false };
    if maker != process() {
        std::mem::forget(client); // the writer is in the other process
        return false;
    }
    let patience = if started { patience() } else { Duration::ZERO };
    report(&client.close(patience))
}

/// At the end of the program: ends what it left open. A lock that is never given back must not hold up the end.
pub(super) extern "C" fn close_at_exit() {
    let deadline = Instant::now() + patience();
    loop {
        match SESSION.try_lock() {
            Ok(mut session) => {
                close(&mut session);
                return;
            }
            Err(TryLockError::Poisoned(poisoned)) => {
                close(&mut poisoned.into_inner());
                return;
            }
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(NAP),
            Err(TryLockError::WouldBlock) => return,
        }
    }
}

/// `TRIALWISE_CLOSE_SECONDS`, or ten.
fn patience() -> Duration {
    let seconds = std::env::var("TRIALWISE_CLOSE_SECONDS").ok().and_then(|text| text.trim().parse().ok());
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(CLOSE_PATIENCE)
}

/// Says how many values of the deprecated type were beyond 32 bits, and begins anew.
fn clamped_longs() -> u64 {
    let points = POINTS.lock().unwrap_or_else(PoisonError::into_inner);
    let clamped = points.iter().map(|point| (point.point().name(), point.take_clamped()));
    clamped.fold(0, |sum, (name, clamped)| {
        if clamped > 0 {
            log(WARN, &format!("{clamped} longs of {name} were beyond 32 bits and sent as the nearest that fits: OML_INT64_VALUE holds them"));
        }
        sum + clamped
    })
}

/// Logs what was lost; whether nothing was.
fn report(closed: &CloseReport) -> bool {
    let counters = &closed.counters;
    for point in counters.points.iter().filter(|point| point.dropped > 0) {
        let (all, dropped) = (point.injected + point.dropped, point.dropped);
        log(WARN, &format!("{dropped} of {all} samples of {} were lost at the inject", point.point));
    }
    for route in counters.routes.iter().filter(|route| route.dropped > 0) {
        let (dropped, rows) = (route.dropped, route.rows);
        let (stream, place) = (&route.stream, &route.destination);
        log(WARN, &format!("{dropped} of {rows} rows of {stream} did not reach {place}"));
    }
    counters.changes().iter().for_each(|changes| log(WARN, changes));
    let clamped = clamped_longs();
    for place in &counters.destinations {
        if let Some(error) = &place.error {
            log(ERROR, &format!("{}: {error}", place.destination));
        }
    }
    let whole = clamped == 0 && !counters.routes.iter().any(RouteCounters::lost_values);
    closed.finished && counters.dropped() == 0 && whole
}
