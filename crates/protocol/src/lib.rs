//! The transport protocol without sockets or clocks: every call carries `now`. The UDP transport drives it with real
//! packets, the simulator with packets over links of `trialwise-link`.
//!
//! A connection is named by the session (a random number of the sending program) and the flow's number in it. Each of its
//! two ways is a stream of bytes in numbered packets: what is lost is sent again under a new number, as in QUIC (RFC 9000,
//! section 12.3), so that each acknowledgement tells unambiguously which packet has arrived and when.
//!
//! A [`Load`](load::Load) becomes [`jobs`](load::Load::jobs), each a connection of its own: an
//! [`Application`](application::Application) writes, a [`Sender`](sender::Sender) sends, and at the other end a
//! [`Receiver`](receiver::Receiver) acknowledges. [`report`] has the lines in which a sender reports.

pub mod application;
pub mod frame;
pub mod load;
pub mod media;
pub mod message;
pub mod opening;
pub mod receiver;
pub mod report;
pub mod scheme;
pub mod sender;

mod episode;
mod flight;
mod origin;
mod pacer;
mod ranges;
mod reports;

#[cfg(test)]
mod network;
