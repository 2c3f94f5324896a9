//! A window that never changes: a controller of the tests' own, registered by one line as any other.

use trialwise_units::Bytes;

use crate::declared::settings;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, Setting, Timeout,
};

/// The parameters of [`Specimen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecimenSettings {
    /// Segments in flight.
    pub segments: u32,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Specimen {
    window: Bytes,
}

impl Declared for Specimen {
    type Settings = SpecimenSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: "specimen", settings: |_| SpecimenSettings { segments: 10 } }];
    const WORDS: &'static str = "Keeps a window that never changes.";
    const NEEDS: Needs = Needs::NOTHING;
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! { segments: Positive };

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Ok(Self { window: Bytes::new(u64::from(settings.segments) * context.segment.get()) })
    }
}

impl Controller for Specimen {
    fn name(&self) -> &'static str {
        "specimen"
    }

    fn on_acknowledgement(&mut self, _acknowledgement: &Acknowledgement<'_>) {}

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn window(&self) -> Option<Bytes> {
        Some(self.window)
    }

    fn pacing_rate(&self) -> Option<trialwise_units::Rate> {
        None
    }
}
