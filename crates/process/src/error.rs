//! Why a program did not start.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No arguments at all.
    #[error("there is no program to run: the list of arguments is empty")]
    Empty,
    /// A zero byte where the kernel wants text.
    #[error("a zero byte in {part} {text:?}")]
    ZeroByte {
        /// Which part of the command.
        part: &'static str,
        /// The offending text.
        text: OsString,
    },
    /// A name that no environment variable can have.
    #[error("{name:?} cannot name an environment variable: it is empty or holds '='")]
    BadName {
        /// The name.
        name: OsString,
    },
    /// The working directory cannot be used.
    #[error("cannot use the working directory {}: {source}", path.display())]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file for standard input cannot be read.
    #[error("cannot read {} for standard input: {source}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file for an output cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No such program.
    #[error("there is no program {program:?} {place}")]
    NoSuchProgram {
        /// The name as given.
        program: OsString,
        /// Where it was looked for.
        place: String,
    },
    /// The program is there and its interpreter or loader is not.
    #[error(
        "{program:?} names an interpreter that is not there (its first line, or the loader it was linked for)"
    )]
    NoInterpreter {
        /// The program.
        program: OsString,
    },
    /// The program may not be executed, or is not one.
    #[error("cannot execute {program:?}: {source}")]
    NotExecutable {
        /// The program.
        program: OsString,
        /// Why not.
        source: io::Error,
    },
    /// Arguments and environment are more than the kernel takes.
    #[error(
        "the arguments and the environment of {program:?} are too long: {bytes} bytes in {strings} strings"
    )]
    TooLong {
        /// The program.
        program: OsString,
        /// Their length with terminators.
        bytes: usize,
        /// Their number.
        strings: usize,
    },
    /// More counters than a run can have.
    #[error("{given} counters were asked for; a run can have {most}")]
    TooManyCounters {
        /// The number asked for.
        given: usize,
        /// The most there can be.
        most: usize,
    },
    /// The CPUs cannot be used.
    #[error("cannot bind the program to CPUs {cpus:?}: {source}")]
    Cpus {
        /// The CPUs as given.
        cpus: Vec<usize>,
        /// Why not.
        source: io::Error,
    },
    /// The namespaces cannot be made, or not be entered.
    #[error(
        "cannot make namespaces for the program, or enter them (as root, or where unprivileged user namespaces are allowed): {source}"
    )]
    Namespace {
        /// Why not.
        source: io::Error,
    },
    /// The kernel refused something else.
    #[error("{attempt}: {source}")]
    System {
        /// What was tried.
        attempt: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The supervisor was killed; nothing is known of the run.
    #[error("the supervisor of the program was killed before it could report")]
    SupervisorLost,
}

impl Error {
    /// One word for the kind of error, for programs to act on.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Empty | Self::ZeroByte { .. } | Self::BadName { .. } | Self::TooManyCounters { .. } => {
                "bad_command"
            }
            Self::WorkingDirectory { .. } => "working_directory",
            Self::Input { .. } => "stdin",
            Self::Output { .. } => "output_file",
            Self::NoSuchProgram { .. } => "no_such_program",
            Self::NoInterpreter { .. } => "no_interpreter",
            Self::NotExecutable { .. } => "not_executable",
            Self::TooLong { .. } => "arguments_too_long",
            Self::Cpus { .. } => "cpus",
            Self::Namespace { .. } => "namespace",
            Self::System { .. } | Self::SupervisorLost => "system",
        }
    }

    /// The kernel's error number, 0 when there is none.
    pub fn errno(&self) -> i32 {
        match self {
            Self::Empty | Self::ZeroByte { .. } | Self::BadName { .. } | Self::TooManyCounters { .. } => {
                libc::EINVAL
            }
            Self::NoSuchProgram { .. } | Self::NoInterpreter { .. } => libc::ENOENT,
            Self::TooLong { .. } => libc::E2BIG,
            Self::SupervisorLost => libc::ECHILD,
            Self::WorkingDirectory { source, .. }
            | Self::Input { source, .. }
            | Self::Output { source, .. }
            | Self::NotExecutable { source, .. }
            | Self::Cpus { source, .. }
            | Self::Namespace { source }
            | Self::System { source, .. } => source.raw_os_error().unwrap_or(0),
        }
    }

    pub(crate) fn last(attempt: &'static str) -> Self {
        Self::System { attempt, source: io::Error::last_os_error() }
    }
}
