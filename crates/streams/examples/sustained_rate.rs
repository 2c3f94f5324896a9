//! What is lost at a steady rate with default settings, and what the writer costs: OML text, OML binary, native.
//!
//! `cargo run --release -p trialwise-streams --example sustained_rate [ROWS_PER_SECOND [SECONDS [THREADS [HOST:PORT]]]]`; without
//! HOST:PORT the collector is a thread of this program that reads and discards (and, for the native protocol, acknowledges).

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use trialwise_streams::client::{Client, Point};
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::native::{Receiver, Request};
use trialwise_streams::protocol::{Content, FieldType, Value};

/// Reads and discards; acknowledges where that is asked for.
fn serve(mut peer: TcpStream, native: bool) {
    let mut receiver = Receiver::new();
    let mut buffer = vec![0; 1 << 18];
    while let Ok(read @ 1..) = peer.read(&mut buffer) {
        if !native {
            continue;
        }
        receiver.push(&buffer[..read]);
        while let Ok(Some(request)) = receiver.next_request() {
            if let Request::Hello { .. } = request {
                receiver.welcome(0, 0);
            }
        }
        receiver.acknowledge(receiver.through());
        let _ = peer.write_all(&receiver.take_output());
    }
}

/// The address of the collector that was named, or of one of our own.
fn collector(native: bool) -> (String, u16) {
    if let Some(address) = std::env::args().nth(4) {
        let (host, port) = address.rsplit_once(':').expect("HOST:PORT");
        return (host.to_owned(), port.parse().expect("a port"));
    }
    ("127.0.0.1".to_owned(), discarding(native))
}

fn discarding(native: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(|peer| serve(peer, native)));
    port
}

/// Injects `rate` rows in a second for `seconds`, in steps of a millisecond.
fn inject(point: &Point, rate: f64, seconds: f64) {
    let start = Instant::now();
    let mut injected = 0;
    while start.elapsed().as_secs_f64() < seconds {
        let due = (start.elapsed().as_secs_f64() * rate) as i32;
        for number in injected..due {
            let _ = point.inject(&[Value::Int32(number), Value::Int32(-number), Value::Int32(7)]);
        }
        injected = due;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Processor seconds of the writer's threads so far, from the scheduler.
fn writer_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let writers = tasks.filter(|task| {
        std::fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.starts_with("trialwise-write"))
    });
    let nanoseconds = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    writers.filter_map(nanoseconds).sum::<f64>() / 1e9
}

fn measure(name: &str, content: Content, native: bool, (rate, seconds, threads): (f64, f64, usize)) {
    let (host, port) = collector(native);
    let destination =
        if native { Destination::Native { host, port } } else { Destination::Tcp { host, port } };
    let mut config = Config::new("node", "rate", destination);
    config.collects[0].content = content;
    let mut client = Client::new("rate", &config).expect("a client");
    let fields = ["a", "b", "c"].map(|name| (name, FieldType::Int32));
    let point = client.point("m", &fields).expect("a point");
    client.start().expect("a thread");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| inject(&point, rate / threads as f64, seconds));
        }
    });
    let spent = writer_seconds();
    let report = client.close(Duration::from_secs(10));
    let stream = report.counters.stream("rate_m").expect("the stream");
    println!(
        "{name}: {} rows sent at {:.0} rows/s from {threads} threads, {} lost; {:.2} million rows per second of the writer's processor time",
        stream.sent,
        stream.sent as f64 / seconds,
        report.counters.dropped(),
        stream.sent as f64 / spent / 1e6
    );
}

fn main() {
    let argument = |at: usize, default: f64| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let load = (argument(1, 200_000.0), argument(2, 5.0), argument(3, 1.0) as usize);
    measure("OML text", Content::Text, false, load);
    measure("OML binary", Content::Binary, false, load);
    measure("native", Content::Binary, true, load);
}
