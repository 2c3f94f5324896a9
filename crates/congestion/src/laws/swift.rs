//! Swift: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020, algorithm 1, with the
//! target delay of section 3.5. Delays are round trips, as hosts of the simulator answer at once.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::declared::settings;
use crate::packet_window::PacketWindow;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Named, Needs, Setting, Timeout,
};

const NAME: &str = "swift";
/// Windows, in packets, between which the target scales with the number of flows (`fs_min_cwnd`, `fs_max_cwnd`).
const SCALED: (f64, f64) = (0.1, 100.0);
/// Time-outs in a row after which the window is the smallest (`RETX_RESET_THRESHOLD`).
const PATIENCE: u32 = 5;

/// The parameters of [`Swift`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwiftSettings {
    /// The target delay without hops and without other flows.
    pub base_target: Duration,
    /// What each switch adds to it.
    pub hop_target: Duration,
    /// What many flows add to it at most (`fs_range`).
    pub flow_range: Duration,
    /// Additive increase for each round trip, in packets (`ai`).
    pub increase: f64,
    /// The decrease for each part by which the delay is beyond the target (`β`).
    pub beta: f64,
    /// The largest decrease in a round trip (`max_mdf`).
    pub maximum_decrease: f64,
    /// The smallest window, in packets.
    pub minimum: f64,
}

impl SwiftSettings {
    /// The constants of HTSIM, at any line rate: 20 us, a hop 20/6.55 us, flows 100 us, 1 packet, 0.8, one half; the smallest window is a
    /// thousandth of a packet. (The paper does not tell those of its production.)
    pub const fn for_line_rate(_line: Rate) -> Self {
        Self {
            base_target: Duration::from_microseconds(20),
            hop_target: Duration::from_nanoseconds(3053),
            flow_range: Duration::from_microseconds(100),
            increase: 1.0,
            beta: 0.8,
            maximum_decrease: 0.5,
            minimum: 0.001,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Swift {
    settings: SwiftSettings,
    hops: f64,
    window: PacketWindow,
    decreased: Option<Time>,
}

impl Swift {
    /// A flow whose first window fills its path.
    pub fn new(settings: &SwiftSettings, context: &Context) -> Result<Self, BuildError> {
        Ok(Self {
            settings: *settings,
            hops: f64::from(context.hops.unwrap_or(0)),
            window: PacketWindow::new(settings.minimum, context, NAME)?,
            decreased: None,
        })
    }

    /// Section 3.5: `t = base + hops h + clamp(α / √cwnd + β, 0, range)`, in seconds.
    fn target(&self) -> f64 {
        let SwiftSettings { base_target, hop_target, flow_range, .. } = self.settings;
        let alpha = flow_range.as_seconds() / (SCALED.0.sqrt().recip() - SCALED.1.sqrt().recip());
        let flows = (alpha / self.window.packets().sqrt() - alpha / SCALED.1.sqrt())
            .clamp(0.0, flow_range.as_seconds());
        base_target.as_seconds() + self.hops * hop_target.as_seconds() + flows
    }

    /// Whether a round trip has passed since the last decrease.
    fn may_decrease(&self, now: Time) -> bool {
        self.decreased.is_none_or(|last| now - last >= self.window.round_trip())
    }

    fn decrease(&mut self, now: Time, factor: f64) {
        if self.may_decrease(now) {
            self.window.multiply(factor.max(1.0 - self.settings.maximum_decrease));
            self.decreased = Some(now);
        }
    }
}

impl Declared for Swift {
    type Settings = SwiftSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: SwiftSettings::for_line_rate }];
    const WORDS: &'static str = "Steers the delay to a target that grows with hops and flows; below one packet in a round trip it paces (Kumar et al., SIGCOMM 2020).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, fabric: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {base_target: Interval, hop_target: Interval, flow_range: Interval, increase: Number, beta: Weight, maximum_decrease: Weight, minimum: Weight};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Swift {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Algorithm 1, `OnReceivingACK`.
    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let Some(rtt) = acknowledgement.rtt else { return };
        self.window.measured(rtt);
        let (delay, target) = (rtt.as_seconds(), self.target());
        if delay < target {
            let packets = self.window.in_packets(acknowledgement.acknowledged);
            self.window.add(self.settings.increase * packets / self.window.packets().max(1.0));
        } else {
            self.decrease(acknowledgement.now, 1.0 - self.settings.beta * (delay - target) / delay);
        }
    }

    /// Algorithm 1, `OnEnterFastRecovery`.
    fn on_loss(&mut self, loss: &Loss) {
        self.decrease(loss.now, 0.0);
    }

    /// Algorithm 1, `OnRetransmitTimeout`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.repetition >= PATIENCE {
            self.window.multiply(0.0);
        } else {
            self.decrease(timeout.now, 0.0);
        }
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
    use crate::testing::{acknowledgement, context, loss};

    fn build() -> Swift {
        let line = Rate::from_megabits_per_second(100_000);
        Swift::new(&SwiftSettings::for_line_rate(line), &context()).unwrap()
    }

    fn feed(controller: &mut Swift, now: u64, rtt: u64) -> f64 {
        let event = Acknowledgement {
            now: Time::from_nanoseconds(1000 * now),
            rtt: Some(Duration::from_microseconds(rtt)),
            ..acknowledgement(1000, 2000)
        };
        controller.on_acknowledgement(&event);
        controller.window.packets()
    }

    #[test]
    fn the_target_grows_with_hops_and_with_flows() {
        let mut controller = build();
        controller.window.set(100.0);
        assert!((controller.target() - (20e-6 + 2.0 * 3.053e-6)).abs() < 1e-12);
        controller.window.set(0.1);
        assert!((controller.target() - (120e-6 + 2.0 * 3.053e-6)).abs() < 1e-12);
        // 100 us / (1/√0.1 − 1/10) = 32.6554 us for each 1/√cwnd: at 4 packets 32.6554 (1/2 − 1/10) = 13.06217 us.
        controller.window.set(4.0);
        assert!((controller.target() - (20e-6 + 2.0 * 3.053e-6 + 13.06217e-6)).abs() < 1e-10);
    }

    #[test]
    fn below_the_target_a_round_trip_adds_a_packet() {
        let mut controller = build();
        controller.window.set(10.0);
        assert!((feed(&mut controller, 1, 10) - 10.1).abs() < 1e-12);
        controller.window.set(0.5);
        assert!((feed(&mut controller, 2, 10) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn beyond_the_target_it_decreases_once_in_a_round_trip_by_the_excess_and_at_most_by_half() {
        let mut controller = build();
        controller.window.set(100.0);
        let target = controller.target() * 1e6;
        // The first packet of a flow may decrease.
        assert!((feed(&mut controller, 1, 40) - 100.0 * (1.0 - 0.8 * (40.0 - target) / 40.0)).abs() < 1e-9);
        let after = controller.window.packets();
        assert_eq!(feed(&mut controller, 40, 41), after);
        assert!((feed(&mut controller, 4001, 4000) / after - 0.5).abs() < 1e-12);
    }

    #[test]
    fn losses_halve_and_the_fifth_time_out_in_a_row_leaves_the_smallest_window() {
        let mut controller = build();
        controller.window.set(8.0);
        controller.on_loss(&loss(true));
        assert_eq!(controller.window.packets(), 4.0);
        let late = |repetition: u32| Timeout {
            now: Time::from_milliseconds(repetition.into()),
            in_flight: Bytes::ZERO,
            next_sequence: 0,
            repetition,
        };
        controller.on_timeout(&late(4));
        assert_eq!(controller.window.packets(), 2.0);
        controller.on_timeout(&late(5));
        assert_eq!(controller.window.packets(), 0.001);
    }

    #[test]
    fn below_one_packet_it_paces_one_in_so_many_round_trips() {
        let mut controller = build();
        assert_eq!(controller.pacing_rate(), Some(Rate::from_megabits_per_second(100_000)));
        feed(&mut controller, 1, 10);
        controller.window.set(0.25);
        // 1000 bytes in four round trips of 10 us.
        assert_eq!(controller.pacing_rate(), Some(Rate::from_megabits_per_second(200)));
        assert_eq!(controller.window(), Some(Bytes::new(1)));
    }
}
