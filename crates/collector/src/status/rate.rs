//! How many in a second, lately.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time that a rate is about.
const WINDOW: Duration = Duration::from_secs(10);
/// Marks are set so far apart at least.
const STEP: Duration = Duration::from_secs(1);

/// A count that grows, with marks of its past.
#[derive(Debug, Default)]
pub(super) struct Rate {
    total: u64,
    marks: VecDeque<(Instant, u64)>,
}

impl Rate {
    pub(super) fn add(&mut self, number: u64, now: Instant) {
        self.mark(now);
        self.total += number;
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// In a second, over the last ten or since the first.
    pub(super) fn per_second(&mut self, now: Instant) -> f64 {
        self.mark(now);
        let Some(&(since, before)) = self.marks.front() else { return 0.0 };
        let span = now.duration_since(since).max(STEP / 4);
        (self.total - before) as f64 / span.as_secs_f64()
    }

    /// Keeps one mark at or before the window's begin.
    fn mark(&mut self, now: Instant) {
        if self.marks.back().is_none_or(|&(last, _)| now.duration_since(last) >= STEP) {
            self.marks.push_back((now, self.total));
        }
        while self.marks.get(1).is_some_and(|&(time, _)| now.duration_since(time) >= WINDOW) {
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_last_ten_seconds() {
        let start = Instant::now();
        let mut rate = Rate::default();
        for second in 0..40 {
            rate.add(100, start + Duration::from_secs(second));
        }
        assert_eq!(rate.total(), 4000);
        let lately = rate.per_second(start + Duration::from_secs(40));
        assert!((lately - 100.0).abs() < 15.0, "{lately}");
        let later = rate.per_second(start + Duration::from_secs(60));
        assert_eq!(later, 0.0);
    }
}
