//! The helper program: where it can be executed.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;

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

/// How any process of this user names a descriptor of this one.
pub(crate) fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()))
}
