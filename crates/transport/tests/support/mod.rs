//! Flow programs over emulated paths.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "shared by programs"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use trialwise_emulator::{
    Direction, End, Error, Event, LogReader, NamespaceSettings, PacketLog, Path, PathError, PathSettings,
    Record, Report,
};
use trialwise_link::LinkSpec;
use trialwise_units::Seed;

/// The program under test.
pub const FLOW: &str = env!("CARGO_BIN_EXE_flow");

/// A file that goes with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("trialwise-transport-{}-{number}", std::process::id())))
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The lines of a report.
    pub fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A receiver that listens, until it is dropped.
pub struct Server {
    child: Child,
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// Starts `flow PROTOCOL receive …` and waits until it is ready.
    pub fn start(command: Command, protocol: &str, port: u16) -> Self {
        Self::start_with(command, protocol, port, &[])
    }

    /// The same with more options.
    pub fn start_with(mut command: Command, protocol: &str, port: u16, options: &[&str]) -> Self {
        let port = port.to_string();
        command.args([protocol, "receive", "--port", &port]).args(options).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { child, _output: output }
    }

    /// Ends it by SIGTERM; its exit code.
    pub fn stop(mut self) -> Option<i32> {
        terminate(&self.child);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn terminate(child: &Child) {
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: a child of ours that has not been waited for.
    unsafe { libc::kill(pid, libc::SIGTERM) };
}

/// A path, or none with the reason printed where this machine or user may not make one.
pub fn open(pairs: &[(&str, &str)], seed: u64, log: Option<PacketLog>) -> Option<Path> {
    let read = |path: &str| Err(format!("{path} is not read"));
    let link = LinkSpec::from_pairs(pairs.iter().copied(), &read).unwrap();
    let (forward, backward) = (link.clone(), link);
    let settings =
        PathSettings { forward, backward, seed: Seed::new(seed), namespaces: NamespaceSettings::default() };
    match Path::open(&settings, log) {
        Ok(path) => Some(path),
        Err(PathError::System(Error::Refused { stage, source })) => {
            eprintln!("skipped: {stage:?} is not permitted here: {source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A flow of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub protocol: &'static str,
    pub congestion: &'static str,
    pub load: &'static str,
    /// Seconds after the start of the trial.
    pub start: u64,
    /// What it is told by `--ecn`, if anything.
    pub ecn: Option<&'static str>,
}

impl Flow {
    pub const fn new(protocol: &'static str, congestion: &'static str) -> Self {
        Self { protocol, congestion, load: "bulk", start: 0, ecn: None }
    }
}

/// What a trial gave.
pub struct Outcome {
    pub report: Report,
    records: Vec<Record>,
    /// The reports of the senders.
    pub reports: Vec<Vec<Value>>,
}

/// Runs flows over a path for so many seconds; the flow of index `i` goes to port 5001 + `i`.
pub fn trial(pairs: &[(&str, &str)], seed: u64, flows: &[Flow], seconds: u64) -> Option<Outcome> {
    let log = Scratch::new();
    let path = open(pairs, seed, Some(PacketLog::create(&log.0).unwrap()))?;
    let files: Vec<Scratch> = flows.iter().map(|_| Scratch::new()).collect();
    let ports = 5001..;
    let servers: Vec<Server> = flows
        .iter()
        .zip(ports.clone())
        .map(|(flow, port)| Server::start(path.command(End::Receiver, FLOW).unwrap(), flow.protocol, port))
        .collect();
    thread::scope(|scope| {
        for ((flow, file), port) in flows.iter().zip(&files).zip(ports) {
            let mut command = path.command(End::Sender, FLOW).unwrap();
            let time = format!("{}s", seconds - flow.start);
            let (address, port) = (End::Receiver.address().to_string(), port.to_string());
            command.args([flow.protocol, "send", &address, &port, "--time", &time]);
            command.args(["--congestion", flow.congestion, "--load", flow.load, "--report", file.path()]);
            command.args(flow.ecn.into_iter().flat_map(|ecn| ["--ecn", ecn]));
            scope.spawn(move || {
                thread::sleep(Duration::from_secs(flow.start));
                assert!(command.status().unwrap().success(), "{flow:?}");
            });
        }
    });
    assert!(servers.into_iter().all(|server| server.stop() == Some(0)));
    let report = path.close().unwrap();
    let records = LogReader::open(&log.0).unwrap().map(Result::unwrap).collect();
    Some(Outcome { report, records, reports: files.iter().map(Scratch::lines).collect() })
}

impl Outcome {
    /// When the first sender started, in seconds of the log.
    fn start(&self) -> f64 {
        let starts = (0..self.reports.len()).filter_map(|flow| self.summary(flow)["start_ns"].as_u64());
        (starts.min().unwrap() as f64 - self.report.started as f64) / 1e9
    }

    /// Packets of a flow that arrived between these seconds after the first sender started.
    fn delivered(&self, flow: usize, from: f64, to: f64) -> impl Iterator<Item = &Record> {
        let (port, start) = (5001 + flow as u64, self.start());
        self.records.iter().filter(move |record| {
            let (high, low) = (record.flow >> 16 & 0xffff, record.flow & 0xffff);
            let seconds = record.time.as_seconds() - start;
            record.direction == Direction::Forward
                && record.event == Event::Delivered
                && (high == port || low == port)
                && (from..to).contains(&seconds)
        })
    }

    /// Mbit/s of IP bytes that arrived.
    pub fn throughput(&self, flow: usize, from: f64, to: f64) -> f64 {
        let bytes: u64 = self.delivered(flow, from, to).map(|record| record.size.get()).sum();
        bytes as f64 * 8.0 / (to - from) / 1e6
    }

    /// A quantile of one-way delay in milliseconds, of all packets that arrived.
    pub fn delay(&self, flow: usize, from: f64, to: f64, fraction: f64) -> f64 {
        let mut delays: Vec<f64> =
            self.delivered(flow, from, to).map(|record| record.delay.as_seconds() * 1e3).collect();
        delays.sort_by(f64::total_cmp);
        delays[((delays.len() - 1) as f64 * fraction).round() as usize]
    }

    /// How many of the packets that arrived had each ECN field, by its bits.
    pub fn ecn_fields(&self, flow: usize, from: f64, to: f64) -> [usize; 4] {
        let mut counts = [0; 4];
        self.delivered(flow, from, to).for_each(|record| counts[usize::from(record.ecn)] += 1);
        counts
    }

    pub fn summary(&self, flow: usize) -> &Value {
        &self.reports[flow].last().unwrap()["summary"]
    }
}

/// Waits until a condition holds, for ten seconds at most.
pub fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}
