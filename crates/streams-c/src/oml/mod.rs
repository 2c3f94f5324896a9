//! The calls of `oml2/omlc.h`.

mod point;
mod session;
mod signals;
mod value;

use std::ffi::{c_char, c_int};
use std::io::Write;
use std::sync::Once;

use streams::client::ClientError;
use streams::config::{Config, ConfigError, Disposition, usage};
use streams::filter::Registry;

use crate::log::{ERROR, LogFunction, WARN, log, o_set_log, o_set_log_file, o_set_log_level};
use crate::text::{read_arguments, text, write_arguments};
use point::OmlMP;
use session::{Session, close, close_at_exit, session};
use value::{Kind, OmlValueU, STRING};

/// `OmlMPDef`.
#[repr(C)]
pub(crate) struct OmlMPDef {
    name: *const c_char,
    param_types: c_int,
}

const DONE: c_int = 0;
const DISABLED: c_int = 1;
const FAILED: c_int = -1;

/// See `oml2/omlc.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn omlc_init(
    application: *const c_char,
    pargc: *mut c_int,
    argv: *mut *const c_char,
    custom: LogFunction,
) -> c_int {
    // SAFETY: the caller's promises, passed on.
    unsafe {
        if custom.is_some() {
            o_set_log(custom);
        }
        let Some(app) = text(application) else { return fail("omlc_init: no application name") };
        let app = app.rsplit('/').next().unwrap_or_default();
        match read_options(app, pargc, argv) {
            Ok(Disposition::Run(config)) => {
                set_log(&config);
                open(Session::new(app, &config), DONE)
            }
            Ok(Disposition::Disabled) => open(Session::disabled(app), DISABLED),
            Ok(Disposition::Help) => print_and_leave(usage()),
            Ok(Disposition::ListFilters) => print_and_leave(
                &Registry::default().names().map(|name| format!("{name}\n")).collect::<String>(),
            ),
            Err(error) => fail(&error.to_string()),
        }
    }
}

/// Reads the options and takes them out of the arguments.
///
/// # Safety
/// As for `omlc_init`.
unsafe fn read_options(
    app: &str,
    pargc: *mut c_int,
    argv: *mut *const c_char,
) -> Result<Disposition, ConfigError> {
    if pargc.is_null() || argv.is_null() {
        return Config::from_environment(app, &mut Vec::<String>::new());
    }
    // SAFETY: as the caller promises.
    unsafe {
        let count = usize::try_from(*pargc).unwrap_or(0);
        let mut arguments = read_arguments(count, argv);
        let disposition = Config::from_environment(app, &mut arguments)?;
        if count > 0 {
            *pargc = write_arguments(&arguments, count, argv);
        }
        Ok(disposition)
    }
}

/// Logs as the options ask; what the program set itself stays where they ask for nothing.
fn set_log(config: &Config) {
    if config.log_level != 0 {
        o_set_log_level(config.log_level);
    }
    let Some(path) = &config.log_file else { return };
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap_or_default();
    // SAFETY: a string that lives during the call.
    if unsafe { o_set_log_file(name.as_ptr()) } != 0 {
        log(ERROR, &format!("{}: {}", path.display(), std::io::Error::last_os_error()));
    }
}

fn open(made: Result<Session, ClientError>, outcome: c_int) -> c_int {
    let mut place = session();
    if place.is_some() {
        return fail("omlc_init was called before; omlc_close comes first");
    }
    match made {
        Ok(made) => {
            *place = Some(made);
            outcome
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn print_and_leave(text: &str) -> ! {
    let printed = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
    std::process::exit(i32::from(printed.is_err()))
}

fn fail(message: &str) -> c_int {
    log(ERROR, message);
    FAILED
}

/// See `oml2/omlc.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn omlc_add_mp(name: *const c_char, definition: *const OmlMPDef) -> *const OmlMP {
    // SAFETY: the caller's promises, passed on.
    let added = unsafe { add_point(name, definition) };
    added.unwrap_or_else(|reason| {
        log(ERROR, &reason);
        std::ptr::null()
    })
}

/// # Safety
/// As for `omlc_add_mp`.
unsafe fn add_point(name: *const c_char, definition: *const OmlMPDef) -> Result<*const OmlMP, String> {
    // SAFETY: the caller's promises, passed on.
    let (name, fields) = unsafe {
        let name = text(name).ok_or("omlc_add_mp: no name")?;
        (name, read_fields(definition)?)
    };
    let mut session = session();
    let session = session.as_mut().ok_or("omlc_add_mp: omlc_init comes first")?;
    let point = session.add_point(&name, &fields).map_err(|error| error.to_string())?;
    Ok(std::ptr::from_ref(point))
}

/// # Safety
/// `definition` is null or an array ended by an element without a name.
unsafe fn read_fields(definition: *const OmlMPDef) -> Result<Vec<(String, Kind)>, String> {
    let mut fields = Vec::new();
    if definition.is_null() {
        return Ok(fields);
    }
    // SAFETY: the element that ends the array is not passed.
    unsafe {
        while let Some(name) = text((*definition.add(fields.len())).name) {
            let number = (*definition.add(fields.len())).param_types;
            let kind =
                Kind::new(number).ok_or_else(|| format!("field {name:?}: {number} is no OmlValueT"))?;
            fields.push((name.into_owned(), kind));
        }
    }
    Ok(fields)
}

/// See `oml2/omlc.h`.
#[unsafe(no_mangle)]
extern "C" fn omlc_start() -> c_int {
    let mut place = session();
    let Some(session) = place.as_mut() else { return fail("omlc_start: omlc_init comes first") };
    if let Err(reason) = session.start() {
        return fail(&format!("omlc_start: {reason}"));
    }
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // SAFETY: the function may be called at any later time.
        unsafe { libc::atexit(close_at_exit) };
    });
    match signals::install(close_at_exit) {
        Ok(()) => DONE,
        Err(error) => fail(&format!("omlc_start: signals cannot be handled: {error}")),
    }
}

/// See `oml2/omlc.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn omlc_inject(point: *const OmlMP, values: *const OmlValueU) -> c_int {
    if point.is_null() || values.is_null() {
        return FAILED;
    }
    // SAFETY: points are never freed; the values are as the caller promises.
    let taken = unsafe { (*point).inject(values) };
    if taken { DONE } else { FAILED }
}

/// See `oml2/omlc.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn omlc_process(point: *const OmlMP, values: *const OmlValueU) {
    // SAFETY: the caller's promises, passed on.
    unsafe { omlc_inject(point, values) };
}

/// See `oml2/omlc.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn omlc_inject_metadata(
    point: *const OmlMP,
    key: *const c_char,
    value: *const OmlValueU,
    kind: c_int,
    field: *const c_char,
) -> c_int {
    if value.is_null() || kind != STRING {
        return fail("omlc_inject_metadata: the value must be a string (OML_STRING_VALUE)");
    }
    // SAFETY: the caller's promises; points are never freed.
    let (point, key, field, value) = unsafe {
        let value = String::from_utf8_lossy(value::read_string(&*value));
        (point.as_ref().map(OmlMP::point), text(key), text(field), value)
    };
    let Some(key) = key else { return fail("omlc_inject_metadata: no key") };
    let session = session();
    let Some(session) = session.as_ref() else {
        return fail("omlc_inject_metadata: omlc_init comes first");
    };
    let mut said = session.client().metadata(point, field.as_deref(), &key, &value);
    if let Err(error @ ClientError::Field(..)) = &said {
        log(WARN, &format!("{error}; the metadata is said of the point"));
        said = session.client().metadata(point, None, &key, &value);
    }
    said.map_or_else(|error| fail(&error.to_string()), |()| DONE)
}

/// See `oml2/omlc.h`.
#[unsafe(no_mangle)]
extern "C" fn omlc_guid_generate() -> u64 {
    loop {
        let mut guid = 0_u64;
        // SAFETY: there is room for eight bytes.
        let filled = unsafe { libc::getrandom((&raw mut guid).cast(), 8, 0) };
        if filled == 8 && guid != 0 {
            return guid;
        }
    }
}

/// See `oml2/omlc.h`.
#[unsafe(no_mangle)]
extern "C" fn omlc_close() -> c_int {
    if close(&mut session()) { DONE } else { FAILED }
}
