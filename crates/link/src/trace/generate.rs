//! Made traces: constant, Poisson, on/off and cellular-like; the same seed makes the same trace.

use trialwise_units::{Bytes, Duration, Rate, Seed};

use crate::random::Random;
use crate::trace::{ByteConvention, MAXIMUM_MILLISECOND, MAXIMUM_OPPORTUNITIES, Trace, TraceError};

/// How long the phases of an on/off process last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phases {
    /// Exponentially distributed, with the stated means.
    Exponential,
    /// Exactly as stated.
    Fixed,
}

/// A link that is off, then sends at a constant rate, then is off again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// The rate while on.
    pub rate: Rate,
    /// How long it is on, on average or exactly.
    pub on: Duration,
    /// How long it is off, on average or exactly.
    pub off: Duration,
    /// Which of the two.
    pub phases: Phases,
}

/// A cellular-like link: packets leave as a Poisson process whose rate is a Markov chain.
///
/// The chain has `levels` + 1 equally spaced rates from 0 to twice the mean, all equally likely in the long
/// run; it stays at one for an exponential time of mean `dwell` and goes on to a neighbour, up and down with
/// equal chance (at either end it stays when the step would lead out). A discrete, stationary relative of the
/// link model of Sprout (Winstein and others, NSDI 2013, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cellular {
    /// The mean rate.
    pub mean: Rate,
    /// How long the rate stays the same, on average.
    pub dwell: Duration,
    /// How many steps lie between rate 0 and twice the mean.
    pub levels: u32,
}

impl Trace {
    /// The trace of a constant rate over `length`, its opportunities at the first millisecond by which each
    /// is due.
    ///
    /// # Errors
    /// A rate or length for which there is no opportunity, or too many.
    pub fn constant(rate: Rate, length: Duration) -> Result<Self, TraceError> {
        let mut maker = Maker::new(length);
        maker.spread(Duration::ZERO, maker.end, rate);
        maker.finish()
    }

    /// A trace whose opportunities are a Poisson process of this mean rate over `length`.
    ///
    /// # Errors
    /// A rate or length for which there is no opportunity, or too many.
    pub fn poisson(rate: Rate, length: Duration, seed: Seed) -> Result<Self, TraceError> {
        let mut maker = Maker::new(length);
        maker.scatter(Duration::ZERO, maker.end, gap(rate), &mut Random::new(seed.named("poisson")));
        maker.finish()
    }
}

impl OnOff {
    /// A trace of this link over `length`. It starts off, so that its last opportunity, where it repeats,
    /// ends a phase that is on.
    ///
    /// # Errors
    /// Values for which there is no opportunity, or too many.
    pub fn trace(&self, length: Duration, seed: Seed) -> Result<Trace, TraceError> {
        let mut random = Random::new(seed.named("on-off"));
        let mut maker = Maker::new(length);
        let mut time = Duration::ZERO;
        while maker.wants_phase(time)? {
            let on = time + self.phases.span(self.off, &mut random);
            time = on + self.phases.span(self.on, &mut random);
            maker.spread(on, time, self.rate);
        }
        maker.finish()
    }
}

impl Phases {
    /// How long one phase lasts; at least a nanosecond, so that time goes on.
    pub(crate) fn span(self, span: Duration, random: &mut Random) -> Duration {
        match self {
            Self::Fixed => span.max(Duration::from_nanoseconds(1)),
            Self::Exponential => random.exponential_span(span),
        }
    }
}

impl Cellular {
    /// A trace of this link over `length`; the first rate is drawn from the long-run distribution.
    ///
    /// # Errors
    /// Values for which there is no opportunity, or too many.
    pub fn trace(&self, length: Duration, seed: Seed) -> Result<Trace, TraceError> {
        let mut random = Random::new(seed.named("cellular"));
        let mut maker = Maker::new(length);
        let levels = self.levels.max(1);
        let mut level = (random.uniform() * (f64::from(levels) + 1.0)) as u32;
        let mut time = Duration::ZERO;
        while maker.wants_phase(time)? {
            let next = time + random.exponential_span(self.dwell);
            let share = 2.0 * f64::from(level) / f64::from(levels);
            maker.scatter(time, next, gap(self.mean) / share, &mut random);
            level = if random.chance(0.5) { (level + 1).min(levels) } else { level.saturating_sub(1) };
            time = next;
        }
        maker.finish()
    }
}

const OPPORTUNITY: Bytes = ByteConvention::Documented.opportunity();

/// Seconds between opportunities; infinite at rate zero.
fn gap(rate: Rate) -> f64 {
    (8 * OPPORTUNITY.get()) as f64 / rate.bits_per_second() as f64
}

/// Collects opportunities up to an end.
struct Maker {
    milliseconds: Vec<u64>,
    end: Duration,
    phases: usize,
}

impl Maker {
    fn new(length: Duration) -> Self {
        let longest = Duration::from_milliseconds(MAXIMUM_MILLISECOND);
        Self { milliseconds: Vec::new(), end: length.min(longest), phases: 0 }
    }

    /// One more than allowed is enough to be refused.
    fn is_full(&self) -> bool {
        self.milliseconds.len() > MAXIMUM_OPPORTUNITIES
    }

    /// Whether a phase begins at this time.
    fn wants_phase(&mut self, time: Duration) -> Result<bool, TraceError> {
        self.phases += 1;
        match time < self.end && !self.is_full() {
            true if self.phases > MAXIMUM_OPPORTUNITIES => Err(TraceError::Phases),
            wanted => Ok(wanted),
        }
    }

    /// Adds one, in the millisecond by which it has come.
    fn add(&mut self, time: Duration) {
        self.milliseconds.push(time.picoseconds().div_ceil(1_000_000_000));
    }

    /// Opportunities at equal distances in (`from`, `to`].
    fn spread(&mut self, from: Duration, to: Duration, rate: Rate) {
        for rank in 1.. {
            let time = from + rate.transmission_time(Bytes::new(rank * OPPORTUNITY.get()));
            if time > to.min(self.end) || self.is_full() {
                return;
            }
            self.add(time);
        }
    }

    /// Opportunities as a Poisson process in (`from`, `to`], on average `gap` seconds apart.
    fn scatter(&mut self, from: Duration, to: Duration, gap: f64, random: &mut Random) {
        let mut time = from;
        loop {
            time += Duration::from_seconds(random.exponential() * gap);
            if time > to.min(self.end) || self.is_full() {
                return;
            }
            self.add(time);
        }
    }

    fn finish(self) -> Result<Trace, TraceError> {
        Trace::new(self.milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTES: Duration = Duration::from_milliseconds(600_000);

    /// Variance over mean of the counts in windows of this many milliseconds.
    fn dispersion(trace: &Trace, window: u64) -> f64 {
        let mut counts = vec![0.0; (trace.period().milliseconds() / window) as usize];
        for time in trace.milliseconds() {
            if let Some(count) = counts.get_mut((time / window) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    }

    fn megabits(trace: &Trace) -> f64 {
        trace.mean_rate(ByteConvention::Documented).bits_per_second() as f64 / 1e6
    }

    #[test]
    fn constant_rates_give_the_traces_one_would_write() {
        let trace =
            |bits| Trace::constant(Rate::from_bits_per_second(bits), Duration::from_milliseconds(6)).unwrap();
        assert_eq!(trace(12_000_000).milliseconds(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(trace(4_000_000).milliseconds(), [3, 6]);
        assert_eq!(trace(24_000_000).milliseconds(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }

    #[test]
    fn poisson_traces_have_the_rate_and_the_dispersion_of_poisson() {
        let trace = Trace::poisson(Rate::from_megabits_per_second(3), MINUTES, Seed::new(1)).unwrap();
        // 150000 opportunities: five standard errors are 1.3 %; of the dispersion over 6000 windows, 9 %.
        assert!((megabits(&trace) / 3.0 - 1.0).abs() < 0.013);
        assert!((dispersion(&trace, 100) - 1.0).abs() < 0.09, "{}", dispersion(&trace, 100));
    }

    #[test]
    fn on_off_traces_are_silent_for_the_stated_share() {
        let (on, off) = (Duration::from_milliseconds(100), Duration::from_milliseconds(300));
        let rate = Rate::from_megabits_per_second(12);
        let fixed = OnOff { rate, on, off, phases: Phases::Fixed }.trace(MINUTES, Seed::new(1)).unwrap();
        assert_eq!(fixed.period(), MINUTES);
        assert_eq!(fixed.milliseconds()[..3], [301, 302, 303]);
        assert_eq!(fixed.milliseconds().len(), 150_000);
        let random =
            OnOff { rate, on, off, phases: Phases::Exponential }.trace(MINUTES, Seed::new(1)).unwrap();
        // About 1500 cycles: five standard errors of the mean rate are 16 %.
        assert!((megabits(&random) / 3.0 - 1.0).abs() < 0.16, "{}", megabits(&random));
    }

    #[test]
    fn cellular_traces_vary_more_than_poisson_around_the_same_mean() {
        let link = Cellular {
            mean: Rate::from_megabits_per_second(5),
            dwell: Duration::from_milliseconds(50),
            levels: 8,
        };
        let trace = link.trace(MINUTES, Seed::new(1)).unwrap();
        assert!((megabits(&trace) / 5.0 - 1.0).abs() < 0.1, "{}", megabits(&trace));
        assert!(dispersion(&trace, 100) > 3.0);
    }

    #[test]
    fn a_seed_makes_one_trace() {
        let make =
            |seed| Trace::poisson(Rate::from_megabits_per_second(1), MINUTES, Seed::new(seed)).unwrap();
        assert_eq!(make(3), make(3));
        assert_ne!(make(3), make(4));
    }

    #[test]
    fn phases_without_end_are_refused() {
        let tiny = Duration::from_nanoseconds(1);
        let link = OnOff { rate: Rate::from_bits_per_second(1), on: tiny, off: tiny, phases: Phases::Fixed };
        assert_eq!(link.trace(Duration::from_milliseconds(1 << 40), Seed::new(1)), Err(TraceError::Phases));
    }

    #[test]
    fn rates_without_or_with_too_many_opportunities_are_refused() {
        assert_eq!(Trace::constant(Rate::ZERO, MINUTES), Err(TraceError::Empty));
        assert_eq!(Trace::poisson(Rate::ZERO, MINUTES, Seed::new(1)), Err(TraceError::Empty));
        let huge = Trace::constant(Rate::from_megabits_per_second(10_000_000), MINUTES);
        assert!(matches!(huge, Err(TraceError::TooLong { .. })));
    }
}
