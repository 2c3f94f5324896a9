//! Descriptors: pipes and where they may lie.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::Error;

/// Below this the child's descriptors are laid out (0–4), so nothing that is copied there may lie there.
pub(crate) const FIRST_FREE: RawFd = 6;

/// As large as the kernel gives to everybody (`/proc/sys/fs/pipe-max-size`), so that its reader rarely wakes.
const PIPE_SIZE: libc::c_int = 1 << 20;

/// A pipe: what is read, what is written; both close on exec.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(Error::last("making a pipe"));
    }
    // SAFETY: both were just opened and belong to nobody else.
    let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    Ok((read, above_standard(write)?))
}

/// Makes `pipe` large and its reading end non-blocking; returns its size in bytes.
pub(crate) fn enlarge(read: &OwnedFd) -> usize {
    // SAFETY: fcntl on a descriptor that is open; a refusal (too many pages in pipes) leaves the pipe as it was.
    unsafe {
        libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
        libc::fcntl(read.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE_SIZE);
        usize::try_from(libc::fcntl(read.as_raw_fd(), libc::F_GETPIPE_SZ)).unwrap_or(4096)
    }
}

/// The same file at a descriptor that the child's layout does not use.
pub(crate) fn above_standard(descriptor: OwnedFd) -> Result<OwnedFd, Error> {
    if descriptor.as_raw_fd() >= FIRST_FREE { Ok(descriptor) } else { duplicate(descriptor.as_raw_fd()) }
}

/// A second descriptor of the same file, above the child's layout, closing on exec.
pub(crate) fn duplicate(descriptor: RawFd) -> Result<OwnedFd, Error> {
    // SAFETY: fcntl fails on a number that is not open, and touches nothing else.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, FIRST_FREE) };
    if copy < 0 {
        return Err(Error::last("duplicating a descriptor"));
    }
    // SAFETY: it was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// `file` as a descriptor above the child's layout.
pub(crate) fn of_file(file: File) -> Result<OwnedFd, Error> {
    above_standard(file.into())
}
