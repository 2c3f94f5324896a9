//! How large flows are: a line for each distribution, here and nowhere else.

use std::num::NonZeroU64;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, elements};

use super::normal::normal_quantile;
use super::size_table::SizeTable;

elements! {
    /// The distribution of flow sizes.
    #[derive(Clone, Debug, PartialEq)]
    pub enum SizeDistribution of "sizes", sizes! {
        Table(SizeTable),
        Fixed(FixedSize),
        Lognormal(LognormalSizes),
        Pareto(ParetoSizes),
    }
}

/// Sizes that can be chosen by name.
pub(super) trait DeclaredSizes: Declared {
    /// The size in bytes below which a flow is with probability `u`, 0 <= u < 1.
    fn exact_quantile(&self, u: f64) -> f64;

    /// The same as whole bytes, at least one.
    fn quantile(&self, u: f64) -> Bytes {
        Bytes::new((self.exact_quantile(u) as u64).max(1))
    }

    /// The mean in bytes, before sizes are cut to whole bytes.
    fn mean(&self) -> f64;

    /// Refuses sizes so uneven that those of a trial have nothing to do with their mean.
    fn checked(self, written: &Arguments<'_>) -> Result<Self, ElementError> {
        if self.exact_quantile(0.5) >= 1.0 {
            return Ok(self);
        }
        Err(written.bad(
            HEAD,
            "half of the flows would be smaller than a byte, and hardly a trial has one of those that make up the mean: \
             write a smaller sigma, a larger shape or a larger mean",
        ))
    }
}

impl SizeDistribution {
    /// The size below which a flow is with probability `u`, 0 <= u < 1: whole bytes, at least one.
    pub fn quantile(&self, u: f64) -> Bytes {
        sizes!(self, sizes => sizes.quantile(u))
    }

    /// The mean in bytes, before sizes are cut to whole bytes.
    pub fn mean(&self) -> f64 {
        sizes!(self, sizes => sizes.mean())
    }
}

/// Always the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedSize {
    size: NonZeroU64,
}

impl Declared for FixedSize {
    const FORMS: &'static [Form] = &[Form {
        name: "fixed",
        words: "Every flow has this size.",
        head: Some(Key { name: "size", takes: Takes::Amount, words: "Size of every flow." }),
        keys: &[],
        example: "fixed:1000B",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self { size: written.needed(written.amount(HEAD)?, "a size")? })
    }
}

impl DeclaredSizes for FixedSize {
    fn exact_quantile(&self, _u: f64) -> f64 {
        self.size.get() as f64
    }

    fn quantile(&self, _u: f64) -> Bytes {
        Bytes::new(self.size.get())
    }

    fn mean(&self) -> f64 {
        self.size.get() as f64
    }
}

const MEAN: Key = Key { name: "mean", takes: Takes::Amount, words: "Mean size; required." };

/// The mean in bytes.
fn read_mean(written: &Arguments<'_>) -> Result<f64, ElementError> {
    Ok(written.needed(written.amount("mean")?, "a mean")?.get() as f64)
}

/// The logarithm of the size is normal with this mean and standard deviation (natural logarithm of bytes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LognormalSizes {
    mu: f64,
    sigma: f64,
}

impl Declared for LognormalSizes {
    const FORMS: &'static [Form] = &[Form {
        name: "lognormal",
        words: "The logarithm of the size is normal.",
        head: None,
        keys: &[
            MEAN,
            Key {
                name: "sigma",
                takes: Takes::Other("a number from 0"),
                words: "Standard deviation of the logarithm; required.",
            },
        ],
        example: "lognormal:mean=100kB,sigma=2",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let mean = read_mean(written)?;
        let sigma = written.with("sigma", |text| match text.parse::<f64>() {
            Ok(sigma) if sigma >= 0.0 && sigma.is_finite() => Ok(sigma),
            _ => Err(format!("`{text}` is not a number from 0; write one like 2")),
        })?;
        let sigma = written.needed(sigma, "sigma")?;
        Self { mu: libm::log(mean) - sigma * sigma / 2.0, sigma }.checked(written)
    }
}

impl DeclaredSizes for LognormalSizes {
    fn exact_quantile(&self, u: f64) -> f64 {
        libm::exp(self.mu + self.sigma * normal_quantile(u.max(f64::MIN_POSITIVE)))
    }

    fn mean(&self) -> f64 {
        libm::exp(self.mu + self.sigma * self.sigma / 2.0)
    }
}

/// `P(size > s) = (minimum / s)^shape`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParetoSizes {
    minimum: f64,
    shape: f64,
}

impl Declared for ParetoSizes {
    const FORMS: &'static [Form] = &[Form {
        name: "pareto",
        words: "Pareto sizes: P(size > s) = (minimum / s)^shape.",
        head: None,
        keys: &[
            MEAN,
            Key {
                name: "shape",
                takes: Takes::Other("a number above 1"),
                words: "Exponent; the mean exists only above 1; required.",
            },
        ],
        example: "pareto:mean=100kB,shape=1.5",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let mean = read_mean(written)?;
        let shape = written.with("shape", |text| match text.parse::<f64>() {
            Ok(shape) if shape > 1.0 && shape.is_finite() => Ok(shape),
            _ => Err(format!("`{text}` is not a number above 1; write one like 1.5")),
        })?;
        let shape = written.needed(shape, "a shape")?;
        Self { minimum: mean * (shape - 1.0) / shape, shape }.checked(written)
    }
}

impl DeclaredSizes for ParetoSizes {
    fn exact_quantile(&self, u: f64) -> f64 {
        self.minimum * libm::pow(1.0 - u, -1.0 / self.shape)
    }

    fn mean(&self) -> f64 {
        self.minimum * self.shape / (self.shape - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use trialwise_units::Seed;

    fn sizes(text: &str) -> SizeDistribution {
        text.parse().unwrap()
    }

    #[test]
    fn the_tables_have_their_known_means() {
        let means = [
            ("websearch", 1_711_250.0),
            ("facebook_hadoop", 120_420.75),
            ("alistorage", 40_869.8),
            ("google_rpc", 2_891.621_25),
        ];
        for (name, mean) in means {
            assert!((sizes(name).mean() / mean - 1.0).abs() < 1e-9, "{name}");
        }
    }

    #[test]
    fn quantiles_lie_on_the_lines_between_knots() {
        let websearch = sizes("websearch");
        let at = |u| websearch.quantile(u).get();
        assert_eq!([at(0.0), at(0.15), at(0.985), at(0.999_999_999)], [1, 10_000, 20_000_000, 29_999_999]);
        assert!(at(0.175).abs_diff(15_000) <= 1);
    }

    #[test]
    fn samples_have_the_mean_that_is_said() {
        for text in ["websearch", "lognormal:mean=100kB,sigma=1", "pareto:mean=100kB,shape=3", "fixed:5kB"] {
            let distribution = sizes(text);
            let mut random = Random::new(Seed::new(5));
            let total: u64 = (0..200_000).map(|_| distribution.quantile(random.uniform()).get()).sum();
            let ratio = total as f64 / 200_000.0 / distribution.mean();
            assert!((ratio - 1.0).abs() < 0.02, "{text}: {ratio}");
        }
    }

    /// Percentages, parts, the form of ns-2, and a size that stands twice.
    #[test]
    fn tables_are_of_percentages_or_of_parts() {
        let read = |text| SizeTable::parse(text).unwrap();
        let table = read("100 0\n200 25\n200 50\n400 100\n");
        for same in ["100 0\n200 .25\n200 0.5\n400 1\n", "100 1 0\n200 1 0.25\n200 1 0.5\n400 1 1.0\n"] {
            assert_eq!(read(same), table, "{same}");
        }
        assert_eq!(table.mean(), 150.0 * 0.25 + 200.0 * 0.25 + 300.0 * 0.5);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| text.parse::<SizeDistribution>().unwrap_err().to_string();
        assert!(message("web").contains("websearch, facebook_hadoop"));
        assert!(message("pareto:mean=1kB,shape=1").contains("above 1"));
        assert_eq!(message("fixed:0B"), "sizes fixed: 0B: the size must be above zero; write one like 75kB");
        assert!(message("lognormal:mean=100kB,sigma=-1").ends_with("write one like 2"));
        for uneven in [
            "lognormal:mean=100kB,sigma=200",
            "lognormal:mean=100kB,sigma=4.9",
            "pareto:mean=1kB,shape=1.0001",
        ] {
            assert!(message(uneven).contains("smaller than a byte"), "{uneven}");
        }
        assert!("lognormal:mean=100kB,sigma=4.7".parse::<SizeDistribution>().is_ok());
        let table = |text| SizeTable::parse(text).unwrap_err().to_string();
        assert!(table("0 0\n10 50\n5 100\n").starts_with("line 3"));
        assert!(table("0 0\n10 50\n").starts_with("a table of sizes begins"));
        assert!(table("0 0\n10 2 50\n20 100\n").starts_with("line 2"));
        for small in ["0 0\n0 100\n", "0 0\n0.2 100\n", "0 0\n0 60\n1000 100\n"] {
            assert!(table(small).starts_with("half of the flows"), "{small}");
        }
    }
}
