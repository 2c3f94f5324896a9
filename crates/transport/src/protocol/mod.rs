//! The transport protocol without sockets or clocks: every call carries `now`.
//!
//! A connection is named by the session (a random number of the sending program) and the flow's number in it. Each of its
//! two ways is a stream of bytes in numbered packets: what is lost is sent again under a new number, as in QUIC (RFC 9000,
//! section 12.3), so that each acknowledgement tells unambiguously which packet has arrived and when.

pub(crate) mod frame;
pub(crate) mod ranges;
pub(crate) mod receiver;
pub(crate) mod sender;

mod delivery;
mod episode;
mod pacer;

#[cfg(test)]
mod network;
