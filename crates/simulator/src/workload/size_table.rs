//! Flow sizes given by a table.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD};

use super::sizes::DeclaredSizes;

/// The tables that come with the crate.
const TABLES: [(Form, &str); 4] = [
    (
        table(
            "websearch",
            "Web search: Alizadeh and others, \"Data Center TCP (DCTCP)\", SIGCOMM 2010, figure 4.",
        ),
        include_str!("../../data/websearch.csv"),
    ),
    (
        table(
            "facebook_hadoop",
            "Hadoop at Facebook: Roy and others, \"Inside the Social Network's (Datacenter) Network\", SIGCOMM 2015.",
        ),
        include_str!("../../data/facebook_hadoop.csv"),
    ),
    (
        table(
            "alistorage",
            "Alibaba's distributed storage: published with HPCC (Li and others, SIGCOMM 2019).",
        ),
        include_str!("../../data/alistorage.csv"),
    ),
    (
        table(
            "google_rpc",
            "Google's RPCs before 2008: published with Homa (Montazeri and others, SIGCOMM 2018).",
        ),
        include_str!("../../data/google_rpc.csv"),
    ),
];

const fn table(name: &'static str, words: &'static str) -> Form {
    Form { name, words, head: None, keys: &[], example: name }
}

const fn forms() -> [Form; TABLES.len()] {
    let mut forms = [TABLES[0].0; TABLES.len()];
    let mut place = 0;
    while place < TABLES.len() {
        forms[place] = TABLES[place].0;
        place += 1;
    }
    forms
}

/// A distribution function given by knots, with straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// Size in bytes and probability of at most that size, both rising, the last probability 1.
    knots: Vec<(f64, f64)>,
}

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
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
    #[error("a table of sizes begins at 0, and ends at 100 (percent) or 1 (parts of all)")]
    Incomplete,
}

impl Declared for SizeTable {
    const FORMS: &'static [Form] = &forms();

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let table = TABLES.iter().find(|(form, _)| form.name == written.name());
        let text = table.map_or("", |(_, text)| text);
        Self::parse(text).map_err(|error| written.bad(HEAD, error.to_string()))
    }
}

impl DeclaredSizes for SizeTable {
    fn exact_quantile(&self, u: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.1 <= u).clamp(1, self.knots.len() - 1);
        let ((low, from), (high, to)) = (self.knots[above - 1], self.knots[above]);
        if to > from { low + (u - from) / (to - from) * (high - low) } else { high }
    }

    fn mean(&self) -> f64 {
        Self::mean(self)
    }
}

impl SizeTable {
    /// The tables that come with the crate, by name.
    ///
    /// # Errors
    /// A table that is wrong.
    pub fn shipped() -> Result<Vec<(&'static str, Self)>, SizeError> {
        TABLES.iter().map(|(form, text)| Ok((form.name, Self::parse(text)?))).collect()
    }

    /// Sizes in bytes and the probability of at most that size, both rising, from 0 to 1.
    pub fn knots(&self) -> &[(f64, f64)] {
        &self.knots
    }

    /// Reads lines of a size in bytes and the percentage of flows up to it, or their part where the last is 1, separated by a
    /// comma or blanks; `#` begins a comment, and a line of names may come first. (The format of the usual files of this
    /// field is one of these; those of ns-2 have a 1 between.)
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
        let whole = match (knots.first(), knots.last()) {
            (Some((_, 0.0)), Some((_, whole @ (1.0 | 100.0)))) => *whole,
            _ => return Err(SizeError::Incomplete),
        };
        knots.iter_mut().for_each(|knot| knot.1 /= whole);
        Self { knots }.with_whole_bytes()
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        let pairs = self.knots.windows(2);
        pairs.map(|pair| (pair[0].0 + pair[1].0) / 2.0 * (pair[1].1 - pair[0].1)).sum()
    }

    /// Refuses sizes that are cut to whole bytes up to several times what they are.
    fn with_whole_bytes(self) -> Result<Self, SizeError> {
        if self.exact_quantile(0.5) < 1.0 { Err(SizeError::Small) } else { Ok(self) }
    }
}

/// A size, and what is written of flows up to it.
fn read_knot(line: &str) -> Option<(f64, f64)> {
    let fields = line.split([',', ' ', '\t']).filter(|field| !field.is_empty()).map(str::parse);
    let (size, part) = match fields.collect::<Result<Vec<f64>, _>>().ok()?[..] {
        [size, part] | [size, 1.0, part] => (size, part),
        _ => return None,
    };
    (size >= 0.0 && size.is_finite() && (0.0..=100.0).contains(&part)).then_some((size, part))
}
