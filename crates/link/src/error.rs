//! Why a link cannot be made.

use thiserror::Error;
use trialwise_units::element::ElementError;

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
