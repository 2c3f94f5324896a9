//! Delay: fixed, by a trace, with jitter; and the release of packets in batches.

mod batches;
mod lines;
mod source;

pub use batches::Batches;
pub use lines::{OrderedDelay, ReorderingDelay};
pub use source::{Delay, Distribution};
