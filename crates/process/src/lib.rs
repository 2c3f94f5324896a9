//! Starting one program and measuring it with as little added as possible.
//!
//! [`run`] starts a [`Command`] and returns an [`Outcome`]: times, resources, how it ended, what it printed. Between the
//! caller and the program stands a supervisor of a few pages (`supervisor/supervisor.c`), for three reasons:
//!
//! * the kernel counts the peak memory of whoever starts a program as the program's own (`exec_mmap` in `fs/exec.c`),
//!   so that everything started from a Python of 500 MB would seem to need 500 MB;
//! * it is a subreaper (`PR_SET_CHILD_SUBREAPER`) without other children, so that each process that outlives the
//!   program is found, also one with a session of its own, and none of the caller's is taken for one;
//! * it sees the caller's end, so that no program goes on running, and disturbing, after a crash.
//!
//! It takes the clock right before the start and right after the end, so that its own start is in no measurement.
//! Linux 5.3 or newer.

mod capture;
mod command;
mod counter;
mod counting;
mod descriptor;
mod error;
mod memory;
mod outcome;
mod search;
mod supervisor;

pub use capture::Captured;
pub use command::{Command, Namespace, Sink};
pub use counter::Counter;
pub use counting::{Count, Counting, threads_of};
pub use error::Error;
pub use memory::program_in_memory;
pub use outcome::{Counted, End, Outcome};
pub use supervisor::supervisor_image;

/// Runs `command` to its end and measures it; blocks until it and all it started have ended.
///
/// # Errors
/// What kept the program from starting ([`Error`]). How a program that did start ended is in the [`Outcome`].
pub fn run(command: &Command) -> Result<Outcome, Error> {
    let prepared = supervisor::Prepared::new(command)?;
    let mut running = prepared.start()?;
    let report = running.read_to_end();
    let followed = running.take_notes();
    let [stdout, stderr] = running.finish();
    Ok(Outcome { followed, ..Outcome::new(&report?, command, stdout, stderr)? })
}
