//! PCC Allegro: Dong, Li, Zarchy, Godfrey, Schapira, "PCC: Re-architecting Congestion Control for Consistent High Performance", NSDI
//! 2015.

use trialwise_units::Duration;

use crate::declared::settings;
use crate::learner::{Bench, Law, Learner, Starting};
use crate::monitor::Interval;
use crate::{BuildError, Context, Declared, Feedback, Named, Needs, Phase, Setting};

const NAME: &str = "allegro";
/// "MI duration uniformly randomly from 1.7 to 2.2 RTT", at least ten packets (section 3.1).
const SHORTEST: f64 = 1.7;
const LONGEST: f64 = 2.2;
/// `epsilon_min` and `epsilon_max` (section 3.2).
const STEP: f64 = 0.01;
const STEPS_AT_MOST: u32 = 5;

/// The parameters of [`Allegro`]: those of the utility `u = T S(L - tolerance) - x L` with `T = x (1 - L)` and `S(y) = 1 / (1 +
/// exp(steepness y))` of a rate `x` and a share of losses `L` (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllegroSettings {
    /// The loss at which the utility breaks down.
    pub tolerance: f64,
    /// `alpha`: at least `max(2.2 (n - 1), 100)` for `n` senders, so that they are fair to each other (theorem 1).
    pub steepness: f64,
    /// Of a second sigmoid, of the round-trip time: 0 for none, as in the paper. The authors' program of 2016, which Pantheon ran, has
    /// 10: there the utility is `(T S(L - tolerance) R - x L) / rtt` with `R = 1 - 1 / (1 + exp(latency (before / rtt - 1)))` and
    /// the round-trip times of the last interval and of this one (modong/pcc, cc.h).
    pub latency: f64,
}

impl Default for AllegroSettings {
    /// 5 % and 100 (section 2.2).
    fn default() -> Self {
        Self { tolerance: 0.05, steepness: 100.0, latency: 0.0 }
    }
}

impl AllegroSettings {
    /// The utility of a rate with this share of losses, where a round trip took so many seconds in the interval before, and in this one.
    fn utility(&self, rate: f64, loss: f64, round_trips: Option<(f64, f64)>) -> f64 {
        let sigmoid = 1.0 / (1.0 + libm::exp(self.steepness * (loss - self.tolerance)));
        let arrives = (1.0 - loss) * sigmoid;
        match round_trips.filter(|_| self.latency > 0.0) {
            None => rate * (arrives - loss),
            Some((before, rtt)) => {
                let of_delay = 1.0 - 1.0 / (1.0 + libm::exp(self.latency * (before / rtt - 1.0)));
                rate * (arrives * of_delay - loss) / rtt
            }
        }
    }
}

/// Four trials about a rate, in two pairs of a higher and a lower one, each in an order that is drawn (section 3.2).
#[derive(Clone, Copy, Debug)]
struct Decision {
    rate: f64,
    /// By how many hundredths the trials differ from it.
    steps: u32,
    higher_first: [bool; 2],
    begun: usize,
    trials: [u32; 4],
    utilities: [Option<f64>; 4],
}

impl Decision {
    fn new(rate: f64, steps: u32, bench: &mut Bench) -> Self {
        let higher_first = [bench.draw() < 0.5, bench.draw() < 0.5];
        Self { rate, steps, higher_first, begun: 0, trials: [0; 4], utilities: [None; 4] }
    }

    fn step(&self) -> f64 {
        STEP * f64::from(self.steps)
    }

    fn next(&mut self, bench: &mut Bench) -> (Option<u32>, f64) {
        let Some(trial) = self.trials.get_mut(self.begun) else { return (None, self.rate) };
        *trial = bench.trial();
        let is_higher = self.higher_first[self.begun / 2] == self.begun.is_multiple_of(2);
        let trial = *trial;
        self.begun += 1;
        let factor = if is_higher { 1.0 + self.step() } else { 1.0 - self.step() };
        (Some(trial), self.rate * factor)
    }

    /// Takes the utility of a trial; what is decided once all four are known: 1 for higher, -1 for lower, 0 where the pairs
    /// contradict each other.
    fn judge(&mut self, trial: u32, utility: f64) -> Option<f64> {
        let place = self.trials[..self.begun].iter().position(|known| *known == trial)?;
        self.utilities[place] = Some(utility);
        let favours_first = |pair: usize| Some(self.utilities[2 * pair]? > self.utilities[2 * pair + 1]?);
        let favours_higher = [0, 1].map(|pair| favours_first(pair).map(|first| first == self.higher_first[pair]));
        match favours_higher {
            [Some(true), Some(true)] => Some(1.0),
            [Some(false), Some(false)] => Some(-1.0),
            [Some(_), Some(_)] => Some(0.0),
            _ => None,
        }
    }
}

/// Steps in one direction, each longer than the last (section 3.2).
#[derive(Clone, Copy, Debug)]
struct Adjustment {
    direction: f64,
    /// `n`.
    steps: u32,
    /// The rate before, and its utility.
    before: (f64, f64),
    rate: f64,
    /// The trial at the present rate, once it has begun.
    trial: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Starting(Starting),
    Deciding(Decision),
    Adjusting(Adjustment),
}

/// What [`Allegro`] goes by.
#[derive(Clone, Debug)]
pub struct AllegroLaw {
    settings: AllegroSettings,
    stage: Stage,
    /// The mean round-trip time of the last interval that was judged, in seconds.
    before: Option<f64>,
}

/// The controller: it tries rates, and goes where more arrives and little is lost, whatever the round-trip time.
pub type Allegro = Learner<AllegroLaw>;

impl AllegroLaw {
    fn decide(&mut self, rate: f64, steps: u32, bench: &mut Bench) {
        self.stage = Stage::Deciding(Decision::new(bench.bound(rate), steps, bench));
    }

    fn conclude(&mut self, decision: &Decision, direction: f64, bench: &mut Bench) {
        if direction == 0.0 {
            return self.decide(decision.rate, (decision.steps + 1).min(STEPS_AT_MOST), bench);
        }
        let rate = decision.rate * (1.0 + direction * decision.step());
        let of_direction = (0..4).filter(|place| {
            let is_higher = decision.higher_first[place / 2] == place.is_multiple_of(2);
            is_higher == (direction > 0.0)
        });
        let utilities = of_direction.filter_map(|place| decision.utilities[place]);
        let utility = utilities.sum::<f64>() / 2.0;
        self.adjust(Adjustment { direction, steps: 0, before: (rate, utility), rate, trial: None }, bench);
    }

    /// `r_n = r_(n-1) (1 + n epsilon_min dir)`.
    fn adjust(&mut self, last: Adjustment, bench: &Bench) {
        let steps = last.steps + 1;
        let rate = bench.bound(last.before.0 * (1.0 + f64::from(steps) * STEP * last.direction));
        self.stage = Stage::Adjusting(Adjustment { steps, rate, trial: None, ..last });
    }
}

impl Law for AllegroLaw {
    const MINIMUM_PACKETS: u64 = 10;

    fn name(&self) -> &'static str {
        NAME
    }

    fn span(&self, bench: &mut Bench) -> Duration {
        let round_trips = SHORTEST + (LONGEST - SHORTEST) * bench.draw();
        Duration::from_seconds(bench.round_trip().as_seconds() * round_trips)
    }

    fn next(&mut self, bench: &mut Bench) -> (Option<u32>, f64) {
        match &mut self.stage {
            Stage::Starting(starting) => starting.next(bench),
            Stage::Deciding(decision) => decision.next(bench),
            Stage::Adjusting(adjustment) => {
                let is_first = adjustment.trial.is_none();
                let trial = *adjustment.trial.get_or_insert_with(|| bench.trial());
                (is_first.then_some(trial), adjustment.rate)
            }
        }
    }

    fn judge(&mut self, interval: &Interval, bench: &mut Bench) {
        let rtt = interval.round_trip();
        let round_trips = self.before.or(rtt).zip(rtt);
        self.before = rtt.or(self.before);
        let utility_at = |loss| self.settings.utility(interval.sent_rate(), loss, round_trips);
        let utility = utility_at(interval.loss());
        let utility_at_start = utility_at(interval.loss_but_one());
        match &mut self.stage {
            Stage::Starting(starting) => {
                // Beyond the paper: a packet of ten that was lost by chance ends no start.
                if let Some(rate) = starting.judge(interval, utility_at_start) {
                    self.decide(rate, 1, bench);
                }
            }
            Stage::Deciding(decision) => {
                let conclusion = interval.trial.and_then(|trial| decision.judge(trial, utility));
                let decision = *decision;
                if interval.is_limited {
                    self.decide(decision.rate, decision.steps, bench);
                } else if let Some(direction) = conclusion {
                    self.conclude(&decision, direction, bench);
                }
            }
            Stage::Adjusting(adjustment) if adjustment.trial.is_some() && adjustment.trial == interval.trial => {
                let last = *adjustment;
                if interval.is_limited || utility < last.before.1 {
                    self.decide(last.before.0, 1, bench);
                } else {
                    self.adjust(Adjustment { before: (last.rate, utility), ..last }, bench);
                }
            }
            Stage::Adjusting(_) => {}
        }
    }

    fn restart(&mut self, rate: f64) {
        self.stage = Stage::Starting(Starting::new(Some(rate)));
    }

    fn phase(&self) -> Phase {
        match self.stage {
            Stage::Starting(_) => Phase::SlowStart,
            Stage::Deciding(_) | Stage::Adjusting(_) => Phase::CongestionAvoidance,
        }
    }
}

impl Declared for Allegro {
    type Settings = AllegroSettings;
    const NAMES: &'static [Named<Self::Settings>] =
        &[Named { name: NAME, settings: |_| AllegroSettings::default() }];
    const WORDS: &'static str =
        "Tries rates and goes where more arrives while less than 5 % is lost (PCC; Dong et al., NSDI 2015).";
    const NEEDS: Needs = Needs { feedback: Feedback::Packets, ..Needs::NOTHING };
    const SETTINGS: &'static [Setting<Self::Settings>] = settings! {tolerance: Weight, steepness: Number, latency: Number};

    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError> {
        let law = AllegroLaw { settings: *settings, stage: Stage::Starting(Starting::new(None)), before: None };
        Self::new(law, context, NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_better_up_to_a_loss_of_seven_percent() {
        // u is proportional to the rate: what decides is the sign of (1 - L) S(L - 0.05) - L, zero at 7.4 %.
        let grows = |loss| {
            let settings = AllegroSettings::default();
            settings.utility(50.0, loss, None) > settings.utility(49.0, loss, None)
        };
        assert!(grows(0.0) && grows(0.01) && grows(0.05) && grows(0.07));
        assert!(!grows(0.08) && !grows(0.2));
        // By hand: 10 (0.99 / (1 + e^-4) - 0.01) and 10 (0.9 / (1 + e^5) - 0.1).
        let utility = |loss| AllegroSettings::default().utility(10.0, loss, Some((0.1, 0.2)));
        assert!((utility(0.01) - 9.621_936).abs() < 1e-5, "{}", utility(0.01));
        assert!((utility(0.10) + 0.939_764).abs() < 1e-5, "{}", utility(0.10));
    }

    #[test]
    fn a_round_trip_that_grows_takes_the_utility_where_that_is_asked_for() {
        let settings = AllegroSettings { latency: 10.0, ..AllegroSettings::default() };
        let utility = |before, rtt| settings.utility(10.0, 0.0, Some((before, rtt)));
        // By hand: S(-0.05) = 1 / (1 + e^-5) = 0.993307; R = 1/2 at rest, and 1 - 1 / (1 + e^(10 (1/2 - 1))) where it doubled.
        assert!((utility(0.1, 0.1) - 10.0 * 0.993_307 * 0.5 / 0.1).abs() < 1e-3, "{}", utility(0.1, 0.1));
        assert!((utility(0.1, 0.2) - 10.0 * 0.993_307 * 0.006_693 / 0.2).abs() < 1e-3, "{}", utility(0.1, 0.2));
        assert!(utility(0.2, 0.1) > utility(0.1, 0.1));
        assert!((settings.utility(10.0, 0.0, None) - 9.933_07).abs() < 1e-4);
    }

    #[test]
    fn pairs_that_agree_decide() {
        let mut decision = Decision {
            rate: 100.0,
            steps: 2,
            higher_first: [true, false],
            begun: 4,
            trials: [1, 2, 3, 4],
            utilities: [None; 4],
        };
        assert_eq!(decision.judge(9, 1.0), None);
        assert_eq!([(1, 5.0), (2, 4.0), (3, 4.0)].map(|(trial, utility)| decision.judge(trial, utility)), [None; 3]);
        assert_eq!(decision.judge(4, 5.0), Some(1.0));
        assert_eq!(decision.judge(4, 3.0), Some(0.0));
        decision.judge(1, 1.0);
        assert_eq!(decision.judge(4, 3.0), Some(-1.0));
    }
}
