//! Outages, `exponential:on=5s,off=1s`, and policers, `12Mbit/s,burst=15kB`.

use std::str::FromStr;

use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::outage::Outage;
use crate::policer::Policer;
use crate::spec::SpecError;
use crate::spec::arguments::{Arguments, split_first, split_name};
use crate::spec::rate::{read_phases, read_rate};
use crate::trace::Phases;

/// Outages as written: `exponential:on=,off=` or `fixed:on=,off=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageSpec {
    /// How long the link is on, on average or exactly.
    pub on: Duration,
    /// How long the link is off, on average or exactly.
    pub off: Duration,
    /// Which of the two.
    pub phases: Phases,
}

impl FromStr for OutageSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = split_name(text);
        let phases = read_phases(name)?;
        let arguments = Arguments::parse("outage", rest, &["on", "off"])?;
        match (arguments.span("on")?, arguments.span("off")?) {
            (Some(on), Some(off)) => Ok(Self { on, off, phases }),
            _ => Err(arguments.missing("on and off", "exponential:on=5s,off=1s")),
        }
    }
}

impl OutageSpec {
    pub(super) fn build(&self, start: Time, seed: Seed) -> Outage {
        Outage::new(self.on, self.off, self.phases, start, seed)
    }
}

/// A policer as written: `12Mbit/s,burst=15kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerSpec {
    /// At what rate the bucket fills.
    pub rate: Rate,
    /// How much it holds.
    pub burst: Bytes,
}

impl FromStr for PolicerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (first, rest) = split_first(text);
        let arguments = Arguments::parse("policer", rest, &["burst"])?;
        let rate = read_rate(&arguments, first)?;
        match arguments.get("burst")? {
            None => Err(arguments.missing("a burst", "12Mbit/s,burst=15kB")),
            Some(burst) if burst < Bytes::new(1500) => {
                Err(arguments.bad("burst", "no full packet would ever pass; write at least 1500".to_owned()))
            }
            Some(burst) => Ok(Self { rate, burst }),
        }
    }
}

impl PolicerSpec {
    pub(super) fn build(&self, start: Time) -> Policer {
        Policer::new(self.rate, self.burst, start)
    }
}
