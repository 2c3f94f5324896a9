//! Delay: `28ms`, `28ms,jitter=5ms,distribution=normal,reorder=yes`, `series:FILE`; batches:
//! `packets=10,wait=5ms`, `every=100ms`.

use std::str::FromStr;

use trialwise_units::{Duration, Seed, Time};

use crate::delay::{Batches, Delay, Distribution, OrderedDelay, ReorderingDelay};
use crate::element::Stage;
use crate::packet::Packet;
use crate::series::Series;
use crate::spec::arguments::{Arguments, ReadFile, from_file, no_file, split_first};
use crate::spec::{SpecError, words};

/// A one-way delay as written.
#[derive(Clone, Debug, PartialEq)]
pub enum DelaySpec {
    /// `28ms`
    Fixed(Duration),
    /// `28ms,jitter=5ms[,distribution=uniform|normal|exponential][,reorder=no]`
    Jitter {
        /// What the jitter is added to.
        base: Duration,
        /// How much, by the distribution.
        jitter: Duration,
        /// Which distribution.
        distribution: Distribution,
        /// Whether later packets may overtake.
        reorder: bool,
    },
    /// `series:FILE[,reorder=no]` with lines of a millisecond and a time.
    Varying {
        /// The delays.
        series: Series<Duration>,
        /// Whether later packets may overtake.
        reorder: bool,
    },
}

impl FromStr for DelaySpec {
    type Err = SpecError;

    /// Reads a delay that names no file.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::read(text, &no_file)
    }
}

impl DelaySpec {
    /// Reads a delay, and the file that it names if it is recorded.
    ///
    /// # Errors
    /// What is wrong with the text or with the file.
    pub fn read(text: &str, read_file: ReadFile<'_>) -> Result<Self, SpecError> {
        let (first, rest) = split_first(text);
        if let Some(path) = first.strip_prefix("series:") {
            let reorder =
                Arguments::parse("delay series", rest, &["reorder"])?.flag("reorder")?.unwrap_or(false);
            return Ok(Self::Varying {
                series: from_file("delay series", path, read_file, Series::parse_delays)?,
                reorder,
            });
        }
        let arguments = Arguments::parse("delay", rest, &["jitter", "distribution", "reorder"])?;
        let base = first.parse().map_err(|error| arguments.bad(first, format!("{error}")))?;
        match arguments.span("jitter")? {
            Some(jitter) => Ok(Self::Jitter {
                base,
                jitter,
                distribution: arguments.with("distribution", read_distribution)?.unwrap_or_default(),
                reorder: arguments.flag("reorder")?.unwrap_or(false),
            }),
            None if rest.is_empty() => Ok(Self::Fixed(base)),
            None => Err(arguments.missing("jitter", "28ms,jitter=5ms")),
        }
    }
}

fn read_distribution(text: &str) -> Result<Distribution, SpecError> {
    match text {
        "uniform" => Ok(Distribution::Uniform),
        "normal" => Ok(Distribution::Normal),
        "exponential" => Ok(Distribution::Exponential),
        _ => Err(words::unknown("distribution", text, &["uniform", "normal", "exponential"])),
    }
}

impl DelaySpec {
    pub(super) fn build<P: Packet>(&self, start: Time, seed: Seed) -> Box<dyn Stage<P>> {
        let (delay, reorder) = match self {
            Self::Fixed(delay) => (Delay::fixed(*delay), false),
            Self::Jitter { base, jitter, distribution, reorder } => {
                (Delay::jitter(*base, *jitter, *distribution, seed), *reorder)
            }
            Self::Varying { series, reorder } => (Delay::varying(series, start), *reorder),
        };
        if reorder { Box::new(ReorderingDelay::new(delay)) } else { Box::new(OrderedDelay::new(delay)) }
    }

    /// What the delay is without jitter, at the start: half of what a round trip takes.
    pub fn base(&self) -> Duration {
        match self {
            Self::Fixed(delay) => *delay,
            Self::Jitter { base, .. } => *base,
            Self::Varying { series, .. } => series.cursor().at(Duration::ZERO),
        }
    }
}

/// Release in batches as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSpec {
    /// `packets=10,wait=5ms`: when so many are there, or the oldest has waited so long.
    Full {
        /// How many.
        packets: u64,
        /// How long.
        wait: Duration,
    },
    /// `every=100ms`: at the multiples of a period.
    Every(Duration),
}

impl FromStr for BatchSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let arguments = Arguments::parse("batches", text, &["packets", "wait", "every"])?;
        match (arguments.count("packets")?, arguments.span("wait")?, arguments.span("every")?) {
            (Some(packets), Some(wait), None) => Ok(Self::Full { packets, wait }),
            (None, None, Some(every)) => Ok(Self::Every(every)),
            _ => Err(arguments.missing("either packets and wait, or every", "packets=10,wait=5ms")),
        }
    }
}

impl BatchSpec {
    pub(super) fn build<P: Packet>(&self, start: Time) -> Box<dyn Stage<P>> {
        match *self {
            Self::Full { packets, wait } => {
                Box::new(Batches::new(usize::try_from(packets).unwrap_or(usize::MAX), wait))
            }
            Self::Every(period) => Box::new(OrderedDelay::new(Delay::until_multiple_of(period, start))),
        }
    }
}
