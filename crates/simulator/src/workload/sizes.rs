//! How large flows are.

use std::str::FromStr;

use trialwise_units::Bytes;

use super::normal::normal_quantile;
use crate::quantity::parse_bytes;

/// The tables that come with the crate: name and knots.
const TABLES: [(&str, &str); 4] = [
    ("websearch", include_str!("../../data/websearch.csv")),
    ("facebook_hadoop", include_str!("../../data/facebook_hadoop.csv")),
    ("alistorage", include_str!("../../data/alistorage.csv")),
    ("google_rpc", include_str!("../../data/google_rpc.csv")),
];

const FIXED: &str = "a size above zero, as in fixed:1000B";
const LOGNORMAL: &str = "a mean above zero and a sigma of 0 or more, as in lognormal:mean=100kB,sigma=2";
const PARETO: &str = "a mean above zero and a shape above 1, as in pareto:mean=100kB,shape=1.5";

/// A distribution function given by knots, with straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// Size in bytes and probability of at most that size, both rising, the last probability 1.
    knots: Vec<(f64, f64)>,
}

/// The distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// Given by knots.
    Table(SizeTable),
    /// The logarithm of the size is normal with this mean and standard deviation (natural logarithm of
    /// bytes).
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// `P(size > s) = (minimum / s)^shape`.
    Pareto {
        /// The smallest size in bytes.
        minimum: f64,
        /// The exponent, above 1 so that there is a mean.
        shape: f64,
    },
    /// Always the same.
    Fixed(Bytes),
}

/// Why there is no distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// No distribution has this name.
    #[error(
        "no flow sizes are called {0:?}: write websearch, facebook_hadoop, alistorage, google_rpc, fixed:1000B, \
         lognormal:mean=100kB,sigma=2 or pareto:mean=100kB,shape=1.5"
    )]
    Unknown(String),
    /// The parameters of a distribution are wrong.
    #[error("{text:?}: write {wanted}")]
    Parameters {
        /// What was written.
        text: String,
        /// What this distribution takes.
        wanted: &'static str,
    },
    /// Sizes so uneven that those of a trial have nothing to do with their mean.
    #[error(
        "{0:?}: half of the flows would be smaller than a byte, and hardly a trial has one of those that make up the mean: \
         write a smaller sigma, a larger shape or a larger mean"
    )]
    Uneven(String),
    /// A table is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// Flows have a byte at least, so that these have another mean.
    #[error("half of the flows of this table would be smaller than a byte: give sizes in bytes")]
    Small,
    /// A table lacks its begin or its end.
    #[error("a table of sizes begins at 0 percent and ends at 100")]
    Incomplete,
}

impl SizeTable {
    /// The tables that come with the crate, by name.
    ///
    /// # Errors
    /// A table that is wrong.
    pub fn shipped() -> Result<Vec<(&'static str, Self)>, SizeError> {
        TABLES.iter().map(|(name, text)| Ok((*name, Self::parse(text)?))).collect()
    }

    /// Sizes in bytes and the probability of at most that size, both rising, from 0 to 1.
    pub fn knots(&self) -> &[(f64, f64)] {
        &self.knots
    }

    /// Reads lines of a size in bytes and the percentage of flows up to it, separated by a comma or blanks;
    /// `#` begins a comment, and a line of names may come first. (The format of the usual files of this field
    /// is one of these.)
    pub fn parse(text: &str) -> Result<Self, SizeError> {
        let mut knots: Vec<(f64, f64)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            let header = knots.is_empty() && line.starts_with(|first: char| first.is_alphabetic());
            if line.is_empty() || header {
                continue;
            }
            let wrong = |problem| SizeError::Line { line: number + 1, problem };
            let knot = read_knot(line).ok_or_else(|| wrong("here stand a size and a percentage"))?;
            if knots.last().is_some_and(|last| knot.0 < last.0 || knot.1 < last.1) {
                return Err(wrong("sizes and percentages must not fall"));
            }
            knots.push(knot);
        }
        match (knots.first(), knots.last()) {
            (Some((_, 0.0)), Some((_, 1.0))) => Self { knots }.checked(),
            _ => Err(SizeError::Incomplete),
        }
    }

    /// Refuses sizes that are cut to whole bytes up to several times what they are.
    fn checked(self) -> Result<Self, SizeError> {
        if self.quantile(0.5) < 1.0 { Err(SizeError::Small) } else { Ok(self) }
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        let pairs = self.knots.windows(2);
        pairs.map(|pair| (pair[0].0 + pair[1].0) / 2.0 * (pair[1].1 - pair[0].1)).sum()
    }

    fn quantile(&self, u: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.1 <= u).clamp(1, self.knots.len() - 1);
        let ((low, from), (high, to)) = (self.knots[above - 1], self.knots[above]);
        if to > from { low + (u - from) / (to - from) * (high - low) } else { high }
    }
}

fn read_knot(line: &str) -> Option<(f64, f64)> {
    let mut fields =
        line.split([',', ' ', '\t']).filter(|field| !field.is_empty()).map(|field| field.parse::<f64>().ok());
    let (size, percent) = (fields.next()??, fields.next()??);
    let sound =
        size >= 0.0 && size.is_finite() && (0.0..=100.0).contains(&percent) && fields.next().is_none();
    sound.then_some((size, percent / 100.0))
}

impl SizeDistribution {
    /// The size below which a flow is with probability `u`, 0 <= u < 1: whole bytes, at least one.
    pub fn quantile(&self, u: f64) -> Bytes {
        match self {
            Self::Fixed(size) => *size,
            _ => Bytes::new((self.exact_quantile(u) as u64).max(1)),
        }
    }

    /// The same before it is cut to whole bytes.
    fn exact_quantile(&self, u: f64) -> f64 {
        match self {
            Self::Table(table) => table.quantile(u),
            Self::Lognormal { mu, sigma } => {
                libm::exp(mu + sigma * normal_quantile(u.max(f64::MIN_POSITIVE)))
            }
            Self::Pareto { minimum, shape } => minimum * libm::pow(1.0 - u, -1.0 / shape),
            Self::Fixed(size) => size.get() as f64,
        }
    }

    /// The mean in bytes, before sizes are cut to whole bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Table(table) => table.mean(),
            Self::Lognormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
            Self::Pareto { minimum, shape } => minimum * shape / (shape - 1.0),
            Self::Fixed(size) => size.get() as f64,
        }
    }
}

/// The name of a table that comes with the crate, or `fixed:`, `lognormal:` or `pareto:` with parameters.
impl FromStr for SizeDistribution {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        if let Some((_, knots)) = TABLES.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Table(SizeTable::parse(knots)?));
        }
        let (kind, rest) = text.split_once(':').ok_or_else(|| SizeError::Unknown(text.to_owned()))?;
        let wrong = |wanted| SizeError::Parameters { text: text.to_owned(), wanted };
        let sizes = match kind {
            "fixed" => {
                let size = parse_bytes(rest).ok().filter(|size| *size > Bytes::ZERO);
                Self::Fixed(size.ok_or_else(|| wrong(FIXED))?)
            }
            "lognormal" => {
                let (mean, sigma) = mean_and(rest, "sigma")
                    .filter(|(_, sigma)| *sigma >= 0.0)
                    .ok_or_else(|| wrong(LOGNORMAL))?;
                Self::Lognormal { mu: libm::log(mean) - sigma * sigma / 2.0, sigma }
            }
            "pareto" => {
                let (mean, shape) =
                    mean_and(rest, "shape").filter(|(_, shape)| *shape > 1.0).ok_or_else(|| wrong(PARETO))?;
                Self::Pareto { minimum: mean * (shape - 1.0) / shape, shape }
            }
            _ => return Err(SizeError::Unknown(text.to_owned())),
        };
        if sizes.exact_quantile(0.5) < 1.0 { Err(SizeError::Uneven(text.to_owned())) } else { Ok(sizes) }
    }
}

/// `mean=SIZE,KEY=NUMBER`.
fn mean_and(text: &str, key: &str) -> Option<(f64, f64)> {
    let (first, second) = text.split_once(',')?;
    let mean = parse_bytes(first.trim().strip_prefix("mean=")?).ok().filter(|mean| *mean > Bytes::ZERO)?;
    let value = second.trim().strip_prefix(key)?.strip_prefix('=')?.parse::<f64>().ok()?;
    value.is_finite().then_some((mean.get() as f64, value))
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

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| text.parse::<SizeDistribution>().unwrap_err().to_string();
        assert!(message("web").contains("websearch"));
        assert!(message("pareto:mean=1kB,shape=1").contains("above 1"));
        assert_eq!(message("fixed:0B"), "\"fixed:0B\": write a size above zero, as in fixed:1000B");
        assert!(message("lognormal:mean=100kB,sigma=-1").ends_with("sigma=2"));
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
        for small in ["0 0\n0 100\n", "0 0\n0.2 100\n", "0 0\n0 60\n1000 100\n"] {
            assert!(table(small).starts_with("half of the flows"), "{small}");
        }
    }
}
