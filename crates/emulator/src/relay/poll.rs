//! Waiting for many descriptors at once.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use crate::wake::owned;

/// Events taken at a time.
pub(super) const EVENTS: usize = 128;

/// What a descriptor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The emulator's thread has told something.
    Wake,
    /// A port asked for at the receiver's end; by port.
    Listener,
    /// A connection to the host under way.
    Attempt,
    /// Either side of a connection. Told of once each time it becomes ready: whoever hears it goes on until it is not.
    Connection,
    /// A port of datagrams; by port.
    Port,
    /// Where the host's answers to one sender of datagrams come.
    Answers,
}

const KINDS: [Kind; 6] =
    [Kind::Wake, Kind::Listener, Kind::Attempt, Kind::Connection, Kind::Port, Kind::Answers];

/// The kernel's list of what is watched. Closing a descriptor takes it off.
#[derive(Debug)]
pub(super) struct Poll {
    epoll: OwnedFd,
}

impl Poll {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: makes a descriptor.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        Ok(Self { epoll: owned(epoll)? })
    }

    pub(super) fn watch(&self, descriptor: &impl AsRawFd, kind: Kind, index: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, kind, index)
    }

    /// Watches as something else what is watched already.
    pub(super) fn change(&self, descriptor: &impl AsRawFd, kind: Kind, index: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, kind, index)
    }

    fn control(&self, how: i32, descriptor: &impl AsRawFd, kind: Kind, index: u32) -> io::Result<()> {
        let events = match kind {
            Kind::Attempt => libc::EPOLLOUT,
            Kind::Connection => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
            _ => libc::EPOLLIN,
        };
        let token = (kind as u64) << 32 | u64::from(index);
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: token };
        // SAFETY: the event lives through the call.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), how, descriptor.as_raw_fd(), &raw mut event) }
        {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// What became ready, within a span of time.
    pub(super) fn wait(&self, ready: &mut Vec<(Kind, u32)>, patience: Duration) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        let (pointer, space) = (events.as_mut_ptr(), i32::try_from(EVENTS).unwrap_or(i32::MAX));
        // SAFETY: there is room for that many events.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), pointer, space, milliseconds) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        let tokens = events[..count.unsigned_abs() as usize].iter().map(|event| event.u64);
        ready.extend(tokens.map(|token| (KINDS[(token >> 32) as usize], token as u32)));
        Ok(())
    }
}
