//! What this machine's emulator can do: the ceiling without limits, a gigabit, delay error and processor time. As root.
//!
//! `cargo run --release -p trialwise-emulator --example ceiling`

#![expect(clippy::print_stdout, reason = "a program that measures and prints")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use support::{bulk, datagrams, open, quantile, settings};
use trialwise_emulator::{LATENESS_BOUND, Path};

fn close(path: Path) -> String {
    let report = match path.close() {
        Ok(report) => report,
        Err(error) => return error.to_string(),
    };
    let microseconds = |span: trialwise_units::Duration| span.as_seconds() * 1e6;
    let late = report.forward.lateness;
    let verdict = report.bottleneck(LATENESS_BOUND).map_or("kept up".to_owned(), |reason| reason.to_string());
    format!(
        "emulator {:.0} % of a core, late p50 {:.0} p99 {:.0} max {:.0} us, unseen p99 {:.0} us, {} dropped by the queue, \
         {} unlogged, {:?} (yielded {}), {verdict}",
        report.processor_share() * 100.0,
        microseconds(late.median),
        microseconds(late.p99),
        microseconds(late.largest),
        microseconds(report.unseen.p99),
        report.forward.dropped.packets,
        report.forward.overrun + report.forward.refused + report.backward.overrun + report.backward.refused,
        report.priority,
        report.yielded,
    )
}

fn measure_bulk(name: &str, control: &str, pairs: &[(&str, &str)], warmup: u64, span: u64) {
    let Some(path) = open(&settings(pairs), None) else { return };
    let (bytes, seconds) = bulk(&path, control, Duration::from_secs(warmup), Duration::from_secs(span));
    let rate = bytes as f64 * 8.0 / seconds.as_secs_f64() / 1e6;
    println!("{name}, {control}: {rate:.1} Mbit/s of payload; {}", close(path));
}

fn measure_delay(rate: &str, megabits: f64) {
    let Some(path) = open(&settings(&[("rate", rate), ("delay", "28ms")]), None) else { return };
    let found = datagrams(&path, 2_000, Duration::from_millis(2), 200);
    let model = 28.0 + 228.0 * 8.0 / megabits / 1e3;
    let mut errors: Vec<f64> = found.iter().map(|(_, delay)| *delay as f64 / 1e6 - model).collect();
    let [p50, p95, p99, most] = [0.5, 0.95, 0.99, 1.0].map(|fraction| quantile(&mut errors, fraction));
    println!(
        "delay error at {rate}: p50 {p50:.3} p95 {p95:.3} p99 {p99:.3} max {most:.3} ms; {}",
        close(path)
    );
}

fn main() {
    measure_delay("12Mbit/s", 12.0);
    measure_delay("100Mbit/s", 100.0);
    let path = |rate, queue| [("rate", rate), ("queue", queue), ("delay", "28ms")];
    measure_bulk("12 Mbit/s, 28 ms, 50 packets", "cubic", &path("12Mbit/s", "droptail:packets=50"), 2, 5);
    measure_bulk("100 Mbit/s, 28 ms, 1 BDP", "cubic", &path("100Mbit/s", "droptail:packets=470"), 3, 7);
    measure_bulk("1 Gbit/s, 28 ms, 1 BDP", "cubic", &path("1Gbit/s", "droptail:packets=4670"), 3, 10);
    for control in ["cubic", "reno", "bbr"] {
        let lossy = path("12Mbit/s", "droptail:packets=50").into_iter().chain([("loss", "0.4%")]);
        measure_bulk("12 Mbit/s, 28 ms, 0.4 % lost each way", control, &lossy.collect::<Vec<_>>(), 2, 18);
    }
    measure_bulk("28 ms without rate", "cubic", &[("delay", "28ms")], 3, 4);
    measure_bulk("no limit", "cubic", &[], 1, 4);
}
