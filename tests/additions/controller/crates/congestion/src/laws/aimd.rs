//! AIMD: Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989.

use trialwise_units::{Bytes, Ecn, Rate};

use crate::declared::settings;
use crate::threshold::ThresholdWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Loss, Named, Needs, Setting, Timeout,
};

const NAME: &str = "aimd";

/// The parameters of [`Aimd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdSettings {
    /// Segments that the window grows in a round trip.
    pub increase: f64,
    /// What a loss leaves of the window.
    pub decrease: f64,
    /// The initial window in segments.
    pub initial_window: u32,
}

/// The controller: no slow start.
#[derive(Clone, Debug)]
pub struct Aimd {
    core: ThresholdWindow,
    settings: AimdSettings,
}

impl Declared for Aimd {
    type Settings = AimdSettings;
    const NAMES: &'static [Named<Self::Settings>] = &[Named {
        name: NAME,
        settings: |_| AimdSettings { increase: 1.0, decrease: 0.5, initial_window: 10 },
    }];
    const WORDS: &'static str =
        "Additive increase and multiplicative decrease with any factors (Chiu and Jain 1989).";
    const NEEDS: Needs = Needs { ecn: Ecn::Capable0, spreads_window: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {increase: Number, decrease: Weight, initial_window: Positive};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        let core = ThresholdWindow::new(settings.initial_window, context, NAME)?;
        Ok(Self { core, settings: *settings })
    }
}

impl Controller for Aimd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        if self.core.observe(acknowledgement) {
            return self.core.reduce(self.core.flight_before(acknowledgement) * self.settings.decrease);
        }
        if let Some(segments) = self.core.growth(acknowledgement) {
            let window = &mut self.core.window;
            window.grow(self.settings.increase * segments / window.segments());
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if let Some(flight) = self.core.flight_of_new_episode(loss) {
            self.core.reduce(flight * self.settings.decrease);
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.core.collapse(None);
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.core.bytes())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Factory;
    use crate::testing::{acknowledgement, context};

    #[test]
    fn a_round_trip_of_acknowledgements_adds_the_increase() {
        let aimd = crate::Algorithm::named(NAME, Rate::ZERO).unwrap();
        let mut controller = aimd.build(&context()).unwrap();
        let segment = context().segment.get();
        for n in 1..=10 {
            controller.on_acknowledgement(&acknowledgement(n * segment, (10 + n) * segment));
        }
        let grown = controller.window().unwrap().get() - 10 * segment;
        assert!((segment * 9 / 10..=segment).contains(&grown), "{grown}");
    }
}
