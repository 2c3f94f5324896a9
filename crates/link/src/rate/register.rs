//! Which rates there are: a line for each, here and nowhere else. What is to be said of one stands beside its law.

use trialwise_units::element::{Arguments, Declared, ElementError, Key, Takes};
use trialwise_units::{Duration, Rate, Seed, Time, elements};

use super::bucket::{Bucket, BucketSpec};
use super::constant::ConstantRateSpec;
use super::generated::{CellularSpec, OnOffSpec, PoissonSpec};
use super::opportunities::{TraceRate, TraceRateSpec};
use super::steps::{Steps, StepsSpec};
use crate::element::Stage;
use crate::error::SpecError;
use crate::packet::Packet;
use crate::queue::Queue;
use crate::trace::{ByteConvention, Repeat, Schedule, Trace, TraceError};

/// A rate that can be chosen by name.
pub(crate) trait DeclaredRate: Declared {
    /// The mean rate in the long run.
    fn mean(&self) -> Rate;

    /// The trace of this rate over `length` (its own, else 60 s), or the one that it names.
    ///
    /// # Errors
    /// A rate or length for which there is no opportunity, or too many.
    fn trace(&self, length: Option<Duration>, seed: Seed) -> Result<Trace, TraceError>;

    /// What serves a queue at this rate: the trace over and over, unless said otherwise.
    ///
    /// # Errors
    /// As those of [`Self::trace`].
    fn server(&self, seed: Seed) -> Result<Server, TraceError> {
        Ok(Server::of_trace(self.trace(None, seed)?, ByteConvention::Documented, Repeat::Forever))
    }
}

elements! {
    /// A rate as written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum RateSpec of "rate", rate! {
        Constant(ConstantRateSpec),
        Trace(TraceRateSpec),
        Steps(StepsSpec),
        Bucket(BucketSpec),
        Poisson(PoissonSpec),
        OnOff(OnOffSpec),
        Cellular(CellularSpec),
    }
}

impl RateSpec {
    /// The mean rate in the long run.
    pub fn mean(&self) -> Rate {
        rate!(self, spec => spec.mean())
    }

    /// The trace of this rate over `length` (its own, else 60 s), or the one that it names.
    ///
    /// # Errors
    /// A rate or length for which there is no opportunity, or too many.
    pub fn trace(&self, length: Option<Duration>, seed: Seed) -> Result<Trace, TraceError> {
        rate!(self, spec => spec.trace(length, seed))
    }

    /// What serves a queue at this rate; a generated one is drawn.
    pub(crate) fn server(&self, seed: Seed) -> Result<Server, SpecError> {
        rate!(self, spec => spec.server(seed)).map_err(|source| SpecError::Trace { what: "rate", source })
    }
}

/// What serves a queue.
pub(crate) enum Server {
    /// A rate, and what each packet takes beyond its size.
    Constant(ConstantRateSpec),
    /// Rates, one after the other.
    Steps(StepsSpec),
    /// A token bucket.
    Bucket(BucketSpec),
    /// The opportunities of a trace.
    Trace {
        trace: Trace,
        convention: ByteConvention,
        repeat: Repeat,
        /// After what time it starts again; none: after its last opportunity.
        period: Option<Duration>,
    },
}

impl Server {
    /// The opportunities of a trace that starts again after its last one.
    pub(super) const fn of_trace(trace: Trace, convention: ByteConvention, repeat: Repeat) -> Self {
        Self::Trace { trace, convention, repeat, period: None }
    }

    /// In the long run.
    pub(crate) fn mean_rate(&self) -> Rate {
        match self {
            Self::Constant(spec) => spec.mean(),
            Self::Steps(spec) => spec.mean(),
            Self::Bucket(spec) => spec.mean(),
            Self::Trace { trace, convention, period, .. } => trace.mean_rate_over(*convention, *period),
        }
    }

    /// The queue, served.
    pub(crate) fn serve<P: Packet>(self, queue: Box<dyn Queue<P>>, start: Time) -> Box<dyn Stage<P>> {
        match self {
            Self::Constant(spec) => spec.serve(queue),
            Self::Steps(spec) => Box::new(Steps::new(spec.series, queue, start)),
            Self::Bucket(spec) => Box::new(Bucket::new(spec, queue, start)),
            Self::Trace { trace, convention, repeat, period } => {
                let schedule = Schedule::new(trace, repeat, start).with_period(period);
                Box::new(TraceRate::new(schedule, convention, queue))
            }
        }
    }
}

/// How long a generated trace is, unless said otherwise.
pub(super) const LENGTH: Duration = Duration::from_milliseconds(60_000);

/// Of generated rates.
pub(super) const RATE: Key = Key { name: "rate", takes: Takes::Rate, words: "Mean rate; required." };
pub(super) const LENGTH_KEY: Key = Key {
    name: "length",
    takes: Takes::Span,
    words: "Approximate period of the generated trace; default 60 s.",
};

/// The value of [`RATE`].
pub(super) fn read_rate(written: &Arguments<'_>) -> Result<Rate, ElementError> {
    written.needed(written.rate("rate")?, "a rate")
}

/// The value of [`LENGTH_KEY`].
pub(super) fn read_length(written: &Arguments<'_>) -> Result<Duration, ElementError> {
    Ok(written.span("length")?.unwrap_or(LENGTH))
}
