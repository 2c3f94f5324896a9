//! Bottlenecks: a queue and what serves it.

mod constant;
mod opportunities;

pub use constant::ConstantRate;
pub use opportunities::TraceRate;
