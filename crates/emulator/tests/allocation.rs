//! Once its buffers have grown to what is inside, the emulator allocates nothing for a packet.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use support::{PORT, at_both, open, settings};
use trialwise_emulator::{End, PacketLog};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is handed to the system's allocator unchanged; counting touches only a number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Sends for a while without allocating; how many datagrams.
fn send(socket: &UdpSocket, count: u64) -> u64 {
    let packet = [0; 1000];
    for number in 0..count {
        socket.send(&packet).unwrap();
        if number % 8 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    count
}

#[test]
fn a_steady_stream_allocates_nothing() {
    let pairs = [("rate", "40Mbit/s"), ("queue", "droptail:packets=60"), ("loss", "1%"), ("delay", "5ms")];
    let log = PacketLog::new(io::sink()).unwrap();
    let Some(path) = open(&settings(&pairs), Some(log)) else { return };
    let receive = |ready: &dyn Fn()| {
        let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        ready();
        std::iter::repeat_with(|| socket.recv(&mut [0; 2048])).take_while(Result::is_ok).count()
    };
    let send_twice = || {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.connect((End::Receiver.address(), PORT)).unwrap();
        send(&socket, 4_000);
        let before = ALLOCATIONS.load(Relaxed);
        send(&socket, 4_000);
        ALLOCATIONS.load(Relaxed) - before
    };
    let (received, allocations) = at_both(&path, receive, send_twice);
    let report = path.close().unwrap();
    assert!(received > 2_000 && report.forward.dropped.packets > 0, "{report:?}");
    // A burst that is larger than any before may still want a few buffers.
    assert!(allocations < 40, "{allocations} allocations for 4000 packets");
}
