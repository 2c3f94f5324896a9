//! Packets of an interface as measurement streams: one sample for each header, stamped by the kernel.
//!
//! [`decode`] reads headers out of bytes and does nothing else; [`Capture`] gets frames through a ring shared with the kernel
//! (packet(7), `TPACKET_V3`) and injects them; [`Sightings`] writes a record of each into a file, with what it is known by at both
//! ends of a path. Points and fields are those of OML's trace application (Mehani et al. 2014,
//! Table 2: radiotap, ip, tcp, udp), and `capture` says how many packets the kernel dropped.

mod capture;
mod error;
mod headers;
mod identity;
mod ip;
mod listener;
mod points;
mod radiotap;
mod records;
mod ring;
mod sightings;
mod socket;
mod stamps;

pub use capture::{Capture, Counts, Options, Protocol};
pub use error::Error;
pub use headers::{Headers, Link, Transport, decode};
pub use identity::{Key, Part, parts};
pub use ip::{Ip, Tcp, Udp};
pub use radiotap::Radiotap;
pub use records::{Flows, Records, Sighting};
pub use sightings::{Seen, Sightings, Wanted};
pub use stamps::Stamps;
