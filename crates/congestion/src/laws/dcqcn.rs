//! DCQCN: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, in the form that
//! network cards ship: the cut is decided by a timer, and there is no byte counter.

use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::declared::settings;
use crate::paced::PacedRate;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Fidelity, Loss, Named, Needs, Setting,
    Timeout, WindowRule,
};

const NAME: &str = "dcqcn";
const ALPHA: usize = 0;
const DECREASE: usize = 1;
const INCREASE: usize = 2;

/// The parameters of [`Dcqcn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnSettings {
    /// Exact or as the reference simulator.
    pub fidelity: Fidelity,
    /// `g`, the weight of a new estimate of alpha (paper, equation 2).
    pub gain: f64,
    /// How often alpha is updated.
    pub alpha_interval: Duration,
    /// How often a cut is considered.
    pub decrease_interval: Duration,
    /// How often the rate is raised.
    pub increase_interval: Duration,
    /// `F`, the steps of fast recovery before the target is raised.
    pub recovery_steps: u32,
    /// `R_AI`, the additive increase of the target.
    pub increase: Rate,
    /// `R_HAI`, its hyper increase.
    pub hyper_increase: Rate,
    /// Whether each cut lowers the target, also when no increase came since the last one.
    pub clamp_target: bool,
    /// No cut goes below this.
    pub minimum: Rate,
    /// The window beside the rate.
    pub window: WindowRule,
}

impl DcqcnSettings {
    /// What the HPCC simulator uses at this line rate: g = 1/256; 1, 4 and 300 us; F = 1; 5 and 50 Mbit/s for
    /// each 25 Gbit/s of the line; a floor of one hundredth of it; no window.
    pub const fn for_line_rate(line: Rate) -> Self {
        let per_25_gigabit = line.bits_per_second() / 25_000;
        Self {
            fidelity: Fidelity::Clean,
            gain: 1.0 / 256.0,
            alpha_interval: Duration::from_microseconds(1),
            decrease_interval: Duration::from_microseconds(4),
            increase_interval: Duration::from_microseconds(300),
            recovery_steps: 1,
            increase: Rate::from_bits_per_second(5 * per_25_gigabit),
            hyper_increase: Rate::from_bits_per_second(50 * per_25_gigabit),
            clamp_target: false,
            minimum: Rate::from_bits_per_second(line.bits_per_second() / 100),
            window: WindowRule::Unlimited,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    settings: DcqcnSettings,
    rate: PacedRate,
    target: f64,
    alpha: f64,
    notified: bool,
    notified_for_alpha: bool,
    notified_for_decrease: bool,
    steps: u32,
    timers: [Option<Time>; 3],
}

impl Dcqcn {
    /// A flow that starts at line rate, quiet until the first notification.
    pub fn new(settings: &DcqcnSettings, context: &Context) -> Result<Self, BuildError> {
        let DcqcnSettings { fidelity, minimum, window, .. } = *settings;
        let rate = PacedRate::new(fidelity, minimum, window, context, NAME)?;
        Ok(Self {
            settings: *settings,
            rate,
            target: rate.line(),
            alpha: 1.0,
            notified: false,
            notified_for_alpha: false,
            notified_for_decrease: false,
            steps: 0,
            timers: [None; 3],
        })
    }

    /// The first notification starts alpha's and the cut's timers; alpha begins at 1 (paper, section 3.1).
    fn on_first_notification(&mut self, now: Time) {
        self.notified = true;
        self.notified_for_alpha = false;
        self.target = self.rate.get();
        self.timers[ALPHA] = Some(now + self.settings.alpha_interval);
        // The nanosecond keeps the cut behind alpha's update where both fall together.
        let behind = match self.settings.fidelity {
            Fidelity::Clean => Duration::ZERO,
            Fidelity::Compatible => Duration::from_nanoseconds(1),
        };
        self.timers[DECREASE] = Some(now + self.settings.decrease_interval + behind);
    }

    /// Paper, equations 1 (with a notification) and 2 (without).
    fn update_alpha(&mut self, now: Time) {
        let notified = f64::from(u8::from(self.notified_for_alpha));
        self.alpha = (1.0 - self.settings.gain) * self.alpha + self.settings.gain * notified;
        self.notified_for_alpha = false;
        self.timers[ALPHA] = Some(now + self.settings.alpha_interval);
    }

    /// Paper, equation 1: `R_T = R_C; R_C = R_C (1 - alpha / 2)`.
    fn consider_decrease(&mut self, now: Time) {
        self.timers[DECREASE] = Some(now + self.settings.decrease_interval);
        if !self.notified_for_decrease {
            return;
        }
        self.notified_for_decrease = false;
        if self.settings.clamp_target || self.steps != 0 {
            self.target = self.rate.get();
        }
        self.rate.multiply(1.0 - self.alpha / 2.0);
        self.steps = 0;
        self.timers[INCREASE] = Some(now + self.settings.increase_interval);
    }

    /// Paper, equations 3 and 4: fast recovery, then additive, then hyper increase of the target; half way
    /// towards it.
    fn increase(&mut self, now: Time) {
        self.timers[INCREASE] = Some(now + self.settings.increase_interval);
        let raise = match self.steps.cmp(&self.settings.recovery_steps) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => self.settings.increase.bits_per_second(),
            std::cmp::Ordering::Greater => self.settings.hyper_increase.bits_per_second(),
        };
        self.target = (self.target + raise as f64).min(self.rate.line());
        let half = |rate| self.settings.fidelity.settle(rate / 2.0);
        self.rate.set(half(self.rate.get()) + half(self.target));
        self.steps += 1;
    }

    fn is_due(&self, timer: usize, now: Time) -> bool {
        self.timers[timer].is_some_and(|due| due <= now)
    }
}

impl Declared for Dcqcn {
    type Settings = DcqcnSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: DcqcnSettings::for_line_rate }];
    const WORDS: &'static str =
        "Reduces its rate at congestion notifications, and recovers by timers (Zhu et al., SIGCOMM 2015).";
    const NEEDS: Needs = Needs { fabric: true, ecn: Ecn::Capable0, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {gain: Weight, alpha_interval: Interval, decrease_interval: Interval, increase_interval: Interval, recovery_steps: Count, increase: Rate, hyper_increase: Rate, clamp_target: Switch, minimum: Rate, window: WindowRule::CHOICE};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    fn with_fidelity(settings: Self::Settings, fidelity: Fidelity) -> Self::Settings {
        Self::Settings { fidelity, ..settings }
    }
}

impl Controller for Dcqcn {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        if acknowledgement.marked_packets == 0 {
            return;
        }
        self.notified_for_alpha = true;
        self.notified_for_decrease = true;
        if !self.notified {
            self.on_first_notification(acknowledgement.now);
        }
    }

    /// The paper assumes a lossless fabric and names no reaction.
    fn on_loss(&mut self, _loss: &Loss) {}

    /// The paper assumes a lossless fabric and names no reaction.
    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn next_timer(&self) -> Option<Time> {
        self.timers.iter().flatten().min().copied()
    }

    fn timers(&self) -> &[Option<Time>] {
        &self.timers
    }

    /// An increase that falls together with a cut comes first: it was armed first.
    fn on_timer(&mut self, now: Time) {
        if self.is_due(ALPHA, now) {
            self.update_alpha(now);
        }
        if self.is_due(INCREASE, now) {
            self.increase(now);
        }
        if self.is_due(DECREASE, now) {
            self.consider_decrease(now);
        }
    }

    fn window(&self) -> Option<Bytes> {
        self.rate.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.pacing_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{acknowledgement, context};

    fn build(fidelity: Fidelity) -> Dcqcn {
        let line = Rate::from_megabits_per_second(100_000);
        let settings = DcqcnSettings { fidelity, ..DcqcnSettings::for_line_rate(line) };
        Dcqcn::new(&settings, &context()).unwrap()
    }

    fn notify(controller: &mut Dcqcn, now: Time) {
        let event = Acknowledgement { now, marked_packets: 1, ..acknowledgement(1000, 2000) };
        controller.on_acknowledgement(&event);
    }

    fn run_until(controller: &mut Dcqcn, end: Time) {
        while let Some(due) = controller.next_timer().filter(|due| *due <= end) {
            controller.on_timer(due);
        }
    }

    #[test]
    fn without_a_notification_nothing_runs() {
        let mut controller = build(Fidelity::Clean);
        controller.on_acknowledgement(&acknowledgement(1000, 2000));
        assert_eq!(controller.next_timer(), None);
        assert_eq!(controller.pacing_rate(), Some(Rate::from_megabits_per_second(100_000)));
    }

    #[test]
    fn the_first_notification_cuts_after_the_interval_and_a_nanosecond() {
        let mut controller = build(Fidelity::Compatible);
        notify(&mut controller, Time::from_nanoseconds(10));
        run_until(&mut controller, Time::from_nanoseconds(4010));
        assert_eq!(controller.rate.get(), 100e9);
        run_until(&mut controller, Time::from_nanoseconds(4011));
        let alpha = (255.0_f64 / 256.0).powi(4);
        assert_eq!(controller.rate.get(), (100e9 * (1.0 - alpha / 2.0)).trunc());
        assert_eq!(controller.target, 100e9);
        assert_eq!(controller.timers[INCREASE], Some(Time::from_nanoseconds(304_011)));
    }

    #[test]
    fn recovery_goes_half_way_then_raises_the_target() {
        let mut controller = build(Fidelity::Clean);
        notify(&mut controller, Time::ZERO);
        run_until(&mut controller, Time::from_nanoseconds(4000));
        let cut = controller.rate.get();
        run_until(&mut controller, Time::from_nanoseconds(304_000));
        assert_eq!(controller.rate.get(), cut / 2.0 + 50e9);
        controller.target = 60e9;
        let before = controller.rate.get();
        run_until(&mut controller, Time::from_nanoseconds(604_000));
        assert_eq!(controller.rate.get(), before / 2.0 + 60.02e9 / 2.0);
        run_until(&mut controller, Time::from_nanoseconds(904_000));
        assert_eq!(controller.target, 60.22e9);
    }

    #[test]
    fn a_second_cut_without_recovery_keeps_the_target() {
        let mut controller = build(Fidelity::Clean);
        notify(&mut controller, Time::ZERO);
        run_until(&mut controller, Time::from_nanoseconds(4000));
        notify(&mut controller, Time::from_nanoseconds(4500));
        run_until(&mut controller, Time::from_nanoseconds(8000));
        assert!(controller.rate.get() < 30e9);
        assert_eq!(controller.target, 100e9);
    }
}
