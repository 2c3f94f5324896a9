//! Bottlenecks: a queue and what serves it.

mod constant;

pub use constant::ConstantRate;
