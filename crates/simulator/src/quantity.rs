//! Reading numbers with units: `100Gbit/s`, `1us`, `32MiB`, `30%`.

use trialwise_units::{Bytes, Duration, Rate};

/// A text that is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: write it like {example}")]
pub struct QuantityError {
    what: &'static str,
    text: String,
    example: &'static str,
}

/// Units and what one is worth; the first that ends a text wins.
type Units = [(&'static str, f64)];

const RATES: &Units = &[
    ("Gbit/s", 1e9),
    ("Mbit/s", 1e6),
    ("kbit/s", 1e3),
    ("bit/s", 1.0),
    ("Gbps", 1e9),
    ("Mbps", 1e6),
    ("Kbps", 1e3),
    ("kbps", 1e3),
    ("bps", 1.0),
    ("Gb/s", 1e9),
    ("Mb/s", 1e6),
    ("b/s", 1.0),
];
const TIMES: &Units = &[("ms", 1e9), ("us", 1e6), ("ns", 1e3), ("ps", 1.0), ("s", 1e12)];
const SIZES: &Units = &[
    ("GiB", 1073741824.0),
    ("MiB", 1048576.0),
    ("KiB", 1024.0),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("KB", 1e3),
    ("B", 1.0),
];

/// A rate such as `100Gbit/s` or `25Gbps`.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let bits = scaled(text, RATES).ok_or_else(|| error("rate", text, "100Gbit/s"))?;
    Ok(Rate::from_bits_per_second(bits))
}

/// A span of time such as `1us` or `0.001ms`.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let picoseconds = scaled(text, TIMES).ok_or_else(|| error("span of time", text, "1us"))?;
    Ok(Duration::from_picoseconds(picoseconds))
}

/// A size such as `32MiB` or `1000B`.
pub fn parse_bytes(text: &str) -> Result<Bytes, QuantityError> {
    Ok(Bytes::new(scaled(text, SIZES).ok_or_else(|| error("size", text, "32MiB"))?))
}

/// A fraction such as `0.3` or `30%`.
pub fn parse_fraction(text: &str) -> Result<f64, QuantityError> {
    let text = text.trim();
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
    let value = digits.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.map(|value| value * scale).ok_or_else(|| error("fraction", text, "30%"))
}

fn scaled(text: &str, units: &Units) -> Option<u64> {
    let text = text.trim();
    let (digits, scale) = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let value = digits.trim().parse::<f64>().ok()? * scale;
    (value.is_finite() && (0.0..1.8e19).contains(&value)).then_some(value.round() as u64)
}

fn error(what: &'static str, text: &str, example: &'static str) -> QuantityError {
    QuantityError { what, text: text.to_owned(), example }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_spellings_are_read() {
        let line = Rate::from_megabits_per_second(100_000);
        assert_eq!(parse_rate("100Gbit/s"), Ok(line));
        assert_eq!(parse_rate("100Gbps"), Ok(line));
        assert_eq!(parse_rate("0.5 bit/s").map(Rate::bits_per_second), Ok(1));
        assert_eq!(parse_duration("0.001ms"), Ok(Duration::from_microseconds(1)));
        assert_eq!(parse_duration("20ms"), Ok(Duration::from_milliseconds(20)));
        assert_eq!(parse_bytes("32MiB"), Ok(Bytes::new(32 << 20)));
        assert_eq!(parse_fraction("30%"), Ok(0.3));
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        let message = parse_rate("fast").unwrap_err().to_string();
        assert_eq!(message, "\"fast\" is no rate: write it like 100Gbit/s");
        assert!(
            parse_duration("-1us").is_err() && parse_bytes("NaNB").is_err() && parse_fraction("x").is_err()
        );
    }
}
