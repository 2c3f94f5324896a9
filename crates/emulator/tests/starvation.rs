//! An emulator that does not get its processor says so. These tests let nothing else run there: they are a program of their
//! own, and one.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod support;

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use support::{at_both, datagrams, open, settings};
use trialwise_emulator::{Bottleneck, DeviceChoice, Direction, End, LATENESS_BOUND, Path};

/// Lets nothing else run on the first processor as long as it lives.
struct Starvation {
    done: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Starvation {
    /// Returns once it has begun; `None` where it is not permitted.
    fn start() -> Option<Self> {
        let done = Arc::new(AtomicBool::new(false));
        let (begun, has_begun) = channel();
        let until = Arc::clone(&done);
        let thread = thread::spawn(move || {
            pin_to_first_processor();
            let parameters = libc::sched_param { sched_priority: 50 };
            // SAFETY: changes this thread alone.
            let permitted =
                unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } == 0;
            begun.send(permitted).unwrap();
            while permitted && !until.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        if !has_begun.recv().unwrap() {
            eprintln!("skipped: no real-time priority: {}", std::io::Error::last_os_error());
            return None;
        }
        Some(Self { done, thread: Some(thread) })
    }
}

impl Drop for Starvation {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn pin_to_first_processor() {
    // SAFETY: all-zero is an empty set; the set lives on; changes this thread alone.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::CPU_SET(0, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// A path whose emulator's thread runs on the first processor.
fn open_on_first_processor(device: DeviceChoice) -> Option<Path> {
    let mut settings = settings(&[("delay", "1ms")]);
    settings.namespaces.device = device;
    let opened = thread::spawn(move || {
        pin_to_first_processor(); // the emulator's thread is where it is started
        open(&settings, None)
    });
    opened.join().unwrap()
}

/// The kernel gives a starved processor back for a part of every second, and the datagrams may all meet that part: then again.
fn say_so_when_starved(device: DeviceChoice) {
    let mut found = None;
    for _ in 0..5 {
        let Some(path) = open_on_first_processor(device) else { return };
        let Some(starvation) = Starvation::start() else { return };
        // As long as it takes: the processor is free again only when all are sent and none comes any more.
        datagrams(&path, 200, Duration::from_micros(500), 100);
        drop(starvation);
        thread::sleep(Duration::from_millis(50));
        found = path.close().unwrap().bottleneck(LATENESS_BOUND);
        if found.is_some() {
            break;
        }
    }
    assert!(matches!(found, Some(Bottleneck::Late { .. } | Bottleneck::Unseen { .. })), "{found:?}");
}

fn count_what_is_not_read(device: DeviceChoice) {
    const SENT: u64 = 20_000;
    let Some(path) = open_on_first_processor(device) else { return };
    let Some(starvation) = Starvation::start() else { return };
    let send = || {
        let socket = UdpSocket::bind((End::Sender.address(), 0)).unwrap();
        for _ in 0..SENT {
            socket.send_to(&[0; 50], (End::Receiver.address(), support::PORT)).unwrap();
        }
    };
    at_both(&path, |ready| ready(), send);
    drop(starvation);
    thread::sleep(Duration::from_millis(50));
    let report = path.close().unwrap();
    assert!(report.forward.overrun > 0, "{report:?}");
    assert_eq!(report.forward.arrived.packets + report.forward.overrun, SENT);
    let found = report.bottleneck(LATENESS_BOUND);
    assert!(matches!(found, Some(Bottleneck::Unlogged { direction: Direction::Forward, .. })), "{found:?}");
}

#[test]
fn an_emulator_that_was_starved_says_so_and_counts_what_it_missed() {
    for device in [DeviceChoice::Tun, DeviceChoice::Packet] {
        say_so_when_starved(device);
        count_what_is_not_read(device);
    }
}
