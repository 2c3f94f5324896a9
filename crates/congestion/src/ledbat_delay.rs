//! The two delays of LEDBAT: of the empty path, and of now (RFC 6817, section 2.4.2).

use trialwise_units::{Duration, Time};

/// The longest history of the base delay, in minutes.
pub(crate) const MAXIMUM_HISTORY: usize = 16;
/// The most samples of the current delay.
pub(crate) const MAXIMUM_FILTER: usize = 16;
const MILLISECONDS_PER_MINUTE: u64 = 60_000;

/// How the current delay is made of the last samples: `FILTER()` of RFC 6817, section 2.4.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayFilter {
    /// The newest sample: no filter.
    Newest,
    /// The smallest: what late acknowledgements and busy hosts add is left out.
    #[default]
    Minimum,
    /// The arithmetic mean.
    Mean,
}

crate::declared::choice! { DelayFilter, "write newest, minimum or mean"; "newest" => Newest, "minimum" => Minimum, "mean" => Mean }

/// `base_delays`: the smallest delay of each of the last minutes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseDelay {
    minutes: [Duration; MAXIMUM_HISTORY],
    length: usize,
    newest: usize,
    last_rollover: Option<u64>,
}

impl BaseDelay {
    /// A history of `length` minutes, from 1 to 16.
    pub(crate) const fn new(length: usize) -> Self {
        Self { minutes: [Duration::MAX; MAXIMUM_HISTORY], length, newest: 0, last_rollover: None }
    }

    /// `update_base_delay`: a new minute takes the place of the oldest, a sample of the present minute lowers
    /// its minimum.
    pub(crate) fn update(&mut self, now: Time, delay: Duration) {
        let minute = now.milliseconds() / MILLISECONDS_PER_MINUTE;
        if self.last_rollover.is_none_or(|last| minute > last) {
            self.last_rollover = Some(minute);
            self.newest = (self.newest + 1) % self.length;
            self.minutes[self.newest] = delay;
        } else {
            self.minutes[self.newest] = self.minutes[self.newest].min(delay);
        }
    }

    /// `MIN(base_delays)`; none before the first sample.
    pub(crate) fn minimum(&self) -> Option<Duration> {
        self.last_rollover?;
        self.minutes[..self.length].iter().min().copied()
    }
}

/// `current_delays`: the last samples with their times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentDelay {
    samples: [(Time, Duration); MAXIMUM_FILTER],
    capacity: usize,
    taken: usize,
    newest: usize,
    filter: DelayFilter,
}

impl CurrentDelay {
    /// The last `capacity` samples, from 1 to 16.
    pub(crate) const fn new(capacity: usize, filter: DelayFilter) -> Self {
        let samples = [(Time::ZERO, Duration::ZERO); MAXIMUM_FILTER];
        Self { samples, capacity, taken: 0, newest: 0, filter }
    }

    /// `update_current_delay`: a new sample takes the place of the oldest.
    pub(crate) fn update(&mut self, now: Time, delay: Duration) {
        self.newest = (self.newest + 1) % self.capacity;
        self.samples[self.newest] = (now, delay);
        self.taken = (self.taken + 1).min(self.capacity);
    }

    /// `FILTER(current_delays)` over the samples that are not older than this, and the newest in any case;
    /// none before it.
    pub(crate) fn get(&self, now: Time, oldest: Duration) -> Option<Duration> {
        let newest = (self.taken > 0).then(|| self.samples[self.newest])?;
        let recent = (0..self.taken)
            .map(|back| self.samples[(self.newest + self.capacity - back) % self.capacity])
            .filter(|(time, _)| *time == newest.0 || now.since(*time) <= oldest)
            .map(|(_, delay)| delay);
        match self.filter {
            DelayFilter::Newest => Some(newest.1),
            DelayFilter::Minimum => recent.min(),
            DelayFilter::Mean => {
                let (count, sum) =
                    recent.fold((0, Duration::ZERO), |(count, sum), delay| (count + 1, sum + delay));
                Some(sum / count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_milliseconds(1);

    fn filtered(filter: DelayFilter, oldest: Duration) -> Option<Duration> {
        let mut current = CurrentDelay::new(3, filter);
        for (time, delay) in [(0, 1), (10, 30), (20, 20), (30, 40)] {
            current.update(Time::from_milliseconds(time), MILLISECOND * delay);
        }
        current.get(Time::from_milliseconds(30), oldest)
    }

    #[test]
    fn the_filters_see_the_last_samples_that_are_not_too_old() {
        assert_eq!(filtered(DelayFilter::Newest, Duration::MAX), Some(MILLISECOND * 40));
        assert_eq!(filtered(DelayFilter::Minimum, Duration::MAX), Some(MILLISECOND * 20));
        assert_eq!(filtered(DelayFilter::Mean, Duration::MAX), Some(MILLISECOND * 30));
        assert_eq!(filtered(DelayFilter::Mean, MILLISECOND * 10), Some(MILLISECOND * 30));
        assert_eq!(filtered(DelayFilter::Minimum, MILLISECOND * 9), Some(MILLISECOND * 40));
        assert_eq!(CurrentDelay::new(3, DelayFilter::Mean).get(Time::ZERO, Duration::MAX), None);
    }

    #[test]
    fn the_base_delay_forgets_a_minimum_after_its_minutes() {
        let mut base = BaseDelay::new(3);
        assert_eq!(base.minimum(), None);
        let mut minima = Vec::new();
        for (minute, delay) in [(0, 10), (0, 30), (1, 20), (2, 30), (3, 40), (4, 50)] {
            base.update(Time::from_milliseconds(minute * 60_000 + 5), MILLISECOND * delay);
            minima.push(base.minimum().unwrap().milliseconds());
        }
        assert_eq!(minima, [10, 10, 10, 10, 20, 30]);
    }
}
