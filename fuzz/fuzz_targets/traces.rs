//! A trace of a link, or a series.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/link/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::traces(bytes));
