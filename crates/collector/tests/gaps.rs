//! Sequence numbers left out are counted over restarts and kills of the collector, and a status agrees with itself.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use common::process::{end, free_port, run_collector, spawn};
use common::stores::{PostgreSqlServer, config_for, counted, select, start_for};
use common::{finish, header, open, query, scratch, send, start, wait_for};
use trialwise_collector::{Access, Collector, Store, Upstream};

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    run_collector();
}

/// Rows of a client with these numbers.
fn rows(numbers: &[i64]) -> String {
    numbers.iter().map(|number| format!("1\t1\t{number}\t{number}\n")).collect()
}

/// A connection on which rows of sender `s` have been sent.
fn stream(port: u16, numbers: &[i64]) -> TcpStream {
    wait_for("the collector", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    peer.write_all((header("d", "s", &[]) + &rows(numbers)).as_bytes()).unwrap();
    peer
}

fn missing(collector: &Collector, sender: &str) -> Option<u64> {
    let senders = collector.status().senders;
    senders.iter().find(|status| status.sender == sender).map(|status| status.missing)
}

/// Restarts with a client connected, and counts on.
fn counts_on(start: impl Fn() -> Collector) {
    let first = start();
    let peer = stream(first.address().port(), &[1, 2, 5]);
    wait_for("the first rows", || first.counters().rows == 3);
    assert_eq!(missing(&first, "s"), Some(2));
    let _ = first.stop(Duration::from_secs(4));
    drop(peer);
    let second = start();
    let peer = stream(second.address().port(), &[9]);
    send_of(&second, "t", &rows(&[3, 4]));
    wait_for("the rows after", || second.counters().rows == 3);
    assert_eq!((missing(&second, "s"), missing(&second, "t")), (Some(5), Some(0)));
    drop(peer);
    finish(second);
    let third = start();
    let other = header("d", "s", &[]).replace("start-time: 1000", "start-time: 2000");
    send(&third, (other + &rows(&[1, 2, 4])).as_bytes());
    wait_for("another client", || third.counters().rows == 3);
    assert_eq!(missing(&third, "s"), Some(6), "it begins anew, and the sum goes on");
    finish(third);
}

fn send_of(collector: &Collector, sender: &str, rows: &str) {
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    peer.write_all((header("d", sender, &[]) + rows).as_bytes()).unwrap();
}

#[test]
fn a_gap_over_a_restart_is_counted_in_every_store() {
    let folder = scratch("gaps_restart");
    for (store, table) in [("sqlite", true), ("parquet", false)] {
        let place = folder.join(store);
        let store: Store = format!("{store}:{}", place.display()).parse().unwrap();
        counts_on(|| start_for(&store, &place.join(".spool")));
        if table {
            let sql =
                "SELECT oml_sender_id, stream, start_time, last_seq, missing FROM _trialwise_gaps ORDER BY 1";
            assert_eq!(query(&open(&place, "d"), sql), ["1|'app_m'|2000|4|6", "2|'app_m'|1000|4|0"]);
        }
    }
    let Some(server) = PostgreSqlServer::start("gaps") else { return };
    let store = Store::PostgreSql(server.url("postgres"));
    counts_on(|| start_for(&store, &folder.join("postgresql")));
    let kept = select(
        &server.url("postgres"),
        "SELECT last_seq, missing FROM d._trialwise_gaps ORDER BY oml_sender_id",
    );
    assert_eq!(kept.concat().into_iter().flatten().collect::<Vec<_>>(), ["4", "6", "4", "0"]);
}

#[test]
fn a_gap_over_a_restart_is_counted_where_it_forwards() {
    let (behind, before) = (scratch("gaps_behind"), scratch("gaps_before"));
    let far = start(&behind);
    let (host, port) = ("127.0.0.1".to_owned(), far.address().port());
    let upstream = Upstream { host, port, certificate: None, access: Access::default() };
    counts_on(|| Collector::start(config_for(Store::Collector(upstream.clone()), &before)).unwrap());
    assert_eq!(missing(&far, "s"), Some(6), "the other collector counts the same");
    finish(far);
}

fn killed(store: &str, folder: &Path) {
    let (port, parsed): (_, Store) = (free_port(), store.parse().unwrap());
    let mut peers = Vec::new();
    for (numbers, expected) in [(&[1, 2, 5][..], 3), (&[9], 4), (&[10, 12], 6)] {
        let mut child = spawn(folder, port, store);
        peers.push(stream(port, numbers));
        // PostgreSQL makes the schema when the first row comes.
        wait_for("the rows", || counted_if_there(&parsed) == expected);
        end(&mut child, false);
    }
    let collector = start_for(&parsed, &folder.join(".spool"));
    send(&collector, (header("d", "s", &[]) + &rows(&[15])).as_bytes());
    wait_for("the last row", || collector.counters().rows == 1);
    assert_eq!(missing(&collector, "s"), Some(2 + 3 + 1 + 2), "{store}");
    finish(collector);
}

fn counted_if_there(store: &Store) -> usize {
    if let Store::PostgreSql(url) = store
        && select(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'd'").is_empty()
    {
        return 0;
    }
    counted(store, "d", "app_m").0
}

#[test]
fn a_gap_over_a_kill_is_counted() {
    for kind in ["sqlite", "parquet"] {
        let folder = scratch(&format!("gaps_killed_{kind}"));
        killed(&format!("{kind}:{}", folder.display()), &folder);
    }
    let Some(server) = PostgreSqlServer::start("gaps_killed") else { return };
    killed(&server.url("postgres"), &scratch("gaps_killed_postgresql"));
}

#[test]
fn senders_and_collector_count_the_same_rows() {
    let folder = scratch("gaps_counts");
    let collector = start(&folder);
    let metadata = "1\t0\t1\t.\tkey\tvalue\n1\t0\t2\t.\tdomain\tx\n1\t0\t3\t.\tschema\t2 app_late n:int32\n";
    for first in [1, 3] {
        let own = rows(&[first, first + 1]);
        send(
            &collector,
            (header("d", "s", &[]) + metadata + &own + "1\t2\t1\t7\n1\t1\t9\t1\t2\n").as_bytes(),
        );
    }
    assert!(collector.wait_loaded(Duration::from_secs(20)));
    let status = collector.status();
    let [sender] = &status.senders[..] else { panic!("{status:?}") };
    // Of the metadata one row is stored; it came again, and so did what a header or a schema says.
    assert_eq!((status.counters.rows, status.counters.repeated), (7, 1));
    assert_eq!((sender.rows, sender.damaged, sender.missing), (7, 2, 0));
    finish(collector);
}
