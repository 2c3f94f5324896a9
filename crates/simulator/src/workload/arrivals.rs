//! When flows begin: a line for each process of arrivals, here and nowhere else.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::elements;

use super::normal::normal_quantile;
use crate::random::Random;

elements! {
    /// The process of arrivals, whatever its rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Arrivals of "arrivals", arrivals! {
        Poisson(Poisson),
        Lognormal(LognormalGaps),
        Bursty(Bursts),
    }
}

/// Arrivals that can be chosen by name.
trait DeclaredArrivals: Declared {
    /// The next gap, of mean `mean`.
    fn gap(&self, mean: f64, random: &mut Random) -> f64;

    /// What they are called.
    fn name(&self) -> &'static str {
        Self::FORMS[0].name
    }
}

impl Arrivals {
    /// Exponential gaps.
    pub const POISSON: Self = Self::Poisson(Poisson);

    /// The next gap, of mean `mean`.
    pub(super) fn gap(&self, mean: f64, random: &mut Random) -> f64 {
        arrivals!(self, arrivals => arrivals.gap(mean, random))
    }

    /// What they are called.
    pub(super) fn name(&self) -> &'static str {
        arrivals!(self, arrivals => arrivals.name())
    }
}

/// Exponential gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson;

impl Declared for Poisson {
    const FORMS: &'static [Form] = &[Form {
        name: "poisson",
        words: "A Poisson process: exponential gaps.",
        head: None,
        keys: &[],
        example: "poisson",
    }];

    fn read(_written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self)
    }
}

impl DeclaredArrivals for Poisson {
    fn gap(&self, mean: f64, random: &mut Random) -> f64 {
        exponential(mean, random)
    }
}

/// Lognormal gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LognormalGaps {
    sigma: f64,
}

impl Declared for LognormalGaps {
    const FORMS: &'static [Form] = &[Form {
        name: "lognormal",
        words: "Lognormal gaps.",
        head: None,
        keys: &[Key {
            name: "sigma",
            takes: Takes::Other("a number from 0 and below 10"),
            words: "Standard deviation of the logarithm; required.",
        }],
        example: "lognormal:sigma=2",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let sigma = written.with("sigma", |text| match text.parse() {
            Ok(sigma) if (0.0..10.0).contains(&sigma) => Ok(sigma),
            _ => Err(format!("`{text}` is not from 0 and below 10; write one like 2")),
        })?;
        Ok(Self { sigma: written.needed(sigma, "sigma")? })
    }
}

impl DeclaredArrivals for LognormalGaps {
    fn gap(&self, mean: f64, random: &mut Random) -> f64 {
        let normal = normal_quantile(random.uniform().max(f64::MIN_POSITIVE));
        mean * libm::exp(self.sigma * normal - self.sigma * self.sigma / 2.0)
    }
}

/// Bursts at exponential gaps; a burst has a geometric number of arrivals at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    mean: f64,
}

impl Declared for Bursts {
    const FORMS: &'static [Form] = &[Form {
        name: "bursty",
        words: "Bursts at exponential gaps; each has a geometric number of arrivals at one time.",
        head: None,
        keys: &[Key {
            name: "mean",
            takes: Takes::Other("a number from 1 and below 1000000"),
            words: "Mean number of arrivals in a burst; required.",
        }],
        example: "bursty:mean=10",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let mean = written.with("mean", |text| match text.parse() {
            Ok(mean) if (1.0..1e6).contains(&mean) => Ok(mean),
            _ => Err(format!("`{text}` is not from 1 and below 1000000; write one like 10")),
        })?;
        Ok(Self { mean: written.needed(mean, "a mean")? })
    }
}

impl DeclaredArrivals for Bursts {
    /// The burst goes on with probability 1 - 1/b; otherwise the gap to the next one has mean b times `mean`.
    fn gap(&self, mean: f64, random: &mut Random) -> f64 {
        if random.uniform() * self.mean < self.mean - 1.0 {
            0.0
        } else {
            exponential(mean * self.mean, random)
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
        close(gaps(Arrivals::POISSON), 1.0);
        close(gaps("lognormal:sigma=0.5".parse().unwrap()), 0.25_f64.exp() - 1.0);
        // E[g^2] = 2 (b m)^2 / b, so the squared coefficient of variation is 2 b - 1.
        close(gaps("bursty:mean=4".parse().unwrap()), 7.0);
    }

    #[test]
    fn parameters_have_their_ranges() {
        let message = |text: &str| text.parse::<Arrivals>().unwrap_err().to_string();
        for text in ["lognormal:sigma=10", "lognormal:sigma=nan", "bursty:mean=0", "bursty:mean=1e6"] {
            assert!(message(text).contains(" is not from "), "{text}: {}", message(text));
        }
        assert_eq!(message("regular"), "unknown arrivals `regular`; known: poisson, lognormal, bursty");
        assert_eq!(message("bursty"), "arrivals bursty needs a mean; write one like bursty:mean=10");
        assert!(
            "lognormal:sigma=0".parse::<Arrivals>().is_ok() && "bursty:mean=1".parse::<Arrivals>().is_ok()
        );
    }
}
