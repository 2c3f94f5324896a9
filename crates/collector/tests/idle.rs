//! Thousands of clients that say little. In a file of its own: nothing else runs in the process, so what its threads waited for
//! processors is what the collector and its reader waited.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{config, header, open, query, scratch, wait_for, waited_for_processors};
use trialwise_collector::{Collector, Config};

/// Rows are visible to readers after so long at the latest.
const VISIBLE: Duration = Duration::from_secs(1);

#[test]
fn idle_clients_stay_and_their_rows_are_visible_within_a_second() {
    let folder = scratch("idle");
    let mut config = config(&folder);
    config.commit = Config::new(config.store.clone()).commit; // as it is for users
    let collector = Collector::start(config).unwrap();
    let connect = |number: usize| {
        let mut peer = TcpStream::connect(collector.address()).unwrap();
        peer.write_all(header("d", &format!("s{number}"), &[]).as_bytes()).unwrap();
        peer
    };
    let mut peers: Vec<_> = (0..2000).map(connect).collect();
    for peer in &mut peers {
        peer.write_all(b"1\t1\t1\t").unwrap();
    }
    wait_for("the table", || {
        let made = "SELECT count(*) FROM sqlite_master WHERE name = 'app_m'";
        query(&open(&folder, "d"), made) == ["1"] && collector.counters().backlog == 0
    });
    let reader = open(&folder, "d");
    for peer in &mut peers {
        peer.write_all(b"5\n").unwrap();
    }
    let (sent, waited) = (Instant::now(), waited_for_processors());
    wait_for("the rows", || query(&reader, "SELECT count(*), sum(n) FROM app_m") == ["2000|10000"]);
    // What other programs took of the processors is not ours; on a machine without them it is nothing.
    let (took, waited) = (sent.elapsed(), waited_for_processors().saturating_sub(waited));
    assert!(took < VISIBLE + waited, "{took:?}, of it {waited:?} without a processor");
    assert_eq!(collector.counters().open, 2000);
    let stopping = Instant::now();
    let report = collector.stop(Duration::from_secs(4));
    assert!(stopping.elapsed() < Duration::from_secs(10));
    assert_eq!((report.counters.backlog, report.counters.rows), (0, 2000));
}
