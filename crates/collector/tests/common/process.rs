//! Collectors as processes, to be ended and killed, and a client that streams to them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test file uses a part")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use trialwise_collector::{Access, Collector, Store, Upstream};
use trialwise_streams::client::Client;
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::protocol::{FieldType, Value};

use super::stores::config_for;

const FOLDER: &str = "TRIALWISE_TEST_FOLDER";
const PORT: &str = "TRIALWISE_TEST_PORT";
const TO: &str = "TRIALWISE_TEST_TO";

/// What the ignored test `collector_process` of a file does: a collector as its environment says, until TERM.
pub fn run_collector() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let to = std::env::var(TO).unwrap();
    let store = match to.strip_prefix("forward:") {
        Some(port) => {
            let (host, access) = ("127.0.0.1".to_owned(), Access::default());
            Store::Collector(Upstream { host, port: port.parse().unwrap(), certificate: None, access })
        }
        None => to.parse().unwrap(),
    };
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

/// Starts one with its spool in `folder` that brings rows to a store, or to the collector at the port of `forward:PORT`.
pub fn spawn(folder: &Path, port: u16, to: &str) -> Child {
    spawn_with(folder, port, to, &[])
}

/// The same, with more in its environment.
pub fn spawn_with(folder: &Path, port: u16, to: &str, environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "collector_process", "--nocapture"]);
    command.env(FOLDER, folder).env(PORT, port.to_string()).env(TO, to);
    command.envs(environment.iter().copied());
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// Ends the collector by TERM, and sees that it answers, or by KILL.
pub fn end(child: &mut Child, terminate: bool) {
    if !terminate {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    let start = Instant::now();
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(20), "TERM was answered after {:?}", start.elapsed());
}

/// Injects rows until told to end; waits where there is no room. Returns how many.
pub fn stream(port: u16, sender: &str, rate: u64, over: &AtomicBool) -> i64 {
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
pub struct Ended<'a>(pub &'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A port that nobody has now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
