//! The collection server: takes measurement streams from many clients and loses nothing.
//!
//! Clients speak OML's protocol (versions 1 to 5, text and binary) or the native one, on one port. What arrives goes to a
//! spool on disk, before the native protocol acknowledges it; a loader brings it from there to a database for each domain,
//! exactly once, also over a `kill -9`. When the loader is behind, the spool grows; when the spool is full, clients wait.
//!
//! ```
//! use std::time::Duration;
//! use trialwise_collector::{Collector, Config, Store};
//!
//! let folder = std::env::temp_dir().join("trialwise-collector-example");
//! let mut config = Config::new(Store::Sqlite(folder.clone()));
//! config.listen.set_port(0);
//! let collector = Collector::start(config)?;
//! println!("listening at {}", collector.address());
//! let report = collector.stop(Duration::from_secs(4));
//! assert_eq!(report.failure, None);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod catalog;
mod clock;
mod collector;
mod config;
mod connection;
mod counters;
mod descriptors;
mod forward;
mod loader;
mod parquet;
mod postgresql;
mod reason;
mod scan;
mod server;
mod spool;
mod sqlite;
mod status;
mod store;
mod values;
mod wire;

pub use collector::{Collector, CollectorError, StopReport};
pub use config::{Access, Config, DEFAULT_PORT, Store, UnknownStore, Upstream};
pub use counters::{Counters, Refusal};
pub use spool::SpoolError;
pub use trialwise_streams::tls::Identity;

pub use status::{Clock, ForwardStatus, SenderStatus, Status, Trouble};
