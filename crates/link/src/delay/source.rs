//! How long each packet is delayed.

use trialwise_units::{Duration, Seed, Time};

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

    pub(super) fn at(&mut self, now: Time) -> Duration {
        match &mut self.0 {
            Kind::Fixed(delay) => *delay,
            Kind::Varying { cursor, start } => cursor.at(now.since(*start)),
            Kind::Grid { period, start } => until_multiple(now.since(*start), *period),
            Kind::Jitter { base, jitter, distribution, random } => distribution.draw(*base, *jitter, random),
        }
    }

    pub(super) fn minimum(&self) -> Duration {
        match &self.0 {
            Kind::Fixed(delay) => *delay,
            Kind::Jitter { base, jitter, distribution, .. } => distribution.minimum(*base, *jitter),
            Kind::Varying { .. } | Kind::Grid { .. } => Duration::ZERO,
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
