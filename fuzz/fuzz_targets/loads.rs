//! The load of a flow, and its list.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/protocol/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::loads(bytes));
