//! Patterns and arrivals as people write them.

use std::str::FromStr;

use super::{Arrivals, Pattern, WorkloadError};

impl FromStr for Pattern {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let senders = || text.strip_prefix("incast:")?.parse().ok().filter(|senders| *senders > 0);
        match text {
            "one-way" => Ok(Self::OneWay),
            "all-to-all" => Ok(Self::AllToAll),
            "permutation" => Ok(Self::Permutation),
            _ => senders()
                .map(|senders| Self::Incast { senders })
                .ok_or_else(|| WorkloadError::Pattern(text.to_owned())),
        }
    }
}

impl FromStr for Arrivals {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let number = |prefix| text.strip_prefix(prefix)?.parse().ok();
        let sigma = || number("lognormal:sigma=").map(|sigma| Self::Lognormal { sigma });
        let burst = || number("bursty:mean=").map(|mean_burst| Self::Bursty { mean_burst });
        let arrivals = if text == "poisson" { Some(Self::Poisson) } else { sigma().or_else(burst) };
        arrivals.ok_or_else(|| WorkloadError::UnknownArrivals(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_arrivals_are_read() {
        assert_eq!("incast:8".parse(), Ok(Pattern::Incast { senders: 8 }));
        assert_eq!("lognormal:sigma=2".parse(), Ok(Arrivals::Lognormal { sigma: 2.0 }));
        assert_eq!("bursty:mean=10".parse(), Ok(Arrivals::Bursty { mean_burst: 10.0 }));
        assert!("incast:0".parse::<Pattern>().unwrap_err().to_string().contains("incast:8"));
        assert!("regular".parse::<Arrivals>().unwrap_err().to_string().contains("poisson"));
    }
}
