//! How long the kernel knows a congestion control, and who may choose it; needs root.

#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trialwise_kernel_congestion::{Algorithm, Reason, attach, check};

/// Set in the environment of tests that others run.
const INNER: &str = "TRIALWISE_KERNEL_CONGESTION_INNER";
const NOBODY: u32 = 65534;

/// The names are the whole kernel's: one test at a time; none, with the reason printed, where it cannot be.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let checked = Algorithm::ALL.into_iter().try_for_each(check);
    checked.inspect_err(|reason| eprintln!("skipped: {reason}")).ok().map(|()| guard)
}

fn is_inner() -> bool {
    std::env::var_os(INNER).is_some()
}

/// This very program, as one that runs only the ignored test of that name.
fn own_test(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]).env(INNER, "1");
    command
}

fn is_known(algorithm: Algorithm) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().any(|name| name == algorithm.name())
}

fn is_forgotten(algorithm: Algorithm) -> bool {
    let start = Instant::now();
    while is_known(algorithm) && start.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(5));
    }
    !is_known(algorithm)
}

#[test]
#[ignore = "run by other tests, which kill it"]
fn holder() {
    if !is_inner() {
        return;
    }
    let _all = Algorithm::ALL.map(|algorithm| attach(algorithm).unwrap());
    println!("attached");
    thread::sleep(Duration::from_secs(60));
}

fn start_holder() -> Child {
    let mut child = own_test("holder").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("attached")));
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn nothing_is_left_after_the_holder_is_killed() {
    let Some(_alone) = alone() else { return };
    let holder = start_holder();
    assert!(Algorithm::ALL.into_iter().all(is_known));
    kill(holder);
    assert!(Algorithm::ALL.into_iter().all(is_forgotten));
}

#[test]
fn a_second_process_takes_part_and_outlives_the_first() {
    let Some(_alone) = alone() else { return };
    let first = start_holder();
    let second = start_holder();
    let own = attach(Algorithm::Vegas).unwrap();
    kill(first);
    thread::sleep(Duration::from_millis(50));
    assert!(Algorithm::ALL.into_iter().all(is_known));
    kill(second);
    assert!(is_forgotten(Algorithm::Dctcp));
    assert!(is_known(Algorithm::Vegas));
    drop(own);
    assert!(is_forgotten(Algorithm::Vegas));
}

/// This thread, and no other of the process, is an ordinary user's from now on.
fn become_nobody() {
    // SAFETY: takes three numbers; of the kernel's call, not of the library's, which is for all threads.
    assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) }, 0);
}

fn choose(socket: &TcpListener, name: &str) -> io::Result<()> {
    let length = libc::socklen_t::try_from(name.len()).unwrap();
    let descriptor = socket.as_raw_fd();
    // SAFETY: the name has that many bytes.
    let result = unsafe {
        libc::setsockopt(descriptor, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn an_ordinary_user_may_choose_but_not_attach() {
    let Some(_alone) = alone() else { return };
    let attached = Algorithm::ALL.map(|algorithm| attach(algorithm).unwrap());
    let as_nobody = thread::spawn(|| {
        become_nobody();
        assert!(matches!(check(Algorithm::Vegas), Err(Reason::NotPermitted)));
        assert!(matches!(attach(Algorithm::Vegas), Err(Reason::NotPermitted)));
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        Algorithm::ALL.into_iter().try_for_each(|algorithm| choose(&socket, algorithm.name()))
    });
    as_nobody.join().unwrap().unwrap();
    drop(attached);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(choose(&socket, "tw_vegas").unwrap_err().raw_os_error(), Some(libc::ENOENT));
}
