//! What is inferred of the rate of a link from the packets that come in each tick, and how many will come at least.

use std::f64::consts::SQRT_2;
use std::fmt;
use std::sync::OnceLock;

use trialwise_units::Duration;

/// The length of a tick (section 3.1).
pub(super) const TICK: Duration = Duration::from_milliseconds(20);
/// Ticks that a forecast looks ahead (section 3.3).
pub(super) const HORIZON: usize = 8;
/// The most packets of a tick: no higher rate is thought of.
pub(super) const HIGHEST: usize = 20;

/// Rates between which is told apart, from 0 in equal steps.
const RATES: usize = 256;
const SECONDS: f64 = 0.02;
/// Standard deviation of the change of the rate: packets per second in the root of a second.
const VOLATILITY: f64 = 200.0;
/// How often a link that is out comes back, per second.
const ESCAPE: f64 = 1.0;
/// Steps of four standard deviations of a tick.
const BAND: usize = 29;
/// Counts of packets in a tick that are told apart as lower bounds.
const COUNTS: usize = 4 * HIGHEST;

type Rates = [f64; RATES];

/// How likely each rate is. No update allocates.
#[derive(Clone)]
pub(super) struct Filter {
    rates: Box<Rates>,
    tables: &'static Tables,
}

impl Filter {
    /// All rates are equally likely.
    pub(super) fn new() -> Self {
        Self { rates: Box::new([1.0 / RATES as f64; RATES]), tables: tables() }
    }

    /// A tick passes: rates drift.
    pub(super) fn evolve(&mut self) {
        *self.rates = self.tables.evolution.apply(&self.rates);
    }

    /// So many packets came, and no more could have; parts of one count too.
    pub(super) fn observe(&mut self, packets: f64) {
        let tables = self.tables;
        // The logarithm of the Poisson distribution but for what is the same at each rate.
        let logarithm = |rate: usize| packets * tables.logarithms[rate] - tables.means[rate];
        let first = usize::from(packets > 0.0);
        let highest = (first..RATES).map(logarithm).fold(f64::NEG_INFINITY, f64::max);
        self.weigh(|rate| if rate < first { 0.0 } else { (logarithm(rate) - highest).exp() });
    }

    /// So many packets came, and maybe more could have.
    pub(super) fn observe_at_least(&mut self, packets: f64) {
        let row = &self.tables.at_least[(packets as usize).min(COUNTS - 1)];
        self.weigh(|rate| row[rate]);
    }

    fn weigh(&mut self, likelihood: impl Fn(usize) -> f64) {
        let mut sum = 0.0;
        for (rate, share) in self.rates.iter_mut().enumerate() {
            *share *= likelihood(rate);
            sum += *share;
        }
        if sum < f64::MIN_POSITIVE {
            // What came was thought impossible: nothing is known.
            *self.rates = [1.0 / RATES as f64; RATES];
            return;
        }
        self.rates.iter_mut().for_each(|share| *share /= sum);
    }

    /// So many packets at least will have come after each of the next ticks, but for this probability.
    pub(super) fn forecast(&self, risk: f64) -> [u16; HORIZON] {
        std::array::from_fn(|ticks| self.quantile(ticks, risk) as u16)
    }

    /// The largest number that is missed with no more than this probability.
    fn quantile(&self, ticks: usize, risk: f64) -> usize {
        let below = &self.tables.below[ticks];
        let is_safe = |rates: &Rates| {
            let missed: f64 = self.rates.iter().zip(rates).map(|(share, missed)| share * missed).sum();
            missed <= risk
        };
        below.partition_point(is_safe)
    }

    /// The expected rate, packets per second.
    #[cfg(test)]
    pub(super) fn mean(&self) -> f64 {
        self.rates.iter().zip(&self.tables.means).map(|(share, mean)| share * mean / SECONDS).sum()
    }

    #[cfg(test)]
    pub(super) fn shares(&self) -> &[f64] {
        &*self.rates
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Filter").finish_non_exhaustive()
    }
}

/// What holds of all links.
struct Tables {
    evolution: Evolution,
    /// Packets of a tick at each rate, and the logarithms.
    means: Rates,
    logarithms: Rates,
    /// By number: the probability that at least so many come in a tick.
    at_least: Vec<Rates>,
    /// By tick and number from 1 on: the probability that fewer have come until then.
    below: [Vec<Rates>; HORIZON],
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(Tables::new)
}

impl Tables {
    fn new() -> Self {
        let means: Rates = std::array::from_fn(|rate| HIGHEST as f64 * rate as f64 / (RATES - 1) as f64);
        // Of rate 0 it is taken only where no packet has come.
        let logarithms = means.map(|mean| if mean > 0.0 { mean.ln() } else { 0.0 });
        let evolution = Evolution::new();
        // By number: the probability that just so many come in a tick, and within all ticks until then.
        let most = HIGHEST * HORIZON;
        let tick: Vec<Rates> = (0..=most).map(|number| poisson(number, &means)).collect();
        let mut totals = vec![[0.0; RATES]; most + 1];
        totals[0] = [1.0; RATES];
        let below = std::array::from_fn(|ticks| {
            let later: Vec<Rates> = (0..=most).map(|number| convolved(number, &tick, &totals)).collect();
            totals = later.iter().map(|rates| evolution.seen_before(rates)).collect();
            let mut sum = [0.0; RATES];
            let fewer = totals.iter().map(|rates| {
                sum = std::array::from_fn(|rate| sum[rate] + rates[rate]);
                sum
            });
            fewer.take(HIGHEST * (ticks + 1)).collect()
        });
        let mut rest = [1.0; RATES];
        let at_least = tick.iter().take(COUNTS).map(|exactly| {
            let row = rest;
            rest = std::array::from_fn(|rate| (rest[rate] - exactly[rate]).max(0.0));
            row
        });
        Self { evolution, means, logarithms, at_least: at_least.collect(), below }
    }
}

fn poisson(number: usize, means: &Rates) -> Rates {
    let factorial: f64 = (1..=number).map(|factor| (factor as f64).ln()).sum();
    means.map(|mean| match (mean > 0.0, number) {
        (true, _) => (number as f64 * mean.ln() - mean - factorial).exp(),
        (false, 0) => 1.0,
        (false, _) => 0.0,
    })
}

/// So many in all, of the next tick and of those behind it.
fn convolved(number: usize, tick: &[Rates], behind: &[Rates]) -> Rates {
    let mut sum = [0.0; RATES];
    for first in 0..=number {
        let (now, later) = (&tick[first], &behind[number - first]);
        for rate in 0..RATES {
            sum[rate] += now[rate] * later[rate];
        }
    }
    sum
}

/// How rates drift in a tick: as a Brownian motion between the lowest and the highest, but for a link that is out, which mostly
/// stays so.
struct Evolution {
    /// The Gaussian by steps, as far as the band.
    kernel: [f64; BAND + 1],
    /// By rate, what makes the kernel a distribution between the ends.
    norms: Rates,
    stays_out: f64,
    /// The same of a link that comes back.
    norm_back: f64,
}

impl Evolution {
    fn new() -> Self {
        let step = HIGHEST as f64 / SECONDS / (RATES - 1) as f64;
        let scale = step / (VOLATILITY * SECONDS.sqrt()) / SQRT_2;
        let kernel: [f64; BAND + 1] = std::array::from_fn(|steps| (-(steps as f64 * scale).powi(2)).exp());
        let norms = std::array::from_fn(|rate: usize| {
            let reached = rate.saturating_sub(BAND)..=(rate + BAND).min(RATES - 1);
            1.0 / reached.map(|other| kernel[other.abs_diff(rate)]).sum::<f64>()
        });
        let stays_out = (-ESCAPE * SECONDS).exp();
        let norm_back = (1.0 - stays_out) / kernel[1..].iter().sum::<f64>();
        Self { kernel, norms, stays_out, norm_back }
    }

    /// How likely rates are a tick later.
    fn apply(&self, rates: &Rates) -> Rates {
        let mut leaving = [0.0; RATES + 2 * BAND];
        for rate in 1..RATES {
            leaving[BAND + rate] = rates[rate] * self.norms[rate];
        }
        let mut later = self.spread(&leaving);
        later[0] += rates[0] * self.stays_out;
        for (rate, weight) in later.iter_mut().zip(&self.kernel).skip(1) {
            *rate += rates[0] * self.norm_back * weight;
        }
        later
    }

    /// The mean, over the rates of a tick later, of what holds at each of them: by the rate now.
    fn seen_before(&self, later: &Rates) -> Rates {
        let mut padded = [0.0; RATES + 2 * BAND];
        padded[BAND..BAND + RATES].copy_from_slice(later);
        let mut now = self.spread(&padded);
        now.iter_mut().zip(&self.norms).for_each(|(mean, norm)| *mean *= norm);
        let back: f64 = (1..=BAND).map(|steps| self.norm_back * self.kernel[steps] * later[steps]).sum();
        now[0] = self.stays_out * later[0] + back;
        now
    }

    /// The convolution with the kernel.
    fn spread(&self, padded: &[f64; RATES + 2 * BAND]) -> Rates {
        let mut sum: Rates = std::array::from_fn(|rate| self.kernel[0] * padded[BAND + rate]);
        for steps in 1..=BAND {
            let weight = self.kernel[steps];
            let lower = &padded[BAND - steps..BAND - steps + RATES];
            let upper = &padded[BAND + steps..BAND + steps + RATES];
            for rate in 0..RATES {
                sum[rate] += weight * (lower[rate] + upper[rate]);
            }
        }
        sum
    }
}
