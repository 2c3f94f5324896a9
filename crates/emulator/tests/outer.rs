//! Paths whose outer end is the network they were started in: servers of the host, nesting, kills.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::inner::{MARK, is_inner, own_test, processes_marked};
use support::outer::{MODES, Mode, devices, in_own_network, routes};
use support::pattern;
use trialwise_emulator::{Crossing, DeviceChoice, OuterPath};

const LENGTH: usize = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(30);
const DELAY: [(&str, &str); 1] = [("delay", "2ms")];

/// Servers of the host, each at a port of all its addresses. They go on until the test ends.
struct Servers {
    /// Reads to the end, then sends it all back.
    streams: u16,
    /// Sends back what comes.
    datagrams: u16,
    /// Accepts one connection, then is gone.
    once: u16,
    /// Resets every connection.
    resetting: u16,
    /// Nobody.
    nobody: u16,
}

impl Servers {
    fn start() -> Self {
        Self {
            streams: serve(TcpListener::bind(everywhere()).unwrap(), |mut stream| {
                let mut received = Vec::new();
                stream.read_to_end(&mut received).unwrap();
                stream.write_all(&received).unwrap();
            }),
            datagrams: answer_datagrams(),
            once: {
                let listener = TcpListener::bind(everywhere()).unwrap();
                let port = listener.local_addr().unwrap().port();
                thread::spawn(move || {
                    let mut stream = listener.accept().unwrap().0;
                    drop(listener);
                    stream.write_all(b"once").unwrap();
                });
                port
            },
            resetting: serve(TcpListener::bind(everywhere()).unwrap(), |mut stream| {
                // Closing with something unread resets.
                stream.read_exact(&mut [0]).unwrap();
            }),
            nobody: TcpListener::bind(everywhere()).unwrap().local_addr().unwrap().port(),
        }
    }

    fn tell(&self, mut command: Command) -> Command {
        let Self { streams, datagrams, once, resetting, nobody } = self;
        command.env("PORTS", format!("{streams} {datagrams} {once} {resetting} {nobody}"));
        command
    }

    fn told() -> Self {
        let ports: Vec<u16> =
            env::var("PORTS").unwrap().split(' ').map(|port| port.parse().unwrap()).collect();
        let [streams, datagrams, once, resetting, nobody] = ports.try_into().unwrap();
        Self { streams, datagrams, once, resetting, nobody }
    }
}

/// All addresses of both versions, any port.
fn everywhere() -> SocketAddr {
    "[::]:0".parse().unwrap()
}

fn serve(listener: TcpListener, answer: fn(TcpStream)) -> u16 {
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer_datagrams() -> u16 {
    let socket = UdpSocket::bind(everywhere()).unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            socket.send_to(&buffer[..length], from).unwrap();
        }
    });
    port
}

/// The same address in both versions, of the outermost end.
fn addresses_of_base() -> [IpAddr; 2] {
    let base: Ipv4Addr = env::var("MAHIMAHI_BASE").unwrap().parse().unwrap();
    let version_6 = (0xfd74_7269_616c_0001_u128 << 64 | u128::from(base.to_bits())).into();
    [base.into(), IpAddr::V6(version_6)]
}

fn check_streams(address: IpAddr, port: u16) {
    let mut stream = TcpStream::connect((address, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent = pattern(LENGTH);
    stream.write_all(&sent).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    assert!(received == sent, "{} bytes came back of {LENGTH}", received.len());
}

fn check_datagrams(address: IpAddr, port: u16) {
    let socket = UdpSocket::bind(everywhere()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect((address, port)).unwrap();
    for length in [1, 1200, 4000] {
        let sent = pattern(8 * 1024)[..length].to_vec();
        socket.send(&sent).unwrap();
        let mut buffer = [0; 65536];
        let received = socket.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..received], sent);
    }
}

fn check_refusals(address: IpAddr, port: u16) {
    let refusal = || {
        let start = Instant::now();
        let error = TcpStream::connect((address, port)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        start.elapsed()
    };
    // A second one where the machine stood still.
    assert!((0..3).any(|_| refusal() < Duration::from_millis(900)), "packets were sent twice");
    let socket = UdpSocket::bind(everywhere()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket.connect((address, port)).unwrap();
    // A busy kernel may drop a datagram, or the word that it was refused.
    let refused = (0..5).any(|_| {
        let error = socket.send(b"anybody").and_then(|_| socket.recv(&mut [0; 9])).unwrap_err();
        error.kind() == ErrorKind::ConnectionRefused
    });
    assert!(refused, "datagrams to {address}");
}

fn check_reset(address: IpAddr, port: u16) {
    let mut stream = TcpStream::connect((address, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[0; 9]).unwrap();
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// A port that was open, and whose server is gone.
fn check_departure(address: IpAddr, port: u16) {
    let mut received = String::new();
    TcpStream::connect((address, port)).unwrap().read_to_string(&mut received).unwrap();
    assert_eq!(received, "once");
    // The server lets go of its port a moment after its last connection.
    let error = (0..100)
        .find_map(|_| {
            thread::sleep(Duration::from_millis(20));
            TcpStream::connect((address, port)).err()
        })
        .expect("the port stays open");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
#[ignore = "run inside a path by other tests"]
fn client() {
    if !is_inner() {
        return;
    }
    let servers = Servers::told();
    for address in addresses_of_base() {
        check_streams(address, servers.streams);
        check_datagrams(address, servers.datagrams);
        check_refusals(address, servers.nobody);
        check_reset(address, servers.resetting);
    }
    check_departure(addresses_of_base()[0], servers.once);
}

/// Runs that test of this program inside.
fn run_inside(path: &OuterPath, servers: &Servers, test: &str) {
    let program = env::current_exe().unwrap();
    let command = servers.tell(path.command(program).unwrap());
    let output = own_test(command, test).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn servers_answer(mode: Mode) {
    in_own_network(move || {
        let before = (devices(), routes());
        let Some(path) = mode.open(&DELAY) else { return };
        run_inside(&path, &Servers::start(), "client");
        let report = path.close().unwrap();
        assert_eq!((report.forward.overrun, report.forward.refused), (0, 0), "{report:?}");
        assert_eq!((report.backward.overrun, report.backward.refused), (0, 0), "{report:?}");
        assert!(report.forward.delivered.bytes.get() > 2 * LENGTH as u64);
        wait_until("devices or routes are left", || (devices(), routes()) == before);
    });
}

#[test]
fn servers_of_the_host_answer_directly() {
    servers_answer(MODES[0]);
}

#[test]
fn servers_of_the_host_answer_through_the_relay() {
    servers_answer(MODES[1]);
}

#[test]
fn servers_of_the_host_answer_directly_by_packet_devices() {
    servers_answer(MODES[2]);
}

#[test]
fn servers_of_the_host_answer_through_the_relay_by_packet_devices() {
    servers_answer(MODES[3]);
}

#[test]
#[ignore = "run inside a path by other tests"]
fn path_inside() {
    if !is_inner() {
        return;
    }
    let depth: u32 = env::var("DEPTH").unwrap().parse().unwrap();
    let device = if depth == 1 { DeviceChoice::Packet } else { DeviceChoice::Auto };
    let path = Mode { crossing: Crossing::Direct, device }.open(&DELAY).unwrap();
    assert_eq!(path.base().to_string(), env::var("MAHIMAHI_BASE").unwrap());
    // SAFETY: no other thread of this test reads or writes the environment.
    unsafe { env::set_var("DEPTH", (depth - 1).to_string()) };
    run_inside(&path, &Servers::told(), if depth == 1 { "client" } else { "path_inside" });
    path.close().unwrap();
}

fn paths_inside(mode: Mode) {
    in_own_network(move || {
        let Some(path) = mode.open(&DELAY) else { return };
        let servers = Servers::start();
        let mut command = servers.tell(path.command(env::current_exe().unwrap()).unwrap());
        command.env("DEPTH", "2");
        let output = own_test(command, "path_inside").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    });
}

#[test]
fn a_path_in_a_path_in_a_path_reaches_the_host_directly() {
    paths_inside(MODES[0]);
}

#[test]
fn a_path_in_a_path_in_a_path_reaches_the_host_through_the_relay() {
    paths_inside(MODES[1]);
}

#[test]
fn paths_opened_at_the_same_time_have_addresses_of_their_own() {
    in_own_network(|| {
        if MODES[0].open(&[]).is_none() {
            return;
        }
        let opening: Vec<_> =
            (0..6).map(|index| thread::spawn(move || MODES[index % 2 * 2].open(&[]).unwrap())).collect();
        let paths: Vec<_> = opening.into_iter().map(|thread| thread.join().unwrap()).collect();
        let addresses: BTreeSet<_> = paths.iter().map(OuterPath::address).collect();
        assert_eq!(addresses.len(), 6, "{addresses:?}");
        assert_eq!(devices().iter().filter(|device| device.starts_with("twpath")).count(), 6);
        let servers = Servers::start();
        thread::scope(|scope| {
            for path in &paths {
                scope.spawn(|| run_inside(path, &servers, "client_of_streams"));
            }
        });
    });
}

#[test]
#[ignore = "run inside a path by other tests"]
fn client_of_streams() {
    if is_inner() {
        check_streams(addresses_of_base()[0], Servers::told().streams);
    }
}

#[test]
fn an_address_that_leads_elsewhere_is_left_alone() {
    in_own_network(|| {
        let Some(first) = MODES[0].open(&[]) else { return };
        let taken = first.address();
        first.close().unwrap();
        let status =
            Command::new("ip").args(["address", "add", &format!("{taken}/24"), "dev", "lo"]).status();
        if status.is_err() {
            return eprintln!("skipped: no ip command");
        }
        let second = MODES[0].open(&[]).unwrap();
        assert_ne!(second.address(), taken);
    });
}

#[test]
fn the_relay_reaches_servers_of_the_loopback_device_and_carries_bulk() {
    const BYTES: u64 = 60_000_000;
    in_own_network(|| {
        let Some(path) = MODES[1].open(&[]) else { return };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let counted = thread::spawn(move || {
            std::io::copy(&mut listener.accept().unwrap().0, &mut std::io::sink()).unwrap()
        });
        let start = Instant::now();
        let script = format!("head -c {BYTES} /dev/zero > /dev/tcp/$TRIALWISE_PEER/{port}; sleep 1");
        let mut program = path.command("bash").unwrap().args(["-c", &script]).spawn().unwrap();
        assert_eq!(counted.join().unwrap(), BYTES);
        let megabits = BYTES as f64 * 8e-6 / start.elapsed().as_secs_f64();
        assert!(megabits > 100.0, "{megabits} Mbit/s");
        program.wait().unwrap();
    });
}

#[test]
fn a_program_inside_ends_as_it_would_without_a_path() {
    in_own_network(|| {
        for mode in &MODES[..2] {
            let Some(path) = mode.open(&[]) else { return };
            let status =
                |script: &str| path.command("sh").unwrap().args(["-c", script]).status().unwrap().code();
            assert_eq!(status("exit 7"), Some(7));
            let address = path.address();
            assert_eq!(status(&format!("test $TRIALWISE_PEER$MAHIMAHI_BASE = {address}{address}")), Some(0));
        }
    });
}

#[test]
fn ctrl_c_in_a_terminal_reaches_the_program_inside() {
    in_own_network(|| {
        let Some(path) = MODES[1].open(&[]) else { return };
        let (mut terminal, theirs) = support::terminal::open();
        let script = "trap 'exit 9' INT; echo ready; while :; do sleep 0.02; done";
        let mut command = path.command("sh").unwrap();
        command.args(["-c", script]).stdout(Stdio::piped());
        support::terminal::control(&mut command, theirs);
        let mut program = command.spawn().unwrap();
        program.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        terminal.write_all(b"\x03").unwrap();
        assert_eq!(program.wait().unwrap().code(), Some(9));
    });
}

#[test]
#[ignore = "run by other tests, which kill it"]
fn outer_path_to_be_killed() {
    if !is_inner() {
        return;
    }
    let mode = MODES[env::var("MODE").unwrap().parse::<usize>().unwrap()];
    let Some(path) = mode.open(&[("delay", "1ms")]) else { return println!("skipped") };
    let script = "setsid sleep 1000 & while :; do echo; done > /dev/udp/$TRIALWISE_PEER/9 & \
                  echo inside; exec sleep 1000";
    path.command("bash").unwrap().args(["-c", script]).stderr(Stdio::null()).status().unwrap();
}

/// Killed in any case.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_to_be_killed(mode: usize, mark: &str) -> Killed {
    let command = Command::new(env::current_exe().unwrap());
    let mut command = own_test(command, "outer_path_to_be_killed");
    command.env("MODE", mode.to_string()).env(MARK, mark).stderr(Stdio::null());
    Killed(command.stdout(Stdio::piped()).spawn().unwrap())
}

/// Kills after a while, or a while after the program inside has started.
fn kill(mode: usize, round: u64, while_running: bool) {
    let mark = format!("{}-{mode}-{round}-{while_running}", std::process::id());
    let mut child = start_to_be_killed(mode, &mark);
    if while_running {
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let told = lines.find_map(|line| {
            ["inside", "skipped"].into_iter().find(|word| line.as_ref().unwrap().contains(word))
        });
        if told == Some("skipped") {
            return drop(child.0.wait());
        }
        assert_eq!(devices().len() > 1, MODES[mode].crossing == Crossing::Direct, "{:?}", devices());
    }
    thread::sleep(Duration::from_micros(round * 7_919 % 30_000));
    drop(child);
    wait_until("processes are left", || processes_marked(&mark).is_empty());
    wait_until("devices are left", || devices() == ["lo"]);
    assert_eq!(routes().lines().count(), 1, "only a headline: {}", routes());
}

fn kill_every_mode(rounds: u64) {
    let modes: Vec<_> = (0..MODES.len())
        .map(|mode| {
            thread::spawn(move || {
                in_own_network(move || {
                    for round in 0..rounds {
                        kill(mode, round, round % 2 == 0);
                    }
                });
            })
        })
        .collect();
    modes.into_iter().for_each(|mode| mode.join().unwrap());
}

#[test]
fn nothing_is_left_of_an_outer_path_after_a_kill() {
    kill_every_mode(8);
}

#[test]
#[ignore = "soak: 200 kills of every kind"]
fn nothing_is_left_of_an_outer_path_after_many_kills() {
    kill_every_mode(200);
}

fn wait_until(otherwise: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "{otherwise}: {:?} {}", devices(), routes());
        thread::sleep(Duration::from_millis(2));
    }
}
