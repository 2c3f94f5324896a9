//! Native clients lose and double nothing while their collector is ended and killed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::stores::{PostgreSqlServer, config_for, start_for, tables};
use common::{finish, scratch};
use tokio::signal::unix::{SignalKind, signal};
use trialwise_collector::{Collector, Store};
use trialwise_streams::client::Client;
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::protocol::{FieldType, Value};

const FOLDER: &str = "TRIALWISE_TEST_FOLDER";
const STORE: &str = "TRIALWISE_TEST_STORE";
const PORT: &str = "TRIALWISE_TEST_PORT";

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store: Store = std::env::var(STORE).unwrap().parse().unwrap();
    let mut config = config_for(store, &Path::new(&folder).join(".spool"));
    config.listen.set_port(std::env::var(PORT).unwrap().parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        let collector = Collector::start(config).unwrap();
        terminate.recv().await;
        assert_eq!(collector.stop(Duration::from_secs(3)).failure, None);
    });
}

fn spawn(folder: &Path, store: &str, port: u16) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "collector_process", "--nocapture"]);
    command.env(FOLDER, folder).env(STORE, store).env(PORT, port.to_string());
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// Ends the collector by TERM, and sees that it answers, or by KILL.
fn end(child: &mut Child, terminate: bool) {
    if !terminate {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    let start = Instant::now();
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(5), "TERM was answered after {:?}", start.elapsed());
}

/// Injects rows until told to end; waits where there is no room. Returns how many.
fn stream(port: u16, sender: &str, rate: u64, over: &AtomicBool) -> i64 {
    let destination = Destination::Native { host: "127.0.0.1".into(), port };
    let mut client = Client::new("app", &Config::new(sender, "restarts", destination)).unwrap();
    let fields = [("n", FieldType::Int64), ("s", FieldType::String)];
    let point = client.point("m", &fields).unwrap();
    client.start().unwrap();
    let (start, mut number) = (Instant::now(), 0_i64);
    while !over.load(Ordering::Relaxed) {
        let due = (start.elapsed().as_micros() as u64 * rate / 1_000_000).cast_signed();
        // What finds no room in the ring is injected again: no number is left out.
        while number < due && point.inject(&[Value::Int64(number), Value::from("text")]).is_ok() {
            number += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let report = client.close(Duration::from_secs(15));
    assert!(report.finished, "{:?}", report.counters);
    assert_eq!(report.counters.stream("app_m").unwrap().dropped, 0, "after the ring nothing is lost");
    number
}

/// Ends the streams also when an assertion fails.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn restart_under_load(store: &str, restarts: u32, rate: u64, up: Duration) {
    let folder = scratch(&format!("restarts_{}_{restarts}", store.split(':').next().unwrap()));
    let store = if store.contains(':') { store.to_owned() } else { format!("{store}:{}", folder.display()) };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let over = AtomicBool::new(false);
    let mut child = spawn(&folder, &store, port);
    let senders = ["one", "two"];
    let injected: Vec<i64> = thread::scope(|scope| {
        let over = &over;
        let _ended = Ended(over);
        let streams = senders.map(|sender| scope.spawn(move || stream(port, sender, rate, over)));
        for restart in 0..restarts {
            thread::sleep(up);
            end(&mut child, restart % 2 == 0);
            child = spawn(&folder, &store, port);
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
