//! What arrives, and what is counted, with peers that read, stall, close or are absent, and disks that are full.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

mod common;

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::client::{
    PATIENCE, TRIPLE, check, check_triples, collector, config, file, inject_from, lost_at_inject, rows_of,
    scratch, tcp, triple, with_content,
};
use common::{Found, Owned, damages, decode_all, rows};
use trialwise_streams::client::{Client, InjectError, Point};
use trialwise_streams::config::{Config, Destination, MIN_BUFFER};
use trialwise_streams::protocol::{Content, DamageKind, FieldType, Value};

#[test]
fn every_row_of_many_threads_arrives_once_or_is_counted() {
    for content in [Content::Text, Content::Binary] {
        let (address, collector) = collector();
        let mut client = Client::new("app", &with_content(tcp(address), content)).unwrap();
        let point = client.point("m", &TRIPLE).unwrap();
        client.start().unwrap();
        let (threads, each) = (8, 20_000);
        let refused = inject_from(threads, each, &point);
        let report = client.close(PATIENCE);
        let all = decode_all(&collector.join().unwrap());
        assert!(report.finished);
        assert_eq!(damages(&all), []);
        let (injected, dropped) = lost_at_inject(&report, "m");
        let stream = report.counters.stream("app_m").unwrap();
        assert_eq!(dropped, refused);
        assert_eq!(injected + dropped, (threads * each) as u64);
        assert_eq!((stream.rows, stream.sent + stream.dropped), (injected, injected));
        assert_eq!(check_triples(&all, "app_m"), stream.sent);
    }
}

#[test]
fn losses_are_sent_in_band_and_show_as_gaps() {
    let (mut config, path) = file("losses");
    config.buffer_bytes = MIN_BUFFER;
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    let inject = |number: i32| point.inject(&triple(0, number));
    let refused = (0..5000).filter(|&number| inject(number).is_err()).count() as u64; // nobody reads before the start
    assert!(refused > 3000);
    assert_eq!(point.inject(&triple(0, 0)), Err(InjectError::Full));
    client.start().unwrap();
    let report = client.close(PATIENCE);
    let all = decode_all(&std::fs::read(path).unwrap());
    assert_eq!(check_triples(&all, "app_m"), 5000 - refused);
    assert_eq!(rows_of(&all, "app_m").last().unwrap().0, 5001, "the last number is the number of injects");
    let told: Vec<_> = rows(&all)
        .into_iter()
        .filter_map(|row| match row {
            Found::Row { name, values, .. } if name == "_client_losses" => Some(values.clone()),
            _ => None,
        })
        .collect();
    let integer = |value: u64| Owned::Integer(value.into());
    let expected =
        vec![Owned::Bytes(b"app_m".to_vec()), integer(5000 - refused), integer(refused + 1), integer(0)];
    assert_eq!(told.last(), Some(&expected));
    assert_eq!(lost_at_inject(&report, "m"), (5000 - refused, refused + 1));
    let instrumented = rows_of(&all, "_client_instrumentation");
    assert_eq!(instrumented.last().unwrap().1[1], i128::from(refused + 1));
}

#[test]
fn closing_ends_in_time_whatever_the_peer_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stalled = listener.local_addr().unwrap();
    let absent = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap()
    };
    let unroutable: SocketAddr = "10.255.255.1:3003".parse().unwrap();
    for address in [stalled, absent, unroutable] {
        let mut config = tcp(address);
        config.buffer_bytes = 1 << 20;
        let mut client = Client::new("app", &config).unwrap();
        let point = client.point("m", &TRIPLE).unwrap();
        client.start().unwrap();
        let attempts = 400_000;
        let slow = slow_injects(&point, attempts);
        assert!(slow <= 2, "{slow} injects took a second: they must have waited");
        let start = Instant::now();
        let report = client.close(Duration::from_millis(300));
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        assert!(report.settled);
        let state = &report.counters.destinations[0];
        match (state.connections, &state.error) {
            (connections, None) if address == stalled => assert_eq!(connections, 1),
            (connections, error) if address == absent => assert!(connections == 0 && error.is_some()),
            (_, error) => assert!(address == unroutable, "{error:?}"), // whatever the network here says of it
        }
        assert!(!report.finished || address == stalled, "the system may take in all that was not dropped");
        let (injected, dropped) = lost_at_inject(&report, "m");
        assert_eq!(injected + dropped, attempts as u64, "{address}");
        let stream = report.counters.stream("app_m").unwrap();
        assert_eq!((report.counters.waiting(), stream.sent + stream.dropped), (0, injected), "{address}");
        assert!(stream.dropped + dropped > 0);
    }
}

/// How many took a second. One or two may have met a moment in which the machine stood still.
fn slow_injects(point: &Point, attempts: i32) -> usize {
    let is_slow = |number: &i32| {
        let start = Instant::now();
        let _ = point.inject(&triple(0, *number));
        start.elapsed() > Duration::from_secs(1)
    };
    (0..attempts).filter(is_slow).count()
}

#[test]
fn a_stalled_reader_that_reads_on_gets_every_row_not_counted_as_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = tcp(listener.local_addr().unwrap());
    config.buffer_bytes = 256 << 10;
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let refused = inject_from(2, 300_000, &point);
    let reading = thread::spawn(move || {
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let report = client.close(PATIENCE);
    let all = decode_all(&reading.join().unwrap());
    assert!(report.finished && refused > 0);
    assert_eq!(
        check_triples(&all, "app_m"),
        600_000 - refused - report.counters.stream("app_m").unwrap().dropped
    );
    assert_eq!(rows_of(&all, "app_m").len() as u64, report.counters.stream("app_m").unwrap().sent);
}

/// Accepts connections one after another, reads about `limits` bytes of each and closes; the last is read to its end.
fn closing_collector(listener: TcpListener, limits: Vec<usize>) -> thread::JoinHandle<Vec<Vec<u8>>> {
    let read = move |limit: &Option<usize>| {
        let (mut peer, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        match limit {
            None => peer.read_to_end(&mut bytes).map(drop).unwrap(),
            Some(limit) => (&mut peer).take(*limit as u64).read_to_end(&mut bytes).map(drop).unwrap(),
        }
        bytes
    };
    thread::spawn(move || limits.into_iter().map(Some).chain([None]).map(|limit| read(&limit)).collect())
}

#[test]
fn a_peer_that_closes_hears_header_definitions_and_metadata_again_and_no_row_twice() {
    for content in [Content::Text, Content::Binary] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = with_content(tcp(listener.local_addr().unwrap()), content);
        let collector = closing_collector(listener, vec![3000, 10_000]);
        let mut client = Client::new("app", &config).unwrap();
        let early = client.point("m", &TRIPLE).unwrap();
        client.start().unwrap();
        let late = client.point("late", &TRIPLE).unwrap();
        client.metadata(Some(&early), Some("check"), "unit", "none").unwrap();
        for number in 0..1500 {
            early.inject(&triple(0, number)).unwrap();
            late.inject(&triple(1, number)).unwrap();
            if number % 10 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let report = client.close(PATIENCE);
        let connections: Vec<_> = collector.join().unwrap().iter().map(|bytes| decode_all(bytes)).collect();
        assert!(report.finished);
        assert_eq!(report.counters.dropped(), 0);
        for all in &connections {
            assert!(
                damages(all).iter().all(|damage| damage.kind == DamageKind::Truncated),
                "{:?}",
                damages(all)
            );
        }
        let good: Vec<_> = connections.concat();
        let numbers = rows_of(&good, "app_m");
        let distinct: HashSet<_> = numbers.iter().map(|(seq, _)| seq).collect();
        assert_eq!(distinct.len(), numbers.len(), "no row twice");
        assert!(check_late_rows(&connections[2]) > 0);
        assert!(defines(&connections[2], "app_late") && metadata(&connections[2], ".app_m.check"));
    }
}

fn check_late_rows(all: &[Found]) -> usize {
    rows_of(all, "app_late")
        .iter()
        .filter(|(_, values)| values[2] as i32 == check(1, values[1] as i32))
        .count()
}

fn defines(all: &[Found], stream: &str) -> bool {
    all.iter().any(|found| matches!(found, Found::Row { defines: Some(text), .. } if text.contains(stream)))
}

fn metadata(all: &[Found], subject: &str) -> bool {
    let subject = Owned::Bytes(subject.as_bytes().to_vec());
    all.iter().any(|found| matches!(found, Found::Row { stream: 0, values, .. } if values[0] == subject))
}

#[test]
fn a_disk_that_is_full_costs_rows_that_are_counted() {
    let mut client = Client::new("app", &config(Destination::File("/dev/full".into()))).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    assert_eq!(inject_from(2, 1000, &point), 0);
    let report = client.close(Duration::from_millis(200));
    assert!(!report.finished);
    let stream = report.counters.stream("app_m").unwrap();
    assert_eq!((stream.rows, stream.sent, stream.dropped), (2000, 0, 2000));
    assert!(report.counters.destinations[0].error.as_ref().unwrap().contains("space"));
}

#[test]
fn closing_ends_in_time_when_a_write_blocks_for_good() {
    let pipe = scratch("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let mut client = Client::new("app", &config(Destination::File(pipe))).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    assert_eq!(inject_from(1, 20_000, &point), 0);
    thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    let report = client.close(Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(4));
    assert!(!report.finished && !report.settled && report.counters.waiting() > 0);
    let stream = report.counters.stream("app_m").unwrap();
    assert_eq!(stream.rows, stream.sent + stream.dropped + stream.waiting());
    drop(reader);
}

/// A file system of 64 KiB, if this process may make one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("small-disk");
        std::fs::create_dir_all(&folder).unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&folder).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_has_space_again_gets_the_rest_whole() {
    let Some(disk) = SmallDisk::mount() else {
        return eprintln!("skipped: mounting a tmpfs is not permitted");
    };
    std::fs::write(disk.0.join("ballast"), vec![0; 48 << 10]).unwrap();
    let path = disk.0.join("rows");
    let mut client = Client::new("app", &config(Destination::File(path.clone()))).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    assert_eq!(inject_from(1, 1200, &point), 0);
    thread::sleep(Duration::from_millis(150));
    let waiting = client.counters().waiting();
    std::fs::remove_file(disk.0.join("ballast")).unwrap();
    let report = client.close(PATIENCE);
    assert!(waiting > 0, "the disk was not full");
    assert!(report.finished && report.counters.dropped() == 0);
    let all = decode_all(&std::fs::read(path).unwrap());
    assert_eq!((damages(&all), check_triples(&all, "app_m")), (vec![], 1200));
}
/// Short lives of a client with 2 to 16 threads, each checked whole.
fn short_runs(runs: i32) {
    let (path, mut config) = (scratch("short"), config(Destination::Stdout));
    config.collects[0].destination = Destination::File(path.clone());
    config.collects[0].content = Content::Binary;
    config.buffer_bytes = MIN_BUFFER;
    let mut by_threads: HashMap<i32, u64> = HashMap::new();
    for run in 0..runs {
        let threads = 2 + run % 15;
        let _ = std::fs::remove_file(&path);
        let mut client = Client::new("app", &config).unwrap();
        let point = client.point("m", &TRIPLE).unwrap();
        client.start().unwrap();
        let refused = inject_from(threads, 200, &point);
        let start = Instant::now();
        let report = client.close(PATIENCE);
        assert!(report.finished && start.elapsed() < PATIENCE, "run {run}");
        let all = decode_all(&std::fs::read(&path).unwrap());
        let arrived = check_triples(&all, "app_m");
        assert_eq!(
            arrived + refused + report.counters.stream("app_m").unwrap().dropped,
            (threads * 200) as u64
        );
        *by_threads.entry(threads).or_default() += arrived;
    }
    assert_eq!(by_threads.len(), runs.min(15) as usize);
}

#[test]
fn short_runs_end_with_every_row_whole() {
    short_runs(100);
}

#[test]
#[ignore = "soak: a thousand runs"]
fn a_thousand_short_runs_end_with_every_row_whole() {
    short_runs(1000);
}

#[test]
fn a_silent_collector_that_closes_every_connection_is_told_of_at_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            let _ = peer.read(&mut [0; 4096]); // the header, which it does not like
        }
    });
    let destination = Destination::Tcp { host: address.ip().to_string(), port: address.port() };
    let mut client = Client::new("app", &Config::new("node", "d", destination)).unwrap();
    let point = client.point("m", &[("n", FieldType::Int32)]).unwrap();
    client.start().unwrap();
    for number in 0..60 {
        point.inject(&[Value::Int32(number)]).unwrap();
        thread::sleep(Duration::from_millis(10));
    }
    let report = client.close(Duration::from_secs(2));
    let error = report.counters.destinations[0].error.clone().unwrap_or_default();
    assert!(!error.is_empty(), "{report:?}");
}
