//! Outages: a link that is on, then off, then on again.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Duration, Ecn, Seed, Time, elements};

use crate::element::{Cause, Gate, Verdict};
use crate::random::Random;
use crate::series::Series;
use crate::spans::Spans;
use crate::trace::Phases;

/// Drops what arrives during its spans.
#[derive(Clone, Debug)]
pub(crate) struct ListedOutage {
    spans: Spans,
    start: Time,
}

impl ListedOutage {
    /// A link that is off during `spans`, counted from `start`.
    pub(crate) const fn new(spans: Spans, start: Time) -> Self {
        Self { spans, start }
    }
}

impl Gate for ListedOutage {
    fn judge(&mut self, now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        match self.spans.at(now.since(self.start)).end {
            None => Verdict::Pass,
            Some(_) => Verdict::Drop(Cause::Outage),
        }
    }
}

/// Drops what arrives while the link is off (mm-onoff with exponential phases, mm-intermittent with fixed
/// ones). It starts on.
#[derive(Clone, Debug)]
pub struct Outage {
    on: Duration,
    off: Duration,
    phases: Phases,
    random: Random,
    is_on: bool,
    /// The end of the present phase.
    end: Time,
}

impl Outage {
    /// A link that goes on at `start`, with phases of these lengths or mean lengths.
    pub fn new(on: Duration, off: Duration, phases: Phases, start: Time, seed: Seed) -> Self {
        let mut outage = Self { on, off, phases, random: Random::new(seed), is_on: false, end: start };
        outage.switch();
        outage
    }

    fn switch(&mut self) {
        self.is_on = !self.is_on;
        let span = if self.is_on { self.on } else { self.off };
        self.end += self.phases.span(span, &mut self.random);
    }
}

impl Gate for Outage {
    fn judge(&mut self, now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        while self.end <= now {
            self.switch();
        }
        if self.is_on { Verdict::Pass } else { Verdict::Drop(Cause::Outage) }
    }
}

/// `exponential:on=5s,off=1s` or `fixed:on=5s,off=200ms`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhasesSpec {
    /// How long the link is on, on average or exactly.
    pub(crate) on: Duration,
    /// How long the link is off, on average or exactly.
    pub(crate) off: Duration,
    /// Which of the two.
    pub(crate) phases: Phases,
}

elements! {
    /// Outages as written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum OutageSpec of "outage", outage! {
        Phases(PhasesSpec),
        Listed(ListedOutageSpec),
    }
}

const KEYS: &[Key] = &[
    Key { name: "on", takes: Takes::Span, words: "Length of the phases when the link is on; required." },
    Key { name: "off", takes: Takes::Span, words: "Length of the phases when the link is off; required." },
];

impl Declared for PhasesSpec {
    const FORMS: &'static [Form] = &[
        Form {
            name: "exponential",
            words: "Lose everything during outages; phases are exponentially distributed with these means.",
            head: None,
            keys: KEYS,
            example: "exponential:on=5s,off=1s",
        },
        Form {
            name: "fixed",
            words: "Lose everything during outages; phases have exactly these lengths.",
            head: None,
            keys: KEYS,
            example: "fixed:on=5s,off=200ms",
        },
    ];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let phases = if written.name() == "fixed" { Phases::Fixed } else { Phases::Exponential };
        match (written.span("on")?, written.span("off")?) {
            (Some(on), Some(off)) => Ok(Self { on, off, phases }),
            _ => Err(written.missing("on and off")),
        }
    }
}

/// `series:FILE`
#[derive(Clone, Debug, PartialEq)]
pub struct ListedOutageSpec {
    pub(crate) spans: Spans,
}

impl Declared for ListedOutageSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "series",
        words: "Lose everything during recorded outages.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "Lines of the millisecond of an outage and how long it is, such as `1500 200ms`.",
        }),
        keys: &[],
        example: "series:FILE.spans",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let parse = |text: &str| Series::parse_delays(text).and_then(|series| Spans::from_lengths(&series));
        Ok(Self { spans: written.file(HEAD, parse)? })
    }
}

impl PhasesSpec {
    fn build(self, start: Time, seed: Seed) -> Box<dyn Gate> {
        Box::new(Outage::new(self.on, self.off, self.phases, start, seed))
    }
}

impl ListedOutageSpec {
    fn build(&self, start: Time, _seed: Seed) -> Box<dyn Gate> {
        Box::new(ListedOutage::new(self.spans.clone(), start))
    }
}

impl OutageSpec {
    pub(crate) fn build(&self, start: Time, seed: Seed) -> Box<dyn Gate> {
        outage!(self, spec => spec.build(start, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each millisecond, whether the link is on.
    fn states(phases: Phases, on: u64, off: u64, count: u64) -> Vec<bool> {
        let span = Duration::from_milliseconds;
        let mut outage = Outage::new(span(on), span(off), phases, Time::ZERO, Seed::new(2));
        (0..count)
            .map(|time| {
                outage.judge(Time::from_milliseconds(time), Bytes::ZERO, Ecn::NotCapable) == Verdict::Pass
            })
            .collect()
    }

    #[test]
    fn listed_outages_are_when_they_are() {
        let read = |_: &str| Ok("1 2ms\n5 1ms\n".to_owned());
        let mut gate = OutageSpec::read("series:FILE", &read).unwrap().build(Time::ZERO, Seed::new(1));
        let on = (0..8).map(|time| {
            gate.judge(Time::from_milliseconds(time), Bytes::ZERO, Ecn::NotCapable) == Verdict::Pass
        });
        assert_eq!(on.collect::<Vec<_>>(), [true, false, false, true, true, false, true, true]);
    }

    #[test]
    fn fixed_phases_alternate_and_start_on() {
        let states = states(Phases::Fixed, 2, 1, 7);
        assert_eq!(states, [true, true, false, true, true, false, true]);
    }

    #[test]
    fn exponential_phases_are_on_for_their_share() {
        let states = states(Phases::Exponential, 300, 100, 2_000_000);
        let on = states.iter().filter(|state| **state).count() as f64 / states.len() as f64;
        // 5000 cycles: five standard errors of the share are 0.019.
        assert!((on - 0.75).abs() < 0.019, "{on}");
    }
}
