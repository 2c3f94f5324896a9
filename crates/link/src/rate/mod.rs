//! Bottlenecks: a queue and what serves it.

mod constant;
mod generated;
pub(crate) mod opportunities;
mod register;

pub use constant::ConstantRate;
pub use opportunities::TraceRate;
pub use register::RateSpec;
