//! The algorithms and their names.

use std::str::FromStr;

/// A congestion control of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// TCP Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995).
    Vegas,
    /// Data Center TCP (RFC 8257): both ends of a connection must choose it, the receiver before it listens.
    Dctcp,
}

/// A name that is none of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kernel congestion control {0:?} here; there are vegas and dctcp")]
pub struct UnknownAlgorithm(pub String);

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Vegas, Self::Dctcp];

    /// As the kernel lists it and as `TCP_CONGESTION` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vegas => "tw_vegas",
            Self::Dctcp => "tw_dctcp",
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// From `vegas` or `dctcp`.
    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        match text {
            "vegas" => Ok(Self::Vegas),
            "dctcp" => Ok(Self::Dctcp),
            _ => Err(UnknownAlgorithm(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_fit_the_kernel() {
        for (text, name) in [("vegas", "tw_vegas"), ("dctcp", "tw_dctcp")] {
            assert_eq!(text.parse().map(Algorithm::name), Ok(name));
            assert!(name.len() <= 15); // TCP_CA_NAME_MAX is 16 with its zero
        }
        assert!("cubic".parse::<Algorithm>().unwrap_err().to_string().contains("vegas and dctcp"));
    }
}
