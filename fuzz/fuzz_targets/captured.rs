//! The bytes of a frame that an interface gave.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/capture/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::captured(bytes));
