//! Once its buffers have grown to what is inside, the emulator allocates nothing for a packet.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use support::{PORT, at_both, open, settings};
use trialwise_allocations::{Counting, by_all_threads};
use trialwise_emulator::{End, PacketLog};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
        let before = by_all_threads();
        send(&socket, 4_000);
        by_all_threads() - before
    };
    let (received, allocations) = at_both(&path, receive, send_twice);
    let report = path.close().unwrap();
    assert!(received > 2_000 && report.forward.dropped.packets > 0, "{report:?}");
    // A burst that is larger than any before may still want a few buffers.
    assert!(allocations < 40, "{allocations} allocations for 4000 packets");
}
