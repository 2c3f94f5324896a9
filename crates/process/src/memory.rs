//! Programs that a library carries as bytes.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

/// A file in memory that holds `program` and can be executed by its path below `/proc`; it closes on exec.
///
/// # Errors
/// When the kernel gives no such file, or `/proc` is not mounted.
pub fn program_in_memory(name: &CStr, program: &[u8]) -> io::Result<File> {
    let create = |flags| {
        // SAFETY: the name ends in a zero byte.
        unsafe { libc::memfd_create(name.as_ptr(), flags) }
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
    writer.write_all(program)?;
    // A file that somebody may write cannot be executed: reopen it, and let the writer go.
    File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))
}
