//! What is left when a path ends, in whatever way; programs inside; without root.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::inner::{MARK, is_inner, own_test, processes_in, processes_marked};
use support::{PORT, open, settings};
use trialwise_emulator::{DeviceChoice, End, Error, NamespaceSettings, Namespaces, Path};

/// A path in a user namespace of its own, as without root.
fn open_as_user() -> Option<Path> {
    open_of_kind(true, DeviceChoice::Auto)
}

fn open_of_kind(user_namespace: bool, device: DeviceChoice) -> Option<Path> {
    let mut settings = settings(&[("rate", "50Mbit/s"), ("delay", "2ms")]);
    settings.namespaces.user_namespace |= user_namespace;
    settings.namespaces.device = device;
    open(&settings, None)
}

/// What `path_to_be_killed` is told by its environment, so that the rounds have every kind of path.
fn kind_of_round(command: &mut Command, round: u64) {
    if round.is_multiple_of(2) {
        command.env("AS_USER", "1");
    }
    if round % 4 >= 2 {
        command.env("BY_PACKET", "1");
    }
}

#[test]
#[ignore = "run by other tests, which kill it"]
fn path_to_be_killed() {
    if !is_inner() {
        return;
    }
    let is_set = |name| std::env::var_os(name).is_some();
    let device = if is_set("BY_PACKET") { DeviceChoice::Packet } else { DeviceChoice::Tun };
    let Some(path) = open_of_kind(is_set("AS_USER"), device) else { return println!("skipped") };
    // Tells its namespaces, and leaves a process behind that nobody waits for and that is in a session of its own.
    let script = "setsid sleep 1000 & while :; do echo; done > /dev/udp/$TRIALWISE_PEER/9 & \
                  echo $(readlink /proc/self/ns/net /proc/self/ns/pid); exec sleep 1000";
    let mut ends = [End::Sender, End::Receiver].map(|end| {
        path.command(end, "bash").unwrap().args(["-c", script]).stderr(Stdio::null()).spawn().unwrap()
    });
    ends.iter_mut().for_each(|end| {
        end.wait().unwrap();
    });
}

/// Starts it, and gives it with the namespaces that it told of.
fn start_to_be_killed(round: u64) -> Option<(Child, BTreeSet<String>)> {
    let mut command = own_test(Command::new(std::env::current_exe().unwrap()), "path_to_be_killed");
    kind_of_round(&mut command, round);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut namespaces = BTreeSet::new();
    for line in BufReader::new(child.stdout.as_mut().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains("skipped") {
            child.wait().unwrap();
            return None;
        }
        namespaces.extend(line.split(' ').filter(|word| word.contains(":[")).map(str::to_owned));
        if namespaces.len() == 3 {
            break; // two networks, one space of processes
        }
    }
    Some((child, namespaces))
}

fn kill_while_starting(count: u64) {
    for round in 0..count {
        let value = format!("{}-{round}", std::process::id());
        let mut command = own_test(Command::new(std::env::current_exe().unwrap()), "path_to_be_killed");
        kind_of_round(&mut command, round);
        let mut child =
            command.env(MARK, &value).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_micros(round * 7_919 % 25_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let start = Instant::now();
        while !processes_marked(&value).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "left: {:?}", processes_marked(&value));
            thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn nothing_is_left_after_a_kill_while_starting() {
    kill_while_starting(30);
}

#[test]
fn nothing_is_left_after_a_kill() {
    kill_while_running(30);
}

#[test]
#[ignore = "soak: 200 kills of either kind"]
fn nothing_is_left_after_many_kills() {
    kill_while_starting(200);
    kill_while_running(200);
}

fn kill_while_running(count: u64) {
    for round in 0..count {
        let Some((mut child, namespaces)) = start_to_be_killed(round) else { return };
        assert!(processes_in(&namespaces).len() >= 6, "{namespaces:?}");
        thread::sleep(Duration::from_millis(round * 7 % 40));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let start = Instant::now();
        while !processes_in(&namespaces).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "left: {:?}", processes_in(&namespaces));
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn programs_end_with_the_path_and_the_host_keeps_its_devices() {
    let devices = || -> BTreeSet<_> {
        fs::read_dir("/sys/class/net").unwrap().map(|device| device.unwrap().file_name()).collect()
    };
    let before = devices();
    let Some(path) = open(&settings(&[("delay", "1ms")]), None) else { return };
    let mut command = path.command(End::Receiver, "sh").unwrap();
    let mut program =
        command.args(["-c", "echo ready; exec sleep 1000"]).stdout(Stdio::piped()).spawn().unwrap();
    program.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    assert_eq!(devices(), before);
    path.close().unwrap();
    assert_eq!(program.wait().unwrap().signal(), Some(libc::SIGKILL));
}

#[test]
fn a_dropped_path_leaves_no_process_behind() {
    let Some(path) = open(&settings(&[("delay", "1ms")]), None) else { return };
    let mut command = path.command(End::Sender, "sh").unwrap();
    let script = "readlink /proc/self/ns/net; sleep 1000";
    let mut program = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let namespace = BufReader::new(program.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let namespaces = BTreeSet::from([namespace]);
    assert!(!processes_in(&namespaces).is_empty());
    drop(path);
    program.wait().unwrap();
    assert_eq!(processes_in(&namespaces), Vec::<String>::new());
}

#[test]
fn a_program_ends_as_it_would_without_a_path() {
    let Some(path) = open(&settings(&[]), None) else { return };
    let status = |script: &str| {
        path.command(End::Sender, "sh").unwrap().args(["-c", script]).stderr(Stdio::null()).status().unwrap()
    };
    assert_eq!(status("exit 7").code(), Some(7));
    assert_eq!(status("test $TRIALWISE_PEER = 100.64.0.2").code(), Some(0));
    assert_eq!(status("test $TRIALWISE_PEER6 = fd74:7269:616c::2").code(), Some(0));
    assert_eq!(status("kill -TERM $$").signal(), Some(libc::SIGTERM));
    let missing = path.command(End::Sender, "/no/such/program").unwrap().stderr(Stdio::null()).status();
    assert_eq!(missing.unwrap().code(), Some(127));
}

#[test]
fn signals_reach_the_program() {
    let Some(path) = open(&settings(&[]), None) else { return };
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done";
    let mut command = path.command(End::Sender, "sh").unwrap();
    let mut program = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    program.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    // SAFETY: a signal to a child of ours that is not waited for yet.
    assert_eq!(unsafe { libc::kill(i32::try_from(program.id()).unwrap(), libc::SIGTERM) }, 0);
    assert_eq!(program.wait().unwrap().code(), Some(9));
}

#[test]
#[ignore = "run inside a path by without_root_programs_reach_each_other"]
fn serve() {
    if !is_inner() {
        return;
    }
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    println!("ready");
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    assert_eq!(received, [7; 2_000_000]);
}

#[test]
#[ignore = "run inside a path by without_root_programs_reach_each_other"]
fn send() {
    if !is_inner() {
        return;
    }
    let peer: IpAddr = std::env::var("TRIALWISE_PEER").unwrap().parse().unwrap();
    TcpStream::connect((peer, PORT)).unwrap().write_all(&[7; 2_000_000]).unwrap();
}

#[test]
fn without_root_programs_reach_each_other() {
    let Some(path) = open_as_user() else { return };
    let program = std::env::current_exe().unwrap();
    let server = path.command(End::Receiver, &program).unwrap();
    let mut server = own_test(server, "serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    let client =
        own_test(path.command(End::Sender, &program).unwrap(), "send").stdout(Stdio::null()).status();
    assert!(client.unwrap().success());
    thread::spawn(move || lines.count());
    assert!(server.wait().unwrap().success());
    assert!(path.close().unwrap().forward.delivered.packets > 2_000_000 / 1460);
}

#[test]
fn an_impossible_mtu_is_refused_with_what_is_possible() {
    for mtu in [0, 575, 9001, u16::MAX] {
        let settings = NamespaceSettings { mtu, ..NamespaceSettings::default() };
        let error = Namespaces::make(settings).unwrap_err();
        assert!(matches!(error, Error::Mtu { .. }));
        assert!(error.to_string().contains("from 576 to 9000, and for IPv6 1280"), "{error}");
    }
}
