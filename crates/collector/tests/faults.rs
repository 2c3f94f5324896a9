//! Faults under the stores: killed at any file operation, writes torn, syncs failed, the disk full, a server killed inside a
//! COPY. No row is lost or doubled.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::process::{Ended, end, free_port, run_collector, spawn, spawn_with, stream};
use common::stores::{PostgreSqlServer, config_for, counted, select, start_for};
use common::{PATIENCE, finish, header, scratch, send, wait_for};
use trialwise_collector::{Collector, Store};

const STORE: &str = "TRIALWISE_TEST_STORE";
const SPOOL: &str = "TRIALWISE_TEST_SPOOL";

const ROWS: i64 = 3000;

/// Loads a spool into a store and ends.
#[test]
#[ignore = "the process that the other tests of this file start"]
fn loading_process() {
    let Ok(store) = std::env::var(STORE) else { return };
    let spool = PathBuf::from(std::env::var(SPOOL).unwrap());
    let collector = start_for(&store.parse().unwrap(), &spool);
    assert!(collector.wait_loaded(PATIENCE), "{:?}", collector.troubles());
    assert_eq!(collector.stop(Duration::from_secs(4)).failure, None);
}

/// The library that makes file operations fail, compiled once for all tests of this process: a second compiler would
/// write over what a program of another test is about to load. Nothing, with a reason, where there is no compiler.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARY.get_or_init(compiled_library).as_deref()
}

fn compiled_library() -> Option<PathBuf> {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fault{}.so", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fault.c");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: no C compiler");
        return None;
    }
    Some(library)
}

/// A spool with rows in three streams of two connections, of which nothing is loaded.
fn filled_spool(folder: &Path) -> PathBuf {
    let spool = folder.join("spool");
    let blocked = folder.join("blocked");
    fs::create_dir_all(blocked.join("d.sq3")).unwrap();
    let collector = start_for(&Store::Sqlite(blocked), &spool);
    for (sender, first) in [("a", 0), ("b", ROWS / 2)] {
        let mut text = header("d", sender, &["1 app_m n:int64", "2 app_s n:int64 s:string"]);
        for number in first..first + ROWS / 2 {
            text += &format!("1\t1\t{number}\t{number}\n1\t2\t{number}\t{number}\tx\n");
        }
        text += "1\t1\t7\t1\t2\n1\t0\t1\t.\tkey\tvalue\n";
        send(&collector, text.as_bytes());
    }
    assert!(collector.stop(Duration::ZERO).counters.backlog > 0);
    spool
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Runs the loading process with a fault at operation `count`; whether it ended well.
fn load(library: &Path, store: (&str, &Path), spool: &Path, mode: &str, count: u32) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "loading_process", "--nocapture"]);
    command.env(STORE, format!("{}:{}", store.0, store.1.display())).env(SPOOL, spool);
    // What is lost is the store's; other faults may also hit the spool, whose name begins alike.
    let folder = if mode == "lost" { store.1.join("") } else { store.1.to_owned() };
    command.env("LD_PRELOAD", library).env("TRIALWISE_FAULT_FOLDER", folder);
    command.env("TRIALWISE_FAULT_MODE", mode).env("TRIALWISE_FAULT_COUNT", count.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

fn assert_whole(kind: &str, folder: &Path, what: &str) {
    let store: Store = format!("{kind}:{}", folder.display()).parse().unwrap();
    for table in ["app_m", "app_s"] {
        let expected = (ROWS as usize, ROWS as usize, ROWS * (ROWS - 1) / 2);
        assert_eq!(counted(&store, "d", table), expected, "{what} {table}");
    }
    let all = common::stores::tables(&store, "d");
    assert_eq!(all["_senders"].len(), 2, "{what}");
    assert_eq!(all["_experiment_metadata"].iter().filter(|row| row[3] == "'.'").count(), 2, "{what}");
}

/// A fault at each of the operations (every `step`-th), until there are no more; returns how many were hit.
fn break_everywhere(kind: &str, mode: &str, step: usize) -> u32 {
    let Some(library) = library() else { return u32::MAX };
    let base = scratch(&format!("faults_{kind}_{mode}"));
    let filled = filled_spool(&base);
    let mut hit = 0;
    for count in (1..500).step_by(step) {
        let (store, spool) = (base.join(format!("{count}")), base.join(format!("{count}.spool")));
        copy_folder(&filled, &spool);
        let ended_well = load(library, (kind, &store), &spool, mode, count);
        // Without the note the loader begins at the front, and passes over what the store has.
        let _ = fs::remove_file(spool.join("loaded"));
        let collector = start_for(&format!("{kind}:{}", store.display()).parse().unwrap(), &spool);
        assert!(collector.wait_loaded(PATIENCE), "{:?}", collector.troubles());
        finish(collector);
        assert_whole(kind, &store, &format!("{kind} {mode} {count}"));
        if ended_well && matches!(mode, "kill" | "torn") {
            break;
        }
        hit += 1;
        if !matches!(mode, "kill" | "torn") && hit == 4 {
            break;
        }
    }
    println!("{kind} {mode}: {hit} operations");
    hit
}

#[test]
fn parquet_killed_at_any_file_operation_goes_on() {
    assert!(break_everywhere("parquet", "kill", 5) > 3);
}

#[test]
fn parquet_with_torn_writes_goes_on() {
    assert!(break_everywhere("parquet", "torn", 9) > 1);
}

#[test]
fn parquet_after_failed_operations_goes_on() {
    assert_eq!(break_everywhere("parquet", "eio", 7).min(4), 4);
    assert_eq!(break_everywhere("parquet", "enospc", 7).min(4), 4);
}

#[test]
fn sqlite_killed_at_any_file_operation_goes_on() {
    assert!(break_everywhere("sqlite", "kill", 37) > 1);
}

#[test]
fn sqlite_after_failed_operations_goes_on() {
    assert_eq!(break_everywhere("sqlite", "eio", 7).min(4), 4);
    assert_eq!(break_everywhere("sqlite", "enospc", 7).min(4), 4);
}

#[test]
fn what_a_failed_sync_lost_is_stored_again() {
    for kind in ["parquet", "sqlite"] {
        assert_eq!(break_everywhere(kind, "lost", 3).min(4), 4);
    }
}

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    run_collector();
}

/// What a collector answers to a request for its status: nothing when its spool has failed.
fn status(port: u16) -> String {
    let mut answer = String::new();
    if let Ok(mut peer) = TcpStream::connect(("127.0.0.1", port)) {
        let _ =
            peer.write_all(b"GET /status HTTP/1.1\r\n\r\n").and_then(|()| peer.read_to_string(&mut answer));
    }
    answer
}

/// What was acknowledged is on disk: a sync of the spool fails and its bytes are lost, and native clients send them again.
#[test]
fn a_spool_whose_sync_fails_acknowledges_nothing_that_is_lost() {
    let Some(library) = library() else { return };
    for count in ["1", "4", "9", "30"] {
        let (folder, port) = (scratch("faults_spool"), free_port());
        let store = format!("sqlite:{}", folder.display());
        let spool = folder.join(".spool");
        let fault = [
            ("LD_PRELOAD", library.to_str().unwrap()),
            ("TRIALWISE_FAULT_FOLDER", spool.to_str().unwrap()),
            ("TRIALWISE_FAULT_MODE", "lost"),
            ("TRIALWISE_FAULT_COUNT", count),
        ];
        let over = AtomicBool::new(false);
        let mut child = spawn_with(&folder, port, &store, &fault);
        let injected = thread::scope(|scope| {
            let _ended = Ended(&over);
            let stream = scope.spawn(|| stream(port, "s", 5000, &over));
            // How long it takes to begin, and to come to that sync, depends on the disk and on what else runs.
            let mut ended = || child.try_wait().unwrap().is_some();
            wait_for("it listens", || ended() || TcpStream::connect(("127.0.0.1", port)).is_ok());
            wait_for(&format!("sync {count} fails"), || ended() || status(port).is_empty());
            end(&mut child, false);
            child = spawn(&folder, port, &store);
            thread::sleep(Duration::from_millis(300));
            over.store(true, Ordering::Relaxed);
            stream.join().unwrap()
        });
        end(&mut child, true);
        let store = store.parse().unwrap();
        finish(start_for(&store, &spool));
        let rows = usize::try_from(injected).unwrap();
        assert_eq!(
            counted(&store, "restarts", "app_m"),
            (rows, rows, injected * (injected - 1) / 2),
            "{count}"
        );
    }
}

#[test]
#[ignore = "soak: some minutes of processes that are killed at each file operation"]
fn every_store_killed_at_every_file_operation_goes_on() {
    for (kind, mode) in [("parquet", "kill"), ("parquet", "torn"), ("sqlite", "kill"), ("sqlite", "torn")] {
        assert!(break_everywhere(kind, mode, 1) > 20);
    }
}

#[test]
fn a_second_collector_of_a_parquet_domain_waits() {
    let folder = scratch("faults_second");
    let store = Store::Parquet(folder.join("store"));
    let first = start_for(&store, &folder.join("one"));
    let second = start_for(&store, &folder.join("two"));
    send(&first, (header("d", "a", &[]) + "1\t1\t1\t1\n").as_bytes());
    wait_for("the first row", || first.counters().rows == 1);
    send(&second, (header("d", "b", &[]) + "1\t1\t1\t2\n").as_bytes());
    wait_for("a trouble", || !second.troubles().is_empty());
    assert!(second.troubles()["d"].contains("another collector"), "{:?}", second.troubles());
    finish(first);
    finish(second);
    assert_eq!(counted(&store, "d", "app_m"), (2, 2, 3));
}

#[test]
fn two_collectors_share_a_domain_of_postgresql() {
    let Some(server) = PostgreSqlServer::start("two") else { return };
    let folder = scratch("faults_two");
    let store = Store::PostgreSql(server.url("postgres"));
    let collectors = ["one", "two"].map(|name| start_for(&store, &folder.join(name)));
    for (first, collector) in (0..).step_by(1000).zip(&collectors) {
        let rows: String =
            (first..first + 1000).map(|number| format!("1\t1\t{number}\t{number}\n")).collect();
        send(collector, (header("d", &format!("s{first}"), &[]) + &rows).as_bytes());
    }
    let rows = collectors.map(|collector| finish(collector).rows);
    assert_eq!(rows, [1000, 1000]);
    assert_eq!(counted(&store, "d", "app_m"), (2000, 2000, 1_999_000));
    assert_eq!(common::stores::tables(&store, "d")["_senders"].len(), 2);
}

/// Makes every row of a COPY take a millisecond.
const SLOW: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE INSERT ON d.app_m FOR EACH ROW EXECUTE FUNCTION slow()";
const FAST: &str = "DROP TRIGGER slow ON d.app_m; DROP FUNCTION slow";

#[test]
fn postgresql_killed_inside_a_copy_gets_every_row_once() {
    let Some(mut server) = PostgreSqlServer::start("killed") else { return };
    let folder = scratch("faults_killed");
    let url = server.url("postgres");
    let store = Store::PostgreSql(url.clone());
    let collector = start_for(&store, &folder);
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    let mut send = |first: i64| {
        let rows: String =
            (first..first + 10_000).map(|number| format!("1\t1\t{number}\t{number}\n")).collect();
        let text = if first == 0 { header("d", "s", &["1 app_m n:int64"]) + &rows } else { rows };
        peer.write_all(text.as_bytes()).unwrap();
    };
    send(0);
    for kill in 1..=3 {
        wait_for("the rows before", || collector.counters().rows == kill as u64 * 10_000);
        select(&url, SLOW);
        send(kill * 10_000);
        let inside = "SELECT 1 FROM pg_stat_progress_copy WHERE tuples_processed BETWEEN 100 AND 9000";
        wait_for("a COPY", || !select(&url, inside).is_empty());
        server.kill();
        wait_for("a suspension", || collector.counters().suspensions >= kill as u64);
        server.launch();
        select(&url, FAST);
    }
    drop(peer);
    wait_for("the end", || collector.counters().open == 0);
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.unstorable, counters.all_damaged()), (40_000, 0, 0));
    assert_eq!(counted(&store, "d", "app_m"), (40_000, 40_000, 799_980_000));
}

#[test]
fn a_server_that_hangs_does_not_keep_the_collector_from_ending() {
    let Some(server) = PostgreSqlServer::start("hangs") else { return };
    let folder = scratch("faults_hangs");
    let store = Store::PostgreSql(server.url("postgres"));
    let collector = Collector::start(config_for(store.clone(), &folder)).unwrap();
    send(&collector, (header("d", "s", &[]) + "1\t1\t1\t1\n").as_bytes());
    wait_for("a row", || collector.counters().rows == 1);
    server.pause(true);
    send(&collector, (header("d", "s", &[]) + "1\t1\t2\t2\n").as_bytes());
    thread::sleep(Duration::from_millis(200));
    let stopping = std::time::Instant::now();
    assert!(collector.stop(Duration::from_secs(1)).counters.backlog > 0);
    assert!(stopping.elapsed() < Duration::from_secs(20), "{:?}", stopping.elapsed());
    server.pause(false);
    finish(start_for(&store, &folder));
    assert_eq!(counted(&store, "d", "app_m"), (2, 2, 3));
}
