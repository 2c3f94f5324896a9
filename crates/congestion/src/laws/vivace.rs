//! PCC Vivace: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey, Schapira, "PCC Vivace: Online-Learning Congestion Control", NSDI 2018.
//! Constants that the paper does not fix are those of the authors' program (PCC-Uspace, BSD-3).

use trialwise_units::Duration;

use crate::declared::settings;
use crate::learner::{Bench, Law, Learner, Starting};
use crate::monitor::Interval;
use crate::{BuildError, Context, Declared, Feedback, Named, Needs, Phase, Setting};

const NAME: &str = "vivace";
const LOSS_NAME: &str = "vivace_loss";
/// `t` (section 4.1).
const EXPONENT: f64 = 0.9;
/// `epsilon` (section 4.2).
const TRIAL: f64 = 0.05;
/// `theta_0`: Mbit/s for a gradient of 1 (section 4.2).
const CONVERSION: f64 = 1.0;
/// `omega_0` and `delta`: the dynamic change boundary (section 4.2).
const BOUNDARY: f64 = 0.05;
const BOUNDARY_STEP: f64 = 0.1;
/// A smaller gradient of the round-trip time counts as none: noise.
const FLAT: f64 = 0.01;
const MEGABIT: f64 = 1e6;

/// The parameters of [`Vivace`]: those of the utility `u = x^0.9 - latency x dRTT/dT - loss x L` of a rate `x` in Mbit/s
/// (section 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VivaceSettings {
    name: &'static str,
    /// `b`: the weight of the gradient of the round-trip time.
    pub latency: f64,
    /// `c`: the weight of the share of losses.
    pub loss: f64,
}

impl VivaceSettings {
    /// `b = 900`, `c = 11.35`, which bears random losses of up to 5 % at 100 Mbit/s.
    pub const LATENCY: Self = Self { name: NAME, latency: 900.0, loss: 11.35 };
    /// The same without latency.
    pub const LOSS: Self = Self { name: LOSS_NAME, latency: 0.0, loss: 11.35 };

    fn utility(&self, bits: f64, gradient: f64, loss: f64) -> f64 {
        let rate = bits / MEGABIT;
        let gradient = if gradient < FLAT { 0.0 } else { gradient };
        libm::pow(rate, EXPONENT) - self.latency * rate * gradient - self.loss * rate * loss
    }
}

/// Two trials about a rate, in an order that is drawn.
#[derive(Clone, Copy, Debug)]
struct Pair {
    rate: f64,
    higher_first: bool,
    begun: usize,
    trials: [u32; 2],
    utilities: [Option<f64>; 2],
}

impl Pair {
    fn new(rate: f64, bench: &mut Bench) -> Self {
        Self { rate, higher_first: bench.draw() < 0.5, begun: 0, trials: [0; 2], utilities: [None; 2] }
    }

    fn next(&mut self, bench: &mut Bench) -> (Option<u32>, f64) {
        let Some(trial) = self.trials.get_mut(self.begun) else { return (None, self.rate) };
        *trial = bench.trial();
        let trial = *trial;
        let is_higher = self.higher_first == (self.begun == 0);
        self.begun += 1;
        let factor = if is_higher { 1.0 + TRIAL } else { 1.0 - TRIAL };
        (Some(trial), self.rate * factor)
    }

    /// Takes the utility of a trial; the gradient for each Mbit/s, once both are known.
    fn judge(&mut self, trial: u32, utility: f64) -> Option<f64> {
        let place = self.trials[..self.begun].iter().position(|known| *known == trial)?;
        self.utilities[place] = Some(utility);
        let [first, second] = self.utilities;
        let rise = if self.higher_first { first? - second? } else { second? - first? };
        Some(rise / (2.0 * TRIAL * self.rate / MEGABIT))
    }
}

/// How far a step goes (section 4.2).
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Whether the last step went up.
    rises: bool,
    /// Steps in that direction in a row, before the next one.
    same: u32,
    /// `j`: how often the boundary was widened.
    widened: u32,
}

impl Pace {
    /// The step in Mbit/s for this gradient at this rate in Mbit/s.
    fn step(&mut self, gradient: f64, rate: f64) -> f64 {
        let rises = gradient > 0.0;
        if rises != self.rises {
            *self = Self { rises, ..Self::default() };
        }
        let wanted = amplifier(self.same) * CONVERSION * gradient;
        self.same = self.same.saturating_add(1);
        let boundary = (BOUNDARY + BOUNDARY_STEP * f64::from(self.widened)) * rate;
        if wanted.abs() > boundary {
            self.widened = self.widened.saturating_add(1);
            return boundary.copysign(wanted);
        }
        self.widened = self.widened.saturating_sub(1);
        wanted
    }
}

/// `m`: the confidence amplifier after so many steps in the same direction (PCC-Uspace).
fn amplifier(same: u32) -> f64 {
    let same = f64::from(same);
    match same {
        ..3.0 => same + 1.0,
        ..6.0 => 2.0 * same - 2.0,
        ..9.0 => 4.0 * same - 14.0,
        _ => 8.0 * same - 50.0,
    }
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Starting(Starting),
    Climbing(Pair, Pace),
}

/// What [`Vivace`] goes by.
#[derive(Clone, Debug)]
pub struct VivaceLaw {
    settings: VivaceSettings,
    stage: Stage,
}

/// The controller: it tries a higher and a lower rate and steps along the gradient of the utility.
pub type Vivace = Learner<VivaceLaw>;

impl VivaceLaw {
    fn climb(&mut self, rate: f64, pace: Pace, bench: &mut Bench) {
        self.stage = Stage::Climbing(Pair::new(bench.bound(rate), bench), pace);
    }
}

impl Law for VivaceLaw {
    /// Section 4.2: "an MI is one RTT"; PCC-Uspace has no fewer packets.
    const MINIMUM_PACKETS: u64 = 5;

    fn name(&self) -> &'static str {
        self.settings.name
    }

    fn span(&self, bench: &mut Bench) -> Duration {
        bench.round_trip()
    }

    fn next(&mut self, bench: &mut Bench) -> (Option<u32>, f64) {
        match &mut self.stage {
            Stage::Starting(starting) => starting.next(bench),
            Stage::Climbing(pair, _) => pair.next(bench),
        }
    }

    fn judge(&mut self, interval: &Interval, bench: &mut Bench) {
        let utility = self.settings.utility(interval.sent_rate(), interval.gradient(), interval.loss());
        match &mut self.stage {
            Stage::Starting(starting) => {
                if let Some(rate) = starting.judge(interval, utility) {
                    self.climb(rate, Pace::default(), bench);
                }
            }
            Stage::Climbing(pair, pace) => {
                let gradient = interval.trial.and_then(|trial| pair.judge(trial, utility));
                let (rate, mut pace) = (pair.rate, *pace);
                if interval.is_limited {
                    self.climb(rate, pace, bench);
                } else if let Some(gradient) = gradient {
                    let step = pace.step(gradient, rate / MEGABIT) * MEGABIT;
                    self.climb(rate + step, pace, bench);
                }
            }
        }
    }

    fn restart(&mut self, rate: f64) {
        self.stage = Stage::Starting(Starting::new(Some(rate)));
    }

    fn phase(&self) -> Phase {
        match self.stage {
            Stage::Starting(_) => Phase::SlowStart,
            Stage::Climbing(..) => Phase::CongestionAvoidance,
        }
    }
}

impl Declared for Vivace {
    type Settings = VivaceSettings;
    const NAMES: &'static [Named<Self::Settings>] = &[
        Named { name: NAME, settings: |_| VivaceSettings::LATENCY },
        Named { name: LOSS_NAME, settings: |_| VivaceSettings::LOSS },
    ];
    const WORDS: &'static str = "Tries rates and follows the gradient of a utility of rate, latency and loss, or without latency (PCC; Dong et al., NSDI 2018).";
    const NEEDS: Needs = Needs { feedback: Feedback::Packets, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {latency: Number, loss: Number};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        let law = VivaceLaw { settings: *settings, stage: Stage::Starting(Starting::new(None)) };
        Self::new(law, context, settings.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_queue_the_rate_stops_where_the_gradient_is_zero() {
        // 0.9 x^-0.1 = 11.35 L: x = (0.9 / (11.35 L))^10 Mbit/s.
        for (loss, best) in [(0.04, 937.0), (0.05, 100.6), (0.06, 16.25), (0.08, 0.915)] {
            let utility = |factor: f64| VivaceSettings::LOSS.utility(factor * best * MEGABIT, 0.0, loss);
            assert!(utility(1.0) > utility(0.99) && utility(1.0) > utility(1.01), "{loss}");
        }
    }

    #[test]
    fn a_queue_that_grows_by_a_hundredth_outweighs_any_rate() {
        let grows = |settings: VivaceSettings, gradient| {
            settings.utility(2.0 * MEGABIT, gradient, 0.0) > settings.utility(MEGABIT, gradient, 0.0)
        };
        assert!(grows(VivaceSettings::LATENCY, 0.0099) && !grows(VivaceSettings::LATENCY, 0.01));
        assert!(grows(VivaceSettings::LATENCY, -0.5), "a queue that drains counts as flat");
        assert!(grows(VivaceSettings::LOSS, 0.5));
    }

    #[test]
    fn steps_grow_in_one_direction_within_their_boundary() {
        assert_eq!([0, 1, 2, 3, 5, 6, 8, 9, 10].map(amplifier), [1.0, 2.0, 3.0, 4.0, 8.0, 10.0, 18.0, 22.0, 30.0]);
        let mut pace = Pace::default();
        assert_eq!([pace.step(0.5, 100.0), pace.step(0.5, 100.0), pace.step(-0.5, 100.0)], [0.5, 1.0, -0.5]);
        // 5 %, then 15 %, and again 5 % after a turn.
        let bounded = [pace.step(-50.0, 100.0), pace.step(-50.0, 100.0), pace.step(50.0, 100.0)];
        assert_eq!(bounded.map(f64::round), [-5.0, -15.0, 5.0]);
    }
}
