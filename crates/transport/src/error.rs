//! What goes wrong, in words for people.

use std::io;
use std::net::SocketAddr;

use trialwise_units::Duration;

/// Why a flow program did not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A command line that asks for nothing that there is.
    #[error("{0}\nSee --help.")]
    Usage(String),
    /// What the system refused.
    #[error("{doing}: {source}")]
    System { doing: String, source: io::Error },
    #[error("cannot listen at {address}: {source}; give another --port, or end what uses this one (ss -lnp)")]
    PortInUse { address: SocketAddr, source: io::Error },
    #[error("{peer} refused: nothing listens there; start `receive` first and check address and port")]
    Refused { peer: SocketAddr },
    #[error(
        "no answer from {peer} for {} s; check that `receive` of this version runs there and that the path carries packets, or \
         give a longer --timeout", .span.as_seconds()
    )]
    NoAnswer { peer: SocketAddr, span: Duration },
    #[error("{peer} answers, but does not take what opens flow {flow}; run `receive` of this version there")]
    OtherVersion { peer: SocketAddr, flow: usize },
    #[error("{peer} went away in the middle of flow {flow}: {reason}")]
    WentAway { peer: SocketAddr, flow: usize, reason: String },
    #[error(
        "the kernel refuses congestion control {name}: {source}. Permitted here: {allowed} (as root also: {available}); \
         more by `modprobe tcp_NAME`, or by adding a name to net.ipv4.tcp_allowed_congestion_control"
    )]
    Congestion { name: String, source: io::Error, allowed: String, available: String },
    #[error("no packets of {mtu} bytes may leave here: {source}; give a smaller --mtu")]
    TooLong { mtu: u16, source: io::Error },
    #[error("cannot write the report {path}: {source}")]
    Report { path: String, source: io::Error },
}

impl Error {
    /// Wraps an error of the system with what was being done.
    pub(crate) fn from_io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }

    /// The exit code of the program: 2 for usage, 1 for the rest.
    pub(crate) const fn exit_code(&self) -> i32 {
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}
