//! A bulk transfer under a congestion control, and what packets and sender tell of it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trialwise_emulator::{Direction, End, Event, LogReader, PacketLog, PathSettings, Record};

use crate::support::{PORT, at_both, open, set_congestion_control};

const RUNTIME: Duration = Duration::from_millis(5000);
/// What the start of a flow may take; not looked at.
const WARMUP: f64 = 1.5;
/// One round-trip time of these paths is several of these.
const SAMPLE: Duration = Duration::from_millis(1);
const HEADERS: u64 = 52;

/// The sender's own view at one instant: packets.
#[derive(Clone, Copy, Debug)]
struct Sample {
    window: u32,
    threshold: u32,
    delivered: u32,
    marked: u32,
}

/// One reduction of the window, in packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// DCTCP.Alpha by then.
    pub(crate) alpha: f64,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// What is known of a transfer after its warm-up.
pub(crate) struct Transfer {
    data: Vec<Record>,
    pub(crate) dropped: usize,
    samples: Vec<Sample>,
}

impl Transfer {
    /// Bytes of IP that arrived.
    pub(crate) fn megabits_per_second(&self) -> f64 {
        let bits = 8.0 * self.data.iter().map(|record| record.size.get() as f64).sum::<f64>();
        bits / (RUNTIME.as_secs_f64() - WARMUP) / 1e6
    }

    /// One-way delay of data packets, less what the path takes without a queue.
    pub(crate) fn queueing_milliseconds(&self, base: f64) -> Vec<f64> {
        self.data.iter().map(|record| record.delay.picoseconds() as f64 / 1e9 - base).collect()
    }

    /// Data packets with CE among all.
    pub(crate) fn marked_fraction(&self) -> f64 {
        let marked = self.data.iter().filter(|record| record.ecn == 3).count();
        marked as f64 / self.data.len() as f64
    }

    /// The fraction of packets that the receiver echoed as marked to the sender, since the warm-up.
    pub(crate) fn echoed_fraction(&self) -> f64 {
        let from = self.samples[(self.samples.len() as f64 * WARMUP / RUNTIME.as_secs_f64()) as usize];
        let to = self.samples.last().unwrap();
        f64::from(to.marked - from.marked) / f64::from(to.delivered - from.delivered)
    }

    /// What DCTCP made of its marks, from the first packet on, by what the sender's TCP counted: DCTCP.Alpha is computed here
    /// once more (RFC 8257 section 3.3, items 5 and 6).
    pub(crate) fn reductions(&self) -> Vec<Reduction> {
        let (mut alpha, mut start) = (1.0, self.samples[0]);
        let mut reductions = Vec::new();
        for pair in self.samples.windows(2) {
            let [before, after] = [pair[0], pair[1]];
            let delivered = after.delivered - start.delivered;
            if delivered >= start.window {
                let fraction = f64::from(after.marked - start.marked) / f64::from(delivered);
                alpha += (fraction - alpha) / 16.0;
                start = after;
            }
            if after.threshold < before.window && after.threshold != before.threshold {
                reductions.push(Reduction { alpha, from: before.window, to: after.threshold });
            }
        }
        reductions
    }
}

/// Runs over a path of its own; `None`, with the reason printed, where none may be made.
pub(crate) fn transfer(settings: &PathSettings, control: &str) -> Option<Transfer> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("trialwise-kernel-congestion-{}-{number}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = open(settings, Some(PacketLog::create(&file).unwrap()));
    let samples =
        path.as_ref().map(|path| at_both(path, |ready| receive(control, ready), || send(control)).1);
    path.map(|path| path.close().unwrap());
    let records: Vec<_> = LogReader::open(&file).unwrap().collect::<Result<_, _>>().unwrap();
    fs::remove_file(file).unwrap();
    Some(summary(&records, samples?))
}

fn summary(records: &[Record], samples: Vec<Sample>) -> Transfer {
    let is_data =
        |record: &&Record| record.direction == Direction::Forward && record.size.get() > 2 * HEADERS;
    let seconds = |record: &Record| record.time.picoseconds() as f64 / 1e12;
    let data = records.iter().filter(is_data);
    let start = data.clone().map(seconds).next().unwrap();
    let range = start + WARMUP..start + RUNTIME.as_secs_f64();
    let counted: Vec<_> = data.filter(|record| range.contains(&seconds(record))).copied().collect();
    let (data, dropped): (Vec<_>, Vec<_>) =
        counted.into_iter().partition(|record| record.event == Event::Delivered);
    Transfer { data, dropped: dropped.len(), samples }
}

/// Makes it what every socket of this end begins with, where the kernel permits that (to unrestricted ones): DCTCP has to be
/// there before the first packet.
fn choose(control: &str) {
    if control.starts_with("tw_") {
        fs::write("/proc/sys/net/ipv4/tcp_congestion_control", control).unwrap();
    }
}

fn receive(control: &str, ready: &dyn Fn()) {
    choose(control);
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    ready();
    let mut stream = listener.accept().unwrap().0;
    let mut buffer = vec![0; 1 << 18];
    while let Ok(1..) = stream.read(&mut buffer) {}
}

fn send(control: &str) -> Vec<Sample> {
    choose(control);
    let mut stream = TcpStream::connect((End::Receiver.address(), PORT)).unwrap();
    set_congestion_control(&stream, control);
    let sampled = stream.try_clone().unwrap();
    let sampler = thread::spawn(move || sample(&sampled));
    let block = vec![0x5a; 1 << 14];
    while stream.write_all(&block).is_ok() {}
    sampler.join().unwrap()
}

/// Samples until the time is over, then ends the connection.
fn sample(stream: &TcpStream) -> Vec<Sample> {
    let start = Instant::now();
    let mut samples = Vec::new();
    while start.elapsed() < RUNTIME {
        samples.push(information(stream));
        thread::sleep(SAMPLE);
    }
    stream.shutdown(std::net::Shutdown::Both).unwrap();
    samples
}

/// What TCP_INFO tells (struct tcp_info of linux/tcp.h).
fn information(stream: &TcpStream) -> Sample {
    let mut bytes = [0_u8; 232];
    let mut length = bytes.len() as libc::socklen_t;
    let level = libc::IPPROTO_TCP;
    // SAFETY: at most that many bytes are written.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            level,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert!(result == 0 && length >= 200);
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    Sample { threshold: word(76), window: word(80), delivered: word(192), marked: word(196) }
}
