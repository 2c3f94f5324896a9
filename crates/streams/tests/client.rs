//! The client against peers that read, stall, close, are absent, and disks that are full.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

mod common;

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::{Found, Owned, damages, decode_all, rows};
use trialwise_streams::client::{Client, CloseReport, InjectError, Point};
use trialwise_streams::config::{Collect, Config, Destination, LEAST_BUFFER, StreamChoice};
use trialwise_streams::filter::{FilterChoice, Window};
use trialwise_streams::protocol::{Content, DamageKind, FieldType, Value};

const PATIENCE: Duration = Duration::from_secs(20);

fn config(destination: Destination) -> Config {
    Config::new("node", "domain", destination)
}

fn tcp(address: SocketAddr) -> Config {
    config(Destination::Tcp { host: address.ip().to_string(), port: address.port() })
}

fn with_content(mut config: Config, content: Content) -> Config {
    config.collects[0].content = content;
    config
}

/// A collector of one connection: everything that came.
fn collector() -> (SocketAddr, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || read_all(&listener)))
}

fn read_all(listener: &TcpListener) -> Vec<u8> {
    let mut bytes = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut bytes).unwrap();
    bytes
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn file(name: &str) -> (Config, PathBuf) {
    let path = scratch(name);
    (config(Destination::File(path.clone())), path)
}

const TRIPLE: [(&str, FieldType); 3] =
    [("thread", FieldType::Int32), ("number", FieldType::Int32), ("check", FieldType::Int32)];

fn triple(thread: i32, number: i32) -> [Value<'static>; 3] {
    [Value::Int32(thread), Value::Int32(number), Value::Int32(check(thread, number))]
}

const fn check(thread: i32, number: i32) -> i32 {
    thread.wrapping_mul(31).wrapping_add(number.wrapping_mul(17)) ^ 0x55
}

/// Injects from several threads; returns how many injects were refused.
fn inject_from(threads: i32, each: i32, point: &Point) -> u64 {
    let refused = |thread: i32| {
        (0..each).filter(|&number| point.inject(&triple(thread, number)).is_err()).count() as u64
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || refused(thread))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// The rows of one stream: sequence number and values as integers.
fn rows_of(all: &[Found], stream: &str) -> Vec<(i64, Vec<i128>)> {
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
fn check_triples(all: &[Found], stream: &str) -> u64 {
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

fn lost_at_inject(report: &CloseReport, point: &str) -> (u64, u64) {
    let counters = report.counters.point(point).unwrap();
    (counters.injected, counters.dropped)
}

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
    config.buffer_bytes = LEAST_BUFFER;
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
        let slowest = slowest_inject(&point, attempts);
        assert!(slowest < Duration::from_millis(500), "an inject took {slowest:?}: it must have waited");
        let start = Instant::now();
        let report = client.close(Duration::from_millis(300));
        assert!(start.elapsed() < Duration::from_millis(600), "{:?}", start.elapsed());
        assert!(report.settled);
        assert!(!report.finished || address == stalled, "the system may take in all that was not dropped");
        let (injected, dropped) = lost_at_inject(&report, "m");
        assert_eq!(injected + dropped, attempts as u64, "{address}");
        let stream = report.counters.stream("app_m").unwrap();
        assert_eq!((report.counters.waiting(), stream.sent + stream.dropped), (0, injected), "{address}");
        assert!(stream.dropped + dropped > 0);
    }
}

fn slowest_inject(point: &Point, attempts: i32) -> Duration {
    let inject = |number| {
        let start = Instant::now();
        let _ = point.inject(&triple(0, number));
        start.elapsed()
    };
    (0..attempts).map(inject).max().unwrap()
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

#[test]
fn an_inject_after_the_end_fails_and_is_counted() {
    let (config, _) = file("after");
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    assert_eq!(point.inject(&[Value::Int32(1)]), Err(InjectError::Values));
    assert_eq!(
        point.inject(&[Value::Int32(1), Value::Int32(1), Value::Bool(true)]),
        Err(InjectError::Values)
    );
    let report = client.close(PATIENCE);
    assert_eq!(point.inject(&triple(0, 0)), Err(InjectError::Closed));
    assert_eq!((report.counters.point("m").unwrap().dropped, point.dropped()), (2, 3));
}

#[test]
fn a_client_never_started_counts_what_it_was_given() {
    let (config, path) = file("never");
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    point.inject(&triple(0, 0)).unwrap();
    let report = client.close(PATIENCE);
    assert_eq!((report.finished, lost_at_inject(&report, "m")), (false, (0, 1)));
    assert!(!path.exists());
}

#[test]
fn a_disabled_client_takes_everything_and_does_nothing() {
    let mut client = Client::disabled("app").unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    point.inject(&triple(0, 0)).unwrap();
    let report = client.close(PATIENCE);
    assert!(report.finished && report.counters.dropped() == 0);
}

fn choice(point: &str, name: &str, window: Window, filters: &[(&str, &str)]) -> StreamChoice {
    let filters = filters.iter().map(|(field, operation)| FilterChoice {
        field: (*field).to_owned(),
        operation: (*operation).to_owned(),
        ..FilterChoice::default()
    });
    StreamChoice { point: point.to_owned(), name: Some(name.to_owned()), window, filters: filters.collect() }
}

#[test]
fn one_point_becomes_the_streams_that_were_asked_for_at_the_places_asked_for() {
    let (mut config, path) = file("streams-a");
    let second = scratch("streams-b");
    let shared = choice("m", "average", Window::Samples(4), &[("number", "avg")]);
    let alone = choice("m", "raw", Window::Samples(1), &[("check", "first"), ("number", "first")]);
    config.collects[0].streams =
        Some(vec![shared.clone(), alone, choice("nobody", "x", Window::Samples(1), &[])]);
    let other = Collect {
        streams: Some(vec![shared]),
        ..Collect::all(Destination::File(second.clone()), Some(Content::Binary))
    };
    config.collects.push(other);
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    assert_eq!(client.undeclared(), ["nobody"]);
    client.start().unwrap();
    (0..10).for_each(|number| point.inject(&triple(0, number)).unwrap());
    let report = client.close(PATIENCE);
    assert!(report.finished && report.counters.dropped() == 0);
    let (first, second) =
        (decode_all(&std::fs::read(path).unwrap()), decode_all(&std::fs::read(second).unwrap()));
    let raw = rows_of(&first, "app_raw");
    assert_eq!((raw.len(), raw[3].1.clone()), (10, vec![i128::from(check(0, 3)), 3]));
    let averages = |all: &[Found]| -> Vec<Vec<Owned>> {
        let read = |found: &Found| match found {
            Found::Row { name, values, .. } if name == "app_average" => Some(values.clone()),
            _ => None,
        };
        all.iter().filter_map(read).collect()
    };
    let expected =
        [[1.5, 0.0, 3.0], [5.5, 4.0, 7.0], [8.5, 8.0, 9.0]].map(|row| row.map(common::double).to_vec());
    assert_eq!(averages(&first), expected, "the last window is partial and flushed at the end");
    assert_eq!(averages(&second), expected);
    assert_eq!(rows_of(&second, "app_raw"), []);
}

#[test]
fn windows_in_seconds_end_without_samples_too() {
    let (mut config, path) = file("interval");
    config.window = Window::Seconds(0.05);
    config.instrumentation = Duration::ZERO;
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("x", FieldType::Double)]).unwrap();
    client.start().unwrap();
    point.inject(&[Value::Double(3.0)]).unwrap();
    thread::sleep(Duration::from_millis(400));
    let report = client.close(PATIENCE);
    let all = decode_all(&std::fs::read(path).unwrap());
    let values: Vec<_> = rows(&all)
        .into_iter()
        .filter_map(|row| match row {
            Found::Row { name, values, timestamp, .. } if name == "app_m" => {
                Some((*timestamp, values[0].clone()))
            }
            _ => None,
        })
        .collect();
    assert!(report.finished && (4..=10).contains(&values.len()), "{}", values.len());
    assert_eq!(values.iter().filter(|(_, value)| *value == common::double(3.0)).count(), 1);
    assert_eq!(
        values.iter().filter(|(_, value)| *value == common::double(f64::NAN)).count(),
        values.len() - 1
    );
    let steps: Vec<_> =
        values.windows(2).map(|pair| f64::from_bits(pair[1].0) - f64::from_bits(pair[0].0)).collect();
    assert!(steps.iter().all(|step| (step - 0.05).abs() < 1e-5), "{steps:?}");
}

#[test]
fn time_stamps_are_those_of_the_inject_or_of_the_program() {
    let (config, path) = file("times");
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("x", FieldType::Int32)]).unwrap();
    client.start().unwrap();
    let mut given = Vec::new();
    for number in 0..20 {
        let now = std::time::SystemTime::now();
        let seconds = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        point.inject(&[Value::Int32(number)]).unwrap();
        point.inject_at(now + Duration::from_secs(100), &[Value::Int32(number)]).unwrap();
        given.push(seconds);
        thread::sleep(Duration::from_millis(3));
    }
    assert!(client.close(PATIENCE).finished);
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let start: f64 =
        text.lines().find_map(|line| line.strip_prefix("start-time: ")).unwrap().parse().unwrap();
    let all = decode_all(&bytes);
    let times: Vec<_> = rows(&all)
        .into_iter()
        .filter_map(|row| match row {
            Found::Row { name, timestamp, .. } if name == "app_m" => Some(f64::from_bits(*timestamp) + start),
            _ => None,
        })
        .collect();
    for (pair, given) in times.chunks(2).zip(given) {
        assert!((pair[0] - given).abs() < 0.002, "{} {given}", pair[0]);
        assert!((pair[1] - given - 100.0).abs() < 2e-6, "{} {given}", pair[1]);
    }
}

#[test]
fn every_type_goes_through_a_client() {
    use trialwise_streams::protocol::{ElementType, Vector};
    for content in [Content::Text, Content::Binary] {
        let (config, path) = file("types");
        let mut client = Client::new("app", &with_content(config, content)).unwrap();
        let fields = [
            ("a", FieldType::UInt64),
            ("b", FieldType::String),
            ("c", FieldType::Blob),
            ("d", FieldType::Guid),
            ("e", FieldType::Bool),
            ("f", FieldType::Vector(ElementType::Double)),
        ];
        let point = client.point("m", &fields).unwrap();
        client.start().unwrap();
        let values = [
            Value::UInt64(u64::MAX),
            Value::from("tab\tand é"),
            Value::Blob(&[0xaa; 2000]),
            Value::Guid(5),
            Value::Bool(true),
            Value::Vector(Vector::Double(&[0.1, f64::INFINITY])),
        ];
        point.inject(&values).unwrap();
        assert!(client.close(PATIENCE).finished);
        let all = decode_all(&std::fs::read(path).unwrap());
        let expected: Vec<_> = values.into_iter().map(common::owned).collect();
        assert!(all.iter().any(|found| matches!(found, Found::Row { values, .. } if *values == expected)));
    }
}

#[test]
fn a_string_too_long_for_a_packet_is_cut_between_characters_and_counted() {
    let (config, path) = file("cut");
    let mut client = Client::new("app", &with_content(config, Content::Binary)).unwrap();
    let point = client.point("m", &[("s", FieldType::String)]).unwrap();
    client.start().unwrap();
    let long = "a".repeat(253) + "é";
    point.inject(&[Value::from(long.as_str())]).unwrap();
    point.inject(&[Value::from(&long[..253])]).unwrap();
    let report = client.close(PATIENCE);
    let all = decode_all(&std::fs::read(path).unwrap());
    let whole = [Owned::Bytes(vec![b'a'; 253])];
    assert_eq!(
        all.iter().filter(|found| matches!(found, Found::Row { values, .. } if *values == whole)).count(),
        2
    );
    assert_eq!(report.counters.stream("app_m").unwrap().cut, 1);
}

#[test]
fn a_filter_that_panics_takes_nothing_with_it_uncounted() {
    use std::sync::Arc;
    use trialwise_streams::filter::{Filter, Output, Registry};
    struct Broken;
    impl Filter for Broken {
        fn outputs(&self) -> Vec<Output> {
            vec![Output::new("broken", FieldType::Double)]
        }
        fn add(&mut self, _value: Value<'_>, _time: f64) {
            panic!("a filter of the program's");
        }
        fn output(&self, _index: usize) -> Option<Value<'_>> {
            None
        }
        fn next_window(&mut self) {}
    }
    let mut registry = Registry::default();
    registry.register("broken", Arc::new(|_, _| Ok(Box::new(Broken)))).unwrap();
    let (mut config, _) = file("panics");
    config.collects[0].streams = Some(vec![choice("m", "m", Window::Samples(2), &[("number", "broken")])]);
    let mut client = Client::with_filters("app", &config, registry).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    let refused = inject_from(1, 1000, &point);
    let start = Instant::now();
    let report = client.close(PATIENCE);
    assert!(!report.finished && start.elapsed() < Duration::from_secs(5));
    assert_eq!(lost_at_inject(&report, "m"), (0, 1000));
    assert!(refused <= 1000);
}

#[test]
fn what_cannot_be_declared_is_refused() {
    let (address, _collector) = collector();
    let mut client = Client::new("app", &tcp(address)).unwrap();
    client.point("m", &TRIPLE).unwrap();
    let refused = |client: &mut Client, name: &str, fields: &[(&str, FieldType)]| {
        client.point(name, fields).unwrap_err().to_string()
    };
    assert!(refused(&mut client, "m", &TRIPLE).contains("another name"));
    assert!(refused(&mut client, "a b", &TRIPLE).contains("no name"));
    assert!(refused(&mut client, "n", &[("x", FieldType::Bool), ("x", FieldType::Bool)]).contains("twice"));
    assert!(refused(&mut client, &"n".repeat(60), &TRIPLE).contains("63"));
    assert_eq!(client.warnings(), [] as [String; 0]);
    let names: Vec<_> = (0..30).map(|number| format!("a_long_name_of_a_field_{number}")).collect();
    let wide: Vec<_> = names.iter().map(|name| (name.as_str(), FieldType::Bool)).collect();
    client.point("early", &wide).unwrap();
    assert!(client.warnings()[0].contains("oml2-server"), "{:?}", client.warnings());
    client.start().unwrap();
    assert!(refused(&mut client, "wide", &wide).contains("before the start"));
    assert!(client.metadata(None, None, "schema", "x").is_err());
    assert!(client.start().is_err() && Client::new("a-b", &tcp(address)).is_err());
    let elsewhere = Config { domain: "../x".into(), ..tcp(address) };
    assert!(Client::new("app", &elsewhere).unwrap_err().to_string().contains("domain"));
    drop(TcpStream::connect(address).map(|mut peer| peer.write_all(b"\n")));
}

/// Short lives of a client with 2 to 16 threads, each checked whole.
fn short_runs(runs: i32) {
    let (path, mut config) = (scratch("short"), config(Destination::Stdout));
    config.collects[0].destination = Destination::File(path.clone());
    config.collects[0].content = Content::Binary;
    config.buffer_bytes = LEAST_BUFFER;
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
