//! The compiled programs that are kept are those that the sources make.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use trialwise_kernel_congestion::Algorithm;

/// What compiled the kept ones: other versions make other bytes.
const COMPILER: &str = "14.0.6";

fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn has_same_tools() -> bool {
    ["clang-14", "llvm-strip-14"].iter().all(|tool| version(tool).is_some_and(|text| text.contains(COMPILER)))
}

#[test]
fn compiling_again_gives_the_same_bytes() {
    if !has_same_tools() {
        return eprintln!(
            "skipped: no clang-14 and llvm-strip-14 of version {COMPILER} (packages clang-14, llvm-14)"
        );
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let folder = std::env::temp_dir().join(format!("trialwise-programs-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    assert!(Command::new(programs.join("build.sh")).arg(&folder).status().unwrap().success());
    for algorithm in Algorithm::ALL {
        let name = format!("{}.bpf.o", algorithm.short_name());
        let is_same = fs::read(folder.join(&name)).unwrap() == fs::read(programs.join(&name)).unwrap();
        assert!(
            is_same,
            "{name} is not what its source makes: run crates/kernel-congestion/programs/build.sh"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
