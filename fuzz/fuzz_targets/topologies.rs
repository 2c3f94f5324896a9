//! A topology file, and an order of routes.
#![no_main]
#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../crates/simulator/tests/common/oracles.rs"]
mod oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::topologies(bytes));
