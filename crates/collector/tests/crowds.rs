//! More connections than there are places: those that say nothing keep nobody out. And files that are copied while rows come.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{config, finish, header, open, query, scratch, send, wait_for};
use trialwise_collector::{Collector, Refusal};

fn status(collector: &Collector) -> String {
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    peer.write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_crowd_that_says_nothing_keeps_out_neither_a_status_nor_a_sender() {
    let folder = scratch("crowd");
    let mut config = config(&folder);
    config.connections = 5;
    let collector = Collector::start(config).unwrap();
    // Silent, inside the header, inside TLS's hello, inside the native hello.
    let beginnings: [&[u8]; 4] = [b"", b"protocol: 4\ndomain: x\n", b"\x16\x03", b"\x93"];
    let crowd: Vec<_> = (0..400)
        .map(|number| {
            let mut peer = TcpStream::connect(collector.address()).unwrap();
            let _ = peer.write_all(beginnings[number % beginnings.len()]);
            peer
        })
        .collect();
    assert!(status(&collector).starts_with("HTTP/1.1 200 OK"));
    let mut sender = TcpStream::connect(collector.address()).unwrap();
    sender.write_all((header("d", "s", &[]) + "1\t1\t1\t7\n").as_bytes()).unwrap();
    wait_for("the row", || collector.counters().rows == 1);
    assert!(collector.counters().refused_for(Refusal::Late) > 200, "{:?}", collector.counters());
    drop((crowd, sender));
    finish(collector);
}

#[test]
fn those_who_are_slow_to_speak_stay_while_there_are_places() {
    let folder = scratch("slow");
    let mut config = config(&folder);
    config.connections = 300; // more than the lobby has seats
    let collector = Collector::start(config).unwrap();
    let mut peers: Vec<_> = (0..300).map(|_| TcpStream::connect(collector.address()).unwrap()).collect();
    wait_for("all of them", || collector.counters().open == 300);
    std::thread::sleep(Duration::from_millis(500)); // beyond the grace of who has just come
    for (number, peer) in peers.iter_mut().enumerate() {
        let row = format!("1\t1\t1\t{number}\n");
        peer.write_all((header("d", &format!("s{number}"), &[]) + &row).as_bytes()).unwrap();
    }
    wait_for("all rows", || collector.counters().rows == 300);
    assert_eq!(collector.counters().refused, 0);
    drop(peers);
    finish(collector);
}

#[test]
fn a_sender_waits_for_a_place_and_the_status_is_told_meanwhile() {
    let folder = scratch("places");
    let mut config = config(&folder);
    config.connections = 2;
    let collector = Collector::start(config).unwrap();
    let connect = |number: usize| {
        let mut peer = TcpStream::connect(collector.address()).unwrap();
        let row = format!("1\t1\t1\t{number}\n");
        peer.write_all((header("d", &format!("s{number}"), &[]) + &row).as_bytes()).unwrap();
        peer
    };
    let mut first = vec![connect(0), connect(1)];
    wait_for("the first rows", || collector.counters().rows == 2);
    let third = connect(2);
    assert!(status(&collector).starts_with("HTTP/1.1 200 OK"));
    assert_eq!(collector.counters().rows, 2);
    first.pop();
    wait_for("the third row", || collector.counters().rows == 3);
    drop((first, third));
    finish(collector);
}

/// Rows of a copy of the file alone, as scp makes it.
fn copied(folder: &std::path::Path) -> Option<Vec<String>> {
    let copy = folder.join("copy.sq3");
    std::fs::copy(folder.join("d.sq3"), &copy).unwrap();
    let database = rusqlite::Connection::open(&copy).unwrap();
    let found = database
        .query_row("SELECT count(*) FROM sqlite_master WHERE name = 'app_m'", [], |row| row.get::<_, i64>(0));
    let rows = (found == Ok(1)).then(|| query(&database, "SELECT count(*) FROM app_m"));
    drop(database);
    for name in ["copy.sq3", "copy.sq3-wal", "copy.sq3-shm"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
    rows
}

#[test]
fn a_copied_file_has_what_was_committed_and_needs_nothing_beside_it() {
    let folder = scratch("copied");
    let collector = Collector::start(config(&folder)).unwrap();
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    peer.write_all((header("d", "s", &[]) + "1\t1\t1\t1\n").as_bytes()).unwrap();
    // The client stays, and says nothing more.
    wait_for("a copy with the row", || {
        folder.join("d.sq3").exists() && copied(&folder) == Some(vec!["1".to_owned()])
    });
    // While somebody reads, the file keeps its log; afterwards, no log is needed to read it.
    let reader = open(&folder, "d");
    assert_eq!(query(&reader, "SELECT count(*) FROM app_m"), ["1"]);
    peer.write_all(b"1\t1\t2\t2\n").unwrap();
    drop(peer);
    wait_for("the second row", || query(&reader, "SELECT count(*) FROM app_m") == ["2"]);
    drop(reader);
    let is_plain = || {
        let head = std::fs::read(folder.join("d.sq3")).unwrap();
        head[18..20] == [1, 1] && !folder.join("d.sq3-wal").exists() // SQLite's file format, 1.3.3
    };
    wait_for("a file without a log", is_plain);
    assert_eq!(copied(&folder), Some(vec!["2".to_owned()]));
    let began = Instant::now();
    send(&collector, (header("d", "s", &[]) + "1\t1\t3\t3\n").as_bytes());
    finish(collector);
    assert!(is_plain() && began.elapsed() < Duration::from_secs(30));
    assert_eq!(copied(&folder), Some(vec!["3".to_owned()]));
}
