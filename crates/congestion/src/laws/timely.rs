//! TIMELY: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, and its
//! patched form: Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016,
//! section 4 (the law and its constants as in the authors' published fluid model).

use trialwise_units::{Bytes, Duration, Rate};

use crate::declared::settings;
use crate::paced::PacedRate;
use crate::{
    Acknowledgement, BuildError, Context, Controller, Declared, Feedback, Fidelity, Loss, Named, Needs,
    Setting, Timeout, WindowRule,
};

const NAME: &str = "timely";
const PATCHED_NAME: &str = "timely_patched";

/// Which law holds between the two thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelyLaw {
    /// The sign of the gradient decides (SIGCOMM 2015, algorithm 1).
    Gradient,
    /// A weight of the gradient mixes increase and a decrease that is proportional to the queue, so that
    /// there is one fixed point and it is fair (CoNEXT 2016).
    Patched,
}

crate::declared::choice! { TimelyLaw, "write gradient or patched"; "gradient" => Gradient, "patched" => Patched }

/// The parameters of [`Timely`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelySettings {
    /// Exact or as the reference simulator.
    pub fidelity: Fidelity,
    /// The law between the thresholds.
    pub law: TimelyLaw,
    /// The weight of a new difference of round-trip times (`alpha` of the paper).
    pub gain: f64,
    /// The multiplicative decrease factor, of the patched law only above the upper threshold.
    pub beta: f64,
    /// The decrease factor of the patched law between the thresholds.
    pub patched_beta: f64,
    /// Below this round-trip time the rate always grows.
    pub low: Duration,
    /// Above it the rate always shrinks.
    pub high: Duration,
    /// The round-trip time by which the gradient is normalised.
    pub minimum_rtt: Duration,
    /// `delta`, the additive increase.
    pub increase: Rate,
    /// The additive increase after [`Self::steps_to_hyper`] increases in a row.
    pub hyper_increase: Rate,
    /// How many increases in a row come before hyper increase (`N` of the paper).
    pub steps_to_hyper: u32,
    /// No cut goes below this.
    pub minimum: Rate,
    /// The window beside the rate.
    pub window: WindowRule,
}

impl TimelySettings {
    /// What the HPCC simulator uses at this line rate: 0.875, 0.8, 50 and 500 us, 20 us, 10 and 50 Mbit/s for
    /// each 10 Gbit/s of the line, N = 5, a floor of one hundredth of it, no window.
    pub const fn for_line_rate(line: Rate) -> Self {
        let per_10_gigabit = line.bits_per_second() / 10_000;
        Self {
            fidelity: Fidelity::Clean,
            law: TimelyLaw::Gradient,
            gain: 0.875,
            beta: 0.8,
            patched_beta: 0.008,
            low: Duration::from_microseconds(50),
            high: Duration::from_microseconds(500),
            minimum_rtt: Duration::from_microseconds(20),
            increase: Rate::from_bits_per_second(10 * per_10_gigabit),
            hyper_increase: Rate::from_bits_per_second(50 * per_10_gigabit),
            steps_to_hyper: 5,
            minimum: Rate::from_bits_per_second(line.bits_per_second() / 100),
            window: WindowRule::Unlimited,
        }
    }

    /// The patched law, without hyper increase. Its authors' model has `beta = 0.008` above the upper
    /// threshold too, for flows that begin at their share; flows that begin at line rate would keep their
    /// queue for seconds so, hence the published 0.8 stays there.
    pub const fn patched(mut self) -> Self {
        self.law = TimelyLaw::Patched;
        self.steps_to_hyper = u32::MAX;
        self
    }
}

/// The controller: one decision for each round trip.
#[derive(Clone, Debug)]
pub struct Timely {
    settings: TimelySettings,
    rate: PacedRate,
    round_end: u64,
    last_rtt: f64,
    difference: f64,
    steps: u32,
}

impl Timely {
    /// A flow that starts at line rate.
    pub fn new(settings: &TimelySettings, context: &Context) -> Result<Self, BuildError> {
        let TimelySettings { fidelity, minimum, window, .. } = *settings;
        Ok(Self {
            settings: *settings,
            rate: PacedRate::new(fidelity, minimum, window, context, NAME)?,
            round_end: 0,
            last_rtt: 0.0,
            difference: 0.0,
            steps: 0,
        })
    }

    /// Round-trip times as nanoseconds: whole ones in the reference simulator.
    fn nanoseconds(&self, span: Duration) -> f64 {
        match self.settings.fidelity {
            Fidelity::Clean => span.picoseconds() as f64 / 1e3,
            Fidelity::Compatible => span.nanoseconds() as f64,
        }
    }

    /// SIGCOMM 2015, algorithm 1.
    fn decide(&mut self, rtt: f64) {
        self.difference =
            (1.0 - self.settings.gain) * self.difference + self.settings.gain * (rtt - self.last_rtt);
        let gradient = self.difference / self.nanoseconds(self.settings.minimum_rtt);
        let high = self.nanoseconds(self.settings.high);
        if rtt < self.nanoseconds(self.settings.low) {
            self.grow();
        } else if rtt > high {
            self.shrink(1.0 - self.settings.beta * (1.0 - high / rtt));
        } else {
            match self.settings.law {
                TimelyLaw::Gradient if gradient <= 0.0 => self.grow(),
                TimelyLaw::Gradient => self.shrink((1.0 - self.settings.beta * gradient).max(0.0)),
                TimelyLaw::Patched => self.mix(rtt, gradient),
            }
        }
    }

    fn grow(&mut self) {
        let hyper = self.steps >= self.settings.steps_to_hyper;
        let increase = if hyper { self.settings.hyper_increase } else { self.settings.increase };
        self.rate.add(increase);
        self.steps = self.steps.saturating_add(1);
    }

    fn shrink(&mut self, factor: f64) {
        self.rate.multiply(factor);
        self.steps = 0;
    }

    /// CoNEXT 2016: weight `w = clamp(2 g + 1/2, 0, 1)`, `R = delta (1 - w) + R (1 - beta w e)`, where the
    /// error `e` is relative to the lower threshold.
    fn mix(&mut self, rtt: f64, gradient: f64) {
        let reference = self.nanoseconds(self.settings.low);
        let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
        let error = (rtt - reference) / reference;
        let increase = self.settings.increase.bits_per_second() as f64;
        let factor = 1.0 - self.settings.patched_beta * weight * error;
        self.rate.set(increase * (1.0 - weight) + self.rate.get() * factor);
        self.steps = 0;
    }
}

impl Declared for Timely {
    type Settings = TimelySettings;
    const NAMES: &'static [Named<Self::Settings>] = &[
        Named { name: NAME, settings: TimelySettings::for_line_rate },
        Named { name: PATCHED_NAME, settings: |line| TimelySettings::for_line_rate(line).patched() },
    ];
    const WORDS: &'static str =
        "Follows the gradient of the round-trip time (Mittal et al., SIGCOMM 2015); patched, it has one fixed point (Zhu et al., CoNEXT 2016).";
    const NEEDS: Needs = Needs { feedback: Feedback::Timestamps, fabric: true, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {law: TimelyLaw::CHOICE, gain: Weight, beta: Weight, patched_beta: Weight, low: Interval, high: Interval, minimum_rtt: Interval, increase: Rate, hyper_increase: Rate, steps_to_hyper: Count, minimum: Rate, window: WindowRule::CHOICE};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        Self::new(settings, context)
    }

    fn with_fidelity(settings: Self::Settings, fidelity: Fidelity) -> Self::Settings {
        Self::Settings { fidelity, ..settings }
    }
}

impl Controller for Timely {
    fn name(&self) -> &'static str {
        match self.settings.law {
            TimelyLaw::Gradient => NAME,
            TimelyLaw::Patched => PATCHED_NAME,
        }
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        let Some(rtt) = acknowledgement.rtt else { return };
        if acknowledgement.cumulative <= self.round_end {
            return;
        }
        let rtt = self.nanoseconds(rtt);
        if self.round_end != 0 {
            self.decide(rtt);
        }
        self.last_rtt = rtt;
        self.round_end = acknowledgement.next_sequence;
    }

    /// The paper assumes a lossless fabric and names no reaction.
    fn on_loss(&mut self, _loss: &Loss) {}

    /// The paper assumes a lossless fabric and names no reaction.
    fn on_timeout(&mut self, _timeout: &Timeout) {}

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

    fn build(change: impl Fn(TimelySettings) -> TimelySettings) -> Timely {
        let line = Rate::from_megabits_per_second(100_000);
        Timely::new(&change(TimelySettings::for_line_rate(line)), &context()).unwrap()
    }

    /// One acknowledgement for each round, with these round-trip times; the rate after each.
    fn rates(controller: &mut Timely, microseconds: &[u64]) -> Vec<f64> {
        let rounds = microseconds.iter().enumerate();
        rounds
            .map(|(round, rtt)| {
                let base = 10_000 * round as u64;
                let rtt = Some(Duration::from_microseconds(*rtt));
                let event = Acknowledgement { rtt, ..acknowledgement(base + 1000, base + 10_000) };
                controller.on_acknowledgement(&event);
                controller.rate.get()
            })
            .collect()
    }

    #[test]
    fn the_first_sample_only_starts_the_differences() {
        let mut controller = build(|settings| settings);
        assert_eq!(rates(&mut controller, &[400]), [100e9]);
    }

    #[test]
    fn a_rising_delay_between_the_thresholds_cuts_by_the_gradient() {
        let mut controller = build(|settings| settings);
        // Difference 0.875 * 10 us, gradient 0.4375, factor 1 - 0.8 * 0.4375 = 0.65.
        let after = rates(&mut controller, &[100, 110])[1];
        assert!((after - 65e9).abs() < 1.0);
    }

    #[test]
    fn above_the_upper_threshold_the_cut_grows_with_the_delay() {
        let mut controller = build(|settings| settings);
        let after = rates(&mut controller, &[1000, 1000])[1];
        assert!((after - 60e9).abs() < 1.0);
    }

    #[test]
    fn five_increases_in_a_row_lead_to_hyper_increase() {
        let mut controller = build(|settings| settings);
        controller.rate.set(10e9);
        let rates = rates(&mut controller, &[40; 8]);
        assert_eq!(rates, [10e9, 10.1e9, 10.2e9, 10.3e9, 10.4e9, 10.5e9, 11.0e9, 11.5e9]);
    }

    #[test]
    fn an_acknowledgement_of_the_same_round_changes_nothing() {
        let mut controller = build(|settings| settings);
        rates(&mut controller, &[100, 110]);
        let before = controller.rate.get();
        let event = Acknowledgement {
            rtt: Some(Duration::from_microseconds(400)),
            ..acknowledgement(15_000, 30_000)
        };
        controller.on_acknowledgement(&event);
        assert_eq!(controller.rate.get(), before);
    }

    #[test]
    fn the_patched_law_is_still_at_its_fixed_point() {
        // Gradient 0 gives weight 1/2: increase delta / 2 balances rate * beta / 2 * error, so
        // error = delta / (beta * rate).
        let mut controller = build(TimelySettings::patched);
        controller.rate.set(10e9);
        let error = 100e6 / (0.008 * 10e9);
        let fixed = (50.0 * (1.0 + error)) as u64;
        let after = rates(&mut controller, &[fixed, fixed, fixed])[2];
        assert!((after - 10e9).abs() < 2e6, "{after}");
    }
}
