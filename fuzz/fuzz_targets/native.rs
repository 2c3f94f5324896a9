//! Anything on a connection that speaks the native protocol.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/streams/tests/common/events.rs"]
mod events;
#[path = "../../crates/streams/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::native(bytes));
