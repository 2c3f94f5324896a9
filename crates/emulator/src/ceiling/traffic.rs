//! Traffic over a path by threads of this process, through sockets that the helper makes at either end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock;
use crate::end::End;
use crate::error::Error;
use crate::handover::Handover;
use crate::namespaces::Namespaces;
use crate::sockets::{address_for, any_address, bind, connect_socket, listen, set_tcp};

const PORT: u16 = 5001;
/// Nothing came for so long: nothing will.
const SILENCE: Duration = Duration::from_millis(300);
/// In every kernel and for every user, and without a slow start that ends early.
const CONTROL: &[u8] = b"reno";

/// Bytes of payload that a connection brings in a span of time after a warm-up; at most `window` bytes are on the way.
pub(super) fn bulk(
    namespaces: &Namespaces,
    window: Option<u64>,
    warmup: Duration,
    span: Duration,
) -> Result<(u64, Duration), Error> {
    let mut sockets = namespaces.handover()?;
    let listener = listening(&mut sockets, window)?;
    let sender = sender_of_stream(&mut sockets)?;
    let failed = Error::from_io("sending over the path");
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let block = vec![0x5a; 1 << 18];
            while (&sender).write_all(&block).is_ok() {}
        });
        let counted = listener.accept().and_then(|(stream, _)| count(&stream, warmup, span));
        // Whatever happened, the other thread is to end.
        let _ = sender.shutdown(Shutdown::Both);
        let _ = sending.join();
        counted.map_err(failed)
    })
}

fn listening(sockets: &mut Handover, window: Option<u64>) -> Result<TcpListener, Error> {
    let socket = sockets.make_socket(End::Receiver, libc::SOCK_STREAM)?;
    let prepare = || -> io::Result<TcpListener> {
        if let Some(window) = window {
            let bytes = i32::try_from(window).unwrap_or(i32::MAX).to_ne_bytes();
            set_tcp(&socket, libc::TCP_WINDOW_CLAMP, &bytes)?;
        }
        let listener = listen(socket.try_clone()?, PORT)?;
        listener.set_nonblocking(false)?;
        Ok(listener)
    };
    prepare().map_err(Error::from_io("listening at the receiver's end"))
}

fn sender_of_stream(sockets: &mut Handover) -> Result<TcpStream, Error> {
    let probe = UdpSocket::from(sockets.make_socket(End::Sender, libc::SOCK_STREAM)?);
    let address = address_for(&probe, End::Receiver.address(), PORT);
    let stream = TcpStream::from(std::os::fd::OwnedFd::from(probe));
    let prepare = || {
        stream.set_nonblocking(false)?;
        set_tcp(&stream, libc::TCP_CONGESTION, CONTROL)?;
        connect_socket(&stream, address)
    };
    prepare().map_err(Error::from_io("connecting over the path"))?;
    Ok(stream)
}

fn count(mut stream: &TcpStream, warmup: Duration, span: Duration) -> io::Result<(u64, Duration)> {
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut buffer = vec![0; 1 << 18];
    let (start, mut counted, mut from) = (Instant::now(), 0, None);
    while start.elapsed() < warmup + span {
        let length = stream.read(&mut buffer)?;
        if start.elapsed() >= warmup {
            counted += length as u64;
            from.get_or_insert_with(Instant::now);
        }
    }
    Ok((counted, from.map_or(Duration::ZERO, |from| from.elapsed())))
}

/// How a stream of datagrams is sent.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// Bytes of payload: 8 at least.
    pub(super) size: usize,
    /// Zero for as fast as possible.
    pub(super) interval: Duration,
    pub(super) span: Duration,
}

/// One-way delays, in nanoseconds, of the datagrams that arrive.
pub(super) fn datagrams(namespaces: &Namespaces, stream: Stream) -> Result<Vec<u64>, Error> {
    let mut sockets = namespaces.handover()?;
    let [sender, receiver] = [End::Sender, End::Receiver].map(|end| {
        let socket = UdpSocket::from(sockets.make_socket(end, libc::SOCK_DGRAM)?);
        socket.set_nonblocking(false).map_err(Error::from_io("preparing a socket"))?;
        Ok(socket)
    });
    let (sender, receiver) = (sender?, receiver?);
    let address = address_for(&sender, End::Receiver.address(), PORT);
    bind(&receiver, any_address(&receiver, PORT))
        .and_then(|()| connect_socket(&sender, address))
        .and_then(|()| receiver.set_read_timeout(Some(SILENCE)))
        .map_err(Error::from_io("preparing datagrams over the path"))?;
    let sent = AtomicBool::new(false);
    Ok(thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, &sent));
        send(&sender, stream);
        sent.store(true, Ordering::Relaxed);
        receiving.join().unwrap_or_default()
    }))
}

fn receive(socket: &UdpSocket, sent: &AtomicBool) -> Vec<u64> {
    let mut delays = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                let now = monotonic();
                let stamp = u64::from_ne_bytes(std::array::from_fn(|index| buffer[index]));
                delays.push(now.saturating_sub(stamp));
            }
            Err(_) if sent.load(Ordering::Relaxed) => return delays,
            Err(_) => {}
        }
    }
}

fn send(socket: &UdpSocket, stream: Stream) {
    let mut packet = vec![0; stream.size];
    let start = Instant::now();
    let mut due = Duration::ZERO;
    while start.elapsed() < stream.span {
        thread::sleep(due.saturating_sub(start.elapsed()));
        packet[..8].copy_from_slice(&monotonic().to_ne_bytes());
        // A full queue is what is looked for.
        let _ = socket.send(&packet);
        due += stream.interval;
    }
}

fn monotonic() -> u64 {
    clock::nanoseconds(libc::CLOCK_MONOTONIC).unsigned_abs()
}
