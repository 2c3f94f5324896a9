//! What holds for every link: each packet has one fate, order where promised, time that never goes back, the
//! same from the same seed.

mod common;

use std::collections::HashMap;

use common::{Mix, Numbered, drain, is_delivered, packet};
use proptest::prelude::*;
use trialwise_link::{Ecn, Exit, Fate, Link, LinkSpec, Tally};
use trialwise_units::{Duration, Seed, Time};

const QUEUES: &[&str] = &[
    "infinite",
    "droptail:packets=7",
    "droptail:packets=20,bytes=9000",
    "droptail:bdp=0.5",
    "drophead:bytes=6000",
    "codel:packets=100,target=1ms,interval=10ms",
    "codel:target=1ms,interval=10ms,ecn=yes",
    "codel-mahimahi:packets=100,target=2ms,interval=10ms",
    "pie:packets=100,target=2ms,update=3ms,max_burst=1ms,ecn=yes",
    "pie-mahimahi:packets=100,target=2ms,max_burst=10ms",
    "fq_codel:packets=30,target=1ms,interval=10ms,flows=4",
    "fq_codel:bytes=9000,ecn=no",
    "dualpi2:packets=60,target=3ms,max_rtt=9ms,threshold=1ms",
    "dualpi2-linux:bytes=60kB,update=2ms,alpha=9,beta=90",
    "red:packets=40,min=2,max=8,weight=0.2,ecn=yes",
    "red:packets=40,min=2,max=8,weight=1,gentle=no",
];
const RATES: &[&str] = &[
    "12Mbit/s",
    "1Mbit/s,overhead=38",
    "3333333bit/s",
    "poisson:rate=6Mbit/s,length=2s",
    "cellular:rate=6Mbit/s,length=2s",
    "bucket:rate=6Mbit/s,burst=9000",
    "bucket:rate=6Mbit/s,burst=1500,peak=30Mbit/s",
    "series:FILE",
];
const LOSSES: &[&str] = &["0%", "10%", "gilbert-elliott:to_bad=5%,to_good=30%", "pattern:0010"];
const DELAYS: &[&str] = &["0ms", "1ms", "28ms", "5ms,jitter=5ms", "5ms,jitter=3ms,distribution=normal"];
const REORDERING: &str = "5ms,jitter=5ms,distribution=exponential,reorder=yes";
const OUTAGES: &[&str] = &["fixed:on=20ms,off=5ms", "exponential:on=20ms,off=5ms"];
const HANDOVERS: &[&str] =
    &["every:20ms,hold=7ms", "every:31ms,hold=5ms,flush=20Mbit/s,lose=10%,step=2ms,packets=9"];
const BATCHES: &[&str] = &["packets=4,wait=3ms", "every=7ms"];

type Pairs = Vec<(&'static str, &'static str)>;

fn pick(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = Pairs> {
    prop::option::weighted(0.6, prop::sample::select(values))
        .prop_map(move |value| value.map(|value| (key, value)).into_iter().collect())
}

/// A bottleneck, and some of the other elements.
fn pairs() -> impl Strategy<Value = Pairs> {
    let bottleneck = (prop::sample::select(RATES), prop::sample::select(QUEUES))
        .prop_map(|(rate, queue)| vec![("rate", rate), ("queue", queue)]);
    let policer = pick("policer", &["10Mbit/s,burst=9000"]);
    let others = (
        policer,
        pick("outage", OUTAGES),
        pick("handover", HANDOVERS),
        pick("loss", LOSSES),
        pick("delay", DELAYS),
        pick("radio", &["grants:every=5ms,delay=4ms,bytes=6000", "harq:10%,step=4ms"]),
        pick("corrupt", &["5%", "5%,checksum=fix"]),
        pick("duplicate", &["10%", "10%,after=0ms..20ms"]),
        pick("batches", BATCHES),
    );
    (bottleneck, others)
        .prop_map(|(first, (a, b, c, d, e, f, g, h, i))| [first, a, b, c, d, e, f, g, h, i].concat())
}

/// Arrivals: after how many nanoseconds each, and the packet.
fn arrivals(count: u64, seed: u64) -> Vec<(u64, Numbered)> {
    let random = &mut Mix(seed);
    let one = |number| {
        let size = if random.below(3) == 0 { 40 + random.below(1_461) } else { 1500 };
        let classic = if random.below(2) == 0 { Ecn::Capable0 } else { Ecn::NotCapable };
        let gap = if random.below(10) == 0 { random.below(20_000_000) } else { random.below(1_000_000) };
        let flow = random.below(6);
        // All packets of a flow have a field of the same queue.
        let ecn = if flow.is_multiple_of(3) { Ecn::Capable1 } else { classic };
        (gap, Numbered { ecn, flow, ..packet(number, size) })
    };
    (0..count).map(one).collect()
}

/// What a series of rates says.
fn rates(_path: &str) -> Result<String, String> {
    Ok("0 12Mbit/s\n40 3Mbit/s\n70 0bit/s\n80 6Mbit/s\n".to_owned())
}

fn build(pairs: &Pairs, reversed: bool, seed: u64) -> Link<Numbered> {
    let spec = LinkSpec::from_pairs(pairs.iter().copied(), &rates).expect("the parts are right");
    let spec = if reversed { spec.reversed() } else { spec };
    spec.build(Time::ZERO, Seed::new(seed), Some(Duration::from_milliseconds(20)))
        .expect("the whole is right")
}

/// Pushes all; looks only where `looks` says so, before or after.
fn run(
    link: &mut Link<Numbered>,
    arrivals: &[(u64, Numbered)],
    mut looks: impl FnMut() -> bool,
) -> Vec<Exit<Numbered>> {
    let mut now = Time::ZERO;
    let mut exits = Vec::new();
    for (gap, packet) in arrivals {
        now += Duration::from_nanoseconds(*gap);
        if looks() {
            exits.extend(drain(link, now));
        }
        link.push(now, *packet);
    }
    exits.extend(drain(link, now));
    exits
}

fn tally<'a>(packets: impl Iterator<Item = &'a Numbered>) -> Tally {
    let mut tally = Tally::default();
    packets.for_each(|packet| tally.add(trialwise_link::Packet::size(packet)));
    tally
}

fn check_conservation(link: &Link<Numbered>, arrivals: &[(u64, Numbered)], exits: &[Exit<Numbered>]) {
    let (copied, left): (Vec<_>, Vec<_>) = exits.iter().partition(|exit| is_notice(exit));
    let mut out = tally(left.iter().map(|exit| &exit.packet));
    out += link.held();
    let mut came = tally(arrivals.iter().map(|(_, packet)| packet));
    came += tally(copied.iter().map(|exit| &exit.packet));
    assert_eq!(out, came, "in + copies = out + dropped + held");
    let mut seen = HashMap::new();
    left.iter().for_each(|exit| *seen.entry((exit.packet.number, exit.packet.is_copy)).or_insert(0) += 1);
    assert!(seen.values().all(|count| *count == 1), "one fate for each packet");
    let counters: Vec<_> = link.counters().map(|(_, counters)| counters).collect();
    for (index, counters) in counters.iter().enumerate() {
        let mut sum = counters.departed;
        sum += counters.dropped;
        sum += counters.held;
        let mut came = counters.arrived;
        came += counters.copied;
        assert_eq!(came, sum, "element {index}");
        let dropped_here =
            |exit: &&Exit<Numbered>| matches!(exit.fate, Fate::Dropped { element, .. } if element == index);
        assert_eq!(counters.dropped, tally(exits.iter().filter(dropped_here).map(|exit| &exit.packet)));
    }
    counters.windows(2).for_each(|pair| assert_eq!(pair[0].departed, pair[1].arrived));
}

/// Whether some of the packets get through that come one by one, long after all others.
fn delivers_later(link: &mut Link<Numbered>) -> bool {
    // Periods of 2 s, such as those of traces here, are met at phases all over.
    let times = (0..40).map(|number| Time::from_milliseconds(70_000 + 3_236 * number));
    times.enumerate().any(|(number, now)| {
        link.push(now, packet(number as u64, 1500));
        drain(link, now + Duration::from_milliseconds(1_000)).iter().any(is_delivered)
    })
}

/// Whether nothing left, and a copy was told of.
fn is_notice(exit: &Exit<Numbered>) -> bool {
    matches!(exit.fate, Fate::Copied { .. })
}

fn marks(packets: impl Iterator<Item = Numbered>) -> usize {
    packets.filter(|packet| packet.ecn == Ecn::CongestionExperienced).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_packet_has_one_fate(pairs in pairs(), reversed in any::<bool>(), seed in any::<u64>()) {
        let arrivals = arrivals(300, seed);
        let mut link = build(&pairs, reversed, seed);
        let random = &mut Mix(seed ^ 1);
        let mut exits = run(&mut link, &arrivals, || random.below(4) == 0);
        check_conservation(&link, &arrivals, &exits);
        // Later everything has left, but for packets after the end of time.
        exits.extend(drain(&mut link, Time::from_milliseconds(60_000)));
        check_conservation(&link, &arrivals, &exits);
        prop_assert_eq!(link.held(), Tally::default());
        prop_assert_eq!(link.next_event(), None);
        let marked: u64 = link.counters().map(|(_, counters)| counters.marked).sum();
        let seen = marks(exits.iter().map(|exit| exit.packet));
        // A marked packet may be marked again by another element, never unmarked.
        if pairs.iter().all(|(key, _)| *key != "duplicate") {
            prop_assert_eq!(marked as usize, seen);
        }
        // However long it had nothing to send at, and whatever it had to drop then, later it lets packets through.
        prop_assert!(delivers_later(&mut link));
    }

    #[test]
    fn time_never_goes_back_and_order_is_kept(
        pairs in pairs(),
        reversed in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut link = build(&pairs, reversed, seed);
        let mut exits = run(&mut link, &arrivals(300, seed), || false);
        exits.extend(drain(&mut link, Time::from_milliseconds(60_000)));
        prop_assert!(exits.windows(2).all(|pair| pair[0].time <= pair[1].time));
        let delivered = exits.iter().filter(|exit| is_delivered(exit) && !exit.packet.is_copy);
        let delivered: Vec<&Numbered> = delivered.map(|exit| &exit.packet).collect();
        // Between flows, these make an order of their own.
        for flow in 0..6 {
            let packets = delivered.iter().filter(|packet| packet.flow == flow);
            prop_assert!(packets.is_sorted_by_key(|packet| packet.number));
        }
        let reorders = |value: &str| ["fq_codel", "dualpi2"].iter().any(|name| value.starts_with(name));
        if !pairs.iter().any(|(_, value)| reorders(value)) {
            prop_assert!(delivered.is_sorted_by_key(|packet| packet.number));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_drops_however_late_one_looks(
        pairs in pairs(),
        seed in any::<u64>(),
        looks in any::<u64>(),
    ) {
        let arrivals = arrivals(300, seed);
        let end = Time::from_milliseconds(60_000);
        let mut punctual = build(&pairs, false, seed);
        let mut expected = run(&mut punctual, &arrivals, || true);
        expected.extend(drain(&mut punctual, end));
        let mut late = build(&pairs, false, seed);
        let random = &mut Mix(looks);
        let mut found = run(&mut late, &arrivals, || random.below(40) == 0);
        found.extend(drain(&mut late, end));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn sleeping_until_the_next_delivery_misses_none(pairs in pairs(), seed in any::<u64>()) {
        let arrivals = arrivals(100, seed);
        let mut expected = run(&mut build(&pairs, false, seed), &arrivals, || true);
        let mut link = build(&pairs, false, seed);
        let (mut now, mut found) = (Time::ZERO, Vec::new());
        for (gap, packet) in &arrivals {
            now += Duration::from_nanoseconds(*gap);
            while let Some(wake) = link.next_delivery().filter(|wake| *wake <= now) {
                // What was delivered since we fell asleep would be found late.
                for exit in drain(&mut link, wake) {
                    prop_assert!(!is_delivered(&exit) || exit.time == wake, "{:?} found at {wake}", exit);
                    found.push(exit);
                }
            }
            for exit in drain(&mut link, now) {
                prop_assert!(!is_delivered(&exit), "{exit:?} missed");
                found.push(exit);
            }
            link.push(now, *packet);
        }
        // Those due at the last instant may still be inside; compare those before.
        expected.retain(|exit| exit.time < now);
        found.retain(|exit| exit.time < now);
        prop_assert_eq!(found, expected);
    }
}

/// Two links joined by a caller who looks now and then: each exit of the first goes into the second at its
/// own time.
struct Joined {
    first: Link<Numbered>,
    second: Link<Numbered>,
    lost: Vec<Exit<Numbered>>,
}

impl Joined {
    fn delivered(&mut self, now: Time) -> Vec<Exit<Numbered>> {
        for exit in drain(&mut self.first, now) {
            match exit.fate {
                Fate::Delivered => self.second.push(exit.time, exit.packet),
                Fate::Dropped { .. } | Fate::Copied { .. } => self.lost.push(exit),
            }
        }
        drain(&mut self.second, now)
    }
}

proptest! {
    #[test]
    fn links_join_end_to_end(
        rate in prop::sample::select(RATES),
        queue in prop::sample::select(QUEUES),
        seed in any::<u64>(),
    ) {
        let (near, far) = (vec![("delay", "9ms,jitter=2ms")], vec![("rate", rate), ("queue", queue)]);
        let mut whole = build(&[far.clone(), near.clone()].concat(), true, seed);
        let (first, second) = (build(&near, false, seed), build(&far, false, seed));
        let mut joined = Joined { first, second, lost: Vec::new() };
        let (random, mut now) = (&mut Mix(seed), Time::ZERO);
        let mut found = Vec::new();
        for (gap, packet) in arrivals(200, seed) {
            now += Duration::from_nanoseconds(gap);
            whole.push(now, packet);
            joined.first.push(now, packet);
            if random.below(9) == 0 {
                found.extend(joined.delivered(now));
            }
        }
        let end = Time::from_milliseconds(60_000);
        found.extend(joined.delivered(end));
        let seen = |exits: &[Exit<Numbered>]| -> Vec<(Time, Numbered)> {
            exits.iter().map(|exit| (exit.time, exit.packet)).collect()
        };
        prop_assert_eq!(seen(&found), seen(&drain(&mut whole, end)));
        prop_assert!(joined.lost.is_empty());
    }
}

#[test]
fn a_reordering_delay_reorders_and_loses_nothing() {
    let mut link = build(&vec![("delay", REORDERING)], false, 1);
    let arrivals = arrivals(1_000, 1);
    let mut exits = run(&mut link, &arrivals, || true);
    exits.extend(drain(&mut link, Time::from_milliseconds(60_000)));
    check_conservation(&link, &arrivals, &exits);
    assert!(!exits.is_sorted_by_key(|exit| exit.packet.number), "nothing overtook");
    assert!(exits.is_sorted_by_key(|exit| exit.time));
}

#[test]
fn another_seed_gives_other_drops() {
    let dropped = |seed| {
        let mut link = build(&vec![("loss", "10%")], false, seed);
        let exits = run(&mut link, &arrivals(300, 1), || true);
        exits.iter().filter(|exit| !is_delivered(exit)).map(|exit| exit.packet.number).collect::<Vec<_>>()
    };
    assert_eq!(dropped(1), dropped(1));
    assert_ne!(dropped(1), dropped(2));
}

#[test]
fn an_element_of_another_kind_changes_no_drops() {
    let lost = |pairs: &Pairs| {
        let mut link = build(pairs, false, 1);
        let mut exits = run(&mut link, &arrivals(300, 1), || true);
        exits.extend(drain(&mut link, Time::from_milliseconds(60_000)));
        exits.iter().filter(|exit| !is_delivered(exit)).map(|exit| exit.packet.number).collect::<Vec<_>>()
    };
    let alone = lost(&vec![("loss", "10%")]);
    assert_eq!(lost(&vec![("loss", "10%"), ("delay", "9ms,jitter=3ms"), ("rate", "100Mbit/s")]), alone);
}
