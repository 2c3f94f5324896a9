//! θ-PowerTCP: Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022, algorithm 2: by delay, without
//! telemetry.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::settings;
use crate::power_window::{PowerSettings, PowerWindow, seconds};
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Setting, Timeout,
};

const NAME: &str = "theta_powertcp";
/// The parameters of [`ThetaPowerTcp`].
pub type ThetaPowerTcpSettings = PowerSettings;

/// The controller.
#[derive(Clone, Debug)]
pub struct ThetaPowerTcp {
    window: PowerWindow,
    last: Option<(Time, Duration)>,
}

impl ThetaPowerTcp {
    /// A flow whose first window fills its path.
    pub fn new(settings: &ThetaPowerTcpSettings, context: &Context) -> Result<Self, BuildError> {
        Ok(Self { window: PowerWindow::new(settings, context, NAME)?, last: None })
    }
}

impl Declared for ThetaPowerTcp {
    type Settings = ThetaPowerTcpSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: ThetaPowerTcpSettings::for_line_rate }];
    const WORDS: &'static str =
        "PowerTCP by round-trip times and their gradient, once in a round trip (Addanki et al., NSDI 2022, algorithm 2).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, fabric: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {gain: Weight, flows: Positive, minimum: Rate};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for ThetaPowerTcp {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Algorithm 2: `Γ = (θ̇ + 1) θ / τ`. The gradient is that over the departures of both packets, which is the growth of the queue over its
    /// capacity (section 3.2). Algorithm 2 divides by the time between acknowledgements; where the queue drains at more than half of
    /// its capacity, that makes the power negative.
    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let Some(rtt) = acknowledgement.rtt else { return };
        let now = acknowledgement.now;
        if let Some((before, was)) = self.last {
            let Some(span) = seconds(now - before) else { return };
            let growth = rtt.as_seconds() - was.as_seconds();
            let departed = span - growth;
            if departed > 0.0 {
                let power = (growth / departed + 1.0) * rtt.as_seconds() / self.window.base_rtt();
                self.window.smooth(power, span);
            }
        }
        if self.last.replace((now, rtt)).is_some() {
            self.window.update_once(acknowledgement.cumulative, acknowledgement.next_sequence);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.new_episode {
            self.window.reduce(0.5);
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.window.reduce(0.0);
    }

    fn window(&self) -> Option<Bytes> {
        Some(self.window.bytes())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.window.pacing_rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};

    #[test]
    fn a_rising_delay_has_more_power_than_a_resting_one() {
        let line = Rate::from_megabits_per_second(100_000);
        let build = || ThetaPowerTcp::new(&ThetaPowerTcpSettings::for_line_rate(line), &context()).unwrap();
        let feed = |controller: &mut ThetaPowerTcp, now: u64, rtt: u64| {
            let event = Acknowledgement {
                now: Time::from_nanoseconds(now),
                rtt: Some(Duration::from_nanoseconds(rtt)),
                ..acknowledgement(now, now + 1)
            };
            controller.on_acknowledgement(&event);
            controller.window().unwrap().get()
        };
        let mut resting = build();
        assert_eq!(feed(&mut resting, 10_000, 12_480), 78_000);
        // Twice the empty round trip: power 2.
        assert_eq!(feed(&mut resting, 20_000, 12_480), 49_920);
        let mut rising = build();
        feed(&mut rising, 10_000, 6240);
        // 6.24 us more for a packet that left 3.76 us later: twice 1 + 6.24 / 3.76.
        let expected = 0.9 * (78_000.0 / (2.0 + 12.48 / 3.76) + 7800.0) + 0.1 * 78_000.0;
        assert_eq!(feed(&mut rising, 20_000, 12_480), expected as u64);
    }
}
