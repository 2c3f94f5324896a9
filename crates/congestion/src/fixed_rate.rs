//! A saturator: packets leave at one rate, whatever comes back.

use trialwise_units::{Bytes, Rate};

use crate::{Acknowledgement, BuildError, Context, Controller, Loss, Timeout};

const NAME: &str = "fixed_rate";

/// The parameters of [`FixedRate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRateSettings {
    /// The rate at which packets leave.
    pub rate: Rate,
}

/// The controller that controls nothing: for measuring what a path carries, and as cross traffic.
#[derive(Clone, Copy, Debug)]
pub struct FixedRate {
    rate: Rate,
}

impl FixedRate {
    /// A flow of this rate, which must not be zero.
    pub fn new(settings: &FixedRateSettings, _context: &Context) -> Result<Self, BuildError> {
        if settings.rate == Rate::ZERO {
            return Err(BuildError::Setting {
                controller: NAME,
                setting: "rate",
                wanted: "greater than zero",
            });
        }
        Ok(Self { rate: settings.rate })
    }
}

impl Controller for FixedRate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, _acknowledgement: &Acknowledgement<'_>) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> Option<Bytes> {
        None
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}
