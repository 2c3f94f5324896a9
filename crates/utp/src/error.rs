//! What goes wrong, in words for people.

use std::io;
use std::net::SocketAddr;

use crate::program::PATIENCE;

/// Why a program did not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}\nSee --help.")]
    Usage(String),
    #[error("{doing}: {source}")]
    System { doing: &'static str, source: io::Error },
    #[error(
        "cannot listen at port {port}: {source}; give another --port, or end what uses this one (ss -lnup)"
    )]
    PortInUse { port: u16, source: io::Error },
    #[error("{peer} refused: nothing listens there; start `receive` first and check address and port")]
    Refused { peer: SocketAddr },
    #[error(
        "no answer from {peer} for {} s; check that `receive` runs there and that the path carries packets",
        PATIENCE.as_secs()
    )]
    NoAnswer { peer: SocketAddr },
    #[error("{peer} went away in the middle of the flow")]
    WentAway { peer: SocketAddr },
    #[error("cannot write the report {path}: {source}")]
    Report { path: String, source: io::Error },
}

impl Error {
    /// Wraps an error of the system with what was being done.
    pub(crate) fn from_io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }

    /// The exit code of the program: 2 for usage, 1 for the rest.
    pub(crate) const fn exit_code(&self) -> i32 {
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}
