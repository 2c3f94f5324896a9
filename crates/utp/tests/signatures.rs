//! What LEDBAT is known by (RFC 6817 section 2.1), on real packets over an emulated path; needs root.

#![cfg(feature = "utp")]
#![allow(clippy::cast_possible_wrap, clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod flow;
#[path = "../../emulator/tests/support/mod.rs"]
mod support;

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use flow::{end, start_receiver};
use support::measuring::{until_undisturbed, within};
use support::{bulk, open, quantile, settings};
use trialwise_emulator::{Direction, End, Event, LogReader, PacketLog, Path, Record};

const PORT: u16 = 9000;
const UDP: u64 = 17;
/// Deep: 200 packets are 400 ms.
const PATH: [(&str, &str); 3] = [("rate", "6Mbit/s"), ("delay", "10ms"), ("queue", "droptail:packets=200")];

#[test]
#[ignore = "run by other tests, as the program"]
fn program() {
    flow::run_as_program();
}

fn own(path: &Path, end: End) -> Command {
    path.command(end, std::env::current_exe().unwrap()).unwrap()
}

fn start_sender(path: &Path, seconds: u32) -> Child {
    let arguments = format!("send {} {PORT} --time {seconds}s", End::Receiver.address());
    flow::program(own(path, End::Sender), &arguments).spawn().unwrap()
}

/// Data packets that a path like this delivered while `action` went on; none, with the reason printed, where none may be made.
fn delivered(name: &str, action: impl FnOnce(&Path)) -> Option<Vec<Record>> {
    let file = std::env::temp_dir().join(format!("trialwise-utp-{name}-{}", std::process::id()));
    let path = open(&settings(&PATH), Some(PacketLog::create(&file).unwrap()));
    let is_there = path.is_some();
    path.map(|path| {
        action(&path);
        path.close().unwrap()
    });
    let records: Vec<_> = LogReader::open(&file).unwrap().collect::<Result<_, _>>().unwrap();
    fs::remove_file(file).unwrap();
    let is_data = |record: &Record| {
        record.direction == Direction::Forward && record.event == Event::Delivered && record.size.get() > 200
    };
    is_there.then(|| records.into_iter().filter(is_data).collect())
}

fn seconds(record: &Record) -> f64 {
    record.time.nanoseconds() as f64 / 1e9
}

/// Of these packets in this time after the first one, in Mbit/s.
fn rate(records: &[Record], from: f64, to: f64, is_counted: impl Fn(&Record) -> bool) -> f64 {
    let start = seconds(&records[0]);
    let counted =
        records.iter().filter(|record| (from..to).contains(&(seconds(record) - start)) && is_counted(record));
    counted.map(|record| record.size.get() as f64 * 8.0 / 1e6).sum::<f64>() / (to - from)
}

#[test]
fn alone_it_fills_the_link_and_keeps_the_queue_near_its_target() {
    let run = |path: &Path| {
        let receiver = start_receiver(own(path, End::Receiver), PORT);
        assert!(start_sender(path, 6).wait().unwrap().success());
        end(receiver);
    };
    until_undisturbed(|| {
        let Some(records) = delivered("alone", run) else { return Ok(()) };
        let start = seconds(&records[0]);
        let late = records.iter().filter(|record| (2.0..6.0).contains(&(seconds(record) - start)));
        let mut queueing: Vec<_> =
            late.map(|record| record.delay.nanoseconds() as f64 / 1e6 - 10.0).collect();
        let [low, middle, high] = [0.05, 0.5, 0.95].map(|fraction| quantile(&mut queueing, fraction));
        let throughput = rate(&records, 2.0, 6.0, |_| true);
        eprintln!("alone: {throughput:.2} Mbit/s, queueing {low:.0}, {middle:.0}, {high:.0} ms");
        within("the throughput in Mbit/s", throughput, 0.85 * 6.0..)?;
        within("the median queueing delay in ms", middle, 60.0..120.0)?;
        within("its 95th percentile", high, 60.0..150.0)
    });
}

#[test]
fn it_yields_to_cubic_on_the_same_link() {
    let run = |path: &Path| {
        let receiver = start_receiver(own(path, End::Receiver), PORT);
        let sender = start_sender(path, 20);
        thread::sleep(Duration::from_millis(2500));
        bulk(path, "cubic", Duration::ZERO, Duration::from_millis(7500));
        end(sender);
        end(receiver);
    };
    until_undisturbed(|| {
        let Some(records) = delivered("yields", run) else { return Ok(()) };
        let is_udp = |record: &Record| record.flow >> 32 & 0xffff == UDP;
        let before = rate(&records, 1.5, 2.5, is_udp);
        let [ledbat, cubic] =
            [rate(&records, 7.5, 10.0, is_udp), rate(&records, 7.5, 10.0, |record| !is_udp(record))];
        eprintln!("before cubic {before:.2} Mbit/s, beside it {ledbat:.2} of {:.2}", ledbat + cubic);
        within("its throughput before cubic in Mbit/s", before, 0.9 * 6.0..)?;
        within("its throughput beside cubic in Mbit/s", ledbat, 0.0..0.15 * 6.0)?;
        within("the throughput of cubic in Mbit/s", cubic, 0.8 * 6.0..)
    });
}
