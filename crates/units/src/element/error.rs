//! What is wrong with a text that should be an element.

use std::error::Error;
use std::fmt;

use super::words::suggestion;

/// Text that is no element; the message says what is wrong and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementError {
    /// A word that is not known where it stands.
    UnknownWord {
        /// What the word should be.
        what: String,
        /// The word.
        found: String,
        /// The known word nearest to it, when one is near.
        nearest: Option<&'static str>,
        /// The known words.
        known: Vec<&'static str>,
    },
    /// Something else where key=value should be.
    NotAPair {
        /// What was being read.
        what: String,
        /// What was found.
        found: String,
        /// The known keys.
        known: Vec<&'static str>,
    },
    /// A key that is there already.
    Twice {
        /// What was being read.
        what: String,
        /// The key.
        key: String,
    },
    /// Something that must be there is not.
    Missing {
        /// What was being read.
        what: String,
        /// What it needs.
        missing: &'static str,
        /// A text that would do.
        example: &'static str,
    },
    /// A value that is not of its kind, or that cannot be.
    BadValue {
        /// What was being read.
        what: String,
        /// The key, or the head as it is written.
        key: String,
        /// What is wrong with it and what to write.
        problem: String,
    },
}

impl fmt::Display for ElementError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWord { what, found, nearest, known } => {
                write!(to, "unknown {what} `{found}`{}; known: {}", suggestion(*nearest), known.join(", "))
            }
            Self::NotAPair { what, found, known } if known.is_empty() => {
                write!(to, "{what} takes nothing, not `{found}`")
            }
            Self::NotAPair { what, found, known } => {
                write!(to, "{what}: `{found}` is not key=value; keys: {}", known.join(", "))
            }
            Self::Twice { what, key } => write!(to, "{what}: `{key}` is given twice; keep one"),
            Self::Missing { what, missing, example } => {
                write!(to, "{what} needs {missing}; write one like {example}")
            }
            Self::BadValue { what, key, problem } if key.is_empty() => write!(to, "{what}: {problem}"),
            Self::BadValue { what, key, problem } => write!(to, "{what}: {key}: {problem}"),
        }
    }
}

impl Error for ElementError {}
