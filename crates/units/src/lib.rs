//! Units shared by every crate of Trialwise: integer time in picoseconds, rates, sizes, seeds and the ECN field.
//!
//! No clock, socket or file is touched here; a caller passes `now` in.

mod decimal;
mod ecn;
pub mod element;
mod parse;
mod rate;
mod seed;
mod size;
mod time;

pub use ecn::Ecn;
pub use parse::{Dimension, ParseQuantityError, parse, parse_float, parse_fraction, parse_share, write};
pub use rate::Rate;
pub use seed::Seed;
pub use size::Bytes;
pub use time::{Duration, Time};
