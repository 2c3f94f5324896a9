//! Emulated paths for real packets: real programs at two ends, and a [`Link`](trialwise_link::Link) each way between them.
//!
//! A [`Path`] is two network namespaces, each with one device, and a thread that reads whole frames from either, splits
//! them into packets, takes these through the link of that direction, and writes what is due to the other device, joined
//! again to frames. The model's own times decide when a packet is due, so that lateness never adds up. Nothing outside the
//! namespaces is changed; they hang on descriptors of this process, so that nothing is left, however it dies. The devices
//! are TUN devices, or pairs of veth devices where those may not be opened ([`DeviceChoice`]).
//!
//! An [`OuterPath`] has one such namespace, and its other end is the network that this process is in: by a device there
//! that is gone with this process, or by a relay where none may be made. [`measure_ceiling`] tells what the machine can do.
//!
//! ```no_run
//! use trialwise_emulator::{End, LATENESS_BOUND, NamespaceSettings, Path, PathSettings};
//! use trialwise_link::LinkSpec;
//! use trialwise_units::Seed;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pairs = [("rate", "12Mbit/s"), ("queue", "droptail:packets=50"), ("delay", "28ms")];
//! let link = LinkSpec::from_pairs(pairs, &|path| Err(format!("no file {path}")))?;
//! let settings = PathSettings {
//!     forward: link.clone(),
//!     backward: link,
//!     seed: Seed::new(1),
//!     namespaces: NamespaceSettings::default(),
//! };
//! let path = Path::open(&settings, None)?;
//! let mut server = path.command(End::Receiver, "iperf3")?.args(["-s", "-1"]).spawn()?;
//! path.command(End::Sender, "iperf3")?.args(["-c", &End::Receiver.address().to_string()]).status()?;
//! server.wait()?;
//! let report = path.close()?;
//! if let Some(bottleneck) = report.bottleneck(LATENESS_BOUND) {
//!     eprintln!("not valid: {bottleneck}");
//! }
//! # Ok(())
//! # }
//! ```

mod awake;
mod carrier;
mod ceiling;
mod clock;
mod datagram;
mod destination;
mod device;
mod emulator;
mod end;
mod engine;
mod error;
mod handover;
mod headers;
mod helper;
mod histogram;
mod join;
mod log;
mod namespaces;
#[cfg(any(test, fuzzing))]
pub mod oracles;
mod outer;
mod path;
mod pool;
mod priority;
mod relay;
mod report;
mod sockets;
mod wake;

pub use ceiling::{Ceiling, CeilingLimit, measure_ceiling};
pub use datagram::Datagram;
pub use device::{Device, DeviceCounters, DeviceKind};
pub use emulator::Emulator;
pub use end::End;
pub use error::{Error, Stage};
pub use histogram::Percentiles;
pub use log::PacketLog;
pub use namespaces::{DeviceChoice, MAXIMUM_MTU, MINIMUM_MTU, NamespaceSettings, Namespaces};
pub use outer::{Crossing, OuterPath};
pub use path::{Path, PathError, PathSettings};
pub use priority::Priority;
pub use report::{Bottleneck, DirectionReport, EcnCounts, LATENESS_BOUND, Report};
pub use trialwise_link::log::{Columns, Direction, Event, LogReader, Record, read_columns};
