//! Delivery traces in mahimahi's format: when a link may send, in whole milliseconds.

mod generate;
mod parse;
mod schedule;
mod tools;

use std::sync::Arc;

use trialwise_units::{Bytes, Duration};

pub use generate::{Cellular, OnOff, Phases};
pub use parse::TraceError;
pub use schedule::{Repeat, Schedule};

/// Traces with more opportunities than this are refused: an hour at 166 Mbit/s.
pub const MAXIMUM_OPPORTUNITIES: usize = 50_000_000;
/// The latest millisecond of a trace (115 days), so that instants fit their type.
pub const MAXIMUM_MILLISECOND: u64 = 10_000_000_000;

/// When a link may send one full packet: milliseconds since the start, in order, the last one above zero.
///
/// A trace of the rate r has r / (12 Mbit/s) opportunities in each millisecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    milliseconds: Arc<[u64]>,
}

impl Trace {
    /// A trace of these opportunities.
    ///
    /// # Errors
    /// None at all, too many, not in order, one beyond [`MAXIMUM_MILLISECOND`], or the last at 0. The error
    /// counts lines from 1.
    pub fn new(milliseconds: Vec<u64>) -> Result<Self, TraceError> {
        parse::check(&milliseconds)?;
        Ok(Self { milliseconds: milliseconds.into() })
    }

    /// The opportunities, in milliseconds since the start.
    pub fn milliseconds(&self) -> &[u64] {
        &self.milliseconds
    }

    /// After what time a repeated trace starts again: its last opportunity.
    pub fn period(&self) -> Duration {
        Duration::from_milliseconds(self.last())
    }

    fn last(&self) -> u64 {
        self.milliseconds.last().copied().unwrap_or(1)
    }
}

/// How many bytes an opportunity carries and what a packet takes of it.
///
/// Both carry one full IP packet of 1500 bytes for each opportunity; they differ for smaller ones and in byte
/// limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteConvention {
    /// As mahimahi documents it: an opportunity of 1500 bytes; a packet takes its IP length.
    #[default]
    Documented,
    /// As mm-link does it: an opportunity of 1504 bytes; a packet takes its IP length and the 4 bytes of
    /// the TUN device's packet information, also in limits of queues.
    Mahimahi,
}

impl ByteConvention {
    /// The bytes that one opportunity carries.
    pub const fn opportunity(self) -> Bytes {
        match self {
            Self::Documented => Bytes::new(1500),
            Self::Mahimahi => Bytes::new(1504),
        }
    }

    /// What each packet takes beyond its IP length.
    pub const fn overhead(self) -> Bytes {
        match self {
            Self::Documented => Bytes::ZERO,
            Self::Mahimahi => Bytes::new(4),
        }
    }
}
