//! `run_command`: one program started and measured.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};
use trialwise_process::{Command, End, Error, Outcome, Sink, run};

pyo3::create_exception!(trialwise._core, StartError, PyOSError, "A program that could not be started.");

/// Text of the operating system: str (surrogate-escaped), bytes or a path.
struct Text(OsString);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self(OsString::from_vec(bytes.as_bytes().to_vec())));
        }
        let path: PathBuf = object.extract()?;
        Ok(Self(path.into_os_string()))
    }
}

/// What one run of a program came to.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct CommandResult {
    started_realtime_ns: i64,
    started_ns: i64,
    wall_ns: u64,
    user_ns: u64,
    system_ns: u64,
    max_rss_bytes: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
    blocks_in: u64,
    blocks_out: u64,
    exit_code: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    cancelled: bool,
    stdout: Py<PyBytes>,
    stderr: Py<PyBytes>,
    stdout_total: u64,
    stderr_total: u64,
    leftover_processes: u64,
    surviving_processes: u64,
}

impl CommandResult {
    fn new(python: Python<'_>, outcome: &Outcome) -> Self {
        let nanoseconds = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let (exit_code, signal) = match outcome.end {
            End::Exited(code) => (Some(code), None),
            End::Signalled(signal) => (None, Some(signal)),
            End::Never => (None, None),
        };
        Self {
            started_realtime_ns: outcome.started_realtime_ns,
            started_ns: outcome.started_ns,
            wall_ns: nanoseconds(outcome.wall),
            user_ns: nanoseconds(outcome.user),
            system_ns: nanoseconds(outcome.system),
            max_rss_bytes: outcome.max_rss_bytes,
            voluntary_switches: outcome.voluntary_switches,
            involuntary_switches: outcome.involuntary_switches,
            minor_faults: outcome.minor_faults,
            major_faults: outcome.major_faults,
            blocks_in: outcome.blocks_in,
            blocks_out: outcome.blocks_out,
            exit_code,
            signal,
            timed_out: outcome.timed_out,
            cancelled: outcome.cancelled,
            stdout: PyBytes::new(python, &outcome.stdout.bytes).unbind(),
            stderr: PyBytes::new(python, &outcome.stderr.bytes).unbind(),
            stdout_total: outcome.stdout.total,
            stderr_total: outcome.stderr.total,
            leftover_processes: outcome.leftover_processes,
            surviving_processes: outcome.surviving_processes,
        }
    }
}

/// Runs a program to its end and measures it.
#[pyfunction]
#[pyo3(signature = (argv, *, environment, working_directory, stdin=None, stdout_limit=1048576, stderr_limit=1048576,
    stdout_file=None, stderr_file=None, timeout=None, grace=1.0, cpus=None, cancel_fd=None))]
#[expect(clippy::too_many_arguments, reason = "one keyword for each thing that can be said about a run")]
fn run_command(
    python: Python<'_>,
    argv: Vec<Text>,
    environment: &Bound<'_, PyMapping>,
    working_directory: Text,
    stdin: Option<Text>,
    stdout_limit: u64,
    stderr_limit: u64,
    stdout_file: Option<Text>,
    stderr_file: Option<Text>,
    timeout: Option<f64>,
    grace: f64,
    cpus: Option<Vec<usize>>,
    cancel_fd: Option<RawFd>,
) -> PyResult<CommandResult> {
    let path = |text: Text| PathBuf::from(text.0);
    let command = Command {
        arguments: argv.into_iter().map(|text| text.0).collect(),
        environment: variables(environment)?,
        working_directory: path(working_directory),
        stdin: stdin.map(path),
        stdout: Sink { limit: stdout_limit, file: stdout_file.map(path) },
        stderr: Sink { limit: stderr_limit, file: stderr_file.map(path) },
        timeout: timeout.map(|seconds| span("timeout", seconds)).transpose()?,
        grace: span("grace", grace)?,
        cpus: cpus.unwrap_or_default(),
        cancel: cancel_fd,
    };
    let outcome = python.detach(|| run(&command)).map_err(|error| exception(python, &error))?;
    Ok(CommandResult::new(python, &outcome))
}

fn variables(environment: &Bound<'_, PyMapping>) -> PyResult<Vec<(OsString, OsString)>> {
    let items: Vec<(Text, Text)> = environment.items()?.extract()?;
    Ok(items.into_iter().map(|(name, value)| (name.0, value.0)).collect())
}

fn span(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("{name} is {seconds}: it must be a time in seconds, 0 or more"))
    })
}

fn exception(python: Python<'_>, error: &Error) -> PyErr {
    if error.reason() == "bad_command" {
        return PyValueError::new_err(error.to_string());
    }
    let raised = StartError::new_err((error.errno(), error.to_string()));
    match raised.value(python).setattr("reason", error.reason()) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("StartError", module.py().get_type::<StartError>())?;
    module.add_class::<CommandResult>()?;
    module.add_function(wrap_pyfunction!(run_command, module)?)
}
