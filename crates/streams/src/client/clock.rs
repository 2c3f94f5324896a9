//! Time stamps for less than a system call's worth: the processor's counter, translated by the writer.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What an injecting thread reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ticks {
    /// The time-stamp counter, where the kernel itself keeps time by it (so that all cores agree).
    #[cfg(target_arch = "x86_64")]
    Counter,
    /// Nanoseconds of UNIX time.
    Wall,
}

impl Ticks {
    /// The cheapest that is sound on this machine.
    pub(super) fn choose() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
            if std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc") {
                return Self::Counter;
            }
        }
        Self::Wall
    }

    /// Now.
    #[inline]
    pub(super) fn now(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction reads a register and touches no memory; every x86-64 processor has it.
            Self::Counter => unsafe { core::arch::x86_64::_rdtsc() },
            Self::Wall => unix_nanoseconds(SystemTime::now()),
        }
    }
}

/// Nanoseconds since 1970; 0 before it.
pub(super) fn unix_nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// All clocks at one moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    ticks: u64,
    unix: u64,
    steady: Instant,
}

/// Comparisons made to find one that was not interrupted.
const ATTEMPTS: usize = 4;

impl Moment {
    /// Reads the clocks between two readings of the ticks; of several attempts the one that took least.
    fn read(ticks: Ticks) -> Self {
        let attempt = |_| {
            let before = ticks.now();
            let (unix, steady) = (unix_nanoseconds(SystemTime::now()), Instant::now());
            let took = ticks.now().saturating_sub(before);
            (took, Self { ticks: before + took / 2, unix, steady })
        };
        let first = attempt(0);
        let best =
            (1..ATTEMPTS).map(attempt).fold(first, |best, next| if next.0 < best.0 { next } else { best });
        best.1
    }
}

/// Translates ticks to UNIX time: the rate from the longest span seen, the place from the last look.
#[derive(Debug)]
pub(super) struct ClockMap {
    ticks: Ticks,
    first: Moment,
    last: Moment,
    nanoseconds_per_tick: f64,
}

impl ClockMap {
    pub(super) fn new(ticks: Ticks) -> Self {
        let now = Moment::read(ticks);
        Self { ticks, first: now, last: now, nanoseconds_per_tick: 1.0 }
    }

    /// Compares the clocks anew; returns the UNIX time in nanoseconds.
    pub(super) fn look(&mut self) -> u64 {
        self.last = Moment::read(self.ticks);
        let ticks = self.last.ticks.saturating_sub(self.first.ticks);
        if self.ticks != Ticks::Wall && ticks > 0 {
            let span = self.last.steady.saturating_duration_since(self.first.steady);
            self.nanoseconds_per_tick = span.as_nanos() as f64 / ticks as f64;
        }
        self.last.unix
    }

    /// The UNIX time of ticks, in nanoseconds.
    pub(super) fn unix(&self, ticks: u64) -> u64 {
        let distance = ticks.wrapping_sub(self.last.ticks).cast_signed() as f64 * self.nanoseconds_per_tick;
        self.last.unix.saturating_add_signed(distance as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_the_time_at_which_they_were_read() {
        let ticks = Ticks::choose();
        let mut map = ClockMap::new(ticks);
        let readings: Vec<_> = (0..20)
            .map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                (unix_nanoseconds(SystemTime::now()), ticks.now(), unix_nanoseconds(SystemTime::now()))
            })
            .collect();
        map.look();
        for (before, read, after) in readings {
            let unix = map.unix(read);
            assert!(before - 20_000 <= unix && unix <= after + 20_000, "{before} {unix} {after}");
        }
    }
}
