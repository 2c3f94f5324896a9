//! Delay: fixed, by a trace, with jitter; and the release of packets in batches.

mod batches;
mod lines;
mod register;
mod source;

pub use batches::{BatchSpec, Batches};
pub(crate) use lines::FlowDelay;
pub use lines::{OrderedDelay, ReorderingDelay};
pub use register::DelaySpec;
pub use source::{Delay, Distribution};
