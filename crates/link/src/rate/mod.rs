//! Bottlenecks: a queue and what serves it.

mod bucket;
mod constant;
mod generated;
pub(crate) mod opportunities;
mod register;
pub(crate) mod steps;

pub use constant::ConstantRate;
pub use opportunities::TraceRate;
pub use register::RateSpec;
pub(crate) use register::{DeclaredRate, Server};
