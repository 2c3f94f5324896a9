//! Quantities as people write them: `12Mbit/s`, `28ms`, `75kB`, `0.4%`.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Duration, Rate};

const RATES: Units = Units {
    what: "rate",
    example: "12Mbit/s",
    shown: "bit/s, kbit/s, Mbit/s, Gbit/s",
    factors: &[
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
    ],
};

const TIMES: Units = Units {
    what: "time",
    example: "28ms",
    shown: "ns, us, ms, s, min, h",
    factors: &[
        ("ns", 1e3),
        ("us", 1e6),
        ("µs", 1e6),
        ("ms", 1e9),
        ("s", 1e12),
        ("min", 60e12),
        ("h", 3600e12),
    ],
};

const SIZES: Units = Units {
    what: "size",
    example: "75kB",
    shown: "B (or nothing), kB, MB, GB, KiB, MiB, GiB",
    factors: &[
        ("", 1.0),
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
};

const FRACTIONS: Units = Units {
    what: "fraction",
    example: "0.4%",
    shown: "% (or nothing, for a number from 0 to 1)",
    factors: &[("", 1.0), ("%", 0.01)],
};

/// Text that is not the quantity wanted; its message says why and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    text: String,
    what: &'static str,
    problem: String,
    example: &'static str,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, what, problem, example } = self;
        write!(formatter, "`{text}` is not a {what}: {problem}; write one like {example}")
    }
}

impl Error for ParseQuantityError {}

struct Units {
    what: &'static str,
    example: &'static str,
    shown: &'static str,
    factors: &'static [(&'static str, f64)],
}

impl Units {
    fn parse(&self, text: &str) -> Result<f64, ParseQuantityError> {
        let text = text.trim();
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim());
        if text.starts_with('-') {
            return Err(self.error(text, "it is negative"));
        }
        let number: f64 = number.parse().map_err(|_| self.error(text, "it does not start with a number"))?;
        let factor = self.factors.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let factor = factor.ok_or_else(|| self.error(text, &self.unit_problem(unit)))?;
        Ok(number * factor)
    }

    /// The value as a whole number of the smallest unit, rounded to the nearest.
    fn parse_whole(&self, text: &str) -> Result<u64, ParseQuantityError> {
        let value = self.parse(text)?.round();
        if value >= u64::MAX as f64 {
            return Err(self.error(text, "it is too large"));
        }
        Ok(value as u64)
    }

    fn unit_problem(&self, unit: &str) -> String {
        match unit {
            "" => format!("the unit is missing (units: {})", self.shown),
            _ => format!("unknown unit `{unit}` (units: {})", self.shown),
        }
    }

    fn error(&self, text: &str, problem: &str) -> ParseQuantityError {
        ParseQuantityError {
            text: text.to_owned(),
            what: self.what,
            problem: problem.to_owned(),
            example: self.example,
        }
    }
}

impl FromStr for Rate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        RATES.parse_whole(text).map(Self::from_bits_per_second)
    }
}

impl FromStr for Duration {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        TIMES.parse_whole(text).map(Self::from_picoseconds)
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        SIZES.parse_whole(text).map(Self::new)
    }
}

/// A fraction from 0 to 1, written `0.4%` or `0.004`.
///
/// # Errors
/// Text that is no number, has another unit, or lies outside 0 to 1.
pub fn parse_fraction(text: &str) -> Result<f64, ParseQuantityError> {
    let value = FRACTIONS.parse(text)?;
    if value > 1.0 {
        return Err(FRACTIONS.error(text, "it is larger than 1 (100%)"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!("12Mbit/s".parse(), Ok(Rate::from_megabits_per_second(12)));
        assert_eq!("0.57 Mbps".parse(), Ok(Rate::from_bits_per_second(570_000)));
        assert_eq!("28ms".parse(), Ok(Duration::from_milliseconds(28)));
        assert_eq!("1.5us".parse(), Ok(Duration::from_nanoseconds(1_500)));
        assert_eq!("75000".parse(), Ok(Bytes::new(75_000)));
        assert_eq!("2KiB".parse(), Ok(Bytes::new(2_048)));
        assert_eq!(parse_fraction("0.4%"), Ok(0.4 * 0.01));
        assert_eq!(parse_fraction("1"), Ok(1.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        let message = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            message("12Mbit"),
            "`12Mbit` is not a rate: unknown unit `Mbit` (units: bit/s, kbit/s, Mbit/s, Gbit/s); write one like 12Mbit/s"
        );
        assert!(message("12").contains("the unit is missing"));
        assert!(message("fast").contains("does not start with a number"));
        assert!(message("-1bit/s").contains("negative"));
        assert!(message("99999999999999Gbit/s").contains("too large"));
        assert!(parse_fraction("101%").unwrap_err().to_string().contains("larger than 1"));
        assert!("1.2.3ms".parse::<Duration>().is_err());
    }

    proptest! {
        #[test]
        fn whole_milliseconds_are_exact(milliseconds in 0_u64..1_000_000_000) {
            prop_assert_eq!(format!("{milliseconds}ms").parse(), Ok(Duration::from_milliseconds(milliseconds)));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = (text.parse::<Rate>(), text.parse::<Duration>(), text.parse::<Bytes>(), parse_fraction(&text));
        }
    }
}
