//! Flows of the kernel's TCP.

mod info;
mod receive;
mod send;
mod stream;

pub(crate) use receive::receive;
pub(crate) use send::send;

use std::io;
use std::os::fd::AsRawFd;

use crate::error::Error;
use crate::system::set_option;

/// Chooses the congestion control of a socket.
fn set_congestion(socket: &impl AsRawFd, name: &str) -> Result<(), Error> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes()).map_err(|source| {
        let list = |kind| {
            let path = format!("/proc/sys/net/ipv4/tcp_{kind}_congestion_control");
            std::fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
        };
        Error::Congestion {
            name: name.to_owned(),
            source,
            allowed: list("allowed"),
            available: list("available"),
        }
    })
}

/// Writes some of `bytes`; none where the socket takes no more for now.
fn write(socket: &impl AsRawFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    let (pointer, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: the buffer has that length.
    let count = unsafe { libc::send(socket.as_raw_fd(), pointer, length, libc::MSG_NOSIGNAL) };
    unless_blocked(count)
}

/// Takes what has arrived and throws it away uncopied, or, to look at it, copies it to `buffer`; none where nothing is
/// there, 0 at the end.
fn read(socket: &impl AsRawFd, buffer: &mut [u8], to_look: bool) -> io::Result<Option<usize>> {
    let flags = if to_look { 0 } else { libc::MSG_TRUNC };
    let (pointer, length) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: the buffer has that length.
    let count = unsafe { libc::recv(socket.as_raw_fd(), pointer, length, flags) };
    unless_blocked(count)
}

fn unless_blocked(count: isize) -> io::Result<Option<usize>> {
    match usize::try_from(count) {
        Ok(count) => Ok(Some(count)),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
    }
}
