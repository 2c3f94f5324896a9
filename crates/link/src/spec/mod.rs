//! Links as people write them: `12Mbit/s`, `28ms`, `0.4%`, `codel:packets=1000,target=5ms,interval=100ms`.

mod link;
mod queue;

pub use link::{ElementSpec, LinkSpec};
pub use queue::{LimitSpec, Surroundings};

use thiserror::Error;
use trialwise_units::Bytes;
use trialwise_units::element::{Arguments, ElementError};

use crate::trace::TraceError;

/// Text that is no specification of a link or of a part of one, or a link that cannot be made; the message says what is wrong and
/// what to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// The text of an element, or a limit that its link has no measure for.
    #[error(transparent)]
    Element(#[from] ElementError),
    /// A trace could not be made.
    #[error("{what}: {source}")]
    Trace {
        /// Of what.
        what: &'static str,
        /// Why not.
        source: TraceError,
    },
}

/// An IP packet that fills a frame of Ethernet.
pub(crate) const FULL_PACKET: Bytes = Bytes::new(1500);
/// Of bytes that are added up again and again, this many at most.
pub(crate) const MAX_BYTES: Bytes = Bytes::new(u32::MAX as u64);

/// Bytes of a key that are added up again and again: at most 4 GiB, so that no sum of them overflows.
pub(crate) fn bounded(
    written: &Arguments<'_>,
    key: &str,
    given: Option<Bytes>,
    what: &str,
) -> Result<Option<Bytes>, ElementError> {
    if given.is_some_and(|bytes| bytes > MAX_BYTES) {
        return Err(written.bad(key, format!("more than {} bytes are not {what}", MAX_BYTES.get())));
    }
    Ok(given)
}

#[cfg(test)]
mod tests;
