//! Reading and writing mahimahi's trace format: one millisecond per line.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::trace::{MAXIMUM_MILLISECOND, MAXIMUM_OPPORTUNITIES, Trace};

/// What is wrong with a trace, in which line, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// No opportunity at all.
    #[error(
        "the trace is empty; write one line for each packet that may leave, with its millisecond (a single `1` is 12 Mbit/s)"
    )]
    Empty,
    /// A line without a number.
    #[error("line {line} of the trace is blank; delete it")]
    Blank {
        /// Counted from 1.
        line: usize,
    },
    /// A line that is not a whole number.
    #[error("line {line} of the trace is `{text}`, not a whole number of milliseconds; {hint}")]
    NotANumber {
        /// Counted from 1.
        line: usize,
        /// The line, shortened.
        text: String,
        /// What to try.
        hint: &'static str,
    },
    /// A number below zero.
    #[error(
        "line {line} of the trace is negative (`{text}`); shift the trace so that it starts at 0 or later"
    )]
    Negative {
        /// Counted from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// A time before the one above.
    #[error("line {line} of the trace goes back in time ({next} after {previous}); sort it: `sort -n TRACE`")]
    Unsorted {
        /// Counted from 1.
        line: usize,
        /// The time of the line before.
        previous: u64,
        /// The time of this line.
        next: u64,
    },
    /// A time beyond the limit.
    #[error(
        "line {line} of the trace is beyond {MAXIMUM_MILLISECOND} ms (115 days); are its times milliseconds since the start?"
    )]
    TooLate {
        /// Counted from 1.
        line: usize,
    },
    /// Too many opportunities.
    #[error(
        "the trace has more than {MAXIMUM_OPPORTUNITIES} lines (line {line}); cut it, or use a constant rate"
    )]
    TooLong {
        /// Counted from 1.
        line: usize,
    },
    /// Too many phases of a made trace.
    #[error(
        "the trace would have more than {MAXIMUM_OPPORTUNITIES} phases; make them longer, or the trace shorter"
    )]
    Phases,
    /// The last opportunity is at 0, so that a repetition would take no time.
    #[error(
        "line {line}, the last of the trace, is 0, so that its repetition would take no time; end it with the millisecond after which it starts again"
    )]
    NoPeriod {
        /// Counted from 1.
        line: usize,
    },
}

/// Checks opportunities as the lines of a file.
pub(super) fn check(milliseconds: &[u64]) -> Result<(), TraceError> {
    let last = *milliseconds.last().ok_or(TraceError::Empty)?;
    if milliseconds.len() > MAXIMUM_OPPORTUNITIES {
        return Err(TraceError::TooLong { line: MAXIMUM_OPPORTUNITIES + 1 });
    }
    if let Some(index) = milliseconds.windows(2).position(|pair| pair[1] < pair[0]) {
        let (previous, next) = (milliseconds[index], milliseconds[index + 1]);
        return Err(TraceError::Unsorted { line: index + 2, previous, next });
    }
    if let Some(index) = milliseconds.iter().position(|time| *time > MAXIMUM_MILLISECOND) {
        return Err(TraceError::TooLate { line: index + 1 });
    }
    if last == 0 {
        return Err(TraceError::NoPeriod { line: milliseconds.len() });
    }
    Ok(())
}

impl FromStr for Trace {
    type Err = TraceError;

    /// Reads the lines of a trace file; spaces and carriage returns around a number are passed over.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut milliseconds = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if index == MAXIMUM_OPPORTUNITIES {
                return Err(TraceError::TooLong { line: index + 1 });
            }
            milliseconds.push(parse_line(index + 1, line.trim())?);
        }
        Self::new(milliseconds)
    }
}

fn parse_line(line: usize, text: &str) -> Result<u64, TraceError> {
    if text.is_empty() {
        return Err(TraceError::Blank { line });
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| TraceError::TooLate { line });
    }
    let shown: String = text.chars().take(40).collect();
    if text.starts_with('-') && text[1..].starts_with(|digit: char| digit.is_ascii_digit()) {
        return Err(TraceError::Negative { line, text: shown });
    }
    Err(TraceError::NotANumber { line, text: shown, hint: hint_for(text) })
}

fn hint_for(text: &str) -> &'static str {
    if text.starts_with('#') {
        "the format has no comments: delete the line"
    } else if text.contains(|separator: char| separator.is_whitespace() || separator == ',') {
        "keep one column only, one number in each line"
    } else if text.parse::<f64>().is_ok() {
        "round it"
    } else {
        "write digits only"
    }
}

impl fmt::Display for Trace {
    /// Writes the trace as a file's text, one line for each opportunity.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.milliseconds().iter().try_for_each(|time| writeln!(formatter, "{time}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(text: &str) -> String {
        text.parse::<Trace>().unwrap_err().to_string()
    }

    #[test]
    fn bad_traces_are_refused_with_their_line_and_what_to_try() {
        assert!(message("").starts_with("the trace is empty; write one line"));
        assert_eq!(message("1\n\n2\n"), "line 2 of the trace is blank; delete it");
        assert_eq!(
            message("1\n5\n3\n"),
            "line 3 of the trace goes back in time (3 after 5); sort it: `sort -n TRACE`"
        );
        assert!(message("1\n-2\n").starts_with("line 2 of the trace is negative (`-2`)"));
        assert!(message("# a comment\n1\n").ends_with("delete the line"));
        assert!(message("1.5\n").ends_with("round it"));
        assert!(message("1 1504\n").ends_with("one number in each line"));
        assert!(message("one\n").ends_with("write digits only"));
        assert!(message("0\n0\n").starts_with("line 2, the last of the trace, is 0"));
        assert!(message("10000000001\n").starts_with("line 1 of the trace is beyond"));
        assert!(message("99999999999999999999999\n").starts_with("line 1 of the trace is beyond"));
        assert!(message("-é\n").ends_with("write digits only"));
    }

    #[test]
    fn windows_line_ends_are_read() {
        assert_eq!("0\r\n7\r\n".parse::<Trace>().unwrap().milliseconds(), [0, 7]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(mut times in prop::collection::vec(0_u64..1_000_000, 1..200)) {
            times.sort_unstable();
            times.push(1_000_000);
            let trace = Trace::new(times).unwrap();
            prop_assert_eq!(trace.to_string().parse::<Trace>().unwrap(), trace);
        }

        #[test]
        fn no_text_panics(text in "[0-9\\-#. \n\r]{0,40}|.*") {
            let _ = text.parse::<Trace>();
        }
    }
}
