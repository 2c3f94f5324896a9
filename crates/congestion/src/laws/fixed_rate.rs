//! A saturator: packets leave at one rate, whatever comes back.

use trialwise_units::{Bytes, Rate};

use crate::declared::settings;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, Setting, Timeout,
};

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

impl Declared for FixedRate {
    type Settings = FixedRateSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |rate| FixedRateSettings { rate } }];
    const WORDS: &'static str = "Sends at one rate, whatever happens.";
    const NEEDS: Needs = Needs { rate: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {rate: Rate};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    /// The rate that is written is of whole IP packets.
    fn over_udp(settings: Self::Settings, payload: f64) -> Self::Settings {
        let rate = Rate::from_bits_per_second((settings.rate.bits_per_second() as f64 * payload) as u64);
        Self::Settings { rate }
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
