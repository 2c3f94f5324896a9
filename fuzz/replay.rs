//! What fuzzing found worth keeping, judged again by the same oracle: in `cargo test`, without a fuzzer.

/// Judges every input of a target's corpus.
pub(crate) fn replay(target: &str, oracle: fn(&[u8])) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 10, "only {} inputs", files.len());
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let judged = std::panic::catch_unwind(|| oracle(&bytes));
        assert!(judged.is_ok(), "{}", file.display());
    }
}
