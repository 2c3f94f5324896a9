//! What a run came to.

use std::io;
use std::time::Duration;

use crate::capture::Captured;
use crate::supervisor::{Reading, Report, too_long};
use crate::{Command, Count, Counter, Error};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It left with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// Not even SIGKILL ended it (it hangs inside the kernel): it was left behind.
    Never,
}

/// A program's run, measured. Resources are those of the program and of the children that it waited for (`wait4(2)`).
#[derive(Clone, Debug)]
pub struct Outcome {
    /// CLOCK_REALTIME at the start, nanoseconds since the epoch.
    pub started_realtime_ns: i64,
    /// CLOCK_MONOTONIC right before the start, nanoseconds.
    pub started_ns: i64,
    /// From right before the start until the end was known, on CLOCK_MONOTONIC.
    pub wall: Duration,
    /// CPU time in the program (the kernel counts microseconds).
    pub user: Duration,
    /// CPU time in the kernel (the kernel counts microseconds).
    pub system: Duration,
    /// Peak resident memory of the largest process among them, in bytes.
    pub max_rss_bytes: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because others wanted the CPU.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Blocks of 512 bytes read from a device.
    pub blocks_in: u64,
    /// Blocks of 512 bytes written.
    pub blocks_out: u64,
    /// How it ended.
    pub end: End,
    /// It was ended because of its timeout.
    pub timed_out: bool,
    /// It was ended because the caller abandoned it.
    pub cancelled: bool,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// Processes that it started and that still ran when it had ended; they were ended too.
    pub leftover_processes: u64,
    /// Those among them that not even SIGKILL ended within ten seconds.
    pub surviving_processes: u64,
    /// What was counted, in the order of [`Command::counters`].
    pub counted: Vec<Counted>,
    /// What the supervisor noted of the programs that were started, as the head of `supervisor/supervisor.c` says; `None`
    /// where [`Command::follow`] did not ask for it.
    pub followed: Option<Vec<u8>>,
}

/// What one counter came to.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The counter.
    pub counter: Counter,
    /// The count. Where the processor has fewer counters than were asked for, they take turns, and this is the count
    /// scaled to the whole time.
    ///
    /// # Errors
    /// Why it was not counted: the error number of perf_event_open(2), EBUSY where it never had its turn.
    pub value: Result<f64, i32>,
    /// The share of the program's time in which it counted: 1 unless counters took turns.
    pub share: f64,
}

impl Counted {
    fn new(counter: &Counter, reading: &Reading) -> Self {
        let counter = counter.clone();
        if reading.error != 0 {
            return Self { counter, value: Err(i32::try_from(reading.error).unwrap_or(0)), share: 0.0 };
        }
        // A counter that never ran because nothing was there to run it has counted that nothing.
        let count = Count {
            raw: count(reading.value),
            enabled_ns: count(reading.enabled_ns),
            running_ns: count(reading.running_ns),
        };
        Self { counter, value: count.scaled().ok_or(libc::EBUSY), share: count.share() }
    }
}

/// `stage` in the report: how far the start came.
mod stage {
    pub(super) const RAN: i64 = 0;
    pub(super) const AFFINITY: i64 = 2;
    pub(super) const EXEC: i64 = 3;
    pub(super) const NAMESPACE: i64 = 4;
}

impl Outcome {
    pub(crate) fn new(
        report: &Report,
        command: &Command,
        stdout: Captured,
        stderr: Captured,
    ) -> Result<Self, Error> {
        if report.stage != stage::RAN {
            return Err(not_started(report, command));
        }
        Ok(Self {
            started_realtime_ns: report.realtime,
            started_ns: report.start,
            wall: Duration::from_nanos(count(report.end - report.start)),
            user: Duration::from_micros(count(report.user_us)),
            system: Duration::from_micros(count(report.system_us)),
            max_rss_bytes: count(report.max_rss_kib) * 1024,
            voluntary_switches: count(report.voluntary),
            involuntary_switches: count(report.involuntary),
            minor_faults: count(report.minor_faults),
            major_faults: count(report.major_faults),
            blocks_in: count(report.blocks_in),
            blocks_out: count(report.blocks_out),
            end: end(report.status),
            timed_out: report.reason == 1,
            cancelled: report.reason == 2,
            stdout,
            stderr,
            leftover_processes: count(report.leftover),
            surviving_processes: count(report.surviving),
            counted: command
                .counters
                .iter()
                .zip(&report.counters)
                .map(|(counter, reading)| Counted::new(counter, reading))
                .collect(),
            followed: None,
        })
    }
}

fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn end(status: i64) -> End {
    match i32::try_from(status) {
        Ok(status) if status < 0 => End::Never,
        Ok(status) if libc::WIFEXITED(status) => End::Exited(libc::WEXITSTATUS(status)),
        Ok(status) => End::Signalled(libc::WTERMSIG(status)),
        Err(_) => End::Never,
    }
}

fn not_started(report: &Report, command: &Command) -> Error {
    let errno = i32::try_from(report.error).unwrap_or(0);
    let source = io::Error::from_raw_os_error(errno);
    let program = command.arguments.first().cloned().unwrap_or_default();
    match (report.stage, errno) {
        (stage::NAMESPACE, _) => Error::Namespace { source },
        (stage::AFFINITY, _) => Error::Cpus { cpus: command.cpus.clone(), source },
        // The search found the file, so that what is missing is what it asks for.
        (stage::EXEC, libc::ENOENT) => Error::NoInterpreter { program },
        (stage::EXEC, libc::E2BIG) => too_long(command),
        (stage::EXEC, _) => Error::NotExecutable { program, source },
        _ => Error::System { attempt: "starting the program", source },
    }
}
