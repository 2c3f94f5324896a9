//! Links as people write them: `12Mbit/s`, `28ms`, `0.4%`, `codel:packets=1000,target=5ms,interval=100ms`.

pub(crate) mod arguments;
pub(crate) mod declared;
mod delay;
mod gates;
mod link;
mod loss;
mod queue;
mod rate;
pub(crate) mod words;

pub use arguments::ReadFile;
pub use delay::{BatchSpec, DelaySpec};
pub use gates::{OutageSpec, PolicerSpec};
pub use link::{ElementSpec, LinkSpec};
pub use loss::LossSpec;
pub(crate) use queue::FULL_PACKET;
pub use queue::{LimitSpec, Surroundings};

pub use crate::queue::QueueSpec;
pub use declared::{Key, Listed};
pub use rate::RateSpec;

use thiserror::Error;

use crate::loss::PatternError;
use crate::trace::TraceError;

/// Text that is no specification of a link or of a part of one; the message says what is wrong and what to
/// write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// A word that is not known where it stands.
    #[error("unknown {what} `{found}`{}; known: {}", words::suggestion(*nearest), allowed.join(", "))]
    UnknownWord {
        /// What the word should be.
        what: String,
        /// The word.
        found: String,
        /// The known word nearest to it, when one is near.
        nearest: Option<&'static str>,
        /// The known words.
        allowed: &'static [&'static str],
    },
    /// Something else where key=value should be.
    #[error("{what}: `{found}` is not key=value; keys: {}", allowed.join(", "))]
    NotAPair {
        /// What was being read.
        what: String,
        /// What was found.
        found: String,
        /// The known keys.
        allowed: &'static [&'static str],
    },
    /// A key that is there already.
    #[error("{what}: `{key}` is given twice; keep one")]
    Twice {
        /// What was being read.
        what: String,
        /// The key.
        key: String,
    },
    /// Something that must be there is not.
    #[error("{what} needs {missing}; write one like {example}")]
    Missing {
        /// What was being read.
        what: String,
        /// What it needs.
        missing: &'static str,
        /// A text that would do.
        example: &'static str,
    },
    /// A value that is not of its kind, or that cannot be.
    #[error("{what}: {key}: {problem}")]
    BadValue {
        /// What was being read.
        what: String,
        /// The key, or the place of the value.
        key: String,
        /// What is wrong with it and what to write.
        problem: String,
    },
    /// A trace could not be made.
    #[error("{what}: {source}")]
    Trace {
        /// What was being read.
        what: String,
        /// Why not.
        source: TraceError,
    },
    /// A loss pattern could not be read.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

#[cfg(test)]
mod tests;
