//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds of UNIX time.
pub(crate) fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
