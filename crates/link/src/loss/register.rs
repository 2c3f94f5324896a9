//! Which losses there are: a line for each, here and nowhere else. What is to be said of one stands beside its law.

use trialwise_units::element::{Arguments, Declared, ElementError, HEAD};
use trialwise_units::{Seed, Time, elements};

use super::bernoulli::{BernoulliSpec, VaryingLossSpec};
use super::gilbert_elliott::GilbertElliottParameters;
use super::pattern::{PatternSpec, RecordedLossSpec};
use crate::element::Gate;

/// Loss that can be chosen by name.
pub(crate) trait DeclaredLoss: Declared {
    /// The gate that loses packets so, from `start` on.
    fn build(&self, start: Time, seed: Seed) -> Box<dyn Gate>;
}

elements! {
    /// Loss as written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum LossSpec of "loss", loss! {
        Bernoulli(BernoulliSpec),
        GilbertElliott(GilbertElliottParameters),
        Pattern(PatternSpec),
        Recorded(RecordedLossSpec),
        Varying(VaryingLossSpec),
    }
}

impl LossSpec {
    pub(crate) fn build(&self, start: Time, seed: Seed) -> Box<dyn Gate> {
        loss!(self, spec => spec.build(start, seed))
    }
}

/// Refuses loss in the long run of everything.
pub(super) fn refuse_all(written: &Arguments<'_>, loss: f64) -> Result<(), ElementError> {
    if loss < 1.0 {
        return Ok(());
    }
    Err(written.bad(HEAD, "every packet would be lost; write less than 100%"))
}
