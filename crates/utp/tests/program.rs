//! The programs over the loopback device.

#![cfg(feature = "utp")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod flow;

use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use flow::{end, start_receiver};

#[test]
#[ignore = "run by other tests, as the program"]
fn program() {
    flow::run_as_program();
}

fn own() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn run(arguments: &str) -> Output {
    flow::program(own(), arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn free_port() -> u16 {
    UdpSocket::bind("[::]:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_load_of_bytes_arrives_over_either_family_and_the_report_tells_of_it() {
    let port = free_port();
    let receiver = start_receiver(own(), port);
    let report = std::env::temp_dir().join(format!("trialwise-utp-{}", std::process::id()));
    for address in ["127.0.0.1", "::1"] {
        let output =
            run(&format!("send {address} {port} --load bytes:3MB --time 20s --report {}", report.display()));
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        check_report(&fs::read_to_string(&report).unwrap());
    }
    fs::remove_file(report).unwrap();
    let (status, said) = end(receiver);
    assert_eq!(status.code(), Some(0), "{said}");
}

fn check_report(text: &str) {
    let samples: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!samples.is_empty());
    let times: Vec<_> = samples.iter().map(|sample| sample["time_ns"].as_u64().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[1] >= pair[0] + 10_000_000));
    assert!(
        samples.iter().all(|sample| sample["cwnd_bytes"].as_u64().unwrap() > 0 && sample["rtt_ms"].is_u64())
    );
}

#[test]
fn a_bulk_flow_ends_with_its_time_and_with_sigterm() {
    let port = free_port();
    let receiver = start_receiver(own(), port);
    let start = Instant::now();
    assert_eq!(run(&format!("send 127.0.0.1 {port} --time 300ms")).status.code(), Some(0));
    assert!((300..30_000).contains(&start.elapsed().as_millis()));
    let sender = flow::program(own(), &format!("send 127.0.0.1 {port}")).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let (status, said) = end(sender);
    assert_eq!(status.code(), Some(0), "{said}");
    end(receiver);
}

#[test]
fn where_nobody_listens_or_answers_it_says_so() {
    let refused = run(&format!("send 127.0.0.1 {} --time 1s", free_port()));
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("nothing listens there"), "{}", said(&refused));
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let unanswered = run(&format!("send 127.0.0.1 {} --time 1s", silent.local_addr().unwrap().port()));
    assert_eq!(unanswered.status.code(), Some(1));
    assert!(said(&unanswered).contains("no answer from 127.0.0.1"), "{}", said(&unanswered));
}

#[test]
fn a_receiver_that_goes_away_and_a_port_in_use_are_errors() {
    let port = free_port();
    let receiver = start_receiver(own(), port);
    let second = run(&format!("receive --port {port}"));
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).contains("cannot listen at port"), "{}", said(&second));
    let sender = flow::program(own(), &format!("send 127.0.0.1 {port} --time 20s")).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    end(receiver);
    let output = sender.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("went away"), "{}", said(&output));
}

#[test]
fn a_wrong_command_line_is_usage() {
    let output = run("send 127.0.0.1 nowhere");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("is no PORT"));
}
