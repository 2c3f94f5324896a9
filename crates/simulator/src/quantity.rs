//! Reading numbers with units: `100Gbit/s`, `1us`, `32MiB`, `30%`, by the one grammar of quantities.

use trialwise_units::{Bytes, Duration, ParseQuantityError, Rate, parse_share};

/// A text that is not the quantity it should be.
pub type QuantityError = ParseQuantityError;

/// A rate such as `100Gbit/s` or `25Gbps`.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    text.parse()
}

/// A span of time such as `1us`, `0.001ms` or `1min 30s`.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    text.parse()
}

/// A size such as `32MiB` or `1000`.
pub fn parse_bytes(text: &str) -> Result<Bytes, QuantityError> {
    text.parse()
}

/// A fraction such as `0.3` or `30%`.
pub fn parse_fraction(text: &str) -> Result<f64, QuantityError> {
    parse_share(text)
}
