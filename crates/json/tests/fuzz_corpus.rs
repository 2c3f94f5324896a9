//! What fuzzing found worth keeping (`fuzz/corpus`), judged again by the same oracles.

#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(dead_code, reason = "each test uses a part")]

#[path = "common/oracles.rs"]
mod oracles;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn json() {
    replay("json", oracles::documents);
}
