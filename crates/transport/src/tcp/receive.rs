//! `tcp receive`.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use trialwise_units::Time;

use crate::error::Error;
use crate::output::{complain, say_ready};
use crate::settings::ReceiveSettings;
use crate::system::{bind_anywhere, check, set_buffer, set_option};
use crate::tcp::{read, set_congestion, write};
use crate::wait::Waiter;
use trialwise_protocol::opening::{OPENING_BYTES, Opening, Task};

const BLOCK: usize = 1 << 20;
/// Blocks read before others have their turn.
const TURN: usize = 4;
const BACKLOG: i32 = 1024;

/// Takes connections until a signal comes.
pub(crate) fn receive(settings: &ReceiveSettings) -> Result<(), Error> {
    let mut waiter = Waiter::new().map_err(Error::from_io("taking over signals"))?;
    let listener = listen(settings)?;
    let mut peers: Vec<Peer> = Vec::new();
    let mut block = vec![0; BLOCK];
    say_ready()?;
    loop {
        waiter.clear();
        let door = waiter.watch(listener.as_raw_fd(), false);
        for peer in &peers {
            peer.watch(&mut waiter);
        }
        if waiter.wait(Time::ZERO, None).map_err(Error::from_io("waiting"))? {
            return Ok(());
        }
        let mut place = door;
        peers.retain_mut(|peer| {
            place += 1;
            !waiter.is_ready(place) || peer.advance(&mut block).unwrap_or_else(|error| peer.is_lost(&error))
        });
        if waiter.is_ready(door) {
            accept(&listener, &mut peers).map_err(Error::from_io("accepting a connection"))?;
        }
    }
}

fn listen(settings: &ReceiveSettings) -> Result<OwnedFd, Error> {
    let wanted = settings.address.unwrap_or([0, 0, 0, 0].into());
    let address = SocketAddr::new(wanted, settings.port);
    let in_use = |source| Error::PortInUse { address, source };
    let (socket, _) = bind_anywhere(libc::SOCK_STREAM, settings.address, settings.port).map_err(in_use)?;
    if let Some(bytes) = settings.buffer {
        // Connections inherit it.
        let buffer = set_buffer(&socket, libc::SO_RCVBUF, libc::SO_RCVBUFFORCE, bytes);
        buffer.map_err(Error::from_io("setting the receive buffer"))?;
    }
    // SAFETY: a socket of our own.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) }).map_err(in_use)?;
    Ok(socket)
}

fn accept(listener: &OwnedFd, peers: &mut Vec<Peer>) -> io::Result<()> {
    loop {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let null = std::ptr::null_mut();
        // SAFETY: no address is asked for.
        match check(unsafe { libc::accept4(listener.as_raw_fd(), null, null.cast(), flags) }) {
            // SAFETY: the descriptor is new and ours.
            Ok(fd) => peers.push(Peer::new(unsafe { OwnedFd::from_raw_fd(fd) })?),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The other end of a connection.
struct Peer {
    socket: OwnedFd,
    opening: [u8; OPENING_BYTES],
    opened: usize,
    task: Task,
    received: u64,
    answered: u64,
}

impl Peer {
    fn new(socket: OwnedFd) -> io::Result<Self> {
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32)?;
        let opening = [0; OPENING_BYTES];
        Ok(Self { socket, opening, opened: 0, task: Task::Take, received: 0, answered: 0 })
    }

    fn watch(&self, waiter: &mut Waiter) {
        waiter.watch(self.socket.as_raw_fd(), self.owed() > 0);
    }

    /// Bytes of responses that are not written yet.
    fn owed(&self) -> u64 {
        match self.task {
            Task::Take => 0,
            Task::Answer { request, response } => self.received / request * response - self.answered,
        }
    }

    /// Does what can be done; whether the connection goes on.
    fn advance(&mut self, block: &mut [u8]) -> Result<bool, Error> {
        let from_io = |source| Error::System { doing: "a connection".to_owned(), source };
        for _ in 0..TURN {
            let is_opening = self.opened < OPENING_BYTES;
            let buffer = if is_opening { &mut self.opening[self.opened..] } else { &mut *block };
            match read(&self.socket, buffer, is_opening).map_err(from_io)? {
                Some(0) => return Ok(false),
                Some(count) if is_opening => self.open(count)?,
                Some(count) => self.received += count as u64,
                None => break,
            }
        }
        self.answer(block).map_err(from_io)?;
        Ok(true)
    }

    fn open(&mut self, count: usize) -> Result<(), Error> {
        self.opened += count;
        if self.opened < OPENING_BYTES {
            return Ok(());
        }
        let opening = Opening::from_bytes(&self.opening).ok_or_else(|| {
            let source = io::Error::new(io::ErrorKind::InvalidData, "what came is not from `tcp send`");
            Error::System { doing: "a connection".to_owned(), source }
        })?;
        self.task = opening.task;
        if matches!(self.task, Task::Answer { .. }) {
            set_congestion(&self.socket, opening.congestion.as_str())?;
        }
        Ok(())
    }

    fn answer(&mut self, block: &[u8]) -> io::Result<()> {
        for _ in 0..TURN {
            let length = block.len().min(usize::try_from(self.owed()).unwrap_or(usize::MAX));
            if length == 0 {
                break;
            }
            match write(&self.socket, &block[..length])? {
                Some(count) => self.answered += count as u64,
                None => break,
            }
        }
        Ok(())
    }

    /// A sender that ended its connection at once is nothing to complain of.
    fn is_lost(&self, error: &Error) -> bool {
        let is_reset = matches!(error, Error::System { source, .. } if
            matches!(source.raw_os_error(), Some(libc::ECONNRESET | libc::EPIPE)));
        if !is_reset {
            complain(error);
        }
        false
    }
}
