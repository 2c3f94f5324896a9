//! What holds of any text that is read as a quantity: for the target in `fuzz/`, and for the replay of its corpus.

use trialwise_units::{Dimension, parse, parse_fraction, parse_share, write};

/// Nothing panics; what is written of a quantity is read as the same; shares are numbers.
pub(crate) fn quantities(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    for dimension in [Dimension::Time, Dimension::Rate, Dimension::Size] {
        if let Ok(value) = parse(text, dimension) {
            let written = write(value, dimension);
            assert_eq!(parse(&written, dimension), Ok(value), "{written} of {text:?}");
        }
    }
    if let Ok(share) = parse_share(text) {
        assert!(share >= 0.0 && share.is_finite(), "{share} of {text:?}");
    }
    if let Ok(fraction) = parse_fraction(text) {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} of {text:?}");
        // With an exponent: without one, the smallest has more digits than a text may have.
        assert_eq!(parse_fraction(&format!("{fraction:e}")), Ok(fraction), "{fraction} of {text:?}");
    }
}
