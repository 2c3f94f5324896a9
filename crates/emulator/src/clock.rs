//! The clock and the wait of the emulator's thread.

use std::io;
use std::os::fd::RawFd;

use trialwise_units::{Duration, Time};

/// What is left of a wait below this is polled away, as far as the budget goes: a sleeping thread wakes late.
const SPIN: Duration = Duration::from_microseconds(60);
/// Of all time, one part in this many may be spent on spinning.
const SPIN_SHARE: u64 = 20;
const MOST_SPIN: Duration = Duration::from_milliseconds(1);
/// Without budget no sleep is shorter than this, so that packets gather when there are many.
const SHORTEST_SLEEP: Duration = Duration::from_microseconds(40);

/// Monotonic time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: i64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: nanoseconds(libc::CLOCK_MONOTONIC) }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanoseconds((nanoseconds(libc::CLOCK_MONOTONIC) - self.origin).unsigned_abs())
    }
}

/// Nanoseconds of a clock of the system.
pub(crate) fn nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written to; the clocks asked for exist everywhere.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Time on a processor that this thread has had.
pub(crate) fn processor_time() -> Duration {
    Duration::from_nanoseconds(nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID).unsigned_abs())
}

/// Waits for packets or an instant, spinning at the end where there is budget for it.
pub(crate) struct Waiter {
    watched: [libc::pollfd; 3],
    budget: Duration,
    last: Time,
}

impl Waiter {
    pub(crate) fn new(descriptors: [RawFd; 3]) -> Self {
        make_timers_exact();
        let watched = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        Self { watched, budget: MOST_SPIN, last: Time::ZERO }
    }

    /// Waits until `until`, or until a descriptor is readable; may return earlier.
    pub(crate) fn wait(&mut self, clock: Clock, now: Time, until: Option<Time>) -> io::Result<()> {
        let earned = Duration::from_picoseconds((now - self.last).picoseconds() / SPIN_SHARE);
        self.budget = (self.budget + earned).min(MOST_SPIN);
        self.last = now;
        let Some(until) = until else { return self.sleep(None) };
        let left = until - now;
        if left == Duration::ZERO {
            return Ok(());
        }
        if self.budget < SPIN {
            return self.sleep(Some(if left < SHORTEST_SLEEP { SHORTEST_SLEEP } else { left }));
        }
        if left > SPIN {
            return self.sleep(Some(left - SPIN));
        }
        self.sleep(Some(Duration::ZERO))?;
        self.budget = self.budget.saturating_sub(clock.now() - now);
        Ok(())
    }

    fn sleep(&mut self, span: Option<Duration>) -> io::Result<()> {
        let timeout = span.map(|span| libc::timespec {
            tv_sec: (span.nanoseconds() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.nanoseconds() % 1_000_000_000).cast_signed(),
        });
        let pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.watched.len() as libc::nfds_t;
        // SAFETY: `watched` has `count` entries; the timeout is null or lives on; no signal mask is given.
        if unsafe { libc::ppoll(self.watched.as_mut_ptr(), count, pointer, std::ptr::null()) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Ordinary threads are woken up to 50 µs late on purpose unless they ask otherwise.
fn make_timers_exact() {
    // SAFETY: sets a property of this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
