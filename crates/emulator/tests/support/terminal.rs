//! A terminal of a test's own.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;

/// Where a person would type, and the program's side.
pub fn open() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: makes two descriptors; neither name nor settings are asked for.
    let result = unsafe { libc::openpty(&raw mut ours, &raw mut theirs, null_mut(), null_mut(), null_mut()) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    // SAFETY: they were just made and belong to nobody else.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// Makes it the terminal that controls the program.
pub fn control(command: &mut Command, terminal: OwnedFd) {
    // SAFETY: between fork and exec only calls that are safe after a fork.
    unsafe {
        command.pre_exec(move || {
            // Whoever runs the tests in the background ignores Ctrl-C; a person at a terminal does not.
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            if libc::setsid() < 0 || libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}
