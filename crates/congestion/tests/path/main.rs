//! Controllers over a deterministic emulated path: real packets of nothing, acknowledged one by one.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bbr;
mod c4;
mod flow;
mod learning;
mod loss;
mod network;
mod saturating;
mod sharing;
mod single;
