//! Faults under the stores: killed at any file operation, writes torn, syncs failed, the disk full, a server killed inside a
//! COPY. No row is lost or doubled.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::stores::{PostgreSqlServer, config_for, counted, start_for};
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

/// The library that makes file operations fail; nothing, with a reason, where there is no compiler.
fn library() -> Option<PathBuf> {
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
        text += "1\t1\t7\tjunk\n1\t0\t1\t.\tkey\tvalue\n";
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
    command.env("LD_PRELOAD", library).env("TRIALWISE_FAULT_FOLDER", store.1);
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
        let ended_well = load(&library, (kind, &store), &spool, mode, count);
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
        if !matches!(mode, "kill" | "torn") && hit == 8 {
            break;
        }
    }
    println!("{kind} {mode}: {hit} operations");
    hit
}

#[test]
fn parquet_killed_at_any_file_operation_goes_on() {
    assert!(break_everywhere("parquet", "kill", 1) > 20);
}

#[test]
fn parquet_with_torn_writes_goes_on() {
    assert!(break_everywhere("parquet", "torn", 3) > 5);
}

#[test]
fn parquet_after_failed_operations_goes_on() {
    assert_eq!(break_everywhere("parquet", "eio", 5).min(8), 8);
    assert_eq!(break_everywhere("parquet", "enospc", 5).min(8), 8);
}

#[test]
fn sqlite_killed_at_any_file_operation_goes_on() {
    assert!(break_everywhere("sqlite", "kill", 2) > 10);
}

#[test]
fn sqlite_after_failed_operations_goes_on() {
    assert_eq!(break_everywhere("sqlite", "eio", 5).min(8), 8);
    assert_eq!(break_everywhere("sqlite", "enospc", 5).min(8), 8);
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
    collectors.into_iter().for_each(|collector| drop(finish(collector)));
    assert_eq!(counted(&store, "d", "app_m"), (2000, 2000, 1_999_000));
    assert_eq!(common::stores::tables(&store, "d")["_senders"].len(), 2);
}

#[test]
fn postgresql_killed_inside_a_copy_gets_every_row_once() {
    let Some(mut server) = PostgreSqlServer::start("killed") else { return };
    let folder = scratch("faults_killed");
    let store = Store::PostgreSql(server.url("postgres"));
    let collector = start_for(&store, &folder);
    let address = collector.address();
    let rows = 400_000_i64;
    let sender = thread::spawn(move || {
        let mut peer = std::net::TcpStream::connect(address).unwrap();
        let mut send = |text: &str| std::io::Write::write_all(&mut peer, text.as_bytes()).unwrap();
        send(&header("d", "s", &["1 app_m n:int64"]));
        for chunk in 0..rows / 1000 {
            send(
                &(chunk * 1000..(chunk + 1) * 1000).map(|n| format!("1\t1\t{n}\t{n}\n")).collect::<String>(),
            );
            thread::sleep(Duration::from_millis(10));
        }
    });
    for pause in [700, 400, 900] {
        thread::sleep(Duration::from_millis(pause));
        let before = collector.counters().rows;
        server.kill();
        thread::sleep(Duration::from_millis(300));
        server.launch();
        wait_for("rows after the kill", || collector.counters().rows > before);
    }
    sender.join().unwrap();
    wait_for("the end", || collector.counters().open == 0);
    let counters = finish(collector);
    assert!(counters.suspensions >= 3, "{counters:?}");
    assert_eq!((counters.unstorable, counters.all_damaged()), (0, 0));
    assert_eq!(counted(&store, "d", "app_m"), (rows as usize, rows as usize, rows * (rows - 1) / 2));
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
    assert!(stopping.elapsed() < Duration::from_secs(5), "{:?}", stopping.elapsed());
    server.pause(false);
    finish(start_for(&store, &folder));
    assert_eq!(counted(&store, "d", "app_m"), (2, 2, 3));
}
