//! Native clients lose and double nothing while their collector is ended and killed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{config, open, query, scratch};
use tokio::signal::unix::{SignalKind, signal};
use trialwise_collector::Collector;
use trialwise_streams::client::Client;
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::protocol::{FieldType, Value};

const FOLDER: &str = "TRIALWISE_TEST_FOLDER";
const PORT: &str = "TRIALWISE_TEST_PORT";

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mut config = config(Path::new(&folder));
    config.listen.set_port(std::env::var(PORT).unwrap().parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        let collector = Collector::start(config).unwrap();
        terminate.recv().await;
        assert_eq!(collector.stop(Duration::from_secs(3)).failure, None);
    });
}

fn spawn(folder: &Path, port: u16) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "collector_process", "--nocapture"]);
    command.env(FOLDER, folder).env(PORT, port.to_string());
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

fn restart_under_load(name: &str, restarts: u32, rate: u64, up: Duration) {
    let folder = scratch(name);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let over = AtomicBool::new(false);
    let mut child = spawn(&folder, port);
    let senders = ["one", "two"];
    let injected: Vec<i64> = thread::scope(|scope| {
        let over = &over;
        let _ended = Ended(over);
        let streams = senders.map(|sender| scope.spawn(move || stream(port, sender, rate, over)));
        for restart in 0..restarts {
            thread::sleep(up);
            end(&mut child, restart % 2 == 0);
            child = spawn(&folder, port);
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
