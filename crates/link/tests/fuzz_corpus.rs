//! What fuzzing found worth keeping (`fuzz/corpus`), judged again by the same oracles.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "common/oracles.rs"]
mod oracles;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn traces() {
    replay("traces", oracles::traces);
}

#[test]
fn links() {
    replay("links", oracles::links);
}
