//! Frames of the device of an emulated path.
#![no_main]

use trialwise_emulator::oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::packets(bytes));
