//! Native clients lose and double nothing while their collector is ended and killed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::process::{Ended, end, free_port, run_collector, spawn, stream};
use common::stores::{PostgreSqlServer, start_for, tables};
use common::{finish, scratch};

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    run_collector();
}

fn restart_under_load(store: &str, restarts: u32, rate: u64, up: Duration) {
    let folder = scratch(&format!("restarts_{}_{restarts}", store.split(':').next().unwrap()));
    let store = if store.contains(':') { store.to_owned() } else { format!("{store}:{}", folder.display()) };
    let port = free_port();
    let over = AtomicBool::new(false);
    let mut child = spawn(&folder, port, &store);
    let senders = ["one", "two"];
    let injected: Vec<i64> = thread::scope(|scope| {
        let over = &over;
        let _ended = Ended(over);
        let streams = senders.map(|sender| scope.spawn(move || stream(port, sender, rate, over)));
        for restart in 0..restarts {
            thread::sleep(up);
            end(&mut child, restart % 2 == 0);
            child = spawn(&folder, port, &store);
        }
        over.store(true, Ordering::Relaxed);
        streams.map(|stream| stream.join().unwrap()).to_vec()
    });
    end(&mut child, true);
    // What the last one had no time for is loaded by another.
    let store = store.parse().unwrap();
    finish(start_for(&store, &folder.join(".spool")));
    let all = tables(&store, "restarts");
    for (sender, injected) in senders.iter().zip(injected) {
        let mut seen = vec![0; usize::try_from(injected).unwrap()];
        let id = sender_id(&all["_senders"], sender);
        for row in all["app_m"].iter().filter(|row| row[0] == id) {
            seen[row[3].parse::<usize>().unwrap()] += 1;
        }
        let wrong: Vec<_> = seen.iter().enumerate().filter(|&(_, &times)| times != 1).take(5).collect();
        assert!(wrong.is_empty(), "{sender}: of {injected}, number and times {wrong:?}");
        println!("{sender}: {injected} rows over {restarts} restarts, none lost or doubled");
    }
}

fn sender_id(senders: &[Vec<String>], name: &str) -> String {
    senders.iter().find(|row| row[0] == format!("'{name}'")).unwrap()[1].clone()
}

#[test]
fn restarts_lose_and_double_nothing() {
    // A client waits longer and longer for a collector that never lasts a second.
    restart_under_load("sqlite", 12, 10_000, Duration::from_millis(1100));
}

#[test]
fn restarts_lose_and_double_nothing_in_parquet() {
    restart_under_load("parquet", 6, 3_000, Duration::from_millis(1100));
}

#[test]
fn restarts_lose_and_double_nothing_in_postgresql() {
    let Some(server) = PostgreSqlServer::start("restarts") else { return };
    restart_under_load(&server.url("postgres"), 6, 10_000, Duration::from_millis(1100));
}

#[test]
#[ignore = "soak: a minute of restarts of each store at 50,000 rows/s"]
fn fifty_restarts_at_full_load_lose_and_double_nothing_in_other_stores() {
    restart_under_load("parquet", 50, 25_000, Duration::from_secs(1));
    let Some(server) = PostgreSqlServer::start("restarts_soak") else { return };
    restart_under_load(&server.url("postgres"), 50, 25_000, Duration::from_secs(1));
}

#[test]
#[ignore = "soak: a minute of restarts at 50,000 rows/s"]
fn fifty_restarts_at_full_load_lose_and_double_nothing() {
    restart_under_load("sqlite", 50, 25_000, Duration::from_secs(1));
}
