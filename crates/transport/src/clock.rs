//! The clock.

use trialwise_units::{Duration, Time};

/// Nothing lies unread for so long, in nanoseconds.
const OLDEST: u64 = 1_000_000_000;

/// Time since the program started, on `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: monotonic() }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanoseconds(monotonic() - self.origin)
    }

    /// How long ago it was this nanosecond of `CLOCK_REALTIME`; zero where that clock has been set since.
    pub(crate) fn age_of_realtime(nanoseconds_then: i64) -> Duration {
        let age = nanoseconds(libc::CLOCK_REALTIME).saturating_sub(nanoseconds_then);
        let believed = u64::try_from(age).ok().filter(|age| *age < OLDEST);
        Duration::from_nanoseconds(believed.unwrap_or_default())
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` at this time.
    pub(crate) const fn nanoseconds(self, time: Time) -> u64 {
        self.origin + time.nanoseconds()
    }
}

fn monotonic() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC).unsigned_abs()
}

fn nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written to; the clocks asked for exist everywhere.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    from_timespec(time)
}

/// Nanoseconds of a time of the system.
pub(crate) const fn from_timespec(time: libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
