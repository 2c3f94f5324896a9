//! The clock.

use trialwise_units::{Duration, Time};

/// Nothing lies unread for so long, in nanoseconds.
const OLDEST: u64 = 1_000_000_000;

/// Two readings of clocks are of one instant when no more nanoseconds are between them.
const TOGETHER: u64 = 20_000;

/// Time since the program started, on `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: u64,
}

/// An instant on two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instant {
    /// On ours.
    pub(crate) now: Time,
    /// Nanoseconds of `CLOCK_REALTIME`, which is that of the kernel's time stamps.
    realtime: i64,
}

impl Instant {
    /// The time of a time stamp on our clock; now where the other clock has been set since.
    pub(crate) fn of_stamp(&self, stamp: libc::timespec) -> Time {
        let age = self.realtime.saturating_sub(from_timespec(stamp));
        let believed = u64::try_from(age).ok().filter(|age| *age < OLDEST);
        self.now - Duration::from_nanoseconds(believed.unwrap_or_default())
    }
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: monotonic() }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanoseconds(monotonic() - self.origin)
    }

    /// This instant on both clocks, read so close together that nothing came between.
    pub(crate) fn both(self) -> Instant {
        loop {
            let before = monotonic();
            let realtime = nanoseconds(libc::CLOCK_REALTIME);
            if monotonic() - before < TOGETHER {
                return Instant { now: Time::from_nanoseconds(before - self.origin), realtime };
            }
        }
    }

    /// The time at this nanosecond of `CLOCK_MONOTONIC`.
    pub(crate) const fn time(self, nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds.saturating_sub(self.origin))
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

const fn from_timespec(time: libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_the_other_clock_is_found_on_ours() {
        let at = |nanoseconds| libc::timespec { tv_sec: 5, tv_nsec: nanoseconds };
        let instant = Instant { now: Time::from_milliseconds(70), realtime: 5_000_400_000 };
        assert_eq!(instant.of_stamp(at(100_000)), Time::from_nanoseconds(69_700_000));
        assert_eq!(instant.of_stamp(at(500_000)), instant.now);
        assert_eq!(instant.of_stamp(libc::timespec { tv_sec: 3, tv_nsec: 0 }), instant.now);
        let clock = Clock::start();
        assert!(clock.both().now <= clock.now());
    }
}
