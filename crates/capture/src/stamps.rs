//! The kernel's stamps (CLOCK_REALTIME, which is set and slewed) on a clock that runs by itself (CLOCK_MONOTONIC_RAW).

use std::time::Duration;

/// Nanoseconds that both clocks may drift apart between two readings, beyond which one was set.
const STEP: i64 = 1_000_000;
/// Of this many readings, the quickest counts.
const TRIES: usize = 5;

/// Both clocks at one moment, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    realtime: i64,
    /// What the other shows more.
    more: i64,
}

/// Where both clocks were, when they were last read.
#[derive(Debug)]
pub struct Stamps {
    before: Pair,
    after: Pair,
    /// How often the clock was set.
    steps: u32,
    planted: Planted,
    first: i64,
}

/// Errors of the clock for tests: `TRIALWISE_CLOCK=skew:20ppm,offset:1000s,step:3s@5ms` (three seconds after the first reading, by five
/// milliseconds).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Planted {
    skew: f64,
    offset: i64,
    after: i64,
    step: i64,
}

impl Planted {
    fn read(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once(':')?;
            match name {
                "skew" => found.skew = value.strip_suffix("ppm")?.parse::<f64>().ok()? * 1e-6,
                "offset" => found.offset = time(value)?,
                "step" => {
                    let (after, by) = value.split_once('@')?;
                    (found.after, found.step) = (time(after)?, time(by)?);
                }
                _ => return None,
            }
        }
        Some(found)
    }

    /// What is added when the clock has run for so long, nanoseconds.
    fn after(self, passed: i64) -> i64 {
        let step = if self.step != 0 && passed >= self.after { self.step } else { 0 };
        self.offset + (passed as f64 * self.skew).round() as i64 + step
    }
}

/// A time such as 5ms in nanoseconds.
fn time(text: &str) -> Option<i64> {
    let (digits, unit) = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)]
        .into_iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    Some((digits.parse::<f64>().ok()? * unit).round() as i64)
}

impl Default for Stamps {
    fn default() -> Self {
        Self::new()
    }
}

impl Stamps {
    /// Reads both clocks for the first time.
    pub fn new() -> Self {
        let planted =
            std::env::var("TRIALWISE_CLOCK").ok().and_then(|text| Planted::read(&text)).unwrap_or_default();
        let pair = Pair::read();
        let first = pair.realtime + pair.more;
        let pair = Pair { more: pair.more + planted.after(0), ..pair };
        Self { before: pair, after: pair, steps: 0, planted, first }
    }

    /// Reads both clocks; stamps between this reading and the last are on the line between both.
    pub fn renew(&mut self) {
        let pair = Pair::read();
        let passed = pair.realtime + pair.more - self.first;
        self.follow(Pair { more: pair.more + self.planted.after(passed), ..pair });
    }

    fn follow(&mut self, pair: Pair) {
        self.before = self.after;
        self.after = pair;
        let lasted = self.after.realtime - self.before.realtime;
        // A clock is slewed by 500 parts per million at most (adjtimex(2)).
        if (self.after.more - self.before.more).abs() > STEP + lasted.abs() / 2000 {
            self.steps = self.steps.saturating_add(1);
        }
    }

    /// How often the clock was set.
    pub const fn steps(&self) -> u32 {
        self.steps
    }

    /// Both clocks when they were last read, nanoseconds: the kernel's, and the one that runs by itself.
    pub fn latest(&self) -> [u64; 2] {
        let Pair { realtime, more } = self.after;
        [realtime, realtime + more].map(|time| u64::try_from(time).unwrap_or(0))
    }

    /// The clock that runs by itself, at a stamp.
    pub fn of(&self, stamp: Duration) -> u64 {
        let stamp = i64::try_from(stamp.as_nanos()).unwrap_or(i64::MAX);
        let span = self.after.realtime - self.before.realtime;
        let passed = stamp.saturating_sub(self.before.realtime).clamp(0, span.max(0));
        let share = if span > 0 { passed as f64 / span as f64 } else { 1.0 };
        let more = self.before.more + ((self.after.more - self.before.more) as f64 * share).round() as i64;
        u64::try_from(stamp.saturating_add(more)).unwrap_or(0)
    }
}

impl Pair {
    fn read() -> Self {
        let tries = std::array::from_fn::<_, TRIES, _>(|_| {
            let first = nanoseconds(libc::CLOCK_REALTIME);
            let raw = nanoseconds(libc::CLOCK_MONOTONIC_RAW);
            let second = nanoseconds(libc::CLOCK_REALTIME);
            let realtime = first + (second - first) / 2;
            ((second - first).abs(), Self { realtime, more: raw - realtime })
        });
        tries
            .into_iter()
            .min_by_key(|(took, _)| *took)
            .map_or(Self { realtime: 0, more: 0 }, |(_, pair)| pair)
    }
}

fn nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(before: (i64, i64), after: (i64, i64)) -> Stamps {
        let mut stamps = Stamps {
            before: pair(before),
            after: pair(before),
            steps: 0,
            planted: Planted::default(),
            first: 0,
        };
        stamps.follow(pair(after));
        stamps
    }

    fn pair((realtime, raw): (i64, i64)) -> Pair {
        Pair { realtime, more: raw - realtime }
    }

    #[test]
    fn stamps_between_two_readings_are_on_the_line_between_them() {
        let stamps = stamps((1_000_000_000, 500), (2_000_000_000, 1_000_040_500));
        let at = |nanoseconds| stamps.of(Duration::from_nanos(nanoseconds));
        assert_eq!((at(1_000_000_000), at(2_000_000_000)), (500, 1_000_040_500));
        assert_eq!(at(1_500_000_000), 500_020_500);
        assert_eq!(
            (at(999_999_900), at(2_000_000_100)),
            (400, 1_000_040_600),
            "beyond both, as the nearer one"
        );
        assert_eq!(stamps.steps, 0, "40 parts per million are no step");
    }

    #[test]
    fn a_clock_that_was_set_is_noticed() {
        for raw in [1_000_000_500 - 3_000_000, 1_000_000_500 + 3_000_000] {
            assert_eq!(stamps((1_000_000_000, 500), (2_000_000_000, raw)).steps, 1);
        }
        assert_eq!(stamps((2_000_000_000, 500), (1_000_000_000, 1_000_000_500)).steps, 1, "set back");
    }

    #[test]
    fn the_clocks_of_this_machine_agree_with_themselves() {
        let mut stamps = Stamps::new();
        stamps.renew();
        let (before, stamp) = (nanoseconds(libc::CLOCK_MONOTONIC_RAW), nanoseconds(libc::CLOCK_REALTIME));
        stamps.renew();
        let found = stamps.of(Duration::from_nanos(stamp.cast_unsigned())).cast_signed();
        assert!((found - before).abs() < 50_000_000, "{found} {before}");
        assert_eq!(stamps.steps, 0);
    }

    #[test]
    fn planted_errors_are_those_that_are_asked_for() {
        let planted = Planted::read("skew:20ppm,offset:1000s,step:3s@5ms").unwrap();
        let second = 1_000_000_000;
        assert_eq!(planted.after(0), 1000 * second);
        assert_eq!(planted.after(2 * second), 1000 * second + 40_000);
        assert_eq!(planted.after(3 * second), 1000 * second + 60_000 + 5_000_000);
        assert_eq!(Planted::read(""), Some(Planted::default()));
        for wrong in ["skew", "skew:20", "offset:5", "step:3s", "drift:1s", "offset:xs"] {
            assert_eq!(Planted::read(wrong), None, "{wrong}");
        }
    }
}
