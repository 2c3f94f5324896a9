//! How long each packet is delayed.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Duration, Seed, Time};

use crate::delay::register::{DeclaredDelay, REORDER};
use crate::random::Random;
use crate::series::{Cursor, Series};

/// How jitter is distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Uniform between base − jitter and base + jitter.
    #[default]
    Uniform,
    /// Normal around the base with the jitter as standard deviation; below zero counts as zero.
    Normal,
    /// The base plus an exponential time whose mean is the jitter.
    Exponential,
}

/// How long a packet that arrives at some instant is delayed.
#[derive(Clone, Debug)]
pub struct Delay(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Fixed(Duration),
    Jitter { base: Duration, jitter: Duration, distribution: Distribution, random: Random },
    Varying { cursor: Cursor<Duration>, start: Time },
    Grid { period: Duration, start: Time },
    Retransmitted { share: f64, step: Duration, tries: u32, random: Random },
}

impl Delay {
    /// The same for every packet.
    pub fn fixed(delay: Duration) -> Self {
        Self(Kind::Fixed(delay))
    }

    /// Drawn for each packet on its own.
    pub fn jitter(base: Duration, jitter: Duration, distribution: Distribution, seed: Seed) -> Self {
        Self(Kind::Jitter { base, jitter, distribution, random: Random::new(seed) })
    }

    /// What a recorded series says of the instant of arrival, its millisecond 0 at `start`.
    pub fn varying(series: &Series<Duration>, start: Time) -> Self {
        Self(Kind::Varying { cursor: series.cursor(), start })
    }

    /// Until the next multiple of `period` after `start`, none for a packet that arrives at one: everything
    /// that arrived since leaves together.
    pub fn until_multiple_of(period: Duration, start: Time) -> Self {
        Self(Kind::Grid { period, start })
    }

    /// A step for each retransmission, of which there is one more with this probability, up to so many.
    pub(crate) fn retransmitted(share: f64, step: Duration, tries: u32, seed: Seed) -> Self {
        Self(Kind::Retransmitted { share, step, tries, random: Random::new(seed) })
    }

    pub(super) fn at(&mut self, now: Time) -> Duration {
        match &mut self.0 {
            Kind::Fixed(delay) => *delay,
            Kind::Varying { cursor, start } => cursor.at(now.since(*start)),
            Kind::Grid { period, start } => until_multiple(now.since(*start), *period),
            Kind::Retransmitted { share, step, tries, random } => {
                let retransmissions = (0..*tries).take_while(|_| random.chance(*share)).count();
                *step * retransmissions as u64
            }
            Kind::Jitter { base, jitter, distribution, random } => distribution.draw(*base, *jitter, random),
        }
    }

    pub(super) fn minimum(&self) -> Duration {
        match &self.0 {
            Kind::Fixed(delay) => *delay,
            Kind::Jitter { base, jitter, distribution, .. } => distribution.minimum(*base, *jitter),
            Kind::Varying { .. } | Kind::Grid { .. } | Kind::Retransmitted { .. } => Duration::ZERO,
        }
    }
}

impl Distribution {
    fn draw(self, base: Duration, jitter: Duration, random: &mut Random) -> Duration {
        let (base, jitter) = (base.as_seconds(), jitter.as_seconds());
        // Spans saturate at zero.
        Duration::from_seconds(match self {
            Self::Uniform => base + jitter * (2.0 * random.uniform() - 1.0),
            Self::Normal => base + jitter * random.normal(),
            Self::Exponential => base + jitter * random.exponential(),
        })
    }

    fn minimum(self, base: Duration, jitter: Duration) -> Duration {
        match self {
            // A nanosecond for rounding.
            Self::Uniform => base - jitter - Duration::from_nanoseconds(1),
            Self::Normal => Duration::ZERO,
            Self::Exponential => base - Duration::from_nanoseconds(1),
        }
    }
}

fn until_multiple(elapsed: Duration, period: Duration) -> Duration {
    match (elapsed.picoseconds(), period.picoseconds()) {
        (_, 0) => Duration::ZERO,
        (elapsed, period) => Duration::from_picoseconds((period - elapsed % period) % period),
    }
}

/// `28ms` or `28ms,jitter=5ms,distribution=normal,reorder=yes`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedSpec {
    pub(crate) base: Duration,
    pub(crate) jitter: Option<Jitter>,
}

/// What is added to a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jitter {
    /// How much, by the distribution.
    pub(crate) jitter: Duration,
    pub(crate) distribution: Distribution,
    /// Whether later packets may overtake.
    pub(crate) reorder: bool,
}

impl Declared for DelayedSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "The same delay for every packet, optionally with jitter.",
        head: Some(Key { name: "time", takes: Takes::Time, words: "Delay without jitter." }),
        keys: &[
            Key { name: "jitter", takes: Takes::Span, words: "Jitter, drawn for each packet; default none." },
            Key {
                name: "distribution",
                takes: Takes::Word(&["uniform", "normal", "exponential"]),
                words: "Distribution of the jitter: uniform or normal around the delay (jitter is the maximum distance or the \
                        standard deviation), or exponential above it (jitter is the mean); default uniform.",
            },
            REORDER,
        ],
        example: "28ms,jitter=5ms",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let base = written.needed(written.time(HEAD)?, "a time")?;
        let distributions = [Distribution::Uniform, Distribution::Normal, Distribution::Exponential];
        let jitter = match written.span("jitter")? {
            Some(jitter) => Some(Jitter {
                jitter,
                distribution: written.word("distribution", &distributions)?.unwrap_or_default(),
                reorder: written.flag("reorder")?.unwrap_or(false),
            }),
            None if written.is_head_alone() => None,
            None => return Err(written.missing("jitter")),
        };
        Ok(Self { base, jitter })
    }
}

impl DeclaredDelay for DelayedSpec {
    fn delay(&self, _start: Time, seed: Seed) -> Delay {
        match self.jitter {
            None => Delay::fixed(self.base),
            Some(Jitter { jitter, distribution, .. }) => Delay::jitter(self.base, jitter, distribution, seed),
        }
    }

    fn reorders(&self) -> bool {
        self.jitter.is_some_and(|jitter| jitter.reorder)
    }

    fn base(&self) -> Duration {
        self.base
    }
}

/// `series:FILE,reorder=no`
#[derive(Clone, Debug, PartialEq)]
pub struct VaryingDelaySpec {
    pub(crate) series: Series<Duration>,
    /// Whether later packets may overtake.
    pub(crate) reorder: bool,
}

impl Declared for VaryingDelaySpec {
    const FORMS: &'static [Form] = &[Form {
        name: "series",
        words: "The delay that a recorded series gives for the time of arrival.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "Lines of a millisecond and a time, such as `0 10ms`.",
        }),
        keys: &[REORDER],
        example: "series:FILE.delays",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let reorder = written.flag("reorder")?.unwrap_or(false);
        Ok(Self { series: written.file(HEAD, Series::parse_delays)?, reorder })
    }
}

impl DeclaredDelay for VaryingDelaySpec {
    fn delay(&self, start: Time, _seed: Seed) -> Delay {
        Delay::varying(&self.series, start)
    }

    fn reorders(&self) -> bool {
        self.reorder
    }

    fn base(&self) -> Duration {
        self.series.cursor().at(Duration::ZERO)
    }
}
