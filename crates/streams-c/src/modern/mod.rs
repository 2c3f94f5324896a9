//! The calls of `trialwise/streams.h`.

mod error;
mod point;
mod session;
mod value;
