//! What both versions of SCReAM have: parameters, bounds, the delay of the queue, how much of it is aimed at beside flows that fill it, and what is in flight.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::ledbat_delay::BaseDelay;
use crate::segments::MAXIMUM_WINDOW;
use crate::{BuildError, Context, RoundTrip};

/// Minutes of the base delay (RFC 6817, section 3.4.2: 10).
const HISTORY: usize = 10;
/// The delay is looked at each so long (RFC 8298, section 4.1.2).
const INTERVAL: Duration = Duration::from_milliseconds(50);
/// Of the delays, how many give their mean, and how many their variance (RFC 8298, section 4.1.2.3).
const MEAN: usize = 50;
const VARIANCE: usize = 200;
/// A share of round trips with losses that only competing flows make, and by how much the share of one counts.
const LOSS_RATE: f64 = 0.002;
const LOSS_WEIGHT: f64 = 0.01;
/// Below this variance of the delay over the lower target nothing has changed.
const STEADY: f64 = 0.2;

/// `MIN_CWND`, in version 2 `MIN_REF_WND`, in bytes.
const LEAST: f64 = 3000.0;
/// No rate is higher: 10 Tbit/s.
pub(crate) const HIGHEST: f64 = 1e13;
/// `RATE_PACE_MIN`.
pub(crate) const PACE: f64 = 50_000.0;
/// RFC 8298, section 4.2.1: "a feedback interval of roughly 20 ms is preferred". The draft of version 2 has tried 40 ms or 16 packets.
pub(crate) const ANSWERS: Duration = Duration::from_milliseconds(20);
/// Until a round trip is known.
const FIRST_RTT: Duration = Duration::from_milliseconds(100);

/// The parameters of both versions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreamSettings {
    /// The first target of the source.
    pub start_rate: Rate,
    /// Its lowest.
    pub minimum_rate: Rate,
    /// Whether the delay that is aimed at follows flows that fill the queue (section 4.1.2.3).
    pub competing: bool,
}

impl Default for ScreamSettings {
    fn default() -> Self {
        Self {
            start_rate: Rate::from_bits_per_second(300_000),
            minimum_rate: Rate::from_bits_per_second(PACE as u64),
            competing: true,
        }
    }
}

impl ScreamSettings {
    /// The segment, the first rate and the lowest, or why a controller of this name refuses them.
    pub(crate) fn checked(
        &self,
        controller: &'static str,
        context: &Context,
    ) -> Result<(f64, f64, f64), BuildError> {
        let refuse = |setting, wanted| Err(BuildError::Setting { controller, setting, wanted });
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller, field: "segment" });
        }
        if self.minimum_rate == Rate::ZERO {
            return refuse("minimum_rate", "above 0");
        }
        if self.start_rate < self.minimum_rate {
            return refuse("start_rate", "that is not below minimum_rate");
        }
        let bits = |rate: Rate| rate.bits_per_second() as f64;
        Ok((context.segment.get() as f64, bits(self.start_rate), bits(self.minimum_rate)))
    }
}

/// The window as it may be; a NaN gives the least.
pub(crate) fn bounded_window(window: f64, segment: f64) -> f64 {
    window.max(LEAST.max(2.0 * segment)).min(MAXIMUM_WINDOW)
}

/// The smoothed round-trip time, or a guess.
pub(crate) fn smoothed(round_trip: &RoundTrip) -> Duration {
    round_trip.smoothed().unwrap_or(FIRST_RTT)
}

/// The last values of a series, in fixed memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent<const N: usize> {
    values: [f64; N],
    next: usize,
    count: usize,
}

impl<const N: usize> Default for Recent<N> {
    fn default() -> Self {
        Self { values: [0.0; N], next: 0, count: 0 }
    }
}

impl<const N: usize> Recent<N> {
    pub(crate) fn push(&mut self, value: f64) {
        self.values[self.next] = value;
        self.next = (self.next + 1) % N;
        self.count = (self.count + 1).min(N);
    }

    /// The last `most` values, newest first.
    pub(crate) fn newest(&self, most: usize) -> impl Iterator<Item = f64> + Clone {
        (1..=self.count.min(most)).map(|back| self.values[(self.next + N - back) % N])
    }

    fn mean(&self, most: usize) -> f64 {
        let count = self.count.min(most).max(1);
        self.newest(most).sum::<f64>() / count as f64
    }

    fn variance(&self) -> f64 {
        let mean = self.mean(N);
        self.newest(N).map(|value| (value - mean) * (value - mean)).sum::<f64>() / self.count.max(1) as f64
    }

    /// Each value's deviation times that of the one before, over the squares of the deviations.
    pub(crate) fn autocorrelation(&self) -> f64 {
        let mean = self.mean(N);
        let deviations = self.newest(N).map(|value| value - mean);
        let squares: f64 = deviations.clone().map(|deviation| deviation * deviation).sum();
        let products: f64 = deviations.clone().zip(deviations.skip(1)).map(|(one, other)| one * other).sum();
        if squares > 0.0 { products / squares } else { 0.0 }
    }
}

/// The queueing delay in seconds, and the one that is aimed at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueDelay {
    base: BaseDelay,
    delay: f64,
    /// The lower and the upper target.
    bounds: (f64, f64),
    target: f64,
    /// Whether the target follows flows that fill the queue.
    follows: bool,
    /// Delays over the lower target.
    history: Recent<VARIANCE>,
    looked: Option<Time>,
    loss_rate: f64,
    has_lost: bool,
    round: Option<Time>,
}

impl QueueDelay {
    /// Aims at a delay between these, or, where it does not follow flows that fill the queue, at the lower one.
    pub(crate) fn new(bounds: (f64, f64), follows: bool) -> Self {
        Self {
            base: BaseDelay::new(HISTORY),
            delay: 0.0,
            bounds,
            target: bounds.0,
            follows,
            history: Recent::default(),
            looked: None,
            loss_rate: 0.0,
            has_lost: false,
            round: None,
        }
    }

    pub(crate) const fn delay(&self) -> f64 {
        self.delay
    }

    pub(crate) const fn target(&self) -> f64 {
        self.target
    }

    /// Takes a one-way delay, up to a constant; whether it is time to look at delays.
    pub(crate) fn update(&mut self, now: Time, delay: Option<Duration>, rtt: Duration) -> bool {
        if let Some(delay) = delay {
            self.base.update(now, delay);
            let base = self.base.minimum().unwrap_or(delay);
            self.delay = delay.saturating_sub(base).as_seconds();
        }
        if self.round.is_none_or(|round| now.since(round) >= rtt) {
            self.round = Some(now);
            let share = if std::mem::take(&mut self.has_lost) { 1.0 } else { 0.0 };
            self.loss_rate += LOSS_WEIGHT * (share - self.loss_rate);
        }
        if self.looked.is_some_and(|looked| now.since(looked) < INTERVAL) {
            return false;
        }
        self.looked = Some(now);
        if self.follows {
            self.follow();
        }
        true
    }

    pub(crate) fn on_loss(&mut self) {
        self.has_lost = true;
    }

    /// "Competing flows compensation" (RFC 8298, section 4.1.2.3).
    fn follow(&mut self) {
        let (lowest, highest) = self.bounds;
        self.history.push(self.delay / lowest);
        let variance = self.history.variance();
        let wanted = (self.history.mean(MEAN) + variance.sqrt()) * lowest;
        self.target = if self.loss_rate > LOSS_RATE {
            1.5 * wanted
        } else if variance < STEADY {
            wanted
        } else if wanted < lowest {
            wanted.max(0.5 * self.target)
        } else {
            0.9 * self.target
        };
        self.target = self.target.clamp(lowest, highest);
    }
}

/// The most that was in flight, in this span of time and in those before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MostInFlight<const N: usize> {
    spans: [u64; N],
    begun: Option<Time>,
}

impl<const N: usize> MostInFlight<N> {
    pub(crate) fn new() -> Self {
        Self { spans: [0; N], begun: None }
    }

    /// So much is in flight, where a span takes so long.
    pub(crate) fn update(&mut self, now: Time, in_flight: u64, span: Duration) {
        if self.begun.is_none_or(|begun| now.since(begun) >= span) {
            self.begun = Some(now);
            self.spans.copy_within(..N - 1, 1);
            self.spans[0] = 0;
        }
        self.spans[0] = self.spans[0].max(in_flight);
    }

    /// In all spans.
    pub(crate) fn all(&self) -> f64 {
        self.spans.iter().copied().max().unwrap_or_default() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_milliseconds;
    const RTT: Duration = Duration::from_milliseconds(50);

    #[test]
    fn autocorrelation_is_that_of_its_definition() {
        let of = |values: &[f64]| {
            let mut recent = Recent::<4>::default();
            values.iter().for_each(|value| recent.push(*value));
            recent.autocorrelation()
        };
        // Deviations -1.5, -0.5, 0.5, 1.5: (0.75 - 0.25 + 0.75) / 5; what is older is forgotten.
        assert!((of(&[9.0, 1.0, 2.0, 3.0, 4.0]) - 0.25).abs() < 1e-12);
        assert!((of(&[1.0, -1.0, 1.0, -1.0]) + 0.75).abs() < 1e-12);
        assert_eq!((of(&[]), of(&[5.0, 5.0])), (0.0, 0.0));
    }

    /// The target after these delays in milliseconds, each 50 ms, of which some come with losses.
    fn target(delays: impl IntoIterator<Item = (u64, bool)>) -> f64 {
        let mut queue = QueueDelay::new((0.1, 0.4), true);
        queue.update(AT(0), Some(RTT), RTT);
        for (place, (delay, is_lost)) in (1..).zip(delays) {
            if is_lost {
                queue.on_loss();
            }
            queue.update(AT(50 * place), Some(RTT + Duration::from_milliseconds(delay)), RTT);
        }
        queue.target()
    }

    #[test]
    fn the_target_follows_a_queue_that_others_fill() {
        assert!((target((0..400).map(|_| (30, false))) - 0.1).abs() < 1e-9, "its own queue");
        assert!((target((0..400).map(|_| (250, false))) - 0.25).abs() < 1e-9, "a steady one");
        let lossy = target((0..400).map(|place| (250, place % 20 == 0)));
        assert!((lossy - 0.375).abs() < 1e-9, "losses: half as much more: {lossy}");
        assert!((target((0..400).map(|_| (900, false))) - 0.4).abs() < 1e-9);
        // One that varies by more than 45 ms is none of others: the target falls.
        let varying =
            target((0..800).map(|place| if place < 400 { (300, false) } else { (200 * (place % 2), false) }));
        assert!((varying - 0.1).abs() < 1e-9, "{varying}");
    }

    #[test]
    fn the_most_in_flight_is_that_of_the_last_spans() {
        let mut most = MostInFlight::<2>::new();
        let mut found = Vec::new();
        for (milliseconds, bytes) in [(0, 500), (50, 100), (100, 200), (200, 50)] {
            most.update(AT(milliseconds), bytes, RTT * 2);
            found.push(most.all());
        }
        assert_eq!(found, [500.0, 500.0, 500.0, 200.0]);
    }
}
