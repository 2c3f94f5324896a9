//! Native clients lose and double nothing while their collector is ended and killed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::process::{Ended, end, free_port, run_collector, spawn, stream};
use common::{open, query, scratch};

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    run_collector();
}

fn restart_under_load(name: &str, restarts: u32, rate: u64, up: Duration) {
    let folder = scratch(name);
    let port = free_port();
    let over = AtomicBool::new(false);
    let mut child = spawn(&folder, port, None);
    let senders = ["one", "two"];
    let injected: Vec<i64> = thread::scope(|scope| {
        let over = &over;
        let _ended = Ended(over);
        let streams = senders.map(|sender| scope.spawn(move || stream(port, sender, rate, over)));
        for restart in 0..restarts {
            thread::sleep(up);
            end(&mut child, restart % 2 == 0);
            child = spawn(&folder, port, None);
        }
        over.store(true, Ordering::Relaxed);
        streams.map(|stream| stream.join().unwrap()).to_vec()
    });
    end(&mut child, true);
    let database = open(&folder, "restarts");
    for (sender, injected) in senders.iter().zip(injected) {
        let sql = format!(
            "SELECT count(*), count(DISTINCT n), min(n), max(n) FROM app_m \
             JOIN _senders ON id = oml_sender_id WHERE name = '{sender}'"
        );
        let last = injected - 1;
        assert_eq!(query(&database, &sql), [format!("{injected}|{injected}|0|{last}")], "{sender}");
        println!("{sender}: {injected} rows over {restarts} restarts, none lost or doubled");
    }
}

#[test]
fn twenty_restarts_lose_and_double_nothing() {
    // A client waits longer and longer for a collector that never lasts a second.
    restart_under_load("restarts", 20, 10_000, Duration::from_millis(1100));
}

#[test]
#[ignore = "soak: a minute of restarts at 50,000 rows/s"]
fn fifty_restarts_at_full_load_lose_and_double_nothing() {
    restart_under_load("restarts_soak", 50, 25_000, Duration::from_secs(1));
}
