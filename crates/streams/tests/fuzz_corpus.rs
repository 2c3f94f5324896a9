//! What fuzzing found worth keeping (`fuzz/corpus`), judged again by the same oracles.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use common::oracles;
use replay::replay;

#[test]
fn connections_of_oml() {
    replay("oml", oracles::oml);
}

#[test]
fn connections_of_the_native_protocol() {
    replay("native", oracles::native);
}

#[test]
fn configurations() {
    replay("configuration", oracles::configuration);
}
