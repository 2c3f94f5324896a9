//! The programs over the loopback device: loads, reports, errors.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{FLOW, Scratch, Server, wait_until};

const PROTOCOLS: [(&str, &str); 2] = [("tcp", "reno"), ("udp", "newreno")];

fn free_port() -> u16 {
    // Free for both protocols at this instant.
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn server(protocol: &str) -> (Server, u16) {
    let port = free_port();
    (Server::start(Command::new(FLOW), protocol, port), port)
}

fn sender(protocol: &str, congestion: &str, port: u16, options: &[&str]) -> Command {
    let mut command = Command::new(FLOW);
    command
        .args([protocol, "send", "127.0.0.1", &port.to_string(), "--congestion", congestion])
        .args(options);
    command
}

fn completions(lines: &[Value]) -> Vec<(u64, u64, u64)> {
    let span = |line: &Value| line["end_ns"].as_u64().unwrap() - line["start_ns"].as_u64().unwrap();
    let mut found: Vec<_> = lines
        .iter()
        .filter(|line| line["size_bytes"].is_u64())
        .map(|line| (line["flow"].as_u64().unwrap(), line["size_bytes"].as_u64().unwrap(), span(line)))
        .collect();
    found.sort_unstable();
    found
}

fn error_of(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[test]
fn requests_are_answered_and_timed() {
    for (protocol, congestion) in PROTOCOLS {
        let (server, port) = server(protocol);
        let report = Scratch::new();
        let load = "requests:request=200B,response=300kB,think=20ms,count=4";
        let start = Instant::now();
        let status = sender(protocol, congestion, port, &["--load", load, "--report", report.path()])
            .status()
            .unwrap();
        assert!(status.success());
        assert!(start.elapsed() >= Duration::from_millis(60), "it did not think");
        let lines = report.lines();
        let found: Vec<_> = completions(&lines).iter().map(|(flow, size, _)| (*flow, *size)).collect();
        assert_eq!(found, [(0, 300_200), (1, 300_200), (2, 300_200), (3, 300_200)], "{protocol}");
        let summary = &lines.last().unwrap()["summary"];
        assert_eq!(summary["bytes_received"], 1_200_000, "{protocol}");
        assert_eq!((&summary["ended"], &summary["completed"]), (&"complete".into(), &4.into()));
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn flows_of_a_list_start_at_their_times_and_complete() {
    let list = Scratch::new();
    let flows: String =
        (0..40).map(|index| format!("{},{}\n", 2_000_000 * (index % 20), 1 + 7_001 * index)).collect();
    std::fs::write(&list.0, format!("start_ns,size_bytes\n{flows}")).unwrap();
    for (protocol, congestion) in PROTOCOLS {
        let (_server, port) = server(protocol);
        let report = Scratch::new();
        let load = format!("flows:{}", list.path());
        let status = sender(protocol, congestion, port, &["--load", &load, "--report", report.path()])
            .status()
            .unwrap();
        assert!(status.success());
        let lines = report.lines();
        let sizes: Vec<_> = completions(&lines).iter().map(|(flow, size, _)| (*flow, *size)).collect();
        assert_eq!(sizes, (0..40).map(|index| (index, 1 + 7_001 * index)).collect::<Vec<_>>(), "{protocol}");
        let origin = lines.last().unwrap()["summary"]["start_ns"].as_u64().unwrap();
        for line in lines.iter().filter(|line| line["size_bytes"].is_u64()) {
            let wanted = origin + 2_000_000 * (line["flow"].as_u64().unwrap() % 20);
            assert!(line["start_ns"].as_u64().unwrap() >= wanted, "{protocol}");
        }
    }
}

#[test]
fn a_rate_is_kept_by_the_application() {
    thread::scope(|scope| {
        for (protocol, congestion) in PROTOCOLS {
            scope.spawn(move || {
                let (_server, port) = server(protocol);
                let report = Scratch::new();
                let options = ["--load", "rate:8Mbit/s", "--time", "2s", "--report", report.path()];
                assert!(sender(protocol, congestion, port, &options).status().unwrap().success());
                let lines = report.lines();
                let summary = &lines.last().unwrap()["summary"];
                let bytes = summary["bytes_acknowledged"].as_u64().unwrap();
                assert!((1_960_000..2_040_000).contains(&bytes), "{protocol}: {bytes}");
                assert_eq!(summary["ended"], "time");
                // Samples each 10 ms; a busy machine leaves some out.
                let samples = lines.iter().filter(|line| line["time_ns"].is_u64()).count();
                assert!((50..=201).contains(&samples), "{protocol}: {samples}");
            });
        }
    });
}

#[test]
fn a_killed_sender_leaves_a_whole_prefix() {
    for (protocol, congestion) in PROTOCOLS {
        let (_server, port) = server(protocol);
        let report = Scratch::new();
        let options = ["--load", "rate:8Mbit/s", "--report", report.path()];
        let mut child = sender(protocol, congestion, port, &options).spawn().unwrap();
        let has_lines = || std::fs::read_to_string(&report.0).is_ok_and(|text| text.lines().count() > 5);
        assert!(wait_until(has_lines));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&report.0).unwrap();
        let whole = text.rfind('\n').unwrap();
        for line in text[..whole].lines() {
            let sample: Value = serde_json::from_str(line).unwrap();
            assert!(sample["time_ns"].is_u64() && sample["cwnd_bytes"].is_u64(), "{line}");
        }
    }
}

#[test]
fn a_port_where_nothing_listens_is_refused() {
    for (protocol, congestion) in PROTOCOLS {
        let (code, message) = error_of(&sender(protocol, congestion, free_port(), &[]).output().unwrap());
        assert_eq!(code, Some(1));
        assert!(message.contains("nothing listens there"), "{protocol}: {message}");
    }
}

#[test]
fn silence_is_an_error_after_the_time_out() {
    let (mute_udp, mute_tcp) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = [mute_udp.local_addr().unwrap().port(), mute_tcp.local_addr().unwrap().port()];
    let requests = "requests:request=1kB,response=1kB";
    for ((protocol, congestion), port) in [("udp", "copa"), ("tcp", "reno")].into_iter().zip(ports) {
        let options = ["--timeout", "300ms", "--load", requests];
        let (code, message) = error_of(&sender(protocol, congestion, port, &options).output().unwrap());
        assert_eq!(code, Some(1));
        assert!(message.contains("no answer from 127.0.0.1") && message.contains("for 0.3 s"), "{message}");
    }
}

/// A receiver of another version: a relay to this one changes the number of the format in what opens a flow.
fn other_version() -> (Server, u16) {
    let (server, behind) = server("udp");
    let relay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = relay.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut sender, mut buffer) = (None, [0; 2048]);
        while let Ok((length, from)) = relay.recv_from(&mut buffer) {
            let to =
                if from.port() == behind { sender } else { Some(SocketAddr::from(([127, 0, 0, 1], behind))) };
            if from.port() != behind {
                sender = Some(from);
            }
            let bytes = &mut buffer[..length];
            if let Some(place) = bytes.windows(3).position(|three| three == b"TWF") {
                bytes[place + 3] = b'0';
            }
            if to.is_some_and(|to| relay.send_to(bytes, to).is_err()) {
                return;
            }
        }
    });
    (server, port)
}

#[test]
fn a_receiver_of_another_version_is_an_error() {
    for congestion in ["newreno", "gcc"] {
        let (_server, port) = other_version();
        let options = ["--timeout", "500ms", "--time", "20s"];
        let (code, message) = error_of(&sender("udp", congestion, port, &options).output().unwrap());
        assert_eq!(code, Some(1), "{message}");
        assert!(
            message.contains("does not take what opens flow 0; run `receive` of this version"),
            "{message}"
        );
    }
}

#[test]
fn a_receiver_that_goes_away_is_an_error() {
    for (protocol, congestion) in PROTOCOLS {
        let (server, port) = server(protocol);
        let report = Scratch::new();
        let options = ["--load", "rate:8Mbit/s", "--report", report.path()];
        let child = sender(protocol, congestion, port, &options).stderr(std::process::Stdio::piped()).spawn();
        let has_lines = || std::fs::read_to_string(&report.0).is_ok_and(|text| text.lines().count() > 5);
        assert!(wait_until(has_lines));
        drop(server);
        let (code, message) = error_of(&child.unwrap().wait_with_output().unwrap());
        assert_eq!(code, Some(1), "{protocol}");
        assert!(message.contains("went away in the middle of flow 0"), "{message}");
        assert_eq!(report.lines().last().unwrap()["summary"]["ended"], "error");
    }
}

#[test]
fn what_is_not_permitted_is_said_with_what_is() {
    let (_server, port) = server("tcp");
    let (code, message) = error_of(&sender("tcp", "nonesuch", port, &[]).output().unwrap());
    assert_eq!(code, Some(1));
    assert!(message.contains("refuses congestion control nonesuch") && message.contains("reno"), "{message}");
    let (code, message) = error_of(&sender("udp", "bbr", port, &[]).output().unwrap());
    assert_eq!(code, Some(2));
    assert!(message.contains("newreno, cubic, ledbat, copa"), "{message}");
    let second = Command::new(FLOW).args(["tcp", "receive", "--port", &port.to_string()]).output().unwrap();
    let (code, message) = error_of(&second);
    assert_eq!(code, Some(1));
    assert!(message.contains("cannot listen") && message.contains("in use"), "{message}");
    let output = sender("tcp", "reno", port, &["--report", "/nonexistent/report"]).output().unwrap();
    assert!(error_of(&output).1.contains("cannot write the report /nonexistent/report"));
}

#[test]
fn frames_of_media_are_reported_at_both_ends() {
    let port = free_port();
    let (report, arrivals) = (Scratch::new(), Scratch::new());
    let server = Server::start_with(Command::new(FLOW), "udp", port, &["--report", arrivals.path()]);
    let load = "media:rate=150kbit/s..1.5Mbit/s,fps=50,model=constant";
    let options = ["--load", load, "--time", "1s", "--report", report.path()];
    assert!(sender("udp", "fixed_rate:20Mbit/s", port, &options).status().unwrap().success());
    assert_eq!(server.stop(), Some(0));
    let of = |lines: &[Value], key: &str| -> Vec<(u64, u64)> {
        let told = lines.iter().filter(|line| line[key].is_u64());
        told.map(|line| (line["frame"].as_u64().unwrap(), line[key].as_u64().unwrap())).collect()
    };
    let lines = report.lines();
    let (captured, arrived) = (of(&lines, "captured_ns"), of(&arrivals.lines(), "arrived_ns"));
    assert!((2..=51).contains(&captured.len()), "{captured:?}");
    assert!(captured.iter().map(|(frame, _)| *frame).eq(0..captured.len() as u64));
    // The grid of captures is that of the rate, however busy the machine is.
    assert!(captured.iter().all(|(frame, time)| *time == captured[0].1 + 20_000_000 * frame), "{captured:?}");
    assert!(!arrived.is_empty());
    for (frame, time) in arrived {
        assert!(time >= captured[frame as usize].1, "frame {frame} arrived before its capture");
    }
}

#[test]
fn media_go_over_udp_only() {
    let output = sender("tcp", "reno", 9, &["--load", "media:rate=1Mbit/s..2Mbit/s"]).output().unwrap();
    let (code, words) = error_of(&output);
    assert_eq!(code, Some(2));
    assert!(words.contains("load media goes over udp only"), "{words}");
    let missing = sender("udp", "cubic", 9, &["--load", "media:file=/nowhere/frames.txt"]).output().unwrap();
    assert!(error_of(&missing).1.contains("/nowhere/frames.txt: No such file"));
}
