//! GCC twice over the same arrivals: ours, and that of crate rtc-interceptor. `cargo run --release`

use std::time::{Duration as StdDuration, Instant};

use rtc_interceptor::{BandwidthEstimator, Gcc, PacketReport as Theirs};
use trialwise_congestion::{
    Acknowledgement, Algorithm, Context, Controller, Factory, Loss, PacketOutcome, PacketReport,
};
use trialwise_units::{Bytes, Duration, Seed, Time};

/// Packets of 1250 bytes each 10 ms, which are 1 Mbit/s; answers each 50 ms, 20 ms after an arrival.
const GAP: u64 = 10_000;
const BYTES: u64 = 1250;

/// What a path does to the packet of this number, in microseconds: how much longer it takes than the last one, and whether it is lost.
struct Path {
    name: &'static str,
    seconds: u64,
    longer: fn(u64) -> u64,
    is_lost: fn(u64) -> bool,
}

const PATHS: [Path; 4] = [
    Path { name: "an empty path", seconds: 20, longer: |_| 0, is_lost: |_| false },
    Path {
        name: "a queue that grows by 10 % from the 10th to the 12th second",
        seconds: 16,
        longer: |number| if (1000..1200).contains(&number) { 1000 } else { 0 },
        is_lost: |_| false,
    },
    Path {
        name: "a queue that grows by 200 % from the 10th to the 12th second",
        seconds: 16,
        longer: |number| if (1000..1200).contains(&number) { 20_000 } else { 0 },
        is_lost: |_| false,
    },
    Path {
        name: "losses of 20 % from the 10th second on",
        seconds: 16,
        longer: |_| 0,
        is_lost: |number| number >= 1000 && number % 5 == 4,
    },
];

struct Ours(trialwise_congestion::AnyController);

impl Ours {
    fn new(written: &str) -> Self {
        let context = Context {
            now: Time::ZERO,
            segment: Bytes::new(BYTES),
            line_rate: None,
            base_rtt: None,
            path_window: None,
            seed: Seed::new(1),
        };
        Self(Algorithm::written(written, None).unwrap().build(&context).unwrap())
    }

    fn answer(&mut self, now: u64, packets: &[(u64, u64, Option<u64>)]) {
        let at = |microseconds: u64| Time::from_nanoseconds(microseconds * 1000);
        let reports: Vec<PacketReport> = packets
            .iter()
            .map(|(number, sent, arrival)| PacketReport {
                number: *number,
                sent: at(*sent),
                bytes: Bytes::new(BYTES),
                outcome: arrival.map_or(PacketOutcome::Lost, |arrival| PacketOutcome::Arrived(Some(at(arrival)))),
            })
            .collect();
        let (lost, arrived): (Vec<_>, Vec<_>) =
            reports.into_iter().partition(|report| report.outcome == PacketOutcome::Lost);
        let zero = Bytes::ZERO;
        if !lost.is_empty() {
            self.0.on_loss(&Loss {
                now: at(now),
                bytes: zero,
                new_episode: true,
                in_flight: zero,
                next_sequence: 0,
                reports: &lost,
            });
        }
        self.0.on_acknowledgement(&Acknowledgement {
            now: at(now),
            acknowledged: zero,
            cumulative: 0,
            next_sequence: 0,
            in_flight: zero,
            in_recovery: false,
            rtt: Some(Duration::from_milliseconds(40)),
            one_way_delay: None,
            packets: arrived.len() as u32,
            marked_packets: 0,
            ect0_packets: 0,
            ect1_packets: 0,
            rate_sample: None,
            application_limited: false,
            hops: &[],
            reports: &arrived,
            note: &[],
        });
    }

    fn target(&self) -> f64 {
        self.0.target_rate().unwrap().bits_per_second() as f64
    }
}

fn theirs(epoch: Instant, (number, sent, arrival): (u64, u64, Option<u64>)) -> Theirs {
    Theirs {
        ssrc: 1,
        id: number,
        rtp_sequence_number: number as u16,
        is_twcc: true,
        twcc_sequence_number: number as u16,
        size: BYTES as usize,
        arrived: arrival.is_some(),
        departure: epoch + StdDuration::from_micros(sent),
        arrival: arrival.map(StdDuration::from_micros),
        ecn: Default::default(),
    }
}

fn main() {
    let epoch = Instant::now();
    for path in PATHS {
        println!("{}: second, then kbit/s of rtc-interceptor, gcc:constants=draft, gcc", path.name);
        let mut second = Gcc::new(300_000.0, 30_000.0, 1e9);
        let mut ours = [Ours::new("gcc:constants=draft"), Ours::new("gcc")];
        let (mut delay, mut packets) = (20_000, Vec::new());
        for number in 0..path.seconds * 1_000_000 / GAP {
            delay += (path.longer)(number);
            let sent = number * GAP;
            packets.push((number, sent, Some(sent + delay).filter(|_| !(path.is_lost)(number))));
            if number % 5 == 4 {
                let now = sent + delay + 20_000;
                let reports: Vec<Theirs> = packets.iter().map(|packet| theirs(epoch, *packet)).collect();
                second.on_reports(epoch + StdDuration::from_micros(now), &reports);
                ours.iter_mut().for_each(|each| each.answer(now, &packets));
                packets.clear();
            }
            if (number + 1) % 100 == 0 {
                let [draft, libwebrtc] = ours.each_ref().map(|each| each.target() / 1000.0);
                println!("{:>3} {:>8.1} {draft:>8.1} {libwebrtc:>8.1}", (number + 1) / 100, second.target_bitrate() / 1000.0);
            }
        }
    }
}
