//! Bottlenecks that send at the opportunities of a generated trace.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Rate, Seed};

use super::register::{DeclaredRate, LENGTH_KEY, RATE, read_length, read_rate};
use crate::trace::{Cellular, OnOff, Phases, Trace, TraceError};

/// `poisson:rate=3Mbit/s,length=60s`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoissonSpec {
    /// In the mean.
    pub(crate) rate: Rate,
    pub(crate) length: Duration,
}

impl Declared for PoissonSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "poisson",
        words: "Opportunities form a Poisson process.",
        head: None,
        keys: &[RATE, LENGTH_KEY],
        example: "poisson:rate=3Mbit/s",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { rate: read_rate(written)?, length: read_length(written)? })
    }
}

impl DeclaredRate for PoissonSpec {
    fn mean(&self) -> Rate {
        self.rate
    }

    fn trace(&self, length: Option<Duration>, seed: Seed) -> Result<Trace, TraceError> {
        Trace::poisson(self.rate, length.unwrap_or(self.length), seed)
    }
}

/// `on-off:rate=12Mbit/s,on=1s,off=500ms,phases=fixed,length=60s`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOffSpec {
    pub(crate) link: OnOff,
    pub(crate) length: Duration,
}

impl Declared for OnOffSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "on-off",
        words: "A constant rate during on phases, nothing between.",
        head: None,
        keys: &[
            Key { name: "rate", takes: Takes::Rate, words: "Rate while the link is on; required." },
            Key {
                name: "on",
                takes: Takes::Span,
                words: "Length of the phases when the link is on; required.",
            },
            Key {
                name: "off",
                takes: Takes::Span,
                words: "Length of the phases when the link is off; required.",
            },
            Key {
                name: "phases",
                takes: Takes::Word(&["exponential", "fixed"]),
                words: "Whether phases are exponentially distributed with these means or have exactly these lengths; default exponential.",
            },
            LENGTH_KEY,
        ],
        example: "on-off:rate=12Mbit/s,on=1s,off=500ms",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let (Some(on), Some(off)) = (written.span("on")?, written.span("off")?) else {
            return Err(written.missing("on and off"));
        };
        let phases = written.word("phases", &[Phases::Exponential, Phases::Fixed])?;
        let link =
            OnOff { rate: read_rate(written)?, on, off, phases: phases.unwrap_or(Phases::Exponential) };
        Ok(Self { link, length: read_length(written)? })
    }
}

impl DeclaredRate for OnOffSpec {
    fn mean(&self) -> Rate {
        let OnOff { rate, on, off, .. } = self.link;
        let share = on.picoseconds() as f64 / (on + off).picoseconds() as f64;
        Rate::from_bits_per_second((rate.bits_per_second() as f64 * share) as u64)
    }

    fn trace(&self, length: Option<Duration>, seed: Seed) -> Result<Trace, TraceError> {
        self.link.trace(length.unwrap_or(self.length), seed)
    }
}

/// `cellular:rate=5Mbit/s,dwell=100ms,levels=8,length=60s`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellularSpec {
    pub(crate) link: Cellular,
    pub(crate) length: Duration,
}

const MAX_LEVELS: u32 = 1000;

impl Declared for CellularSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "cellular",
        words: "A Poisson process whose rate varies at random as on a cellular link (related to Sprout's model, NSDI 2013).",
        head: None,
        keys: &[
            RATE,
            Key { name: "dwell", takes: Takes::Span, words: "Mean time at one rate; default 100 ms." },
            Key {
                name: "levels",
                takes: Takes::Count,
                words: "Steps between rate 0 and twice the mean, at most 1000; default 8.",
            },
            LENGTH_KEY,
        ],
        example: "cellular:rate=5Mbit/s",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let levels = written.count("levels")?.unwrap_or(8);
        let link = Cellular {
            mean: read_rate(written)?,
            dwell: written.span("dwell")?.unwrap_or(Duration::from_milliseconds(100)),
            levels: u32::try_from(levels).ok().filter(|levels| *levels <= MAX_LEVELS).ok_or_else(|| {
                written.bad("levels", format!("more than {MAX_LEVELS} are not needed; write one like 8"))
            })?,
        };
        Ok(Self { link, length: read_length(written)? })
    }
}

impl DeclaredRate for CellularSpec {
    fn mean(&self) -> Rate {
        self.link.mean
    }

    fn trace(&self, length: Option<Duration>, seed: Seed) -> Result<Trace, TraceError> {
        self.link.trace(length.unwrap_or(self.length), seed)
    }
}
