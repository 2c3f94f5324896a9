//! Packets of programs over one UDP port of a real path, each with a header that says which it is, and a record of all of them.
//!
//! The programs run in a network namespace of this process with a TUN device and a fixed address; nothing on the machine's own
//! network changes, and all of it is gone with this process. What they send to the other end goes in UDP through the socket over
//! which both ends have met. Frames of that meeting share the socket: they are handed to whoever started the tunnel, and come from
//! there, with the address that they prove. The record is that of a capture ([`trialwise_capture::Records`]): the identity of a
//! packet is that in its header.

mod control;
mod device;
mod ecn;
mod error;
mod header;
mod namespace;
mod socket;
mod too_big;
mod tunnel;

pub use error::Error;
pub use header::{HEADER, Header, Sealer};
pub use namespace::enter;
pub use tunnel::{Seen, Settings, Side, Tunnel};
