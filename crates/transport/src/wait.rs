//! Waiting for sockets, instants, and the wish of whoever started the program that it end.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use trialwise_units::{Duration, Time};

/// No sleep between packets is shorter: each wake costs a processor some 20 µs, and comes some 50 µs late; meanwhile
/// packets gather, and leave together.
const MIN_SLEEP: Duration = Duration::from_microseconds(50);

/// Until when to wait for what is to happen at `time`: not at all for what is due.
pub(crate) fn gather(now: Time, time: Time) -> Time {
    if time <= now { now } else { time.max(now + MIN_SLEEP) }
}

/// SIGTERM and SIGINT, kept from ending the program so that it can end well. Dropping it restores what was before.
pub(crate) struct Signals {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    pub(crate) fn block() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are written before they are read; only this thread's mask changes.
        let (descriptor, before) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            (libc::signalfd(-1, set.as_ptr(), libc::SFD_NONBLOCK | libc::SFD_CLOEXEC), before.assume_init())
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) }, before })
    }

    /// Whether one has come; it is taken.
    fn take(&self) -> bool {
        let mut information = [0_u8; size_of::<libc::signalfd_siginfo>()];
        let (descriptor, length) = (self.descriptor.as_raw_fd(), information.len());
        // SAFETY: the buffer has that length.
        unsafe { libc::read(descriptor, information.as_mut_ptr().cast(), length) > 0 }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        while self.take() {}
        // SAFETY: the set was filled by the kernel.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// What is waited for.
pub(crate) struct Waiter {
    signals: Signals,
    watched: Vec<libc::pollfd>,
}

impl Waiter {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: sets a property of this thread: without it, timers of ordinary threads fire up to 50 µs late.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        Ok(Self { signals: Signals::block()?, watched: Vec::new() })
    }

    /// Begins a list of what to wait for.
    pub(crate) fn clear(&mut self) {
        let descriptor = self.signals.descriptor.as_raw_fd();
        self.watched.clear();
        self.watched.push(libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 });
    }

    /// Adds a descriptor: wait until it can be read, and written if asked for. Gives its place.
    pub(crate) fn watch(&mut self, fd: RawFd, to_write: bool) -> usize {
        let events = if to_write { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        self.watched.push(libc::pollfd { fd, events, revents: 0 });
        self.watched.len() - 1
    }

    /// Waits until something in the list happens or `until` comes; whether the program is asked to end.
    pub(crate) fn wait(&mut self, now: Time, until: Option<Time>) -> io::Result<bool> {
        let timeout = until.map(|until| timespec(until - now));
        let pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.watched.len() as libc::nfds_t;
        // SAFETY: `watched` has `count` entries; the timeout is null or lives on; no signal mask is given.
        if unsafe { libc::ppoll(self.watched.as_mut_ptr(), count, pointer, std::ptr::null()) } < 0 {
            let error = io::Error::last_os_error();
            self.watched.iter_mut().for_each(|watched| watched.revents = 0);
            return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
        }
        Ok(self.watched[0].revents != 0 && self.signals.take())
    }

    /// Whether something happened at this place.
    pub(crate) fn is_ready(&self, place: usize) -> bool {
        self.watched[place].revents != 0
    }
}

fn timespec(span: Duration) -> libc::timespec {
    let nanoseconds = span.nanoseconds();
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
        tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
    }
}
