//! `run_command`: one program started and measured.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyProcessLookupError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};
use trialwise_process::{
    Command, Counted, Counter, Counting, End, Error, Namespace, Outcome, Sink, run, threads_of,
};
use trialwise_python_macros::entry;

use crate::linux::span;

pyo3::create_exception!(
    trialwise._linux,
    StartError,
    PyOSError,
    "A program that could not be started: `errno`, `strerror`, and one word of why in `reason`."
);

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

/// What one run of a program came to. Resources are those of the program and of the children it waited for.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
struct CommandResult {
    /// CLOCK_REALTIME at the start, nanoseconds since the epoch.
    started_realtime_ns: i64,
    /// CLOCK_MONOTONIC right before the start, nanoseconds (comparable with ``time.monotonic_ns()``).
    started_ns: i64,
    /// From right before the start until the end was known, nanoseconds on CLOCK_MONOTONIC.
    wall_ns: u64,
    /// CPU time in the program, nanoseconds (resolution: a microsecond).
    user_ns: u64,
    /// CPU time in the kernel, nanoseconds (resolution: a microsecond).
    system_ns: u64,
    /// Peak resident memory of the largest process among them, bytes; the caller's own does not count.
    max_rss_bytes: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
    /// Blocks of 512 bytes read from a device.
    blocks_in: u64,
    /// Blocks of 512 bytes written.
    blocks_out: u64,
    /// None when a signal ended it, or when nothing did (see `surviving_processes`).
    exit_code: Option<i32>,
    /// The signal that ended it, or None.
    signal: Option<i32>,
    timed_out: bool,
    cancelled: bool,
    /// Standard output up to its limit; empty when it went to a file.
    stdout: Py<PyBytes>,
    /// Standard error up to its limit; empty when it went to a file.
    stderr: Py<PyBytes>,
    /// All bytes printed, kept or not.
    stdout_total: u64,
    stderr_total: u64,
    /// Processes that it started and that still ran when it had ended; they were ended too.
    leftover_processes: u64,
    /// Those that not even SIGKILL ended within ten seconds.
    surviving_processes: u64,
    /// For each of `counters`: its name; its count (task-clock, cpu-clock: nanoseconds), or None where it was not counted;
    /// the share of the time in which it counted; the error number of why it was not.
    counted: Vec<CountedRow>,
    /// What was noted of the programs that it started, for ``trialwise.measurement.followed``; None unless `follow` asked.
    followed: Option<Py<PyBytes>>,
}

type CountedRow = (String, Option<f64>, f64, Option<i32>);

fn row(counted: &Counted) -> CountedRow {
    let name = counted.counter.name().to_owned();
    match counted.value {
        Ok(value) => (name, Some(value), counted.share, None),
        Err(errno) => (name, None, counted.share, Some(errno)),
    }
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
            counted: outcome.counted.iter().map(row).collect(),
            followed: outcome.followed.as_deref().map(|notes| PyBytes::new(python, notes).unbind()),
        }
    }
}

/// Run a program to its end, without a shell, and measure it.
///
/// The program gets a process group of its own, default signals and no descriptor but the standard three. When it has
/// ended, whatever it started and left running is ended too (SIGTERM, `grace`, SIGKILL), also in sessions of its own.
/// It is ended as well when this process dies. The GIL is released meanwhile.
///
/// Parameters
/// ----------
/// argv
///     The program, looked up in the ``PATH`` of `environment` as ``execvp`` does, and its arguments.
/// environment
///     The complete environment.
/// working_directory
///     Where it runs.
/// stdin
///     A file to read from, else ``/dev/null``.
/// stdout_limit, stderr_limit
///     The most bytes kept; what comes after is counted and thrown away.
/// stdout_file, stderr_file
///     Files (made or emptied) that receive the kept bytes instead of the result.
/// timeout
///     Seconds after which it is ended; None for no limit.
/// grace
///     Seconds between SIGTERM and SIGKILL.
/// cpus
///     The CPUs that it may use; None for those of the caller.
/// counters
///     What is counted of it and of all that it starts (at most 16), by the names of `counter_names`, with ``:u`` behind
///     for what happens outside of the kernel only, or ``rNNN`` for a raw one. One that the machine does not have is named
///     in the result and does no harm.
/// isolate
///     Namespaces of its own that it gets, made before the clock is read: ``"network"`` (nothing in it but a loopback
///     device) and ``"ipc"`` (no shared memory, semaphores and message queues of others).
/// inside
///     A process whose namespaces (of mounts, processes, IPC and name) it enters before. What becomes a child of that
///     process meanwhile counts as left behind.
/// follow
///     Whether to note which programs it starts, by ptrace(2) events: some 40 microseconds for each process and thread.
/// cancel_fd
///     A descriptor that abandons the run when it is readable; it is not read. For Ctrl-C in the main thread use the
///     reading end of a pipe whose writing end is given to `signal.set_wakeup_fd`: Python's own handlers run only when
///     this function has returned.
///
/// Raises
/// ------
/// StartError
///     The program could not be started, or its output not be written.
/// ValueError
///     An empty `argv`, a zero byte, an impossible variable name, a negative time, an unknown counter or namespace.
#[entry]
#[pyfunction]
#[pyo3(signature = (argv, *, environment, working_directory, stdin=None, stdout_limit=1048576, stderr_limit=1048576,
    stdout_file=None, stderr_file=None, timeout=None, grace=1.0, cpus=None, counters=None, isolate=None, inside=None,
    follow=false, cancel_fd=None))]
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
    counters: Option<Vec<String>>,
    isolate: Option<Vec<String>>,
    inside: Option<u32>,
    follow: bool,
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
        isolate: isolate.unwrap_or_default().iter().map(|name| namespace(name)).collect::<PyResult<_>>()?,
        inside,
        follow,
        counters: counters.unwrap_or_default().iter().map(|name| counter(name)).collect::<PyResult<_>>()?,
        cancel: cancel_fd,
    };
    let outcome = python.detach(|| run(&command)).map_err(|error| exception(python, &error))?;
    Ok(CommandResult::new(python, &outcome))
}

fn variables(environment: &Bound<'_, PyMapping>) -> PyResult<Vec<(OsString, OsString)>> {
    let items: Vec<(Text, Text)> = environment.items()?.extract()?;
    Ok(items.into_iter().map(|(name, value)| (name.0, value.0)).collect())
}

fn counter(name: &str) -> PyResult<Counter> {
    Counter::named(name).ok_or_else(|| PyValueError::new_err(format!("unknown counter {name:?}")))
}

fn namespace(name: &str) -> PyResult<Namespace> {
    match name {
        "network" => Ok(Namespace::Network),
        "ipc" => Ok(Namespace::Ipc),
        _ => Err(PyValueError::new_err(format!("there is no namespace {name:?}"))),
    }
}

/// The names of the counters that `run_command` knows beside raw ones.
#[entry]
#[pyfunction]
fn counter_names() -> Vec<&'static str> {
    Counter::names().collect()
}

/// What is counted of programs while they run: each counter by its name.
///
/// Of the threads of the processes given, and of what they start from now on; without any, of what the calling thread starts
/// from now on, each from when it becomes a program, with all that it starts.
///
/// Raises
/// ------
/// ValueError
///     There is no such counter.
/// ProcessLookupError
///     None of the processes is there.
#[pyclass(frozen, module = "trialwise._linux")]
struct ProgramCounters {
    counting: Vec<std::io::Result<Counting>>,
}

#[entry]
#[pymethods]
impl ProgramCounters {
    #[new]
    #[pyo3(signature = (names, processes=None))]
    fn new(names: Vec<String>, processes: Option<Vec<i32>>) -> PyResult<Self> {
        let counters = names.iter().map(|name| counter(name)).collect::<PyResult<Vec<_>>>()?;
        let Some(processes) = processes else {
            return Ok(Self { counting: counters.iter().map(Counting::of_next).collect() });
        };
        // All of them are listed before any is counted: what a counted thread starts is counted already.
        let threads: Vec<i32> = processes.iter().flat_map(|id| threads_of(*id).unwrap_or_default()).collect();
        if threads.is_empty() {
            return Err(PyProcessLookupError::new_err("none of the processes is there"));
        }
        let counting = counters.iter().map(|counter| Counting::of_threads(counter, &threads)).collect();
        Ok(Self { counting })
    }

    /// For each counter, why it is not counted (the error number of perf_event_open(2)), or None.
    #[getter]
    fn errors(&self) -> Vec<Option<i32>> {
        let number = |error: &std::io::Error| error.raw_os_error().unwrap_or_default();
        self.counting.iter().map(|counting| counting.as_ref().err().map(number)).collect()
    }

    /// The counts so far: for each counter that counts, in order, the count scaled to the whole time (None where the counter
    /// never had its turn), seconds that the threads ran in which it was on, and those of them in which it had its turn.
    fn read(&self) -> PyResult<Vec<(Option<f64>, f64, f64)>> {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let counts = self.counting.iter().flatten().map(Counting::read);
        let told = counts.map(|count| {
            count.map(|count| (count.scaled(), seconds(count.enabled_ns), seconds(count.running_ns)))
        });
        Ok(told.collect::<std::io::Result<_>>()?)
    }
}

/// The supervisor that stands between `run_command` and a program, as an executable file for machines of this architecture.
///
/// It is freestanding. What it takes and what it reports stands at the head of ``crates/process/supervisor/supervisor.c``.
#[entry]
#[pyfunction]
fn supervisor_image(python: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(python, trialwise_process::supervisor_image())
}

/// A counter as the supervisor takes it: ``TYPE:CONFIG:USER``.
///
/// Raises
/// ------
/// ValueError
///     There is no such counter.
#[entry]
#[pyfunction]
fn counter_setting(name: &str) -> PyResult<String> {
    counter(name).map(|counter| counter.for_supervisor())
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
    module.add_class::<ProgramCounters>()?;
    module.add_function(wrap_pyfunction!(counter_names, module)?)?;
    module.add_function(wrap_pyfunction!(counter_setting, module)?)?;
    module.add_function(wrap_pyfunction!(supervisor_image, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)
}
