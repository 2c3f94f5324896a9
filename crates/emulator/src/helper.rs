//! The helper program: where it can be executed.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;

use crate::error::Error;

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));
const NAME: &CStr = c"trialwise-path";

/// A path at which any process of this user can execute the helper while this process lives.
pub(crate) fn path() -> Result<PathBuf, Error> {
    static FILE: OnceLock<OwnedFd> = OnceLock::new();
    if FILE.get().is_none() {
        let file = in_memory().map_err(Error::from_io("laying out the helper"))?;
        // A loser of this race closes its file again.
        let _ = FILE.set(file.into());
    }
    FILE.get().map(path_of).ok_or(Error::HelperLost)
}

/// How any process of this user names a descriptor of this one.
pub(crate) fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()))
}

fn in_memory() -> io::Result<File> {
    let create = |flags| {
        // SAFETY: the name ends in a zero byte.
        unsafe { libc::memfd_create(NAME.as_ptr(), flags) }
    };
    let mut descriptor = create(libc::MFD_CLOEXEC | libc::MFD_EXEC);
    if descriptor < 0 {
        descriptor = create(libc::MFD_CLOEXEC); // before Linux 6.3
    }
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened and belongs to nobody else.
    let mut writer = unsafe { File::from_raw_fd(descriptor) };
    writer.write_all(PROGRAM)?;
    // What somebody may write cannot be executed: reopen it, and let the writer go.
    File::open(path_of(&writer))
}
