//! What one inject of three int32 costs the calling thread: raw, and with an avg filter over 100 samples.
//!
//! `cargo run --release -p trialwise-streams --example inject_cost [COLLECTOR]`, where COLLECTOR is `HOST:PORT`; without
//! it a thread of this program reads and discards. Two figures each: the mean over batches (without the cost of reading a
//! clock around every inject), and the distribution of single injects (with it; the clock's own cost is printed too).

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use trialwise_streams::client::{Client, Point};
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::filter::Window;
use trialwise_streams::protocol::{FieldType, Value};

const BATCH: i32 = 10_000;
const BATCHES: usize = 400;
/// Between batches the writer works the ring off: the cost is measured without loss.
const PAUSE: Duration = Duration::from_millis(3);

fn discarding_collector() -> Destination {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        for mut peer in listener.incoming().flatten() {
            while peer.read(&mut buffer).is_ok_and(|read| read > 0) {}
        }
    });
    Destination::Tcp { host: "127.0.0.1".into(), port }
}

fn values(number: i32) -> [Value<'static>; 3] {
    [Value::Int32(number), Value::Int32(-number), Value::Int32(7)]
}

/// Nanoseconds for one inject, over each batch.
fn batches(point: &Point) -> Vec<f64> {
    let measure = |_| {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        for number in 0..BATCH {
            let _ = point.inject(std::hint::black_box(&values(number)));
        }
        start.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    (0..BATCHES).map(measure).collect()
}

/// Nanoseconds of single calls, the clock's own included.
fn singles(mut call: impl FnMut(i32)) -> Vec<f64> {
    let mut all = Vec::with_capacity(BATCH as usize * BATCHES);
    for _ in 0..BATCHES {
        std::thread::sleep(PAUSE);
        for number in 0..BATCH {
            let start = Instant::now();
            call(number);
            all.push(start.elapsed().as_nanos() as f64);
        }
    }
    all
}

fn quantile(sorted: &[f64], quantile: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * quantile) as usize]
}

fn describe(name: &str, mut nanoseconds: Vec<f64>) {
    nanoseconds.sort_by(f64::total_cmp);
    let [median, p999] = [0.5, 0.999].map(|at| quantile(&nanoseconds, at));
    println!("{name}: median {median:.0} ns, p99.9 {p999:.0} ns (n = {})", nanoseconds.len());
}

fn measure(name: &str, destination: &Destination, window: Window) {
    let config = Config { window, ..Config::new("node", "cost", destination.clone()) };
    let mut client = Client::new("cost", &config).expect("a client");
    let fields = ["a", "b", "c"].map(|name| (name, FieldType::Int32));
    let point = client.point("m", &fields).expect("a point");
    client.start().expect("a thread");
    describe(&format!("{name}, mean of a batch of {BATCH}"), batches(&point));
    describe(
        &format!("{name}, single injects"),
        singles(|number| {
            let _ = point.inject(&values(number));
        }),
    );
    let report = client.close(Duration::from_secs(10));
    let all = report.counters.point("m").expect("the point");
    println!(
        "{name}: {} samples injected, {} dropped, rows lost {}",
        all.injected,
        all.dropped,
        report.counters.dropped() - all.dropped
    );
}

fn main() {
    let destination = match std::env::args().nth(1) {
        Some(address) => address.parse().expect("HOST:PORT"),
        None => discarding_collector(),
    };
    describe(
        "the clock alone",
        singles(|number| {
            std::hint::black_box(number);
        }),
    );
    measure("raw", &destination, Window::Samples(1));
    measure("avg over 100", &destination, Window::Samples(100));
}
