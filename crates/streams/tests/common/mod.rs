//! What the tests of this crate share: recorded streams and owned rows.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "each test file uses a part"
)]

pub mod client;
pub mod events;
pub mod oracles;

use std::path::PathBuf;

pub use events::{Found, Owned, damages, decode, decode_all, double, found, owned, rows};

/// The folder of recorded streams, or a reason on standard error.
pub fn recorded() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oml"));
    let found = folder.join("MANIFEST.json").exists().then_some(folder);
    if found.is_none() {
        eprintln!("skipped: no ../shared/data/oml beside the repository");
    }
    found
}
