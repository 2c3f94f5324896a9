//! What a flow program is asked to do.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use trialwise_units::Duration;

use trialwise_protocol::load::Load;
use trialwise_protocol::scheme::Marking;

/// Of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveSettings {
    /// None for everywhere.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    /// Where the arrivals of media go (UDP).
    pub(crate) report: Option<PathBuf>,
    /// Of the socket's receive buffer; none for the system's own (TCP) or 4 MB (UDP).
    pub(crate) buffer: Option<u64>,
}

/// Of a sender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SendSettings {
    pub(crate) peer: SocketAddr,
    pub(crate) congestion: String,
    pub(crate) load: Load,
    /// The load as it was written.
    pub(crate) load_text: String,
    /// For how long; none for no end.
    pub(crate) time: Option<Duration>,
    pub(crate) report: Option<PathBuf>,
    /// Between samples.
    pub(crate) interval: Duration,
    /// Without an answer.
    pub(crate) timeout: Duration,
    /// Of the socket's send buffer.
    pub(crate) buffer: Option<u64>,
    /// The largest IP packet (UDP).
    pub(crate) mtu: u16,
    /// The ECN field of packets with data (UDP).
    pub(crate) marking: Marking,
}
