//! Loss in bursts: the two-state chain of Gilbert (1960) and Elliott (1963).

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Bytes, Ecn, Seed, Time};

use crate::element::{Gate, Verdict};
use crate::loss::register::{DeclaredLoss, refuse_all};
use crate::loss::verdict;
use crate::random::Random;

/// The chain's parameters; it makes one step with each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliottParameters {
    /// p: from the good state to the bad one.
    pub to_bad: f64,
    /// r: from the bad state to the good one.
    pub to_good: f64,
    /// 1 − k: loss in the good state.
    pub loss_good: f64,
    /// 1 − h: loss in the bad state.
    pub loss_bad: f64,
}

impl GilbertElliottParameters {
    /// The share of packets that find the chain in the bad state, p / (p + r); zero for a chain that never
    /// moves.
    pub fn bad_share(&self) -> f64 {
        let both = self.to_bad + self.to_good;
        if both > 0.0 { self.to_bad / both } else { 0.0 }
    }

    /// The share of packets lost in the long run.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// Drops packets by the state of the chain, which starts in its stationary distribution.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    parameters: GilbertElliottParameters,
    bad: bool,
    random: Random,
}

impl GilbertElliott {
    /// Loss by such a chain.
    pub fn new(parameters: GilbertElliottParameters, seed: Seed) -> Self {
        let mut random = Random::new(seed);
        let bad = random.chance(parameters.bad_share());
        Self { parameters, bad, random }
    }
}

impl Gate for GilbertElliott {
    fn judge(&mut self, _now: Time, _size: Bytes, _ecn: Ecn) -> Verdict {
        let GilbertElliottParameters { to_bad, to_good, loss_good, loss_bad } = self.parameters;
        let lost = self.random.chance(if self.bad { loss_bad } else { loss_good });
        if self.random.chance(if self.bad { to_good } else { to_bad }) {
            self.bad = !self.bad;
        }
        verdict(lost)
    }
}

impl Declared for GilbertElliottParameters {
    const FORMS: &'static [Form] = &[Form {
        name: "gilbert-elliott",
        words: "Loss in bursts: a two-state Markov chain that steps with each packet (Gilbert 1960, Elliott 1963).",
        head: None,
        keys: &[
            Key {
                name: "to_bad",
                takes: Takes::Share,
                words: "Probability of a step from the good state to the bad one; required.",
            },
            Key {
                name: "to_good",
                takes: Takes::Share,
                words: "Probability of a step from the bad state to the good one; required.",
            },
            Key {
                name: "loss_bad",
                takes: Takes::Share,
                words: "Share lost in the bad state; default 100 %.",
            },
            Key { name: "loss_good", takes: Takes::Share, words: "Share lost in the good state; default 0." },
        ],
        example: "gilbert-elliott:to_bad=1%,to_good=10%",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let (Some(to_bad), Some(to_good)) = (written.share("to_bad")?, written.share("to_good")?) else {
            return Err(written.missing("to_bad and to_good"));
        };
        let parameters = Self {
            to_bad,
            to_good,
            loss_bad: written.share("loss_bad")?.unwrap_or(1.0),
            loss_good: written.share("loss_good")?.unwrap_or(0.0),
        };
        refuse_all(written, parameters.mean_loss())?;
        Ok(parameters)
    }
}

impl DeclaredLoss for GilbertElliottParameters {
    fn build(&self, _start: Time, seed: Seed) -> Box<dyn Gate> {
        Box::new(GilbertElliott::new(*self, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share lost, and the mean length of a run of losses.
    fn measure(parameters: GilbertElliottParameters, count: u32) -> (f64, f64) {
        let mut loss = GilbertElliott::new(parameters, Seed::new(5));
        let (mut lost, mut bursts, mut before) = (0_u32, 0_u32, false);
        for _ in 0..count {
            let now = loss.judge(Time::ZERO, Bytes::new(1500), Ecn::NotCapable) != Verdict::Pass;
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / f64::from(count), f64::from(lost) / f64::from(bursts))
    }

    #[test]
    fn gilbert_loss_and_bursts_are_those_of_theory() {
        // Gilbert: everything is lost in the bad state, nothing in the good one; bursts are geometric of mean
        // 1/r.
        let parameters =
            GilbertElliottParameters { to_bad: 0.01, to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
        let (loss, burst) = measure(parameters, 1_000_000);
        // About 9600 bursts. Five standard errors: of the burst 5 √12 / √9600 = 0.18; of the loss, 5 % of it.
        assert!((loss - 0.01 / 0.26).abs() < 0.002, "{loss}");
        assert!((burst - 4.0).abs() < 0.18, "{burst}");
    }

    #[test]
    fn elliott_loss_is_the_mean_of_both_states() {
        let parameters =
            GilbertElliottParameters { to_bad: 0.02, to_good: 0.1, loss_good: 0.01, loss_bad: 0.5 };
        assert!((parameters.mean_loss() - (0.02 * 0.5 + 0.1 * 0.01) / 0.12).abs() < 1e-12);
        let (loss, _) = measure(parameters, 1_000_000);
        assert!((loss - parameters.mean_loss()).abs() < 0.004, "{loss}");
    }

    #[test]
    fn the_first_packet_already_meets_the_stationary_chain() {
        let parameters =
            GilbertElliottParameters { to_bad: 0.001, to_good: 0.003, loss_good: 0.0, loss_bad: 1.0 };
        let lost = (0..20_000)
            .filter(|seed| {
                GilbertElliott::new(parameters, Seed::new(*seed)).judge(
                    Time::ZERO,
                    Bytes::ZERO,
                    Ecn::NotCapable,
                ) != Verdict::Pass
            })
            .count();
        // A quarter of 20000, five standard errors of 61.
        assert!(lost.abs_diff(5_000) < 306, "{lost}");
    }
}
