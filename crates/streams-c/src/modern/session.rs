//! Sessions: `tw_open` to `tw_free`.

use std::ffi::{c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use streams::client::{Client, Counters};
use streams::config::{Config, Disposition, usage};
use streams::filter::Registry;

use super::error::{Outcome, TwError, argument, of_client, tell};
use super::point::{TwField, TwPoint, read_fields};
use crate::text::{read_arguments, text, write_arguments};

/// `tw_session`.
pub(crate) struct TwSession {
    state: Mutex<State>,
}

struct State {
    /// Until the close.
    client: Option<Client>,
    /// Of the close.
    counters: Counters,
    #[expect(clippy::vec_box, reason = "C has pointers to them, which must not move")]
    points: Vec<Box<TwPoint>>,
}

/// `tw_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TwOptions {
    size: usize,
    sender: *const c_char,
    domain: *const c_char,
    destination: *const c_char,
    config: *const c_char,
    samples: u64,
    interval: f64,
    buffer_bytes: u64,
}

/// `tw_counters`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct TwCounters {
    samples: u64,
    samples_dropped: u64,
    rows: u64,
    rows_sent: u64,
    rows_dropped: u64,
    rows_cut: u64,
}

const CLOSED: &str = "the session is closed";

impl TwSession {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn client(&mut self) -> Result<&mut Client, (TwError, String)> {
        self.client.as_mut().ok_or_else(|| (TwError::Closed, CLOSED.to_owned()))
    }

    fn counters(&self) -> TwCounters {
        self.client.as_ref().map_or_else(|| total(&self.counters), |client| total(&client.counters()))
    }
}

fn total(counters: &Counters) -> TwCounters {
    let mut total = TwCounters::default();
    for point in &counters.points {
        total.samples += point.injected;
        total.samples_dropped += point.dropped;
    }
    for route in &counters.routes {
        total.rows += route.rows;
        total.rows_sent += route.sent;
        total.rows_dropped += route.dropped;
        total.rows_cut += route.changed;
    }
    total
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_open(
    program: *const c_char,
    options: *const TwOptions,
    session: *mut *mut TwSession,
) -> TwError {
    // SAFETY: the caller's promises, passed on.
    let outcome = unsafe {
        read_options(options).and_then(|mut arguments| open(program, &mut arguments, session).map(|_| ()))
    };
    tell(outcome)
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_open_arguments(
    program: *const c_char,
    argc: *mut c_int,
    argv: *mut *const c_char,
    session: *mut *mut TwSession,
) -> TwError {
    if argc.is_null() || argv.is_null() {
        return tell(Err(argument("argc or argv is NULL")));
    }
    // SAFETY: the caller's promises, passed on.
    unsafe {
        let count = usize::try_from(*argc).unwrap_or(0);
        let mut arguments = read_arguments(count, argv);
        let outcome = open(program, &mut arguments, session);
        if outcome.is_ok() && count > 0 {
            *argc = write_arguments(&arguments, count, argv);
        }
        tell(outcome)
    }
}

/// What the options say, as OML's options.
///
/// # Safety
/// Each member is as the header says.
unsafe fn read_options(options: *const TwOptions) -> Result<Vec<String>, (TwError, String)> {
    // SAFETY: as the caller promises.
    let Some(options) = (unsafe { options.as_ref() }) else { return Ok(Vec::new()) };
    if options.size < size_of::<TwOptions>() {
        return Err(argument("tw_options.size is too small: begin with TW_OPTIONS"));
    }
    let strings = [
        ("--oml-id", options.sender),
        ("--oml-domain", options.domain),
        ("--oml-collect", options.destination),
        ("--oml-config", options.config),
    ];
    let numbers = [
        ("--oml-samples", (options.samples != 0).then(|| options.samples.to_string())),
        ("--oml-interval", (options.interval != 0.0).then(|| options.interval.to_string())),
        ("--oml-bufsize", (options.buffer_bytes != 0).then(|| options.buffer_bytes.to_string())),
    ];
    // SAFETY: as the caller promises.
    let strings = strings.map(|(name, value)| (name, unsafe { text(value) }.map(String::from)));
    let given = strings.into_iter().chain(numbers);
    Ok(given.filter_map(|(name, value)| Some(format!("{name}={}", value?))).collect())
}

/// # Safety
/// `program` is a string or null, `session` a place or null.
unsafe fn open<T: AsRef<str>>(
    program: *const c_char,
    arguments: &mut Vec<T>,
    session: *mut *mut TwSession,
) -> Outcome {
    // SAFETY: as the caller promises.
    let program = unsafe { text(program) }.ok_or_else(|| argument("no program name"))?;
    if session.is_null() {
        return Err(argument("no place for the session"));
    }
    let app = program.rsplit('/').next().unwrap_or_default();
    let disposition = Config::from_environment(app, arguments)
        .map_err(|error| (TwError::Configuration, error.to_string()))?;
    let client = match disposition {
        Disposition::Run(config) => Client::new(app, &config),
        Disposition::Disabled => Client::disabled(app),
        Disposition::Help => return Err((TwError::Asked, usage().to_owned())),
        Disposition::ListFilters => {
            let names: Vec<_> = Registry::default().names().map(str::to_owned).collect();
            return Err((TwError::Asked, names.join("\n")));
        }
    };
    let client = Some(client.map_err(|error| of_client(&error))?);
    let state = Mutex::new(State { client, counters: Counters::default(), points: Vec::new() });
    // SAFETY: a place for a pointer, as the caller promises.
    unsafe { *session = Box::into_raw(Box::new(TwSession { state })) };
    Ok(())
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_start(session: *const TwSession) -> TwError {
    // SAFETY: the caller's promise.
    tell(with(unsafe { session.as_ref() }, |state| {
        state.client()?.start().map_err(|error| of_client(&error))
    }))
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_declare(
    session: *const TwSession,
    name: *const c_char,
    fields: *const TwField,
    count: usize,
    point: *mut *const TwPoint,
) -> TwError {
    // SAFETY: the caller's promises, passed on.
    let (session, name, fields) = unsafe { (session.as_ref(), text(name), read_fields(fields, count)) };
    tell(with(session, |state| {
        let (name, fields) = (name.ok_or_else(|| argument("no name"))?, fields?);
        if point.is_null() {
            return Err(argument("no place for the point"));
        }
        let typed: Vec<_> = fields.iter().map(|(name, field_type)| (name.as_str(), *field_type)).collect();
        let declared = state.client()?.point(&name, &typed);
        let made = declared.map_err(|error| (TwError::Declaration, error.to_string()))?;
        let made = Box::new(TwPoint::new(made));
        // SAFETY: a place for a pointer; the box stays where it is until the session is freed.
        unsafe { *point = &raw const *made };
        state.points.push(made);
        Ok(())
    }))
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_metadata(
    session: *const TwSession,
    point: *const TwPoint,
    field: *const c_char,
    key: *const c_char,
    value: *const c_char,
) -> TwError {
    // SAFETY: the caller's promises, passed on.
    let (session, point) = unsafe { (session.as_ref(), point.as_ref()) };
    // SAFETY: as above.
    let (field, key, value) = unsafe { (text(field), text(key), text(value)) };
    tell(with(session, |state| {
        let (Some(key), Some(value)) = (key, value) else { return Err(argument("no key or no value")) };
        let said = state.client()?.metadata(point.map(TwPoint::point), field.as_deref(), &key, &value);
        said.map_err(|error| of_client(&error))
    }))
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_count(session: *const TwSession, counters: *mut TwCounters) -> TwError {
    // SAFETY: the caller's promise.
    tell(with(unsafe { session.as_ref() }, |state| {
        if counters.is_null() {
            return Err(argument("no place for the counters"));
        }
        // SAFETY: a place for counters, as the caller promises.
        unsafe { counters.write(state.counters()) };
        Ok(())
    }))
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_close(
    session: *const TwSession,
    patience: u32,
    counters: *mut TwCounters,
) -> TwError {
    // SAFETY: the caller's promise.
    tell(with(unsafe { session.as_ref() }, |state| {
        let client = state.client.take().ok_or_else(|| (TwError::State, CLOSED.to_owned()))?;
        let report = client.close(Duration::from_millis(patience.into()));
        let whole = report.finished && report.counters.dropped() == 0;
        state.counters = report.counters;
        if !counters.is_null() {
            // SAFETY: a place for counters, as the caller promises.
            unsafe { counters.write(state.counters()) };
        }
        if whole { Ok(()) } else { Err((TwError::Lost, lost(&state.counters))) }
    }))
}

fn lost(counters: &Counters) -> String {
    let total = total(counters);
    let errors = counters
        .destinations
        .iter()
        .filter_map(|place| place.error.as_ref().map(|error| format!("; {}: {error}", place.destination)));
    format!(
        "{} samples and {} rows were lost{}",
        total.samples_dropped,
        total.rows_dropped,
        errors.collect::<String>()
    )
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_free(session: *mut TwSession) {
    if !session.is_null() {
        // SAFETY: made by `open`, and given up by the caller.
        drop(unsafe { Box::from_raw(session) });
    }
}

fn with(session: Option<&TwSession>, act: impl FnOnce(&mut State) -> Outcome) -> Outcome {
    let session = session.ok_or_else(|| argument("the session is NULL"))?;
    act(&mut session.state())
}
