//! The helper program: where it can be executed.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, process};

use trialwise_process::program_in_memory;

use crate::error::Error;

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));
const NAME: &CStr = c"trialwise-path";

/// A path at which any process of this user can execute the helper while this process lives.
pub(crate) fn path() -> Result<PathBuf, Error> {
    static FILE: OnceLock<OwnedFd> = OnceLock::new();
    if FILE.get().is_none() {
        let file = program_in_memory(NAME, PROGRAM).map_err(Error::from_io("laying out the helper"))?;
        // A loser of this race closes its file again.
        let _ = FILE.set(file.into());
    }
    FILE.get().map(path_of).ok_or(Error::HelperLost)
}

/// How any process of this user names a descriptor of this one. In a path, /proc may be of another process namespace, so
/// that it says itself which process this is.
pub(crate) fn path_of(file: &impl AsRawFd) -> PathBuf {
    let own = fs::read_link("/proc/self").unwrap_or_else(|_| process::id().to_string().into());
    Path::new("/proc").join(own).join("fd").join(file.as_raw_fd().to_string())
}
