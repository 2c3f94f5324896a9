//! One direction of a connection: bytes from one socket to another through a pipe, without copying them (splice(2)).

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What a pipe holds: bounds the memory of a connection.
const CAPACITY: usize = 1 << 16;
/// Bytes carried before others have their turn.
const TURN: usize = 1 << 20;

/// A pipe, and how far the bytes through it are.
#[derive(Debug)]
pub(super) struct Pump {
    entry: OwnedFd,
    exit: OwnedFd,
    inside: usize,
    /// The source has ended.
    ended: bool,
    /// The sink has been told.
    finished: bool,
}

impl Pump {
    pub(super) fn new() -> io::Result<Self> {
        let mut pipe = [0; 2];
        // SAFETY: makes two descriptors.
        if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: they were just made and belong to nobody else.
        let [exit, entry] = pipe.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) });
        Ok(Self { entry, exit, inside: 0, ended: false, finished: false })
    }

    /// Whether all is carried and the sink told of the end.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Carries what there is until neither side can go on, or the turn is over; whether there may be more.
    pub(super) fn run(&mut self, source: &TcpStream, sink: &TcpStream) -> io::Result<bool> {
        let mut carried = 0;
        while !self.finished && carried < TURN {
            let taken = self.fill(source)?;
            let given = self.drain(sink)?;
            if self.ended && self.inside == 0 {
                // A sink that is closed already needs no word.
                let _ = sink.shutdown(Shutdown::Write);
                self.finished = true;
            } else if taken + given == 0 {
                return Ok(false);
            }
            carried += given;
        }
        Ok(!self.finished)
    }

    fn fill(&mut self, source: &TcpStream) -> io::Result<usize> {
        if self.ended || self.inside == CAPACITY {
            return Ok(0);
        }
        let taken = splice(source.as_raw_fd(), self.entry.as_raw_fd(), CAPACITY - self.inside)?;
        self.ended = taken == Some(0);
        self.inside += taken.unwrap_or(0);
        Ok(taken.unwrap_or(0))
    }

    fn drain(&mut self, sink: &TcpStream) -> io::Result<usize> {
        if self.inside == 0 {
            return Ok(0);
        }
        let given = splice(self.exit.as_raw_fd(), sink.as_raw_fd(), self.inside)?.unwrap_or(0);
        self.inside -= given;
        Ok(given)
    }
}

/// How many bytes went; `None` when none can now.
fn splice(from: RawFd, to: RawFd, count: usize) -> io::Result<Option<usize>> {
    let (here, flags) = (std::ptr::null_mut(), libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK);
    // SAFETY: without offsets it moves bytes between two descriptors.
    let moved = unsafe { libc::splice(from, here, to, here, count, flags) };
    match usize::try_from(moved) {
        Ok(moved) => Ok(Some(moved)),
        Err(_) => {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            }
        }
    }
}
