//! What the tests of this crate share: a collector in a scratch folder, and what its databases hold.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "each test file uses a part"
)]

pub mod certificates;
pub mod process;
pub mod stores;

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use trialwise_collector::{Collector, Config, Counters, Store};

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The folder of recorded streams, or a reason on standard error.
pub fn recorded() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/oml"));
    let found = folder.join("MANIFEST.json").exists().then_some(folder);
    if found.is_none() {
        eprintln!("skipped: no ../shared/data/oml beside the repository");
    }
    found
}

/// An empty folder.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub fn config(folder: &Path) -> Config {
    let mut config = Config::new(Store::Sqlite(folder.to_owned()));
    config.listen.set_port(0);
    config.commit = Duration::from_millis(20);
    config
}

pub fn start(folder: &Path) -> Collector {
    Collector::start(config(folder)).unwrap()
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let stop = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < stop, "waited for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// How long the threads of this process were ready to run and had no processor, together.
pub fn waited_for_processors() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let waited = |task: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?; // one that ended meanwhile
        text.split(' ').nth(1)?.parse().ok()
    };
    Duration::from_nanos(tasks.filter_map(waited).sum())
}

/// Sends bytes on a connection of their own and waits until the collector has taken them.
pub fn send(collector: &Collector, bytes: &[u8]) {
    let before = collector.counters().connections;
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    let _ = peer.write_all(bytes); // a refused client may not get rid of all
    drop(peer);
    wait_for("the end of a connection", || {
        let counters = collector.counters();
        counters.connections > before && counters.open == 0
    });
}

/// Stops when everything is loaded.
pub fn finish(collector: Collector) -> Counters {
    assert!(collector.wait_loaded(PATIENCE), "{:?}", collector.counters());
    let report = collector.stop(Duration::from_secs(4));
    assert_eq!((report.failure, report.counters.backlog), (None, 0));
    report.counters
}

pub fn open(folder: &Path, domain: &str) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.join(format!("{domain}.sq3"))).unwrap()
}

/// The results of a query, as text; every value shows its type, doubles all their digits.
pub fn query(database: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    let columns = statement.column_count();
    let show = |value: ValueRef<'_>| match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => format!("{value:?}"),
        ValueRef::Text(text) => format!("'{}'", text.escape_ascii()),
        ValueRef::Blob(bytes) => format!("x'{}'", bytes.escape_ascii()),
    };
    let rows = statement.query_map([], |row| {
        let values: Vec<_> = (0..columns).map(|index| show(row.get_ref(index).unwrap())).collect();
        Ok(values.join("|"))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// A header of one stream, `1 app_m n:int32` unless other schemas are given.
pub fn header(domain: &str, sender: &str, schemas: &[&str]) -> String {
    let schemas = if schemas.is_empty() { &["1 app_m n:int32"] } else { schemas };
    let lines: String = schemas.iter().map(|schema| format!("schema: {schema}\n")).collect();
    format!(
        "protocol: 5\ndomain: {domain}\nstart-time: 1000\nsender-id: {sender}\napp-name: app\n{lines}content: text\n\n"
    )
}
