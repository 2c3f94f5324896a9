//! A naive mm-link, written from the description of its behaviour, millisecond by millisecond, against ours.

mod common;

use std::fs;
use std::path::Path;

use common::{Mix, Numbered, drain, packet};
use proptest::prelude::*;
use trialwise_link::{
    ByteConvention, DropHead, DropTail, Exit, Fate, Limit, Link, Queue, Repeat, Schedule, Trace, TraceRate,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const PICOSECONDS_PER_MILLISECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
enum Full {
    DropsArrival,
    DropsHead,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    base: u64,
    once: bool,
    full: Full,
    packets: u64,
    bytes: u64,
}

/// (millisecond, number, delivered)
type Outcome = (u64, u64, bool);

/// Opportunity times below `end`, cycle after cycle, each cycle based at the last time of the one before.
fn opportunities(trace: &[u64], setting: Setting, end: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut base = setting.base;
    loop {
        for time in trace {
            if base + time >= end {
                return times;
            }
            times.push(base + time);
        }
        if setting.once {
            return times;
        }
        base += trace[trace.len() - 1];
    }
}

/// A queue as a list of (number, bytes with the 4 of the TUN header).
struct Naive {
    setting: Setting,
    queue: Vec<(u64, u64)>,
    in_transit: Option<(u64, u64)>,
    outcomes: Vec<Outcome>,
}

impl Naive {
    fn opportunity(&mut self, now: u64) {
        let mut budget = 1504;
        while budget > 0 {
            if self.in_transit.is_none() {
                if self.queue.is_empty() {
                    return;
                }
                self.in_transit = Some(self.queue.remove(0));
            }
            let (number, left) = self.in_transit.expect("just put there");
            let sent = if left < budget { left } else { budget };
            budget -= sent;
            self.in_transit = Some((number, left - sent));
            if left == sent {
                self.outcomes.push((now, number, true));
                self.in_transit = None;
            }
        }
    }

    fn within(&self) -> bool {
        let bytes: u64 = self.queue.iter().map(|(_, size)| size).sum();
        self.queue.len() as u64 <= self.setting.packets && bytes <= self.setting.bytes
    }

    fn arrive(&mut self, now: u64, number: u64, size: u64) {
        self.queue.push((number, size + 4));
        while !self.within() {
            let victim = match self.setting.full {
                Full::DropsArrival => self.queue.pop().expect("it is above its limit"),
                Full::DropsHead => self.queue.remove(0),
            };
            self.outcomes.push((now, victim.0, false));
        }
    }
}

/// Arrivals are (picosecond, size), in order; their number is their index.
fn naive(trace: &[u64], setting: Setting, arrivals: &[(u64, u64)], end: u64) -> Vec<Outcome> {
    let opportunities = opportunities(trace, setting, end);
    let mut link = Naive { setting, queue: Vec::new(), in_transit: None, outcomes: Vec::new() };
    let (mut next_opportunity, mut next_arrival) = (0, 0);
    for now in 0..end {
        while next_opportunity < opportunities.len() && opportunities[next_opportunity] == now {
            link.opportunity(now);
            next_opportunity += 1;
        }
        while next_arrival < arrivals.len() && arrivals[next_arrival].0 / PICOSECONDS_PER_MILLISECOND == now {
            link.arrive(now, next_arrival as u64, arrivals[next_arrival].1);
            next_arrival += 1;
        }
    }
    link.outcomes
}

fn ours(
    trace: &Trace,
    setting: Setting,
    arrivals: &[(u64, u64)],
    end: u64,
    lateness: &mut Mix,
) -> Vec<Outcome> {
    let limit = Limit { packets: setting.packets, bytes: Bytes::new(setting.bytes), spares_one: false };
    let queue: Box<dyn Queue<Numbered>> = match setting.full {
        Full::DropsArrival => Box::new(DropTail::new(limit)),
        Full::DropsHead => Box::new(DropHead::new(limit)),
    };
    let repeat = if setting.once { Repeat::Once } else { Repeat::Forever };
    let schedule = Schedule::new(trace.clone(), repeat, Time::from_milliseconds(setting.base));
    let mut link = Link::new().stage("link", TraceRate::new(schedule, ByteConvention::Mahimahi, queue));
    let mut exits = Vec::new();
    for (number, (time, size)) in arrivals.iter().enumerate() {
        link.push(Time::from_picoseconds(*time), packet(number as u64, *size));
        // The caller looks rarely, and sometimes much too late.
        if lateness.below(50) == 0 {
            exits.extend(drain(&mut link, Time::from_picoseconds(*time)));
        }
    }
    exits.extend(drain(&mut link, Time::from_milliseconds(end) - Duration::from_picoseconds(1)));
    exits.iter().map(outcome).collect()
}

fn outcome(exit: &Exit<Numbered>) -> Outcome {
    let delivered = exit.fate == Fate::Delivered;
    if delivered {
        assert_eq!(
            exit.time,
            Time::from_milliseconds(exit.time.milliseconds()),
            "departures are at whole milliseconds"
        );
    }
    (exit.time.milliseconds(), exit.packet.number, delivered)
}

/// `count` packets of 28 to 1500 bytes in `milliseconds`, in bursts and alone.
fn arrivals(count: u64, milliseconds: u64, random: &mut Mix) -> Vec<(u64, u64)> {
    let mut times: Vec<u64> =
        (0..count).map(|_| random.below(milliseconds * PICOSECONDS_PER_MILLISECOND)).collect();
    for index in 1..times.len() {
        match random.below(4) {
            0 => times[index] = times[index - 1],
            1 => times[index] -= times[index] % PICOSECONDS_PER_MILLISECOND,
            _ => {}
        }
    }
    times.sort_unstable();
    let size = |random: &mut Mix| if random.below(3) == 0 { 28 + random.below(1473) } else { 1500 };
    times.into_iter().map(|time| (time, size(random))).collect()
}

/// Compares under an offered load of 0.5 and 1.5 of the trace's capacity, for each kind of queue.
fn compare(name: &str, trace: &Trace, seed: u64) {
    let random = &mut Mix(seed);
    let period = trace.period().milliseconds();
    let milliseconds = (2 * period + 100).clamp(2_000, 120_000);
    let capacity = trace.milliseconds().len() as u64 * milliseconds / period;
    for (halves, full, packets, bytes) in [
        (1, Full::DropsArrival, u64::MAX, u64::MAX),
        (3, Full::DropsArrival, 50, u64::MAX),
        (3, Full::DropsHead, u64::MAX, 30_000),
        (3, Full::DropsArrival, 20, 20_000),
    ] {
        for once in [false, true] {
            let setting = Setting { base: random.below(40), once, full, packets, bytes };
            let arrivals = arrivals((capacity * halves / 2).clamp(10, 40_000), milliseconds, random);
            let theirs = naive(trace.milliseconds(), setting, &arrivals, milliseconds);
            let ours = ours(trace, setting, &arrivals, milliseconds, random);
            assert!(once || ours.len() > 5, "{name}: nothing left");
            assert!(ours == theirs, "{name}: {setting:?} differs");
        }
    }
}

#[test]
fn departures_over_real_traces_are_those_of_mm_link() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/paths");
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("skipped: no traces at {}", folder.display());
        return;
    };
    let mut compared = 0;
    for path in entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e != "json"))
    {
        let trace: Trace = fs::read_to_string(&path).unwrap().parse().unwrap();
        compare(&path.display().to_string(), &trace, 11 + compared);
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} traces");
}

#[test]
fn departures_over_made_traces_are_those_of_mm_link() {
    let length = Duration::from_milliseconds(5_000);
    for seed in 0..6 {
        let rate = Rate::from_bits_per_second(300_000 << seed);
        compare("Poisson", &Trace::poisson(rate, length, Seed::new(seed)).unwrap(), seed);
        compare("constant", &Trace::constant(rate, length).unwrap(), seed);
    }
}

#[test]
fn the_documented_examples_come_out() {
    // PATHS: a full packet is exactly one opportunity, and a packet in millisecond t uses only later ones.
    let queue = DropTail::new(Limit::NONE);
    let schedule = Schedule::new("1\n".parse().unwrap(), Repeat::Forever, Time::ZERO);
    let mut link = Link::new().stage("link", TraceRate::new(schedule, ByteConvention::Mahimahi, queue));
    link.push(Time::from_milliseconds(604), packet(0, 1500));
    assert_eq!(link.next_event(), Some(Time::from_milliseconds(605)));
    // A 52-byte acknowledgement takes 56 of 1504 bytes: 26 share an opportunity, the 27th spans two.
    (1..=27).for_each(|number| link.push(Time::from_milliseconds(605), packet(number, 52)));
    let exits = drain(&mut link, Time::from_milliseconds(700));
    let at =
        |millisecond| exits.iter().filter(|exit| exit.time == Time::from_milliseconds(millisecond)).count();
    assert_eq!((at(605), at(606), at(607), exits.len()), (1, 26, 1, 28));
}

#[test]
fn documented_bytes_are_those_of_ip() {
    let queue = DropTail::new(Limit::NONE);
    let schedule = Schedule::new("1\n".parse().unwrap(), Repeat::Forever, Time::ZERO);
    let mut link = Link::new().stage("link", TraceRate::new(schedule, ByteConvention::Documented, queue));
    (0..30).for_each(|number| link.push(Time::ZERO, packet(number, 50)));
    link.push(Time::ZERO, packet(30, 1500));
    let exits = drain(&mut link, Time::from_milliseconds(9));
    assert_eq!(exits.iter().filter(|exit| exit.time == Time::from_milliseconds(1)).count(), 30);
    assert_eq!(exits[30].time, Time::from_milliseconds(2));
}

proptest! {
    #[test]
    fn departures_over_any_trace_are_those_of_mm_link(
        steps in prop::collection::vec(0_u64..5, 0..12),
        base in 0_u64..30,
        once in any::<bool>(),
        drops_head in any::<bool>(),
        packets in 1_u64..6,
        bytes in 1504_u64..6_000,
        seed in any::<u64>(),
    ) {
        let times = steps.iter().chain(&[1]).scan(0, |time, step| { *time += step; Some(*time) }).collect();
        let trace = Trace::new(times).unwrap();
        let full = if drops_head { Full::DropsHead } else { Full::DropsArrival };
        let setting = Setting { base, once, full, packets, bytes };
        let random = &mut Mix(seed);
        let arrivals = arrivals(60, 80, random);
        let theirs = naive(trace.milliseconds(), setting, &arrivals, 200);
        prop_assert_eq!(ours(&trace, setting, &arrivals, 200, random), theirs);
    }
}
