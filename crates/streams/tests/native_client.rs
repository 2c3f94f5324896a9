//! The client over the native protocol, to a collector that is cut off and killed.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trialwise_streams::client::Client;
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::native::{Receiver, Request, RowDecoder};
use trialwise_streams::protocol::{Event, FieldType, Value};

/// What a collector keeps: rows on disk, and those that a kill takes.
#[derive(Default)]
struct Store {
    /// Rows as (stream, seq, first value), by frame.
    frames: Vec<Vec<(String, i64, i32)>>,
    on_disk: usize,
    session: Option<[u8; 16]>,
    token: Vec<u8>,
    bye: Option<u64>,
    connections: usize,
}

/// How one connection of the collector ends.
#[derive(Clone, Copy)]
enum End {
    /// After so many bytes; what is not on disk is kept.
    Cut(usize),
    /// After so many bytes; what is not on disk is gone.
    Kill(usize),
    /// By the client.
    Never,
}

impl Store {
    fn serve(&mut self, peer: &mut TcpStream, end: End) {
        let budget = match end {
            End::Cut(bytes) | End::Kill(bytes) => bytes,
            End::Never => usize::MAX,
        };
        self.connections += 1;
        let (mut receiver, mut decoder, mut taken) = (Receiver::new(), None, 0);
        let mut buffer = [0; 5000];
        while taken < budget {
            let read = match peer.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => panic!("{error}"),
            };
            taken += read;
            receiver.push(&buffer[..read]);
            self.answer(&mut receiver, &mut decoder, read < buffer.len());
            let _ = peer.write_all(&receiver.take_output());
        }
        if matches!(end, End::Kill(_)) {
            self.frames.truncate(self.on_disk);
        }
    }

    /// Writes to disk when there is a moment, else after some frames.
    fn answer(&mut self, receiver: &mut Receiver, decoder: &mut Option<RowDecoder>, idle: bool) {
        while let Some(request) = receiver.next_request().unwrap() {
            match request {
                Request::Hello { session, token, header, .. } => {
                    assert_eq!(*self.session.get_or_insert(session), session);
                    self.token = token.to_vec();
                    *decoder = Some(RowDecoder::new(header).unwrap());
                    receiver.welcome(self.on_disk as u64, self.frames.len() as u64);
                }
                Request::Data { rows, .. } => {
                    let frame = read_rows(decoder.as_mut().unwrap(), rows);
                    self.frames.push(frame);
                }
                Request::Clock { .. } => {}
                Request::Bye { last } => self.bye = Some(last),
            }
        }
        if idle || self.frames.len().is_multiple_of(3) {
            self.on_disk = self.frames.len();
        }
        receiver.acknowledge(self.on_disk as u64);
    }
}

fn read_rows(decoder: &mut RowDecoder, mut rows: &[u8]) -> Vec<(String, i64, i32)> {
    let mut read = Vec::new();
    while let Some(event) = decoder.next_row(&mut rows) {
        let Event::Row(row) = event else { panic!("{event:?}") };
        if let Some(Value::Int32(number)) = row.get(0) {
            read.push((row.schema.name.clone(), row.seq, number));
        }
    }
    read
}

fn collect(listener: TcpListener, ends: Vec<End>) -> thread::JoinHandle<Store> {
    thread::spawn(move || {
        let mut store = Store::default();
        for end in ends.into_iter().chain([End::Never]) {
            let (mut peer, _) = listener.accept().unwrap();
            store.serve(&mut peer, end);
        }
        store
    })
}

fn native(listener: &TcpListener) -> Config {
    let address = listener.local_addr().unwrap();
    let config =
        Config::new("node", "domain", Destination::Native { host: "127.0.0.1".into(), port: address.port() });
    Config { token: "secret".into(), ..config }
}

#[test]
fn a_collector_that_is_cut_off_and_killed_has_every_row_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = native(&listener);
    let ends = (0..8).map(|at| if at % 2 == 0 { End::Cut(20_000 * at + 500) } else { End::Kill(30_000) });
    let collector = collect(listener, ends.collect());
    let mut client = Client::new("app", &config).unwrap();
    let early = client.point("m", &[("n", FieldType::Int32), ("s", FieldType::String)]).unwrap();
    client.start().unwrap();
    let late = client.point("late", &[("n", FieldType::Int32)]).unwrap();
    let text = "x".repeat(300);
    let (rows, stop) = (20_000, Instant::now() + Duration::from_secs(30));
    for number in 0..rows {
        while early.inject(&[Value::Int32(number), Value::from(text.as_str())]).is_err() {
            assert!(Instant::now() < stop);
            thread::sleep(Duration::from_millis(5));
        }
        late.inject(&[Value::Int32(number)]).unwrap();
        if number % 50 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    let report = client.close(Duration::from_secs(30));
    let store = collector.join().unwrap();
    assert!(report.finished);
    assert_eq!((store.token.as_slice(), store.bye), (&b"secret"[..], Some(store.frames.len() as u64)));
    assert_eq!((store.connections, store.on_disk), (9, store.frames.len()));
    for stream in ["app_m", "app_late"] {
        let mine = store.frames.iter().flatten().filter(|(name, ..)| name == stream);
        let numbers: Vec<_> = mine.clone().map(|(_, _, number)| *number).collect();
        assert_eq!(numbers, (0..rows).collect::<Vec<_>>(), "{stream}");
        let distinct: HashSet<_> = mine.map(|(_, seq, _)| *seq).collect();
        assert_eq!(distinct.len(), rows as usize);
        assert_eq!(report.counters.stream(stream).unwrap().sent, rows as u64);
    }
}

#[test]
fn a_collector_that_never_acknowledges_leaves_all_rows_counted_as_dropped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = native(&listener);
    let over = Arc::new(AtomicBool::new(false));
    let silent = Arc::clone(&over);
    let peer = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut buffer = [0; 4096];
        while !silent.load(Ordering::Relaxed) {
            let _ = peer.read(&mut buffer);
        }
    });
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("n", FieldType::Int32)]).unwrap();
    client.start().unwrap();
    (0..100).for_each(|number| point.inject(&[Value::Int32(number)]).unwrap());
    let start = Instant::now();
    let report = client.close(Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(4) && !report.finished);
    let stream = report.counters.stream("app_m").unwrap();
    assert_eq!((stream.rows, stream.sent, stream.dropped), (100, 0, 100));
    over.store(true, Ordering::Relaxed);
    peer.join().unwrap();
}

#[test]
fn a_refusal_is_told_to_the_program() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = native(&listener);
    let refuse = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let (mut receiver, mut buffer) = (Receiver::new(), [0; 4096]);
        while receiver.next_request().unwrap().is_none() {
            let read = peer.read(&mut buffer).unwrap();
            receiver.push(&buffer[..read]);
        }
        receiver.refuse("this token may not write to domain domain");
        peer.write_all(&receiver.take_output()).unwrap();
        let _ = peer.read(&mut buffer);
    });
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("n", FieldType::Int32)]).unwrap();
    client.start().unwrap();
    point.inject(&[Value::Int32(1)]).unwrap();
    refuse.join().unwrap();
    let stop = Instant::now() + Duration::from_secs(60);
    while !client.counters().destinations[0]
        .error
        .as_ref()
        .is_some_and(|error| error.contains("may not write"))
    {
        assert!(Instant::now() < stop, "{:?}", client.counters().destinations);
        thread::sleep(Duration::from_millis(2));
    }
    let report = client.close(Duration::from_millis(100));
    assert_eq!(report.counters.stream("app_m").unwrap().dropped, 1);
}
