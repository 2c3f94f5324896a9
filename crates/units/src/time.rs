//! Integer time: an instant and a span, both in picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const PICOSECONDS_PER_NANOSECOND: u64 = 1_000;
const PICOSECONDS_PER_MICROSECOND: u64 = 1_000_000;
const PICOSECONDS_PER_MILLISECOND: u64 = 1_000_000_000;
const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the origin of a run (213 days fit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `picoseconds` after the origin.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// The instant `nanoseconds` after the origin.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(PICOSECONDS_PER_NANOSECOND))
    }

    /// The instant `milliseconds` after the origin.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(PICOSECONDS_PER_MILLISECOND))
    }

    /// Picoseconds since the origin.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds since the origin, rounded down.
    pub const fn nanoseconds(self) -> u64 {
        self.0 / PICOSECONDS_PER_NANOSECOND
    }

    /// Whole milliseconds since the origin, rounded down.
    pub const fn milliseconds(self) -> u64 {
        self.0 / PICOSECONDS_PER_MILLISECOND
    }

    /// Seconds since the origin, for people and figures.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The span since `earlier`, or zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `picoseconds`.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// A span of `nanoseconds`.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(PICOSECONDS_PER_NANOSECOND))
    }

    /// A span of `microseconds`.
    pub const fn from_microseconds(microseconds: u64) -> Self {
        Self(microseconds.saturating_mul(PICOSECONDS_PER_MICROSECOND))
    }

    /// A span of `milliseconds`.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(PICOSECONDS_PER_MILLISECOND))
    }

    /// A span of `seconds`, rounded to the nearest picosecond; negative and NaN give zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * PICOSECONDS_PER_SECOND as f64).round() as u64)
    }

    /// The span in picoseconds.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn nanoseconds(self) -> u64 {
        self.0 / PICOSECONDS_PER_NANOSECOND
    }

    /// Whole microseconds, rounded down.
    pub const fn microseconds(self) -> u64 {
        self.0 / PICOSECONDS_PER_MICROSECOND
    }

    /// Whole milliseconds, rounded down.
    pub const fn milliseconds(self) -> u64 {
        self.0 / PICOSECONDS_PER_MILLISECOND
    }

    /// Seconds, for people and figures.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The difference, or zero when `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;

    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Self;

    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.9}s", self.as_seconds())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.9}s", self.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_instants_is_a_span_and_never_negative() {
        let early = Time::from_nanoseconds(3);
        let late = Time::from_nanoseconds(10);
        assert_eq!(late - early, Duration::from_nanoseconds(7));
        assert_eq!(early - late, Duration::ZERO);
    }

    #[test]
    fn seconds_round_to_the_nearest_picosecond() {
        assert_eq!(Duration::from_seconds(1e-12), Duration::from_picoseconds(1));
        assert_eq!(Duration::from_seconds(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_seconds(f64::NAN), Duration::ZERO);
    }
}
