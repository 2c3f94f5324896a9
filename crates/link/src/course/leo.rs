//! A link over satellites in low orbits, which change at fixed instants.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Rate, Seed};

use super::{Course, DeclaredCourse, Pace, Part};
use crate::random::Random;
use crate::range::range;
use crate::series::Series;
use crate::spans::Spans;

/// How often the delay changes while a satellite moves.
const DRIFT_STEP: Duration = Duration::from_milliseconds(100);
/// Of a drawn course.
const MAX_SLOTS: u64 = 100_000;
/// The standard deviation of the logarithm of the rate.
const RATE_DEVIATION: f64 = 0.3;
/// How far the delay drifts within a slot, up or down, at most.
const DRIFT: f64 = 0.002;
/// Seconds.
const OUTAGE: (f64, f64) = (0.010, 0.100);
const HOLD: (f64, f64) = (0.020, 0.050);

/// `leo:rate=50Mbit/s..250Mbit/s,delay=20ms..60ms,period=15s,phase=12s,drift=yes,outage=50%,reorder=no,length=10min`
///
/// For each slot a rate, lognormal about the geometric middle of its range, and a base delay, half that of the slot before and half
/// uniform in its range, are drawn, both kept within their ranges; within a slot the delay drifts by up to 2 ms. Where a slot begins, there is an outage of 10 to 100 ms, or
/// else packets are held for 20 to 50 ms. The length of slots and their phase are as measured of Starlink (Mohan and others, "A
/// multifaceted look at Starlink performance", WWW 2024); the probabilities have no source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeoSpec {
    rate: (Rate, Rate),
    delay: (Duration, Duration),
    period: Duration,
    phase: Duration,
    drift: bool,
    outage: f64,
    reorder: bool,
    length: Duration,
}

impl Declared for LeoSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "leo",
        words: "A link over satellites in low orbits: in each slot another rate and base delay, and an interruption between slots.",
        head: None,
        keys: &[
            Key {
                name: "rate",
                takes: Takes::Other("two rates above 0, such as 50Mbit/s..250Mbit/s"),
                words: "Range of the rate, lognormal about its geometric middle (standard deviation 0.3 of the logarithm); required.",
            },
            Key {
                name: "delay",
                takes: Takes::Other("two times, such as 20ms..60ms"),
                words: "Range of the one-way base delay, correlated by half from slot to slot; default 20ms..60ms.",
            },
            Key { name: "period", takes: Takes::Span, words: "Length of a slot; default 15 s." },
            Key { name: "phase", takes: Takes::Time, words: "When the first slot ends; default 12 s." },
            Key {
                name: "drift",
                takes: Takes::Flag,
                words: "Whether the delay drifts within a slot, by up to 2 ms; default yes.",
            },
            Key {
                name: "outage",
                takes: Takes::Share,
                words: "Share of the changes at which packets are lost for 10 to 100 ms; at the others they are held for 20 to 50 ms; \
                        default 50 %.",
            },
            Key {
                name: "reorder",
                takes: Takes::Flag,
                words: "Whether later packets may overtake where the delay falls; default no.",
            },
            Key {
                name: "length",
                takes: Takes::Span,
                words: "Approximate time after which all begins again; default 10 min.",
            },
        ],
        example: "leo:rate=50Mbit/s..250Mbit/s",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let milliseconds = Duration::from_milliseconds;
        let rate = written.with("rate", read_rates)?;
        let spec = Self {
            rate: written.needed(rate, "a range of rates")?,
            delay: written.with("delay", read_delays)?.unwrap_or((milliseconds(20), milliseconds(60))),
            period: written.span("period")?.unwrap_or(milliseconds(15_000)),
            phase: written.time("phase")?.unwrap_or(milliseconds(12_000)),
            drift: written.flag("drift")?.unwrap_or(true),
            outage: written.share("outage")?.unwrap_or(0.5),
            reorder: written.flag("reorder")?.unwrap_or(false),
            length: written.span("length")?.unwrap_or(milliseconds(600_000)),
        };
        spec.check(written)
    }
}

impl LeoSpec {
    fn check(self, written: &Arguments<'_>) -> Result<Self, ElementError> {
        if self.period < Duration::from_milliseconds(200) {
            return Err(written.bad("period", "the interruptions between slots need 200ms or more"));
        }
        if self.phase > self.period {
            return Err(
                written.bad("phase", "the first slot is no longer than the others; write at most the period")
            );
        }
        if self.slots() > MAX_SLOTS {
            return Err(
                written.bad("length", format!("there would be more than {MAX_SLOTS} slots; make it shorter"))
            );
        }
        Ok(self)
    }

    /// How many slots there are, at least two.
    fn slots(&self) -> u64 {
        (self.length.picoseconds() / self.period.picoseconds()).max(2)
    }
}

fn read_rates(text: &str) -> Result<(Rate, Rate), String> {
    let (least, most) = range::<Rate, _>(text)?;
    if least == Rate::ZERO {
        return Err("at rate 0 nothing would ever pass; write one like 50Mbit/s..250Mbit/s".to_owned());
    }
    Ok((least, most))
}

fn read_delays(text: &str) -> Result<(Duration, Duration), String> {
    range(text)
}

impl DeclaredCourse for LeoSpec {
    fn parts(&self) -> Vec<Part> {
        let mut parts = vec![Part::Rate];
        parts.extend((self.outage > 0.0).then_some(Part::Outage));
        parts.extend((self.outage < 1.0).then_some(Part::Handover));
        parts.push(Part::Delay);
        parts
    }

    fn drawn(&self, seed: Seed) -> Course {
        let mut draw = Draw::of(self, seed);
        for slot in 0..self.slots() {
            draw.slot(slot);
        }
        draw.finish(self.period * self.slots())
    }

    fn mean(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(middle(self.rate) as u64))
    }

    fn base(&self) -> Duration {
        self.delay.0 + (self.delay.1 - self.delay.0) / 2
    }
}

/// The geometric middle, in bit/s.
fn middle((least, most): (Rate, Rate)) -> f64 {
    libm::sqrt(least.bits_per_second() as f64 * most.bits_per_second() as f64)
}

struct Draw<'a> {
    spec: &'a LeoSpec,
    random: Random,
    rates: Vec<(Duration, Rate)>,
    delays: Vec<(Duration, Duration)>,
    outages: Vec<(Duration, Duration)>,
    holds: Vec<(Duration, Duration)>,
    /// The base delay of the slot before, in seconds.
    before: f64,
}

impl<'a> Draw<'a> {
    fn of(spec: &'a LeoSpec, seed: Seed) -> Self {
        Self {
            spec,
            random: Random::new(seed),
            rates: Vec::new(),
            delays: Vec::new(),
            outages: Vec::new(),
            holds: Vec::new(),
            before: spec.base().as_seconds(),
        }
    }

    fn between(&mut self, (least, most): (f64, f64)) -> f64 {
        least + (most - least) * self.random.uniform()
    }

    /// Draws a slot; the one of number 0 is what is left of it at the start.
    fn slot(&mut self, number: u64) {
        let spec = self.spec;
        let first = spec.period - spec.phase;
        let begin = (spec.period * number).saturating_sub(first);
        let end = spec.period * (number + 1) - first;
        let range = (spec.delay.0.as_seconds(), spec.delay.1.as_seconds());
        let (outage, hold) = (self.between(OUTAGE), self.between(HOLD));
        let loses = self.random.chance(spec.outage);
        if number > 0 {
            let span = |length| (begin, begin + Duration::from_seconds(length));
            if loses { self.outages.push(span(outage)) } else { self.holds.push(span(hold)) }
        }
        let rate = middle(spec.rate) * libm::exp(RATE_DEVIATION * self.random.normal());
        let rate = Rate::from_bits_per_second(rate as u64).clamp(spec.rate.0, spec.rate.1);
        let own = self.between(range);
        self.before = 0.5 * self.before + 0.5 * own;
        let slope = DRIFT * (2.0 * self.random.uniform() - 1.0);
        if begin >= end {
            return;
        }
        self.rates.push((begin, rate));
        let drift = if spec.drift { slope } else { 0.0 };
        self.delays_of(begin, end, drift, range);
    }

    fn delays_of(&mut self, begin: Duration, end: Duration, drift: f64, range: (f64, f64)) {
        let mut time = begin;
        while time < end {
            let share = (time - begin).as_seconds() / self.spec.period.as_seconds();
            let delay = (self.before + drift * share).clamp(range.0, range.1);
            self.delays.push((time, Duration::from_seconds(delay)));
            if drift == 0.0 {
                return;
            }
            time += DRIFT_STEP;
        }
    }

    fn finish(self, whole: Duration) -> Course {
        let period = whole - (self.spec.period - self.spec.phase);
        let spans = |found: Vec<_>, wanted: bool| wanted.then(|| Spans::listed(found, Some(period)));
        Course {
            pace: Series::new(self.rates).ok().map(|series| Pace::Rates(series.repeated(Some(period)))),
            delay: Series::new(self.delays).ok().map(|series| series.repeated(Some(period))),
            reorders: self.spec.reorder,
            loss: None,
            outages: spans(self.outages, self.spec.outage > 0.0),
            holds: spans(self.holds, self.spec.outage < 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::CourseSpec;

    fn spec(text: &str) -> LeoSpec {
        let CourseSpec::Leo(spec) = text.parse().unwrap() else { panic!("{text} is not of satellites") };
        spec
    }

    const TEXT: &str = "leo:rate=50Mbit/s..250Mbit/s,delay=20ms..60ms,length=100min";

    fn rates(course: &Course) -> Vec<(Duration, Rate)> {
        let Some(Pace::Rates(series)) = &course.pace else { panic!("no rates") };
        series.steps().to_vec()
    }

    #[test]
    fn slots_begin_where_they_should_with_an_interruption_each() {
        let course = spec(TEXT).drawn(Seed::new(1));
        let begins: Vec<u64> = rates(&course).iter().map(|(time, _)| time.milliseconds()).collect();
        assert_eq!((&begins[..4], begins.len()), (&[0, 12_000, 27_000, 42_000][..], 400));
        let spans = |spans: &Option<Spans>| match spans {
            Some(Spans::Listed(spans, _)) => spans.to_vec(),
            _ => Vec::new(),
        };
        let (outages, holds) = (spans(&course.outages), spans(&course.holds));
        assert_eq!(outages.len() + holds.len(), 399);
        // Half of 399, four standard errors of 10.
        assert!(outages.len().abs_diff(200) < 40, "{}", outages.len());
        let within = |spans: &[(Duration, Duration)], least: u64, most: u64| {
            let lengths = spans.iter().map(|(begin, end)| (*end - *begin).microseconds());
            lengths.into_iter().all(|length| (least..=most).contains(&length))
        };
        assert!(within(&outages, 10_000, 100_000) && within(&holds, 20_000, 50_000));
    }

    #[test]
    fn rates_are_lognormal_and_delays_stay_in_their_range() {
        let course = spec(TEXT).drawn(Seed::new(2));
        let logs: Vec<f64> = rates(&course)
            .iter()
            .map(|(_, rate)| (rate.bits_per_second() as f64 / 111_803_399.0).ln())
            .collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
        // 400 draws about the middle of 50 and 250: five standard errors are 0.075 and 0.053.
        assert!(mean.abs() < 0.075 && (deviation - 0.3).abs() < 0.053, "{mean} {deviation}");
        let delays = course.delay.unwrap();
        assert!(delays.steps().iter().all(|(_, delay)| (20_000..=60_000).contains(&delay.microseconds())));
    }

    #[test]
    fn slots_are_correlated_by_half() {
        let course = spec(&format!("{TEXT},drift=no")).drawn(Seed::new(3));
        let delays: Vec<f64> =
            course.delay.unwrap().steps().iter().map(|(_, delay)| delay.as_seconds() - 0.04).collect();
        let square: f64 = delays.iter().map(|delay| delay * delay).sum();
        let product: f64 = delays.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // Of 400: five standard errors are 0.22.
        assert!((product / square - 0.5).abs() < 0.22, "{}", product / square);
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_another() {
        let drawn = |seed| spec(TEXT).drawn(Seed::new(seed));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let message = |text: &str| text.parse::<CourseSpec>().unwrap_err().to_string();
        assert!(message("leo:delay=20ms..60ms").contains("needs a range of rates"));
        assert!(message("leo:rate=50Mbit/s").contains("with .. between them"));
        assert!(message("leo:rate=9Mbit/s..5Mbit/s").contains("exchange them"));
        assert!(message("leo:rate=0bit/s..5Mbit/s").contains("nothing would ever pass"));
        assert!(message("leo:rate=1Mbit/s..5Mbit/s,period=100ms").contains("need 200ms"));
        assert!(message("leo:rate=1Mbit/s..5Mbit/s,phase=16s").contains("at most the period"));
        assert!(message("leo:rate=1Mbit/s..5Mbit/s,length=9999999s").contains("slots; make it shorter"));
    }
}
