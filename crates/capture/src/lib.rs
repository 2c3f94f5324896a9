//! Packets of an interface as measurement streams: one sample for each header, stamped by the kernel.
//!
//! [`decode`] reads headers out of bytes and does nothing else; [`Capture`] gets frames through a ring shared with the kernel
//! (packet(7), `TPACKET_V3`) and injects them. Points and fields are those of OML's trace application (Mehani et al. 2014,
//! Table 2: radiotap, ip, tcp, udp), and `capture` says how many packets the kernel dropped.

mod capture;
mod error;
mod headers;
mod ip;
mod points;
mod radiotap;
mod ring;
mod socket;

pub use capture::{Capture, Counts, Options, Protocol};
pub use error::Error;
pub use headers::{Headers, Link, Transport, decode};
pub use ip::{Ip, Tcp, Udp};
pub use radiotap::Radiotap;
