//! A client under test, its collector, and rows that show when they are mixed.

use std::collections::HashSet;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use trialwise_streams::client::{CloseReport, Point};
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::protocol::{Content, FieldType, Value};

use super::{Found, Owned, rows};

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn config(destination: Destination) -> Config {
    Config::new("node", "domain", destination)
}

pub fn tcp(address: SocketAddr) -> Config {
    config(Destination::Tcp { host: address.ip().to_string(), port: address.port() })
}

pub fn with_content(mut config: Config, content: Content) -> Config {
    config.collects[0].content = content;
    config
}

/// A collector of one connection: everything that came.
pub fn collector() -> (SocketAddr, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || read_all(&listener)))
}

pub fn read_all(listener: &TcpListener) -> Vec<u8> {
    let mut bytes = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut bytes).unwrap();
    bytes
}

pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

pub fn file(name: &str) -> (Config, PathBuf) {
    let path = scratch(name);
    (config(Destination::File(path.clone())), path)
}

pub const TRIPLE: [(&str, FieldType); 3] =
    [("thread", FieldType::Int32), ("number", FieldType::Int32), ("check", FieldType::Int32)];

pub fn triple(thread: i32, number: i32) -> [Value<'static>; 3] {
    [Value::Int32(thread), Value::Int32(number), Value::Int32(check(thread, number))]
}

pub const fn check(thread: i32, number: i32) -> i32 {
    thread.wrapping_mul(31).wrapping_add(number.wrapping_mul(17)) ^ 0x55
}

/// Injects from several threads; returns how many injects were refused.
pub fn inject_from(threads: i32, each: i32, point: &Point) -> u64 {
    let refused = |thread: i32| {
        (0..each).filter(|&number| point.inject(&triple(thread, number)).is_err()).count() as u64
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || refused(thread))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// The rows of one stream: sequence number and values as integers.
pub fn rows_of(all: &[Found], stream: &str) -> Vec<(i64, Vec<i128>)> {
    let integer =
        |value: &Owned| if let Owned::Integer(value) = value { *value } else { panic!("{value:?}") };
    let read = |found: &&Found| match found {
        Found::Row { name, seq, values, .. } if name == stream => {
            Some((*seq, values.iter().map(integer).collect()))
        }
        _ => None,
    };
    rows(all).iter().filter_map(read).collect()
}

/// Every row whole, none twice; returns the number of rows.
pub fn check_triples(all: &[Found], stream: &str) -> u64 {
    let rows = rows_of(all, stream);
    let mut seen = HashSet::new();
    for (seq, values) in &rows {
        let (thread, number) = (values[0] as i32, values[1] as i32);
        assert_eq!(values[2] as i32, check(thread, number), "a mixed row");
        assert!(seen.insert((thread, number)), "{thread} {number} twice");
        assert!(*seq > 0);
    }
    let sequence: HashSet<_> = rows.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(sequence.len(), rows.len(), "a sequence number twice");
    rows.len() as u64
}

pub fn lost_at_inject(report: &CloseReport, point: &str) -> (u64, u64) {
    let counters = report.counters.point(point).unwrap();
    (counters.injected, counters.dropped)
}
