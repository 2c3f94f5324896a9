//! Loss: `0.4%`, `gilbert-elliott:to_bad=1%,to_good=10%`, `pattern:0001`, `trace:FILE`, `series:FILE`.

use std::str::FromStr;

use trialwise_units::{Seed, Time, parse_fraction};

use crate::element::Gate;
use crate::loss::{Bernoulli, GilbertElliott, GilbertElliottParameters, Pattern, PatternLoss, VaryingLoss};
use crate::series::Series;
use crate::spec::arguments::{Arguments, ReadFile, from_file, no_file, split_first, split_name};
use crate::spec::{SpecError, words};
use crate::trace::Repeat;

const NAMES: &[&str] = &["gilbert-elliott", "pattern", "trace", "series"];

/// Loss as written.
#[derive(Clone, Debug, PartialEq)]
pub enum LossSpec {
    /// `0.4%` or `0.004`: each packet on its own.
    Bernoulli(f64),
    /// `gilbert-elliott:to_bad=,to_good=[,loss_bad=100%][,loss_good=0%]`
    GilbertElliott(GilbertElliottParameters),
    /// `pattern:0001`, repeated, or `trace:FILE[,repeat=no]` with 0 or 1 for each packet.
    Pattern(Pattern, Repeat),
    /// `series:FILE` with lines of a millisecond and a fraction.
    Varying(Series<f64>),
}

impl FromStr for LossSpec {
    type Err = SpecError;

    /// Reads loss that names no file.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::read(text, &no_file)
    }
}

impl LossSpec {
    /// Reads loss, and the file that it names if it is recorded.
    ///
    /// # Errors
    /// What is wrong with the text or with the file.
    pub fn read(text: &str, read_file: ReadFile<'_>) -> Result<Self, SpecError> {
        let (name, rest) = split_name(text);
        match name {
            "gilbert-elliott" => read_gilbert_elliott(rest),
            "pattern" => Ok(Self::Pattern(rest.parse()?, Repeat::Forever)),
            "trace" => read_trace(rest, read_file),
            "series" => from_file("loss", rest.trim(), read_file, Series::parse_fractions).map(Self::Varying),
            _ if text.starts_with(|letter: char| letter.is_alphabetic()) => {
                Err(words::unknown("loss", name, NAMES))
            }
            _ => parse_fraction(text).map_err(|error| bad(text, &error.to_string())).and_then(|loss| {
                refuse_all(text, loss)?;
                Ok(Self::Bernoulli(loss))
            }),
        }
    }
}

fn read_trace(text: &str, read_file: ReadFile<'_>) -> Result<LossSpec, SpecError> {
    let (path, rest) = split_first(text);
    let repeats = Arguments::parse("loss trace", rest, &["repeat"])?.flag("repeat")?.unwrap_or(false);
    let pattern = from_file("loss trace", path, read_file, str::parse)?;
    Ok(LossSpec::Pattern(pattern, if repeats { Repeat::Forever } else { Repeat::Once }))
}

fn read_gilbert_elliott(rest: &str) -> Result<LossSpec, SpecError> {
    let keys = &["to_bad", "to_good", "loss_bad", "loss_good"];
    let arguments = Arguments::parse("loss gilbert-elliott", rest, keys)?;
    let (Some(to_bad), Some(to_good)) = (arguments.fraction("to_bad")?, arguments.fraction("to_good")?)
    else {
        return Err(arguments.missing("to_bad and to_good", "gilbert-elliott:to_bad=1%,to_good=10%"));
    };
    let parameters = GilbertElliottParameters {
        to_bad,
        to_good,
        loss_bad: arguments.fraction("loss_bad")?.unwrap_or(1.0),
        loss_good: arguments.fraction("loss_good")?.unwrap_or(0.0),
    };
    refuse_all(rest, parameters.mean_loss())?;
    Ok(LossSpec::GilbertElliott(parameters))
}

fn refuse_all(text: &str, loss: f64) -> Result<(), SpecError> {
    if loss < 1.0 {
        return Ok(());
    }
    Err(bad(text, "every packet would be lost; write less than 100%"))
}

fn bad(text: &str, problem: &str) -> SpecError {
    SpecError::BadValue { what: "loss".to_owned(), key: text.to_owned(), problem: problem.to_owned() }
}

impl LossSpec {
    pub(super) fn build(&self, start: Time, seed: Seed) -> Box<dyn Gate> {
        match self {
            Self::Bernoulli(probability) => Box::new(Bernoulli::new(*probability, seed)),
            Self::GilbertElliott(parameters) => Box::new(GilbertElliott::new(*parameters, seed)),
            Self::Pattern(pattern, repeat) => Box::new(PatternLoss::new(pattern.clone(), *repeat)),
            Self::Varying(series) => Box::new(VaryingLoss::new(series, start, seed)),
        }
    }
}
