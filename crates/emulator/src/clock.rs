//! The clock and the wait of the emulator's thread.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;

use trialwise_units::{Duration, Time};

/// What is left of a wait below this is polled away, as far as the budget goes: a sleeping thread wakes late.
const SPIN: Duration = Duration::from_microseconds(60);
/// Of all time, one part in this many may be spent on spinning.
const SPIN_SHARE: u64 = 20;
const MAX_SPIN: Duration = Duration::from_milliseconds(1);
/// Otherwise no sleep is shorter than this, so that packets gather when there are many: each wake costs a processor some
/// 20 µs, and at 100 Mbit/s and more this halves their number.
const MIN_SLEEP: Duration = Duration::from_microseconds(150);
/// Spinning pays only where events are further apart than this: there a packet's own delay is what is looked at.
const RARE: Duration = Duration::from_microseconds(300);

/// Monotonic time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: i64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: nanoseconds(libc::CLOCK_MONOTONIC) }
    }

    /// Nanoseconds on `CLOCK_MONOTONIC` at which this clock was at zero.
    pub(crate) fn origin(self) -> u64 {
        self.origin.unsigned_abs()
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

/// How long this thread was ready to run and did not (`/proc/thread-self/schedstat`): for so long a packet that woke it lay
/// unseen. Always zero on a kernel that does not count it.
pub(crate) struct RunDelay {
    file: Option<File>,
    seen: u64,
}

impl RunDelay {
    pub(crate) fn start() -> Self {
        let mut run_delay = Self { file: File::open("/proc/thread-self/schedstat").ok(), seen: 0 };
        run_delay.since_last();
        run_delay
    }

    /// What was added since the last call.
    pub(crate) fn since_last(&mut self) -> Duration {
        let seen = self.read().unwrap_or(self.seen);
        let added = seen.saturating_sub(self.seen);
        self.seen = seen;
        Duration::from_nanoseconds(added)
    }

    fn read(&self) -> Option<u64> {
        let mut text = [0; 80];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()
    }
}

/// Waits for packets or an instant, spinning at the end where there is budget for it.
pub(crate) struct Waiter {
    watched: [libc::pollfd; 3],
    budget: Duration,
    last: Time,
    /// The instant waited for, and the one before it.
    awaited: [Time; 2],
}

impl Waiter {
    pub(crate) fn new(descriptors: [RawFd; 3]) -> Self {
        make_timers_exact();
        let watched = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        Self { watched, budget: MAX_SPIN, last: Time::ZERO, awaited: [Time::ZERO; 2] }
    }

    /// Waits until `until`, or until a descriptor is readable; may return earlier.
    pub(crate) fn wait(&mut self, clock: Clock, now: Time, until: Option<Time>) -> io::Result<()> {
        let earned = Duration::from_picoseconds((now - self.last).picoseconds() / SPIN_SHARE);
        self.budget = (self.budget + earned).min(MAX_SPIN);
        self.last = now;
        let Some(until) = until else { return self.sleep(None) };
        let left = until - now;
        if left == Duration::ZERO {
            return self.sleep(Some(left));
        }
        if until != self.awaited[0] {
            self.awaited = [until, self.awaited[0]];
        }
        if self.budget < SPIN || self.awaited[0] - self.awaited[1] < RARE {
            return self.sleep(Some(if left < MIN_SLEEP { MIN_SLEEP } else { left }));
        }
        self.sleep(Some(left.saturating_sub(SPIN)))?;
        self.spin(clock, until)
    }

    /// Whether the descriptor of this place was readable when the last wait ended.
    pub(crate) fn is_ready(&self, place: usize) -> bool {
        self.watched[place].revents != 0
    }

    /// Looks at the descriptors again and again until `until`.
    fn spin(&mut self, clock: Clock, until: Time) -> io::Result<()> {
        let start = clock.now();
        let mut now = start;
        while now < until && !self.watched.iter().any(|watched| watched.revents != 0) {
            self.sleep(Some(Duration::ZERO))?;
            now = clock.now();
        }
        self.budget = self.budget.saturating_sub(now - start);
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
