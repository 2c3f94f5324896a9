//! Rates: `12Mbit/s`, `poisson:rate=3Mbit/s`, `trace:FILE`.

use std::str::FromStr;

use trialwise_units::{Bytes, Duration, Rate, Seed};

use crate::spec::arguments::{Arguments, ReadFile, from_file, no_file, split_first, split_name};
use crate::spec::{SpecError, words};
use crate::trace::{ByteConvention, Cellular, OnOff, Phases, Repeat, Trace, TraceError};

const NAMES: &[&str] = &["trace", "poisson", "on-off", "cellular"];
const LENGTH: Duration = Duration::from_milliseconds(60_000);

/// A rate as written.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// `12Mbit/s[,overhead=38]`: constant, with bytes added to each packet.
    Constant {
        /// The rate.
        rate: Rate,
        /// What each packet takes beyond its size.
        overhead: Bytes,
    },
    /// `trace:FILE[,bytes=documented|mahimahi][,repeat=yes]`
    Trace {
        /// The trace.
        trace: Trace,
        /// How its opportunities count bytes.
        convention: ByteConvention,
        /// Whether it starts again.
        repeat: Repeat,
    },
    /// `poisson:rate=[,length=60s]`
    Poisson {
        /// The mean rate.
        rate: Rate,
        /// After what time it repeats, about.
        length: Duration,
    },
    /// `on-off:rate=,on=,off=[,phases=exponential|fixed][,length=60s]`
    OnOff {
        /// The link.
        link: OnOff,
        /// After what time it repeats, about.
        length: Duration,
    },
    /// `cellular:rate=[,dwell=100ms][,levels=8][,length=60s]`
    Cellular {
        /// The link.
        link: Cellular,
        /// After what time it repeats, about.
        length: Duration,
    },
}

/// A rate that can be built: constant, or the opportunities of a trace.
pub(super) enum Resolved {
    Constant(Rate, Bytes),
    Trace(Trace, ByteConvention, Repeat),
}

impl Resolved {
    pub(super) fn mean_rate(&self) -> Rate {
        match self {
            Self::Constant(rate, _) => *rate,
            Self::Trace(trace, convention, _) => trace.mean_rate(*convention),
        }
    }
}

impl RateSpec {
    /// The mean rate in the long run.
    pub fn mean(&self) -> Rate {
        match self {
            Self::Constant { rate, .. } | Self::Poisson { rate, .. } => *rate,
            Self::Trace { trace, convention, .. } => trace.mean_rate(*convention),
            Self::OnOff { link: OnOff { rate, on, off, .. }, .. } => {
                let share = on.picoseconds() as f64 / (*on + *off).picoseconds() as f64;
                Rate::from_bits_per_second((rate.bits_per_second() as f64 * share) as u64)
            }
            Self::Cellular { link, .. } => link.mean,
        }
    }

    /// The trace of this rate over `length` (its own, else 60 s), or the one that it names.
    ///
    /// # Errors
    /// A rate or length for which there is no opportunity, or too many.
    pub fn trace(&self, length: Option<Duration>, seed: Seed) -> Result<Trace, TraceError> {
        match self {
            Self::Constant { rate, .. } => Trace::constant(*rate, length.unwrap_or(LENGTH)),
            Self::Trace { trace, .. } => Ok(trace.clone()),
            Self::Poisson { rate, length: own } => Trace::poisson(*rate, length.unwrap_or(*own), seed),
            Self::OnOff { link, length: own } => link.trace(length.unwrap_or(*own), seed),
            Self::Cellular { link, length: own } => link.trace(length.unwrap_or(*own), seed),
        }
    }

    /// Makes the trace of a generated rate.
    pub(super) fn resolve(&self, seed: Seed) -> Result<Resolved, SpecError> {
        let made = match self {
            Self::Constant { rate, overhead } => return Ok(Resolved::Constant(*rate, *overhead)),
            Self::Trace { trace, convention, repeat } => {
                return Ok(Resolved::Trace(trace.clone(), *convention, *repeat));
            }
            made => made.trace(None, seed),
        };
        let error = |source: TraceError| SpecError::Trace { what: "rate".to_owned(), source };
        Ok(Resolved::Trace(made.map_err(error)?, ByteConvention::Documented, Repeat::Forever))
    }
}

impl FromStr for RateSpec {
    type Err = SpecError;

    /// Reads a rate that names no file.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::read(text, &no_file)
    }
}

impl RateSpec {
    /// Reads a rate, and the file that it names if it is a trace.
    ///
    /// # Errors
    /// What is wrong with the text or with the file.
    pub fn read(text: &str, read_file: ReadFile<'_>) -> Result<Self, SpecError> {
        let (name, rest) = split_name(text);
        let arguments = |allowed| Arguments::parse(format!("rate {name}"), rest, allowed);
        match name {
            "trace" => read_trace(rest, read_file),
            "poisson" => read_poisson(&arguments(&["rate", "length"])?),
            "on-off" => read_on_off(&arguments(&["rate", "on", "off", "phases", "length"])?),
            "cellular" => read_cellular(&arguments(&["rate", "dwell", "levels", "length"])?),
            _ if text.starts_with(|letter: char| letter.is_alphabetic()) => {
                Err(words::unknown("rate", name, NAMES))
            }
            _ => read_constant(text),
        }
    }
}

fn read_constant(text: &str) -> Result<RateSpec, SpecError> {
    let (first, rest) = split_first(text);
    let arguments = Arguments::parse("rate", rest, &["overhead"])?;
    let overhead =
        arguments.bounded("overhead", arguments.get("overhead")?, "added to a packet; write 38")?;
    Ok(RateSpec::Constant { rate: read_rate(&arguments, first)?, overhead: overhead.unwrap_or_default() })
}

/// A rate above zero.
pub(super) fn read_rate(arguments: &Arguments<'_>, text: &str) -> Result<Rate, SpecError> {
    match text.parse() {
        Ok(Rate::ZERO) => {
            Err(arguments.bad(text, "at rate 0 nothing would ever pass; write one like 12Mbit/s".to_owned()))
        }
        Ok(rate) => Ok(rate),
        Err(error) => Err(arguments.bad(text, error.to_string())),
    }
}

fn required_rate(arguments: &Arguments<'_>) -> Result<Rate, SpecError> {
    let text = arguments.with("rate", |text| Ok::<_, SpecError>(text.to_owned()))?;
    read_rate(arguments, &text.ok_or_else(|| arguments.missing("a rate", "rate=3Mbit/s"))?)
}

fn read_length(arguments: &Arguments<'_>) -> Result<Duration, SpecError> {
    Ok(arguments.span("length")?.unwrap_or(LENGTH))
}

fn read_trace(text: &str, read_file: ReadFile<'_>) -> Result<RateSpec, SpecError> {
    let (path, rest) = split_first(text);
    let arguments = Arguments::parse("rate trace", rest, &["bytes", "repeat"])?;
    let repeats = arguments.flag("repeat")?.unwrap_or(true);
    Ok(RateSpec::Trace {
        trace: from_file("rate trace", path, read_file, str::parse)?,
        convention: arguments.with("bytes", read_convention)?.unwrap_or_default(),
        repeat: if repeats { Repeat::Forever } else { Repeat::Once },
    })
}

fn read_convention(text: &str) -> Result<ByteConvention, SpecError> {
    match text {
        "documented" => Ok(ByteConvention::Documented),
        "mahimahi" => Ok(ByteConvention::Mahimahi),
        _ => Err(words::unknown("bytes", text, &["documented", "mahimahi"])),
    }
}

fn read_poisson(arguments: &Arguments<'_>) -> Result<RateSpec, SpecError> {
    Ok(RateSpec::Poisson { rate: required_rate(arguments)?, length: read_length(arguments)? })
}

fn read_on_off(arguments: &Arguments<'_>) -> Result<RateSpec, SpecError> {
    let (Some(on), Some(off)) = (arguments.span("on")?, arguments.span("off")?) else {
        return Err(arguments.missing("on and off", "on-off:rate=12Mbit/s,on=1s,off=500ms"));
    };
    let phases = arguments.with("phases", read_phases)?.unwrap_or(Phases::Exponential);
    let link = OnOff { rate: required_rate(arguments)?, on, off, phases };
    Ok(RateSpec::OnOff { link, length: read_length(arguments)? })
}

/// `exponential` or `fixed`.
pub(super) fn read_phases(text: &str) -> Result<Phases, SpecError> {
    match text {
        "exponential" => Ok(Phases::Exponential),
        "fixed" => Ok(Phases::Fixed),
        _ => Err(words::unknown("phases", text, &["exponential", "fixed"])),
    }
}

fn read_cellular(arguments: &Arguments<'_>) -> Result<RateSpec, SpecError> {
    let levels = arguments.count("levels")?.unwrap_or(8);
    let link = Cellular {
        mean: required_rate(arguments)?,
        dwell: arguments.span("dwell")?.unwrap_or(Duration::from_milliseconds(100)),
        levels: u32::try_from(levels).ok().filter(|levels| *levels <= 1_000).ok_or_else(|| {
            arguments.bad("levels", "more than 1000 are not needed; write one like 8".to_owned())
        })?,
    };
    Ok(RateSpec::Cellular { link, length: read_length(arguments)? })
}
