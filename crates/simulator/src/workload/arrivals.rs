//! When flows begin.

use super::normal::normal_quantile;
use crate::random::Random;

/// The process of arrivals, whatever its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Lognormal gaps whose logarithm has this standard deviation.
    Lognormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Bursts at exponential gaps; a burst has a geometric number of arrivals at one instant, this many in
    /// the mean.
    Bursty {
        /// Mean number in a burst, at least 1.
        mean_burst: f64,
    },
}

/// As people write them.
impl std::fmt::Display for Arrivals {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Poisson => write!(to, "poisson"),
            Self::Lognormal { sigma } => write!(to, "lognormal:sigma={sigma}"),
            Self::Bursty { mean_burst } => write!(to, "bursty:mean={mean_burst}"),
        }
    }
}

impl Arrivals {
    /// Whether the parameters make sense.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Self::Poisson => true,
            Self::Lognormal { sigma } => (0.0..10.0).contains(sigma),
            Self::Bursty { mean_burst } => (1.0..1e6).contains(mean_burst),
        }
    }

    /// The next gap, of mean `mean`.
    pub(super) fn gap(&self, mean: f64, random: &mut Random) -> f64 {
        match self {
            Self::Poisson => exponential(mean, random),
            Self::Lognormal { sigma } => {
                let normal = normal_quantile(random.uniform().max(f64::MIN_POSITIVE));
                mean * libm::exp(sigma * normal - sigma * sigma / 2.0)
            }
            // The burst goes on with probability 1 - 1/b; otherwise the gap to the next one has mean b times
            // `mean`.
            Self::Bursty { mean_burst } if random.uniform() * mean_burst < mean_burst - 1.0 => 0.0,
            Self::Bursty { mean_burst } => exponential(mean * mean_burst, random),
        }
    }
}

fn exponential(mean: f64, random: &mut Random) -> f64 {
    -mean * libm::log(1.0 - random.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Seed;

    fn gaps(arrivals: Arrivals) -> (f64, f64) {
        let mut random = Random::new(Seed::new(9));
        let gaps: Vec<_> = (0..200_000).map(|_| arrivals.gap(3.0, &mut random)).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        (mean, variance / mean / mean)
    }

    #[test]
    fn gaps_have_their_mean_and_their_spread() {
        let close = |(mean, spread): (f64, f64), expected: f64| {
            assert!(
                (mean / 3.0 - 1.0).abs() < 0.02 && (spread / expected - 1.0).abs() < 0.1,
                "{mean} {spread}"
            );
        };
        close(gaps(Arrivals::Poisson), 1.0);
        close(gaps(Arrivals::Lognormal { sigma: 0.5 }), 0.25_f64.exp() - 1.0);
        // E[g^2] = 2 (b m)^2 / b, so the squared coefficient of variation is 2 b - 1.
        close(gaps(Arrivals::Bursty { mean_burst: 4.0 }), 7.0);
    }
}
