//! What is streamed where: command line, environment, OML's XML file or a TOML file (OML.md section 11).

mod destination;
mod file;
mod options;
mod xml;

use std::path::PathBuf;
use std::time::Duration;

use crate::filter::{FilterChoice, Window};
use crate::protocol::Content;

pub use destination::Destination;
pub use options::{Disposition, usage};

/// Everything that the client has to know before it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The sender's name; the program's name when none was given.
    pub sender_id: String,
    /// The domain; the program's name when none was given.
    pub domain: String,
    /// Where streams go.
    pub collects: Vec<Collect>,
    /// The window of streams that no file lists.
    pub window: Window,
    /// Bytes of each thread's ring and of each destination's buffer; at least [`MIN_BUFFER`].
    pub buffer_bytes: usize,
    /// Period of the client's rows about itself, zero for none.
    pub instrumentation: Duration,
    /// What proves to a native collector that this client may send; empty: nothing.
    pub token: String,
    /// The certificates trusted with `tls:` destinations, in PEM.
    pub certificate: Option<PathBuf>,
    /// Where the log goes, if anywhere but standard error.
    pub log_file: Option<PathBuf>,
    /// −2 (errors alone) to 4 (everything).
    pub log_level: i32,
}

/// Default bytes of a ring: 100,000 rows of three int32, half a second at 200,000 rows/s.
pub const DEFAULT_BUFFER: usize = 4 << 20;
/// Scripts written for OML ask for a few KiB; this is used at least.
pub const MIN_BUFFER: usize = 64 << 10;

/// One destination and what goes there.
#[derive(Clone, Debug, PartialEq)]
pub struct Collect {
    /// The place.
    pub destination: Destination,
    /// The encoding of the rows (the native protocol has one only).
    pub content: Content,
    /// The streams; `None`: every measurement point with default filters.
    pub streams: Option<Vec<StreamChoice>>,
}

/// One stream that a file asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamChoice {
    /// The measurement point.
    pub point: String,
    /// The stream's name, the point's when absent.
    pub name: Option<String>,
    /// When a row is made.
    pub window: Window,
    /// What is kept; empty: default filters on every field.
    pub filters: Vec<FilterChoice>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An option without its value, or with a wrong one.
    #[error("{option}: {reason}")]
    Option {
        /// As it was given.
        option: String,
        /// What it needs.
        reason: String,
    },
    /// An address that cannot be read.
    #[error(
        "destination {uri:?}: {reason}; write tcp:HOST[:PORT], native:HOST[:PORT], tls:HOST[:PORT], file:PATH or file:-"
    )]
    Destination {
        /// As it was given.
        uri: String,
        /// What is wrong.
        reason: String,
    },
    /// A file that cannot be read.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong, with the place where known.
        reason: String,
    },
    /// A name for the program or domain that is none.
    #[error("{what} {name:?} cannot be used; letters, digits and _ make a name, the first no digit")]
    Name {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
}

impl Config {
    /// Everything to one destination, every sample a row, other settings as by default.
    pub fn new(sender_id: &str, domain: &str, destination: Destination) -> Self {
        Self {
            sender_id: sender_id.to_owned(),
            domain: domain.to_owned(),
            collects: vec![Collect::all(destination, None)],
            window: Window::Samples(1),
            buffer_bytes: DEFAULT_BUFFER,
            instrumentation: Duration::from_secs(1),
            token: String::new(),
            certificate: None,
            log_file: None,
            log_level: 0,
        }
    }
}

impl Collect {
    /// Every measurement point, in the given encoding or the destination's own.
    pub fn all(destination: Destination, content: Option<Content>) -> Self {
        let content = content.unwrap_or_else(|| destination.usual_content());
        Self { destination, content, streams: None }
    }
}
