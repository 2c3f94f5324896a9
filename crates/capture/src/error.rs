//! Why packets cannot be captured.

use std::io;

use trialwise_streams::client::DeclareError;

/// What is wrong, and what would lift it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not permit it.
    #[error("this user may not capture packets; run it as root, or with CAP_NET_RAW")]
    Permission,
    /// There is no such interface.
    #[error("there is no interface {0:?}; `ip link` lists those there are")]
    Interface(String),
    /// Frames of a kind that is not decoded.
    #[error("frames of interface {0:?} (ARPHRD {1}) are not decoded; Ethernet, IP and radiotap are")]
    Link(String, u16),
    /// A call of the system failed.
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
    /// The points cannot be declared.
    #[error(transparent)]
    Declare(#[from] DeclareError),
}
