//! One direction of a connection: bytes from one socket to another through a pipe, without copying them (splice(2)).

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What a pipe holds: bounds the memory of a connection.
const CAPACITY: usize = 1 << 16;
/// Bytes carried before others have their turn.
const TURN: usize = 1 << 20;

/// Pipes kept for the next that needs one.
const SPARE: usize = 16;

/// A pipe with nothing in it.
#[derive(Debug)]
struct Pipe {
    entry: OwnedFd,
    exit: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let mut pipe = [0; 2];
        // SAFETY: makes two descriptors.
        if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: they were just made and belong to nobody else.
        let [exit, entry] = pipe.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) });
        Ok(Self { entry, exit })
    }
}

/// Pipes that nobody uses at the moment.
#[derive(Debug, Default)]
pub(super) struct Pipes {
    spare: Vec<Pipe>,
}

impl Pipes {
    fn take(&mut self) -> io::Result<Pipe> {
        self.spare.pop().map_or_else(Pipe::new, Ok)
    }

    fn give_back(&mut self, pipe: Pipe) {
        if self.spare.len() < SPARE {
            self.spare.push(pipe);
        }
    }
}

/// How far one direction is. It has a pipe only while bytes are on the way.
#[derive(Debug, Default)]
pub(super) struct Pump {
    pipe: Option<Pipe>,
    inside: usize,
    /// The source has ended.
    ended: bool,
    /// The sink has been told.
    finished: bool,
}

impl Pump {
    /// Whether all is carried and the sink told of the end.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Carries what there is until neither side can go on, or the turn is over; whether there may be more.
    pub(super) fn run(
        &mut self,
        source: &TcpStream,
        sink: &TcpStream,
        pipes: &mut Pipes,
    ) -> io::Result<bool> {
        if self.finished {
            return Ok(false);
        }
        let pipe = self.pipe.take().map_or_else(|| pipes.take(), Ok)?;
        let more = self.carry(source, sink, &pipe)?;
        if self.inside == 0 {
            pipes.give_back(pipe);
        } else {
            self.pipe = Some(pipe);
        }
        Ok(more)
    }

    fn carry(&mut self, source: &TcpStream, sink: &TcpStream, pipe: &Pipe) -> io::Result<bool> {
        let mut carried = 0;
        while carried < TURN {
            let taken = self.fill(source, pipe)?;
            let given = self.drain(sink, pipe)?;
            if self.ended && self.inside == 0 {
                // A sink that is closed already needs no word.
                let _ = sink.shutdown(Shutdown::Write);
                self.finished = true;
                return Ok(false);
            }
            if taken + given == 0 {
                return Ok(false);
            }
            carried += given;
        }
        Ok(true)
    }

    fn fill(&mut self, source: &TcpStream, pipe: &Pipe) -> io::Result<usize> {
        if self.ended || self.inside == CAPACITY {
            return Ok(0);
        }
        let taken = splice(source.as_raw_fd(), pipe.entry.as_raw_fd(), CAPACITY - self.inside)?;
        self.ended = taken == Some(0);
        self.inside += taken.unwrap_or(0);
        Ok(taken.unwrap_or(0))
    }

    fn drain(&mut self, sink: &TcpStream, pipe: &Pipe) -> io::Result<usize> {
        if self.inside == 0 {
            return Ok(0);
        }
        let given = splice(pipe.exit.as_raw_fd(), sink.as_raw_fd(), self.inside)?.unwrap_or(0);
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
