//! NSCC, the network-signalled congestion control of Ultra Ethernet: UE Specification 1.0 (2025), section 3.6.13, after SMaRTT-REPS (Bonato et
//! al., arXiv 2404.01630), with the constants of HTSIM. Packets are not trimmed here, so the target is a round trip.

use trialwise_units::{Bytes, Ecn, Rate, Time};

use crate::declared::settings;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Loss, Marks, Named, Needs, Setting, Timeout,
};

const NAME: &str = "nscc";
/// The network for which the constants were chosen: 100 Gbit/s in 12 us.
const REFERENCE: (f64, f64) = (100e9 / 8.0 * 12e-6, 12e-6);
/// Weights of the proportional, fair and each round trip's increase, of the average delay, of a fast increase, of a decrease.
const ALPHA: f64 = 4.0;
const FAIR: f64 = 5.0;
const ETA: f64 = 0.15;
const AVERAGE: f64 = 0.0125;
const FAST: f64 = 0.25;
const GAMMA: f64 = 0.8;
/// Acknowledged packets after which increases take effect.
const BATCH: f64 = 8.0;
/// A delay that counts as none.
const NO_DELAY: f64 = 1e-6;
/// Quick adaptation: beyond so many targets, and only below this part of the largest window.
const QUICK: (f64, f64) = (4.0, 0.125);

/// The parameters of [`Nscc`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccSettings {
    /// The queueing delay that is aimed at, as a part of the empty round trip.
    pub target: f64,
    /// The largest window, in bandwidth-delay products.
    pub largest: f64,
    /// The most that a decrease leaves out (`max_md`).
    pub maximum_decrease: f64,
}

impl NsccSettings {
    /// HTSIM's constants without trimming: a round trip, 1.5 bandwidth-delay products, one half.
    pub const fn for_line_rate(_line: Rate) -> Self {
        Self { target: 1.0, largest: 1.5, maximum_decrease: 0.5 }
    }
}

/// The controller. Sizes are bytes, times seconds.
#[derive(Clone, Debug)]
pub struct Nscc {
    maximum_decrease: f64,
    segment: f64,
    line: Rate,
    base_rtt: f64,
    target: f64,
    largest: f64,
    /// `a` and `b` of HTSIM: the path beside the reference.
    scale: (f64, f64),
    window: f64,
    average: f64,
    increase: f64,
    since_batch: f64,
    undelayed: f64,
    batch: Time,
    round: Time,
    decreased: Option<Time>,
    adapting: Time,
    achieved: f64,
    must_adapt: bool,
}

impl Nscc {
    /// A flow whose first window fills its path.
    pub fn new(settings: &NsccSettings, context: &Context) -> Result<Self, BuildError> {
        let product = context.path_window_for(NAME)? as f64;
        let base_rtt = context.base_rtt_for(NAME)?.as_seconds();
        let target = settings.target * base_rtt;
        Ok(Self {
            maximum_decrease: settings.maximum_decrease,
            segment: context.segment.get() as f64,
            line: Rate::from_bits_per_second(context.line_rate_for(NAME)? as u64),
            base_rtt,
            target,
            largest: settings.largest * product,
            scale: (product / REFERENCE.0, target / REFERENCE.1),
            window: product,
            average: 0.0,
            increase: 0.0,
            since_batch: 0.0,
            undelayed: 0.0,
            batch: context.now,
            round: context.now,
            decreased: None,
            adapting: context.now,
            achieved: 0.0,
            must_adapt: false,
        })
    }

    fn set(&mut self, window: f64) {
        self.window = window.clamp(self.segment, self.largest.max(self.segment));
    }

    /// Whether so many seconds have passed since then.
    fn passed(now: Time, since: Time, seconds: f64) -> bool {
        (now - since).as_seconds() >= seconds
    }

    /// What is to be added once a batch ends: proportionally below the target, fairly beyond it.
    fn collect(&mut self, acknowledged: f64, delay: f64) {
        let scaled = self.segment * self.scale.0;
        self.increase += if delay < self.target {
            ALPHA * scaled * self.scale.1 / self.target * acknowledged * (self.target - delay)
        } else {
            FAIR * scaled * acknowledged
        };
    }

    /// Fast increase: a whole window has met no queue.
    fn grow_fast(&mut self, acknowledged: f64) {
        self.undelayed += acknowledged;
        if self.undelayed > self.window {
            self.set(self.window + FAST * self.scale.0 * acknowledged);
        }
    }

    fn decrease(&mut self, now: Time) {
        let due = self.decreased.is_none_or(|last| Self::passed(now, last, self.base_rtt));
        if due && self.average > self.target {
            let excess = GAMMA * (self.average - self.target) / self.average;
            self.set(self.window * (1.0 - excess).max(1.0 - self.maximum_decrease));
            self.decreased = Some(now);
        }
    }

    /// Every eight packets or each round trip what was collected is added, and each round trip `eta`.
    fn fulfil(&mut self, now: Time) {
        if self.since_batch >= BATCH * self.segment || Self::passed(now, self.batch, self.base_rtt) {
            self.set(self.window + self.increase / self.window);
            (self.increase, self.since_batch, self.batch) = (0.0, 0.0, now);
        }
        if Self::passed(now, self.round, self.base_rtt) {
            self.set(self.window + ETA * self.segment * self.scale.0);
            self.round = now;
        }
    }

    /// Quick adaptation: after a loss or far beyond the target the window becomes what came through in a round trip and a target.
    fn adapt(&mut self, now: Time) {
        if !Self::passed(now, self.adapting, self.base_rtt + self.target) {
            return;
        }
        if self.must_adapt && self.achieved < QUICK.1 * self.largest {
            self.set(self.achieved);
            self.increase = 0.0;
        }
        (self.adapting, self.achieved, self.must_adapt) = (now, 0.0, false);
    }
}

impl Declared for Nscc {
    type Settings = NsccSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: NsccSettings::for_line_rate }];
    const WORDS: &'static str = "Goes by marks and delay together, as Ultra Ethernet does (UE Specification 1.0, NSCC; Bonato et al., arXiv 2404.01630).";
    const NEEDS: Needs =
        Needs { feedback: Feedback::Timestamps, fabric: true, ecn: Ecn::Capable0, marks: Marks::Early, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] =
        settings! {target: Number, largest: Number, maximum_decrease: Weight};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }
}

impl Controller for Nscc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let Some(rtt) = acknowledgement.rtt else { return };
        let (now, acknowledged) = (acknowledgement.now, acknowledgement.acknowledged.get() as f64);
        let delay = (rtt.as_seconds() - self.base_rtt).max(0.0);
        self.average += AVERAGE * (delay - self.average);
        self.achieved += acknowledged;
        self.since_batch += acknowledged;
        self.must_adapt |= delay > QUICK.0 * self.target;
        let marked = acknowledgement.marked_packets > 0;
        if !marked && delay < NO_DELAY {
            self.grow_fast(acknowledged);
        } else {
            self.undelayed = 0.0;
        }
        match (marked, delay >= self.target) {
            (false, _) => self.collect(acknowledged, delay),
            (true, true) => self.decrease(now),
            (true, false) => {}
        }
        self.fulfil(now);
        self.adapt(now);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.must_adapt = true;
        self.adapt(loss.now);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.must_adapt = true;
        self.adapt(timeout.now);
    }

    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(self.window as u64))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Duration;
    use crate::testing::{acknowledgement, context, loss};

    fn build() -> Nscc {
        let line = Rate::from_megabits_per_second(100_000);
        Nscc::new(&NsccSettings::for_line_rate(line), &context()).unwrap()
    }

    /// An acknowledgement with this queueing delay, in nanoseconds.
    fn feed(controller: &mut Nscc, now: u64, delay: u64, marked: bool) -> f64 {
        let event = Acknowledgement {
            now: Time::from_nanoseconds(now),
            rtt: Some(Duration::from_nanoseconds(6240 + delay)),
            marked_packets: marked.into(),
            ..acknowledgement(1000, 2000)
        };
        controller.on_acknowledgement(&event);
        controller.window
    }

    #[test]
    fn below_the_target_eight_packets_add_in_proportion() {
        let mut controller = build();
        controller.set(50_000.0);
        for packet in 0..7 {
            assert_eq!(feed(&mut controller, packet, 3120, false), 50_000.0);
        }
        // a = 78/150, b = 6.24/12; 4 · 1000 a b (1/2) for each byte acknowledged, over the window.
        let added = 4.0 * 1000.0 * 0.52 * 0.52 * 0.5 * 8000.0 / 50_000.0;
        assert!((feed(&mut controller, 7, 3120, false) - 50_000.0 - added).abs() < 1e-6);
    }

    #[test]
    fn marked_below_the_target_nothing_changes() {
        let mut controller = build();
        for packet in 0..20 {
            assert_eq!(feed(&mut controller, packet, 3120, true), 78_000.0);
        }
    }

    #[test]
    fn marked_beyond_the_target_it_decreases_once_the_average_is_there_too() {
        let mut controller = build();
        assert_eq!(feed(&mut controller, 1, 12_480, true), 78_000.0);
        controller.average = 12_480e-9;
        // An excess of one half: 1 − 0.8 / 2.
        let after = feed(&mut controller, 2, 12_480, true);
        assert!((after / 78_000.0 - 0.6).abs() < 1e-9, "{after}");
        assert_eq!(feed(&mut controller, 3, 12_480, true), after);
    }

    #[test]
    fn a_window_that_met_no_queue_grows_fast() {
        let mut controller = build();
        controller.set(10_000.0);
        for packet in 0..7 {
            feed(&mut controller, packet, 0, false);
        }
        let before = controller.window;
        controller.undelayed = controller.window;
        controller.since_batch = 0.0;
        assert!((feed(&mut controller, 8, 0, false) - before - 0.25 * 0.52 * 1000.0).abs() < 1e-9);
    }

    #[test]
    fn a_loss_makes_the_window_what_came_through() {
        let mut controller = build();
        for packet in 0..5 {
            feed(&mut controller, packet, 6239, true);
        }
        controller.on_loss(&Loss { now: Time::from_nanoseconds(12_480), ..loss(true) });
        assert_eq!(controller.window, 5000.0);
    }
}
