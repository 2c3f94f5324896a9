//! Bulk flows under LEDBAT (RFC 6817) as BitTorrent has it: [`program`] sends or receives through libutp.
//!
//! Feature `utp`; without it there is only [`NotBuilt`], which says how to build with it.

#[cfg(feature = "utp")]
mod address;
#[cfg(feature = "utp")]
mod error;
#[cfg(feature = "utp")]
mod library;
#[cfg(feature = "utp")]
mod options;
#[cfg(feature = "utp")]
pub mod program;
#[cfg(feature = "utp")]
mod report;
#[cfg(feature = "utp")]
mod signals;

/// This build has no libutp.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "this build of Trialwise has no libutp; build it with `make setup FEATURES=utp` (on Debian that needs g++ \
     and libclang1)"
)]
pub struct NotBuilt;
