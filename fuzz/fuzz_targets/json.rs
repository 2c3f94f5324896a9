//! A document of JSON: its long lists, its columns, its numbers.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/json/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::documents(bytes));
