//! Waking a thread that waits for descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Wakes the thread that waits.
#[derive(Debug)]
pub(crate) struct Wake {
    event: OwnedFd,
}

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: makes a descriptor.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        Ok(Self { event: owned(event)? })
    }

    pub(crate) fn ring(&self) {
        // SAFETY: writes eight bytes, as an event wants them.
        unsafe { libc::write(self.event.as_raw_fd(), 1_u64.to_ne_bytes().as_ptr().cast(), 8) };
    }

    pub(crate) fn clear(&self) {
        let mut count = [0; 8];
        // SAFETY: there is room for the eight bytes of an event.
        unsafe { libc::read(self.event.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
    }
}

impl AsRawFd for Wake {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

/// A descriptor that the kernel just made, or why it did not.
pub(crate) fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller just made it, and it belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
