//! What fuzzing found worth keeping (`fuzz/corpus`), judged again by the same oracles.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;

use common::oracles;

fn replay(target: &str, oracle: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 10, "only {} inputs", files.len());
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let judged = std::panic::catch_unwind(|| oracle(&bytes));
        assert!(judged.is_ok(), "{}", file.display());
    }
}

#[test]
fn connections_of_oml() {
    replay("oml", oracles::oml);
}

#[test]
fn connections_of_the_native_protocol() {
    replay("native", oracles::native);
}
