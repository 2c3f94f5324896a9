//! PowerTCP: Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022, algorithm 1, by in-band
//! telemetry.

use trialwise_units::{Bytes, Rate};

use crate::declared::settings;
use crate::hop_memory::HopMemory;
use crate::power_window::{PowerSettings, PowerWindow, seconds};
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, HopRecord, Loss, Named, Needs,
    Setting, Timeout,
};

const NAME: &str = "powertcp";
/// The parameters of [`PowerTcp`].
pub type PowerTcpSettings = PowerSettings;

/// The controller.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    window: PowerWindow,
    hops: HopMemory,
    began: bool,
}

impl PowerTcp {
    /// A flow whose first window fills its path.
    pub fn new(settings: &PowerTcpSettings, context: &Context) -> Result<Self, BuildError> {
        let window = PowerWindow::new(settings, context, NAME)?;
        Ok(Self { window, hops: HopMemory::default(), began: false })
    }

    /// Algorithm 1, lines 10 to 16, of one hop: current (queue growth and what was sent) times voltage (queue and product), over the
    /// power of a full link without a queue.
    fn hop_power(&self, before: &HopRecord, after: &HopRecord, span: f64) -> f64 {
        let capacity = after.rate.bits_per_second() as f64 / 8.0;
        let product = capacity * self.window.base_rtt();
        let growth = after.queue.get() as f64 - before.queue.get() as f64;
        let current = (growth + (after.transmitted - before.transmitted) as f64) / span;
        let voltage = after.queue.get() as f64 + product;
        current * voltage / (capacity * product)
    }

    /// Algorithm 1, `NORMPOWER`: of the hop with the most.
    fn measure(&mut self, hops: &[HopRecord]) {
        let mut most = (f64::NEG_INFINITY, 0.0);
        for (before, after) in self.hops.pairs(hops) {
            if let Some(span) = seconds(after.time - before.time) {
                let power = self.hop_power(before, after, span);
                if power > most.0 {
                    most = (power, span);
                }
            }
        }
        if most.1 > 0.0 {
            self.window.smooth(most.0, most.1);
        }
    }
}

impl Declared for PowerTcp {
    type Settings = PowerTcpSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: PowerTcpSettings::for_line_rate }];
    const WORDS: &'static str = "Divides its window by the power of the busiest link, queue and its growth together, by in-band telemetry (Addanki et al., NSDI 2022).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Telemetry, fabric: true, acknowledgements_wait: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {gain: Weight, flows: Positive, minimum: Rate};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for PowerTcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let hops = acknowledgement.hops;
        if hops.is_empty() {
            return;
        }
        if self.began && !self.hops.is_other_path(hops) {
            self.measure(hops);
            self.window.update();
        }
        self.began = true;
        self.hops.remember(hops);
        self.window.end_round(acknowledgement.cumulative, acknowledgement.next_sequence);
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

    fn repaces_waiting_packet(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};
    use trialwise_units::Time;

    fn hop(nanoseconds: u64, transmitted: u64, queue: u64) -> HopRecord {
        HopRecord {
            time: Time::from_nanoseconds(nanoseconds),
            transmitted,
            queue: Bytes::new(queue),
            rate: Rate::from_megabits_per_second(100_000),
        }
    }

    #[test]
    fn a_full_link_with_a_growing_queue_has_power_for_both() {
        let line = Rate::from_megabits_per_second(100_000);
        let mut controller = PowerTcp::new(&PowerTcpSettings::for_line_rate(line), &context()).unwrap();
        let mut feed = |hops: &[HopRecord]| {
            controller.on_acknowledgement(&Acknowledgement { hops, ..acknowledgement(1000, 90_000) });
            controller.window().unwrap().get()
        };
        assert_eq!(feed(&[hop(0, 0, 0)]), 78_000);
        // In a base round trip 78,000 bytes left and 39,000 more came: current 1.5, voltage 117/78 = 1.5, power 2.25.
        let expected = 0.9 * (78_000.0 / 2.25 + 7800.0) + 0.1 * 78_000.0;
        assert_eq!(feed(&[hop(6240, 78_000, 39_000)]), expected as u64);
    }
}
