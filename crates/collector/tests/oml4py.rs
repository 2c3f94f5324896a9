//! oml4py, a client that was written for the real server.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

mod common;

use std::process::Command;

use common::{finish, open, query, scratch, start, wait_for};

const PROGRAM: &str = r#"
import oml4py, sys
client = oml4py.OMLBase("app", "python", "node", "tcp:" + sys.argv[1])
client.addmp("early", "number:int32 value:double text:string even:bool")
client.start()
for n in range(100):
    client.inject("early", [n, n / 8, "tab\there", n % 2 == 0])
client.inject_metadata("early", "unit", "metre", "value")
client.addmp("late", "number:uint64")
client.inject_metadata("late", "unit", "one", "number")
client.inject("late", [2 ** 63])
client.close()
"#;

/// A Python that has oml4py (`TRIALWISE_OML4PY` names it, else the usual one), or a reason on standard error.
fn python() -> Option<String> {
    let python = std::env::var("TRIALWISE_OML4PY").unwrap_or_else(|_| "python3".to_owned());
    let tried = Command::new(&python).args(["-c", "import oml4py"]).output();
    let found = tried.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!(
            "skipped: {python} has no oml4py; pip install oml4py and name that Python in TRIALWISE_OML4PY"
        );
    }
    found.then_some(python)
}

#[test]
fn oml4py_streams_to_the_collector() {
    let Some(python) = python() else { return };
    let folder = scratch("oml4py");
    let collector = start(&folder);
    let output =
        Command::new(python).args(["-c", PROGRAM, &collector.address().to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait_for("the end", || collector.counters().connections == 1 && collector.counters().open == 0);
    let counters = finish(collector);
    assert_eq!((counters.all_damaged(), counters.unstorable), (0, 0));
    let database = open(&folder, "python");
    let sql = "SELECT count(*), sum(number), sum(value), count(DISTINCT text), sum(even), max(oml_seq) FROM app_early";
    assert_eq!(query(&database, sql), ["100|4950|618.75|1|50|99"]);
    assert_eq!(query(&database, "SELECT text FROM app_early LIMIT 1"), [r"'tab\there'"]);
    assert_eq!(query(&database, "SELECT number FROM app_late"), ["'0x8000000000000000'"]);
    // Both have sequence number 0, which is no reason to drop one.
    let sql = "SELECT subject, key, value FROM _experiment_metadata WHERE subject IS NOT NULL";
    assert_eq!(
        query(&database, sql),
        ["'.app_early.value'|'unit'|'metre'", "'.app_late.number'|'unit'|'one'"]
    );
}
