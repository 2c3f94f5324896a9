//! The most that the flow programs, and iperf3 where it is installed, get out of this machine: over the loopback device, and
//! through an emulated path that limits nothing but adds a delay. Gbit/s of payload, and processors used by sender and
//! receiver together.
//!
//! `cargo run --release -p trialwise-transport --example ceiling [SECONDS]` (as root, for large socket buffers)

#![allow(clippy::unwrap_used, reason = "a measurement: what fails shall be seen")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::env;
use std::io::{BufRead, BufReader};
use std::mem::MaybeUninit;
use std::path::Path as FilePath;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trialwise_emulator::{End, NamespaceSettings, Path, PathSettings};
use trialwise_link::LinkSpec;
use trialwise_units::Seed;

/// Where both programs of a measurement run.
enum Place<'a> {
    Loopback,
    Over(&'a Path),
}

impl Place<'_> {
    fn command(&self, end: End, program: &str) -> Command {
        match self {
            Self::Loopback => Command::new(program),
            Self::Over(path) => path.command(end, program).unwrap(),
        }
    }

    fn address(&self) -> String {
        match self {
            Self::Loopback => "127.0.0.1".to_owned(),
            Self::Over(_) => End::Receiver.address().to_string(),
        }
    }
}

fn main() {
    let seconds = env::args().nth(1).map_or(5, |text| text.parse().unwrap());
    let flow = env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("flow");
    println!("{:12} {:34} {:>9} {:>11}", "", "", "Gbit/s", "processors");
    measure(&Place::Loopback, "loopback", &flow, seconds);
    for (name, pairs) in [("path, 1 ms", [("delay", "1ms")]), ("path, 28 ms", [("delay", "28ms")])] {
        let link = LinkSpec::from_pairs(pairs, &|_| Err(String::new())).unwrap();
        let namespaces = NamespaceSettings::default();
        let settings = PathSettings { forward: link.clone(), backward: link, seed: Seed::new(1), namespaces };
        let path = Path::open(&settings, None).unwrap();
        measure(&Place::Over(&path), name, &flow, seconds);
    }
}

fn measure(place: &Place<'_>, name: &str, flow: &FilePath, seconds: u64) {
    let tell =
        |what: &str, (rate, share): (f64, f64)| println!("{name:12} {what:34} {rate:9.2} {share:11.2}");
    for (protocol, congestion, buffer) in [
        ("tcp", "cubic", "64MB"),
        ("udp", "cubic", "16MB"),
        ("udp", "fixed-rate:1Gbit/s", "16MB"),
        ("udp", "fixed-rate:5Gbit/s", "16MB"),
    ] {
        tell(
            &format!("{protocol} {congestion}"),
            run_flow(place, flow, [protocol, congestion, buffer], seconds),
        );
    }
    if Command::new("iperf3").arg("-v").stdout(Stdio::null()).status().is_ok() {
        tell("iperf3 cubic", run_iperf(place, &["-C", "cubic"], seconds));
        tell("iperf3 cubic --zerocopy", run_iperf(place, &["-C", "cubic", "-Z"], seconds));
        tell("iperf3 -u -b 0 -l 1440", run_iperf(place, &["-u", "-b", "0", "-l", "1440"], seconds));
    }
}

/// Gbit/s acknowledged, and processors used.
fn run_flow(
    place: &Place<'_>,
    flow: &FilePath,
    [protocol, congestion, buffer]: [&str; 3],
    seconds: u64,
) -> (f64, f64) {
    let flow = flow.to_str().unwrap();
    let before = children_time();
    let start = Instant::now();
    let mut receive = place.command(End::Receiver, flow);
    let mut receiver = receive
        .args([protocol, "receive", "--port", "5001", "--buffer", buffer])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(receiver.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let mut send = place.command(End::Sender, flow);
    send.args([protocol, "send", &place.address(), "5001", "--congestion", congestion]);
    send.args(["--time", &format!("{seconds}s"), "--buffer", buffer]);
    let output = send.output().unwrap();
    terminate(&mut receiver);
    let last: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bits = last["summary"]["bytes_acknowledged"].as_f64().unwrap() * 8.0;
    let spent = children_time() - before;
    (
        bits / last["summary"]["duration_s"].as_f64().unwrap() / 1e9,
        spent.as_secs_f64() / start.elapsed().as_secs_f64(),
    )
}

/// Gbit/s received, and processors used.
fn run_iperf(place: &Place<'_>, options: &[&str], seconds: u64) -> (f64, f64) {
    let before = children_time();
    let start = Instant::now();
    let mut serve = place.command(End::Receiver, "iperf3");
    let mut server = serve.args(["-s", "-1", "-p", "5001"]).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut send = place.command(End::Sender, "iperf3");
    send.args(["-c", &place.address(), "-p", "5001", "-J", "-t", &seconds.to_string()]).args(options);
    let output = send.output().unwrap();
    server.wait().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let spent = children_time() - before;
    let (end, share) = (&result["end"], spent.as_secs_f64() / start.elapsed().as_secs_f64());
    let sum = if end["sum_received"]["bits_per_second"].as_f64().is_some_and(|rate| rate > 0.0) {
        end["sum_received"]["bits_per_second"].as_f64().unwrap()
    } else {
        let sent = end["sum"]["bits_per_second"].as_f64().unwrap_or(0.0);
        sent * (1.0 - end["sum"]["lost_percent"].as_f64().unwrap_or(0.0) / 100.0)
    };
    (sum / 1e9, share)
}

fn terminate(child: &mut Child) {
    // SAFETY: a child of ours that has not been waited for.
    unsafe { libc::kill(libc::pid_t::try_from(child.id()).unwrap(), libc::SIGTERM) };
    child.wait().unwrap();
}

/// Processor time of all children that have ended.
fn children_time() -> Duration {
    let mut usage = MaybeUninit::uninit();
    // SAFETY: the kernel fills it.
    let usage: libc::rusage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let span = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    span(usage.ru_utime) + span(usage.ru_stime)
}
