//! Torn and damaged spools, loaders that stop anywhere, databases that go away: no row lost or doubled.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{config, finish, header, open, query, scratch, send, start, wait_for};
use trialwise_collector::Collector;

/// Rows of stream 1 numbered from `first`, and one late stream in the middle.
fn rows(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("1\t1\t{number}\t{number}\n")).collect()
}

fn counted(folder: &Path, domain: &str, table: &str) -> String {
    query(&open(folder, domain), &format!("SELECT count(*), count(DISTINCT n), max(n) FROM {table}"))
        .remove(0)
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join(".spool")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "spool")).collect();
    files.sort();
    files
}

#[test]
fn a_loader_that_stops_anywhere_goes_on_inside_the_row() {
    let many = 200_000; // more than a fast machine loads before it is stopped for the fourth time
    let folder = scratch("anywhere");
    let collector = start(&folder);
    let mut text = header("d", "s", &["1 app_m n:int32"]) + &rows(0, many);
    text += "1\t0\t1\t.\tschema\t2 app_late n:int32\n";
    for number in 0..many {
        text += &format!("1\t2\t{number}\t{number}\n1\t1\t{0}\t{0}\n", number + many);
    }
    send(&collector, text.as_bytes());
    let mut report = collector.stop(Duration::ZERO);
    let mut stops = 1;
    while report.counters.backlog > 0 {
        // Without the note the loader begins at the front, and passes over what the database has.
        let _ = fs::remove_file(folder.join(".spool/loaded"));
        let collector = start(&folder);
        wait_for("some rows", || collector.counters().rows > 0 || collector.counters().backlog == 0);
        report = collector.stop(Duration::ZERO);
        stops += 1;
    }
    println!("{stops} stops");
    assert!(stops > 3, "too fast to be stopped inside");
    assert_eq!(counted(&folder, "d", "app_m"), format!("{0}|{0}|{1}", 2 * many, 2 * many - 1));
    assert_eq!(counted(&folder, "d", "app_late"), format!("{0}|{0}|{1}", many, many - 1));
    assert_eq!(query(&open(&folder, "d"), "SELECT count(*) FROM _trialwise_damaged"), ["0"]);
    assert_eq!(query(&open(&folder, "d"), "SELECT count(*) FROM _trialwise_connections"), ["0"]);
}

#[test]
fn a_torn_end_of_the_spool_is_cut_off_and_the_rest_is_loaded() {
    let folder = scratch("torn");
    // A database that cannot be opened keeps everything in the spool.
    fs::create_dir(folder.join("d.sq3")).unwrap();
    let collector = start(&folder);
    send(&collector, (header("d", "s", &[]) + &rows(0, 1000)).as_bytes());
    send(&collector, (header("d", "s", &[]) + &rows(1000, 1000)).as_bytes());
    let report = collector.stop(Duration::from_millis(100));
    assert!(report.counters.backlog > 0 && report.counters.suspensions > 0);
    let last = segments(&folder).pop().unwrap();
    let whole = fs::read(&last).unwrap();
    fs::remove_dir(folder.join("d.sq3")).unwrap();
    // The last bytes are the record of the second connection's end; before it stand its rows.
    for (cut, expected) in [(0, "2000|2000|1999"), (5, "2000|2000|1999"), (40, "1000|1000|999")] {
        let copy = scratch("torn_copy");
        fs::create_dir(copy.join(".spool")).unwrap();
        fs::copy(folder.join(".spool/lock"), copy.join(".spool/lock")).unwrap();
        let mut torn = whole[..whole.len() - cut].to_vec();
        torn.extend_from_slice(&[0; 3]);
        fs::write(copy.join(".spool").join(last.file_name().unwrap()), torn).unwrap();
        let collector = start(&copy);
        send(&collector, (header("other", "s", &[]) + &rows(0, 1)).as_bytes());
        let counters = finish(collector);
        assert_eq!(counters.spool_damage, 0);
        assert_eq!(counted(&copy, "d", "app_m"), expected, "{cut} bytes cut");
        assert_eq!(counted(&copy, "other", "app_m"), "1|1|0");
    }
}

#[test]
fn a_database_that_cannot_be_written_waits_and_the_others_go_on() {
    let folder = scratch("unwritable");
    fs::write(folder.join("bad.sq3"), "this is no database, whatever its name says").unwrap();
    let collector = start(&folder);
    send(&collector, (header("bad", "s", &[]) + &rows(0, 100)).as_bytes());
    send(&collector, (header("good", "s", &[]) + &rows(0, 100)).as_bytes());
    wait_for("the good domain", || collector.counters().rows == 100);
    assert!(collector.counters().suspensions > 0);
    fs::remove_file(folder.join("bad.sq3")).unwrap();
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.unstorable), (200, 0));
    assert_eq!(counted(&folder, "bad", "app_m"), "100|100|99");
    assert_eq!(counted(&folder, "good", "app_m"), "100|100|99");
}

#[test]
fn a_full_spool_makes_the_client_wait_and_loses_nothing() {
    let folder = scratch("full");
    fs::create_dir(folder.join("d.sq3")).unwrap();
    let mut config = config(&folder);
    config.spool_capacity = 1 << 20;
    let collector = Collector::start(config).unwrap();
    let text = header("d", "s", &[]) + &rows(0, 1_000_000);
    let address = collector.address();
    let sender =
        std::thread::spawn(move || TcpStream::connect(address).unwrap().write_all(text.as_bytes()).unwrap());
    wait_for("a full spool", || collector.counters().backlog >= 1 << 20);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!sender.is_finished(), "the client does not wait");
    assert!(collector.counters().backlog < 2 << 20, "{:?}", collector.counters());
    fs::remove_dir(folder.join("d.sq3")).unwrap();
    sender.join().unwrap();
    wait_for("the end", || collector.counters().open == 0);
    assert_eq!(finish(collector).rows, 1_000_000);
    assert_eq!(counted(&folder, "d", "app_m"), "1000000|1000000|999999");
}

#[test]
fn damage_inside_the_spool_is_counted_and_later_runs_are_loaded() {
    let folder = scratch("rotten");
    fs::create_dir(folder.join("d.sq3")).unwrap();
    for first in [0, 1000, 2000] {
        let collector = start(&folder);
        send(&collector, (header("d", "s", &[]) + &rows(first, 1000)).as_bytes());
        assert!(collector.stop(Duration::ZERO).counters.backlog > 0);
    }
    let middle = segments(&folder).remove(1);
    let mut file = fs::read(&middle).unwrap();
    file[500] ^= 1;
    OpenOptions::new().write(true).open(&middle).unwrap().write_all(&file).unwrap();
    fs::remove_dir(folder.join("d.sq3")).unwrap();
    let counters = finish(start(&folder));
    assert!(counters.spool_damage > 0);
    assert_eq!(counted(&folder, "d", "app_m"), "2000|2000|2999");
}

#[test]
fn a_connection_cut_while_its_database_was_locked_keeps_its_rows() {
    let folder = scratch("locked");
    let collector = start(&folder);
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    peer.write_all((header("d", "s", &[]) + &rows(0, 1000) + "1\t1\t10").as_bytes()).unwrap();
    wait_for("the first rows", || collector.counters().rows == 1000);
    let locker = open(&folder, "d");
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let rest = rows(1000, 1000);
    peer.write_all(rest.strip_prefix("1\t1\t10").unwrap().as_bytes()).unwrap();
    drop(peer);
    wait_for("the end", || collector.counters().open == 0);
    assert!(collector.stop(Duration::ZERO).counters.backlog > 0);
    // The next collector passes its own start in the spool before it can go back for the rows.
    let collector = start(&folder);
    wait_for("a suspension", || collector.counters().suspensions > 0);
    send(&collector, (header("other", "s", &[]) + &rows(0, 1)).as_bytes());
    wait_for("the other domain", || collector.counters().rows == 1);
    locker.execute_batch("ROLLBACK").unwrap();
    let counters = finish(collector);
    assert_eq!((counters.unstorable, counters.all_damaged()), (0, 0));
    assert_eq!(counted(&folder, "d", "app_m"), "2000|2000|1999");
}
