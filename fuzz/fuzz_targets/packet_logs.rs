//! A packet log.
#![no_main]

use trialwise_emulator::oracles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oracles::packet_logs(bytes));
