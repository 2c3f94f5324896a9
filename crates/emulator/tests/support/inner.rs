//! Tests that run as programs of their own, and what is left of them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Set in the environment of tests that others run.
const INNER: &str = "TRIALWISE_EMULATOR_INNER";
/// Set in the environment of what is killed, and so of all that it starts.
pub const MARK: &str = "TRIALWISE_EMULATOR_TEST";

/// This very program as one that runs only the ignored test of that name.
pub fn own_test(mut command: Command, name: &str) -> Command {
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]).env(INNER, "1");
    command
}

/// Whether another test runs this one.
pub fn is_inner() -> bool {
    std::env::var_os(INNER).is_some()
}

/// Processes that are in one of these namespaces, or whose memory or devices hang on them.
pub fn processes_in(namespaces: &BTreeSet<String>) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let inside = processes.filter(|process| {
        ["net", "pid"].iter().any(|kind| {
            let link = fs::read_link(process.path().join("ns").join(kind)).unwrap_or_default();
            namespaces.contains(&*link.to_string_lossy())
        })
    });
    inside.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// Processes that have the mark with this value.
pub fn processes_marked(value: &str) -> Vec<String> {
    let mark = format!("{MARK}={value}");
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let marked = processes.filter(|process| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    });
    marked.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
