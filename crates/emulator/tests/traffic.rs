//! Real packets over real paths: delay, queue, loss, bulk transfer, log. Needs root, network namespaces and TUN devices.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use support::measuring::{until_undisturbed, within};
use support::{at_both, bulk, datagrams, open, quantile, settings, transfer_is_exact};
use trialwise_emulator::{
    Direction, DirectionReport, End, Event, LATENESS_BOUND, LogReader, PacketLog, Record, Report,
};
use trialwise_units::Time;

/// A log in a file that goes with the test.
struct LogFile(PathBuf);

impl LogFile {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("trialwise-emulator-{name}-{}", std::process::id())))
    }

    fn log(&self) -> Option<PacketLog> {
        Some(PacketLog::create(&self.0).unwrap())
    }

    fn records(&self) -> Vec<Record> {
        LogReader::open(&self.0).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Nothing was dropped without a record, and every packet has exactly one.
fn check_books(report: &Report, records: &[Record]) {
    for (direction, way) in [(Direction::Forward, &report.forward), (Direction::Backward, &report.backward)] {
        let count = |test: fn(Event) -> bool| {
            let of_way = records.iter().filter(|record| record.direction == direction);
            of_way.filter(|record| test(record.event)).count() as u64
        };
        assert_eq!((way.overrun, way.refused), (0, 0), "{way:?}");
        assert_eq!(count(|event| event == Event::Delivered), way.delivered.packets);
        assert_eq!(count(|event| matches!(event, Event::Dropped { .. })), way.dropped.packets);
        assert_eq!(count(|event| event == Event::Held), way.held.packets);
        assert_eq!(way.arrived.packets, way.delivered.packets + way.dropped.packets + way.held.packets);
        assert_eq!(way.arrived.bytes, way.delivered.bytes + way.dropped.bytes + way.held.bytes);
    }
    assert_eq!((report.records_lost, &report.log_error, &report.failure), (0, &None, &None));
}

/// By how much datagrams come later than the model has it: least and median, in milliseconds.
fn delay_errors() -> Option<[f64; 2]> {
    let path = open(&settings(&[("rate", "12Mbit/s"), ("delay", "28ms")]), None)?;
    let found = datagrams(&path, 500, Duration::from_millis(4), 200);
    assert_eq!(found.len(), 500);
    let model = 28.0 + (200.0 + 28.0) * 8.0 / 12e3;
    let mut errors: Vec<f64> = found.iter().map(|(_, delay)| *delay as f64 / 1e6 - model).collect();
    Some([0.0, 0.5].map(|fraction| quantile(&mut errors, fraction)))
}

#[test]
fn an_idle_path_delays_by_what_the_model_says() {
    until_undisturbed(|| {
        let Some([least, median]) = delay_errors() else { return Ok(()) };
        assert!(least >= 0.0, "a packet came {least} ms before its time");
        within("how late the median is in ms", median, 0.0..=0.15)
    });
}

#[test]
fn what_exceeds_the_rate_is_dropped_by_the_queue_and_logged() {
    let file = LogFile::new("overload");
    let pairs = [("rate", "12Mbit/s"), ("queue", "droptail:packets=50"), ("delay", "5ms")];
    let Some(path) = open(&settings(&pairs), file.log()) else { return };
    // 24 Mbit/s for a second.
    let found = datagrams(&path, 2_000, Duration::from_micros(500), 1472);
    let report = path.close().unwrap();
    let records = file.records();
    check_books(&report, &records);
    assert_eq!(report.forward.arrived.packets, 2_000);
    assert_eq!(report.forward.delivered.packets, found.len() as u64);
    assert_eq!(report.forward.dropped.packets, 2_000 - found.len() as u64);
    assert!(report.forward.dropped.packets > 0);
    let full: Vec<_> = records.iter().filter(|record| record.direction == Direction::Forward).collect();
    assert!(full.iter().all(|record| record.size.get() == 1500));
    assert!(full.is_sorted_by_key(|record| record.time));
    let mut fates: Vec<_> = full
        .iter()
        .map(|record| {
            (
                (record.time - Time::ZERO).picoseconds() - record.delay.picoseconds(),
                record.event == Event::Delivered,
            )
        })
        .collect();
    fates.sort_by_key(|(arrival, _)| *arrival);
    let (arrivals, delivered): (Vec<_>, Vec<_>) = fates.into_iter().unzip();
    assert_eq!(delivered, taken_by_the_queue(&arrivals));
}

/// Which of the packets that arrive then, in picoseconds, find room: 50 wait at most, besides the one that the link carries, which
/// takes a millisecond for each.
fn taken_by_the_queue(arrivals: &[u64]) -> Vec<bool> {
    let mut ends = VecDeque::new();
    let takes = |arrival: &u64| {
        while ends.front().is_some_and(|end| end <= arrival) {
            ends.pop_front();
        }
        let has_room = ends.len() < 51;
        if has_room {
            ends.push_back(arrival.max(ends.back().unwrap_or(&0)) + 1_000_000_000);
        }
        has_room
    };
    arrivals.iter().map(takes).collect()
}

#[test]
fn cubic_fills_the_link() {
    let pairs = [("rate", "12Mbit/s"), ("queue", "droptail:packets=50"), ("delay", "28ms")];
    until_undisturbed(|| {
        let file = LogFile::new("cubic");
        let Some(path) = open(&settings(&pairs), file.log()) else { return Ok(()) };
        let (bytes, span) = bulk(&path, "cubic", Duration::from_millis(1_500), Duration::from_secs(4));
        let report = path.close().unwrap();
        check_books(&report, &file.records());
        assert!(report.forward.dropped.packets > 0);
        // Of 1500 bytes on the wire 1448 are payload.
        let wire = bytes as f64 * 8.0 / span.as_secs_f64() * 1500.0 / 1448.0 / 1e6;
        within("the throughput in Mbit/s", wire, 11.4..12.4)
    });
}

#[test]
fn bytes_arrive_unchanged_through_whole_frames_and_loss() {
    for address in [IpAddr::V4(End::Receiver.address()), IpAddr::V6(End::Receiver.address6())] {
        let file = LogFile::new(if address.is_ipv4() { "exact4" } else { "exact6" });
        let pairs =
            [("rate", "800Mbit/s"), ("queue", "droptail:packets=500"), ("loss", "0.02%"), ("delay", "2ms")];
        let Some(path) = open(&settings(&pairs), file.log()) else { return };
        assert!(transfer_is_exact(&path, address, 20_000_000), "{address}");
        let report = path.close().unwrap();
        let records = file.records();
        check_books(&report, &records);
        assert!(records.iter().all(|record| record.size.get() <= 1500));
        assert!(report.forward.arrived.packets > 20_000_000 / 1460);
    }
}

#[test]
fn bytes_arrive_unchanged_in_small_packets_and_with_congestion_marks() {
    let mut settings = settings(&[("rate", "30Mbit/s"), ("queue", "codel:ecn=yes"), ("delay", "3ms")]);
    settings.namespaces.mtu = 1280;
    let file = LogFile::new("small");
    let Some(path) = open(&settings, file.log()) else { return };
    for end in [End::Sender, End::Receiver] {
        let mut command = path.command(end, "sh").unwrap();
        command.args(["-c", "echo 1 > /proc/sys/net/ipv4/tcp_ecn"]);
        assert!(command.status().unwrap().success());
    }
    assert!(transfer_is_exact(&path, End::Receiver.address().into(), 5_000_000));
    let report = path.close().unwrap();
    let records = file.records();
    check_books(&report, &records);
    assert_eq!(records.iter().map(|record| record.size.get()).max(), Some(1280));
    let marked =
        records.iter().filter(|record| record.direction == Direction::Forward && record.ecn == 3).count();
    assert!(marked > 0, "{:?}", report.forward.elements);
}

#[test]
fn datagrams_above_the_mtu_cross_in_fragments() {
    let Some(path) = open(&settings(&[("delay", "1ms")]), None) else { return };
    let found = datagrams(&path, 20, Duration::from_millis(1), 4_000);
    assert_eq!(found.len(), 20);
    assert_eq!(path.close().unwrap().forward.arrived.packets, 60);
}

#[test]
fn whole_frames_of_datagrams_are_split_and_joined() {
    const SEGMENT: libc::c_int = 1000;
    let file = LogFile::new("segments");
    let Some(path) = open(&settings(&[("delay", "1ms")]), file.log()) else { return };
    let sent: Vec<u8> = (0..10_500_u32).map(|index| (index % 251) as u8).collect();
    let receive = |ready: &dyn Fn()| {
        let socket = UdpSocket::bind((End::Receiver.address6(), support::PORT)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        ready();
        let mut buffer = [0; 2000];
        let mut received = Vec::new();
        while let Ok(length) = socket.recv(&mut buffer) {
            received.push(buffer[..length].to_vec());
        }
        received
    };
    let send = || {
        let socket = UdpSocket::bind((End::Sender.address6(), 0)).unwrap();
        support::set_option(&socket, libc::SOL_UDP, libc::UDP_SEGMENT, &SEGMENT.to_ne_bytes());
        socket.send_to(&sent, (End::Receiver.address6(), support::PORT)).unwrap();
    };
    let received = at_both(&path, receive, send).0;
    check_books(&path.close().unwrap(), &file.records());
    assert_eq!(received.iter().map(Vec::len).collect::<Vec<_>>(), [&[1000; 10][..], &[500]].concat());
    assert_eq!(received.concat(), sent);
    let sizes: Vec<u64> = file.records().iter().map(|record| record.size.get()).collect();
    assert_eq!(sizes, [&[1048; 10][..], &[548]].concat());
}

#[test]
fn a_seed_loses_the_same_packets_again() {
    let lost = |seed| {
        let mut settings = settings(&[("rate", "100Mbit/s"), ("loss", "10%"), ("delay", "1ms")]);
        settings.seed = trialwise_units::Seed::new(seed);
        let path = open(&settings, None)?;
        let found: BTreeSet<u64> = datagrams(&path, 500, Duration::from_micros(100), 100)
            .into_iter()
            .map(|(number, _)| number)
            .collect();
        Some((0..500).filter(|number| !found.contains(number)).collect::<Vec<_>>())
    };
    // A receiver that is held up loses some by itself.
    until_undisturbed(|| {
        let [Some(once), Some(again), Some(other)] = [1, 1, 2].map(lost) else { return Ok(()) };
        within("the count of those lost of 500 at 10 %", once.len(), 20..90)?;
        assert_ne!(once, other);
        if once == again { Ok(()) } else { Err(format!("{once:?} and {again:?}")) }
    });
}

#[test]
fn nothing_crosses_an_unused_path() {
    let Some(path) = open(&settings(&[("delay", "1ms")]), None) else { return };
    thread::sleep(Duration::from_millis(300));
    let report = path.close().unwrap();
    let arrived = |way: &DirectionReport| way.arrived.packets;
    assert_eq!((arrived(&report.forward), arrived(&report.backward)), (0, 0), "the kernel spoke by itself");
    assert_eq!(report.bottleneck(LATENESS_BOUND), None);
}

#[test]
fn each_end_reaches_the_other() {
    let Some(path) = open(&settings(&[]), None) else { return };
    let receive = |ready: &dyn Fn()| {
        let socket = UdpSocket::bind((End::Receiver.address(), support::PORT)).unwrap();
        ready();
        let from = socket.recv_from(&mut [0; 9]).unwrap().1;
        socket.send_to(b"back", from).unwrap();
        from.ip()
    };
    let send = || {
        let socket = UdpSocket::bind((End::Sender.address(), 0)).unwrap();
        socket.send_to(b"there", (End::Receiver.address(), support::PORT)).unwrap();
        socket.recv_from(&mut [0; 9]).unwrap().1.ip()
    };
    let (seen, answered) = at_both(&path, receive, send);
    assert_eq!((seen, answered), (IpAddr::V4(End::Sender.address()), IpAddr::V4(End::Receiver.address())));
}
