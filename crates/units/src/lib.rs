//! Units shared by every crate of Trialwise: integer time in picoseconds, rates, sizes and seeds.
//!
//! No clock, socket or file is touched here; a caller passes `now` in.

mod parse;
mod rate;
mod seed;
mod size;
mod time;

pub use parse::{ParseQuantityError, parse_fraction};
pub use rate::Rate;
pub use seed::Seed;
pub use size::Bytes;
pub use time::{Duration, Time};
