//! A time, a rate, a size or a share.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/units/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::quantities(bytes));
