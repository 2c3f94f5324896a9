//! What to run.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::Counter;

/// A program to run and the limits on it.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, looked up in the `PATH` of `environment` as `execvp(3)` does, and its arguments.
    pub arguments: Vec<OsString>,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub working_directory: PathBuf,
    /// What it reads: a file, else `/dev/null`.
    pub stdin: Option<PathBuf>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
    /// After this long it is ended.
    pub timeout: Option<Duration>,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The CPUs that it may use; empty for those of the caller.
    pub cpus: Vec<usize>,
    /// The namespaces of its own that it gets, made before the clock is read.
    pub isolate: Vec<Namespace>,
    /// A process whose namespaces (mounts, processes, IPC, name) it enters before. It must have no other children:
    /// what becomes a child of it counts as left behind by the program.
    pub inside: Option<u32>,
    /// What is counted of it and of all that it starts, from the moment at which it has become the program.
    pub counters: Vec<Counter>,
    /// Whether the programs that it starts, and the files that these map, are noted ([`crate::Outcome::followed`]).
    pub follow: bool,
    /// A descriptor that, when readable, abandons the run: SIGTERM, grace, SIGKILL.
    pub cancel: Option<RawFd>,
}

/// A namespace of a program's own (`namespaces(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// Network devices, addresses, routes, ports: a loopback device and nothing else.
    Network,
    /// Shared memory, semaphores and message queues.
    Ipc,
}

/// Where what a program prints goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sink {
    /// The most bytes that are kept; what comes after is counted and thrown away.
    pub limit: u64,
    /// A file (made or emptied) that receives the kept bytes instead of memory.
    pub file: Option<PathBuf>,
}

impl Command {
    /// `arguments` in the caller's environment and directory, with 1 MiB kept of each output, no timeout and a grace
    /// of a second.
    ///
    /// # Errors
    /// The caller's working directory is gone.
    pub fn new<T: Into<OsString>>(arguments: impl IntoIterator<Item = T>) -> std::io::Result<Self> {
        let sink = Sink { limit: 1 << 20, file: None };
        Ok(Self {
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: std::env::vars_os().collect(),
            working_directory: std::env::current_dir()?,
            stdin: None,
            stdout: sink.clone(),
            stderr: sink,
            timeout: None,
            grace: Duration::from_secs(1),
            cpus: Vec::new(),
            isolate: Vec::new(),
            inside: None,
            counters: Vec::new(),
            follow: false,
            cancel: None,
        })
    }
}
