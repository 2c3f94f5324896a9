//! Traffic over a path, from threads of this process in either end (as root).

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "shared by several programs"
)]

pub mod inner;
pub mod measuring;
pub mod outer;
pub mod terminal;

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use trialwise_emulator::{
    DeviceChoice, End, Error, NamespaceSettings, PacketLog, Path, PathError, PathSettings,
};
use trialwise_link::LinkSpec;
use trialwise_units::Seed;

pub const PORT: u16 = 5001;

/// What the devices of this program's paths are: `tests/packet_devices.rs` is the same cases as `tests/traffic.rs` again.
const DEVICE: DeviceChoice = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"packet_devices" => DeviceChoice::Packet,
    _ => DeviceChoice::Auto,
};

pub fn link(pairs: &[(&str, &str)]) -> LinkSpec {
    LinkSpec::from_pairs(pairs.iter().copied(), &|path| Err(format!("{path} is not read"))).unwrap()
}

pub fn settings(pairs: &[(&str, &str)]) -> PathSettings {
    let link = link(pairs);
    PathSettings {
        forward: link.clone(),
        backward: link,
        seed: Seed::new(7),
        namespaces: NamespaceSettings { device: DEVICE, ..NamespaceSettings::default() },
    }
}

/// A path, or none with the reason printed where this machine or user may not make one.
pub fn open(settings: &PathSettings, log: Option<PacketLog>) -> Option<Path> {
    // SAFETY: only answers.
    if !settings.namespaces.user_namespace && unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: threads can enter the ends only as root");
        return None;
    }
    match Path::open(settings, log) {
        Ok(path) => Some(path),
        Err(PathError::System(Error::Refused { stage, source })) => {
            eprintln!("skipped: {stage:?} is not permitted here: {source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs both functions at the same time, each in its end; the second may wait for a message of the first.
pub fn at_both<R: Send, S: Send>(
    path: &Path,
    receive: impl FnOnce(&dyn Fn()) -> R + Send,
    send: impl FnOnce() -> S + Send,
) -> (R, S) {
    let (ready, is_ready) = channel();
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            path.namespaces().enter(End::Receiver).unwrap();
            receive(&|| ready.send(()).unwrap())
        });
        let sender = scope.spawn(move || {
            path.namespaces().enter(End::Sender).unwrap();
            is_ready.recv().unwrap();
            send()
        });
        (receiver.join().unwrap(), sender.join().unwrap())
    })
}

pub fn set_congestion_control(socket: &impl AsRawFd, name: &str) {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes());
}

pub fn set_option(socket: &impl AsRawFd, level: i32, option: i32, value: &[u8]) {
    let length = libc::socklen_t::try_from(value.len()).unwrap();
    // SAFETY: the value has that many bytes.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length) };
    assert_eq!(result, 0, "option {option}: {}", io::Error::last_os_error());
}

/// Bytes received between `warmup` and `warmup` + `span` after the first one, and the exact span between.
pub fn bulk(path: &Path, control: &str, warmup: Duration, span: Duration) -> (u64, Duration) {
    let receive = |ready: &dyn Fn()| {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
        ready();
        let mut stream = listener.accept().unwrap().0;
        let mut buffer = vec![0; 1 << 18];
        let (start, mut counted, mut from) = (Instant::now(), 0, None);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if start.elapsed() >= warmup {
                from.get_or_insert_with(Instant::now);
                counted += count as u64;
            }
            if start.elapsed() >= warmup + span {
                break;
            }
        }
        (counted, from.unwrap().elapsed())
    };
    let send = || {
        let mut stream = TcpStream::connect((End::Receiver.address(), PORT)).unwrap();
        set_congestion_control(&stream, control);
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        let block = vec![0x5a; 1 << 18];
        while stream.write_all(&block).is_ok() {}
    };
    at_both(path, receive, send).0
}

/// Of the time of day.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written to.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    nanoseconds(time)
}

fn nanoseconds(time: libc::timespec) -> u64 {
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).unsigned_abs()
}

/// The length of the next datagram, and when the kernel received it, in nanoseconds of the time of day.
fn receive_stamped(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, u64)> {
    let mut control = [0_u64; 16];
    let mut vector = io::IoSliceMut::new(buffer);
    // SAFETY: all fields of a message header may be zero; the buffers that it points at live on, and the kernel fills them as
    // far as it says.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = ((&raw mut vector).cast(), 1);
        (message.msg_control, message.msg_controllen) =
            (control.as_mut_ptr().cast(), size_of_val(&control) as _);
        let length = usize::try_from(libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0))
            .map_err(|_| io::Error::last_os_error())?;
        let stamp = libc::CMSG_DATA(libc::CMSG_FIRSTHDR(&raw const message));
        Ok((length, nanoseconds(stamp.cast::<libc::timespec>().read_unaligned())))
    }
}

/// Sends `count` datagrams of `size` bytes of payload, one each `interval`, each with its number and time; gives number and
/// one-way delay in nanoseconds of those that arrive, which the kernel stamps: who reads them may be late.
pub fn datagrams(path: &Path, count: u64, interval: Duration, size: usize) -> Vec<(u64, u64)> {
    let receive = |ready: &dyn Fn()| {
        let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32.to_ne_bytes());
        // More than the usual limit, which only root may have.
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(8_i32 << 20).to_ne_bytes());
        let mut buffer = [0; 65536];
        let mut found = Vec::new();
        ready();
        while let Ok((length, now)) = receive_stamped(&socket, &mut buffer) {
            let word = |at: usize| u64::from_ne_bytes(buffer[at..at + 8].try_into().unwrap());
            assert_eq!(length, size);
            found.push((word(0), now - word(8)));
        }
        found
    };
    let send = || {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.connect((End::Receiver.address(), PORT)).unwrap();
        let mut packet = vec![0; size];
        let start = Instant::now();
        for number in 0..count {
            let due = interval * u32::try_from(number).unwrap();
            thread::sleep(due.saturating_sub(start.elapsed()));
            packet[..8].copy_from_slice(&number.to_ne_bytes());
            packet[8..16].copy_from_slice(&now().to_ne_bytes());
            socket.send(&packet).unwrap();
        }
    };
    at_both(path, receive, send).0
}

/// Sends `length` bytes of a pattern over TCP to an address of the receiver; whether they arrive unchanged.
pub fn transfer_is_exact(path: &Path, address: IpAddr, length: usize) -> bool {
    let receive = |ready: &dyn Fn()| {
        let listener = TcpListener::bind(SocketAddr::new(address, PORT)).unwrap();
        ready();
        let mut stream = listener.accept().unwrap().0;
        let mut received = Vec::with_capacity(length);
        stream.read_to_end(&mut received).unwrap();
        received
    };
    let send = || {
        let mut stream = TcpStream::connect(SocketAddr::new(address, PORT)).unwrap();
        set_congestion_control(&stream, "cubic");
        let bytes = pattern(length);
        stream.write_all(&bytes).unwrap();
        bytes
    };
    let (received, sent) = at_both(path, receive, send);
    received == sent
}

/// Bytes that repeat nowhere (SplitMix64).
pub fn pattern(length: usize) -> Vec<u8> {
    let word = |index: u64| {
        let mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).to_ne_bytes()
    };
    (0..length as u64 / 8).flat_map(word).collect()
}

/// The value below which this fraction of the values lies.
pub fn quantile(values: &mut [f64], fraction: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * fraction).round() as usize]
}
