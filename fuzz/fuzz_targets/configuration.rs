//! A file that says what is streamed where.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/streams/tests/common/events.rs"]
mod events;
#[path = "../../crates/streams/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::configuration(bytes));
