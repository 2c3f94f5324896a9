//! The clock.

use trialwise_units::Time;

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

    /// Nanoseconds of `CLOCK_MONOTONIC` at this time.
    pub(crate) const fn nanoseconds(self, time: Time) -> u64 {
        self.origin + time.nanoseconds()
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written to; this clock exists everywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
