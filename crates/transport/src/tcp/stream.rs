//! One connection of a sender.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use trialwise_units::{Duration, Time};

use crate::error::Error;
use crate::settings::SendSettings;
use crate::system::{check, connect, get_option, set_buffer, set_option, socket};
use crate::tcp::info::Info;
use crate::tcp::{read, set_congestion, write};
use trialwise_protocol::application::{Application, Completion};
use trialwise_protocol::load::{Job, Supply};
use trialwise_protocol::opening::{OPENING_BYTES, Opening};

/// What an application that sets the rate writes at once: a full packet of 1500 bytes with time stamps.
const CHUNK: u64 = 1448;
/// Blocks written, or read, before others have their turn.
const TURN: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Open,
    /// All is written and its end said; the other end closes when it has everything.
    Closing,
    Closed,
}

/// A connection.
pub(super) struct Stream {
    pub(super) flow: usize,
    socket: OwnedFd,
    peer: SocketAddr,
    timeout: Duration,
    application: Application,
    is_of_size: bool,
    opening: [u8; OPENING_BYTES],
    opened: usize,
    sent: u64,
    received: u64,
    phase: Phase,
    start: Time,
}

impl Stream {
    /// Begins to connect.
    pub(super) fn start(job: &Job, settings: &SendSettings, now: Time) -> Result<Self, Error> {
        let doing = || format!("connecting to {}", settings.peer);
        let socket = socket(&settings.peer, libc::SOCK_STREAM).map_err(Error::from_io(doing()))?;
        set_congestion(&socket, &settings.congestion)?;
        prepare(&socket, settings).map_err(Error::from_io("setting socket options"))?;
        connect(&socket, &settings.peer)
            .map_err(|source| failure(settings.peer, settings.timeout, source))?;
        let congestion = settings.congestion.as_str().into();
        let opening = Opening { task: job.supply.task(), mtu: settings.mtu, congestion };
        Ok(Self {
            flow: job.flow,
            socket,
            peer: settings.peer,
            timeout: settings.timeout,
            application: Application::new(job.supply.clone(), now, CHUNK),
            is_of_size: matches!(job.supply, Supply::Size(_)),
            opening: opening.to_bytes(),
            opened: 0,
            sent: 0,
            received: 0,
            phase: Phase::Connecting,
            start: now,
        })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Closed || (self.application.is_finished() && !self.is_of_size)
    }

    pub(super) const fn received(&self) -> u64 {
        self.received
    }

    /// Whether the socket must take bytes before this connection can go on.
    pub(super) fn wants_to_write(&mut self, now: Time) -> bool {
        match self.phase {
            Phase::Connecting => true,
            Phase::Open => self.opened < OPENING_BYTES || self.sent < self.application.written(now),
            Phase::Closing | Phase::Closed => false,
        }
    }

    /// When something is to be done though the socket is silent.
    pub(super) fn next_event(&self, now: Time) -> Option<Time> {
        let write = self.application.next_write(now).filter(|_| self.phase == Phase::Open);
        [write, self.deadline()].into_iter().flatten().min()
    }

    /// When silence is an error.
    fn deadline(&self) -> Option<Time> {
        match self.phase {
            Phase::Connecting => Some(self.start + self.timeout),
            Phase::Open => self.application.waits_since().map(|since| since + self.timeout),
            Phase::Closing | Phase::Closed => None,
        }
    }

    /// Does what can be done now; `block` is what is written, and where reading may put things.
    pub(super) fn advance(&mut self, now: Time, block: &mut [u8]) -> Result<Option<Completion>, Error> {
        if self.phase == Phase::Connecting && !self.is_connected()? {
            return self.check_deadline(now).map(|()| None);
        }
        if self.phase == Phase::Open {
            self.write(now, block).map_err(|source| self.broken(&source))?;
        }
        let acknowledged = self.read(block)?;
        let completion = self.application.on_progress(now, acknowledged, self.received);
        self.check_deadline(now)?;
        Ok(completion)
    }

    fn check_deadline(&self, now: Time) -> Result<(), Error> {
        let is_over = self.deadline().is_some_and(|deadline| deadline <= now);
        if is_over { Err(Error::NoAnswer { peer: self.peer, span: self.timeout }) } else { Ok(()) }
    }

    fn is_connected(&mut self) -> Result<bool, Error> {
        let error = get_option(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR, 0_i32);
        let error = error.map_err(Error::from_io("reading a socket's state"))?;
        if error != 0 {
            return Err(failure(self.peer, self.timeout, io::Error::from_raw_os_error(error)));
        }
        let is_connected = Info::of(&self.socket).is_ok_and(|info| info.is_established());
        if is_connected {
            self.phase = Phase::Open;
        }
        Ok(is_connected)
    }

    fn write(&mut self, now: Time, block: &[u8]) -> io::Result<()> {
        while self.opened < OPENING_BYTES {
            match write(&self.socket, &self.opening[self.opened..])? {
                Some(count) => self.opened += count,
                None => return Ok(()),
            }
        }
        let written = self.application.written(now);
        for _ in 0..TURN {
            let length = block.len().min(usize::try_from(written - self.sent).unwrap_or(usize::MAX));
            if length == 0 {
                break;
            }
            match write(&self.socket, &block[..length])? {
                Some(count) => self.sent += count as u64,
                None => return Ok(()),
            }
        }
        if self.is_of_size && self.sent == written {
            // SAFETY: only closes one way of our own socket.
            check(unsafe { libc::shutdown(self.socket.as_raw_fd(), libc::SHUT_WR) })?;
            self.phase = Phase::Closing;
        }
        Ok(())
    }

    /// Takes what has come; gives how much is known to have arrived at the other end.
    fn read(&mut self, block: &mut [u8]) -> Result<u64, Error> {
        for _ in 0..TURN {
            match read(&self.socket, block, false).map_err(|source| self.broken(&source))? {
                Some(0) if self.phase == Phase::Closing => {
                    self.phase = Phase::Closed;
                    return Ok(self.sent);
                }
                Some(0) => return Err(self.lost("it closed the connection")),
                Some(count) => self.received += count as u64,
                None => break,
            }
        }
        Ok(0)
    }

    fn broken(&self, source: &io::Error) -> Error {
        match source.raw_os_error() {
            Some(libc::ETIMEDOUT) => Error::NoAnswer { peer: self.peer, span: self.timeout },
            _ => self.lost(source),
        }
    }

    fn lost(&self, reason: &(impl ToString + ?Sized)) -> Error {
        Error::WentAway { peer: self.peer, flow: self.flow, reason: reason.to_string() }
    }

    /// What the kernel tells, once the connection stands.
    pub(super) fn info(&self) -> Option<Info> {
        if self.phase == Phase::Connecting { None } else { Info::of(&self.socket).ok() }
    }

    /// Payload acknowledged by this account.
    pub(super) fn acknowledged(&self, info: &Info) -> u64 {
        let before = 1 + OPENING_BYTES as u64;
        info.acknowledged().saturating_sub(before).min(self.sent)
    }

    /// Ends the connection at once: what is still in the socket's buffer is not sent any more.
    pub(super) fn abort(&self) {
        let now = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = set_option(&self.socket, libc::SOL_SOCKET, libc::SO_LINGER, &now);
    }
}

fn prepare(socket: &OwnedFd, settings: &SendSettings) -> io::Result<()> {
    let timeout = u32::try_from(settings.timeout.milliseconds()).unwrap_or(u32::MAX).max(1);
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32)?;
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, &timeout)?;
    match settings.buffer {
        Some(bytes) => set_buffer(socket, libc::SO_SNDBUF, libc::SO_SNDBUFFORCE, bytes),
        None => Ok(()),
    }
}

fn failure(peer: SocketAddr, span: Duration, source: io::Error) -> Error {
    match source.raw_os_error() {
        Some(libc::ECONNREFUSED) => Error::Refused { peer },
        Some(libc::ETIMEDOUT) => Error::NoAnswer { peer, span },
        _ => Error::System { doing: format!("connecting to {peer}"), source },
    }
}
