//! No link allocates for a packet once its rings have grown to what it holds.

mod common;

use common::{Mix, Numbered, no_file, packet};
use trialwise_allocations::{Counting, by_this_thread};
use trialwise_link::{Ecn, Link, LinkSpec};
use trialwise_units::{Duration, Seed, Time};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(act: impl FnOnce()) -> u64 {
    let before = by_this_thread();
    act();
    by_this_thread() - before
}

/// Offers half as much again as 12 Mbit/s can carry, in full packets of eight flows.
fn send(link: &mut Link<Numbered>, now: &mut Time, count: u64, random: &mut Mix) {
    for number in 0..count {
        *now += Duration::from_nanoseconds(400_000 + random.below(533_333));
        link.push(*now, Numbered { flow: random.below(8), ecn: Ecn::Capable0, ..packet(number, 1500) });
        while link.pop(*now).is_some() {}
    }
}

#[test]
fn steady_links_allocate_nothing() {
    let counted = allocations(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted, 1, "the allocator counts");
    for queue in [
        "droptail:packets=100",
        "drophead:bytes=90000",
        "codel:packets=500",
        "codel:packets=500,ecn=yes",
        "codel-mahimahi:packets=500,target=5ms,interval=100ms",
        "pie:packets=500",
        "pie-mahimahi:packets=500,target=20ms,max_burst=100ms",
        "fq_codel:packets=500",
        "red:packets=100,ecn=yes",
        "dualpi2:packets=100",
    ] {
        for (rate, delay) in [
            ("12Mbit/s", "28ms"),
            ("poisson:rate=12Mbit/s,length=10s", "28ms,jitter=5ms"),
            ("cellular:rate=12Mbit/s,length=10s", "28ms,jitter=5ms,reorder=yes"),
            ("bucket:rate=12Mbit/s,burst=30kB", "28ms"),
        ] {
            let pairs = [
                ("policer", "17Mbit/s,burst=30kB"),
                ("rate", rate),
                ("queue", queue),
                ("outage", "exponential:on=500ms,off=10ms"),
                ("handover", "every:300ms,hold=30ms,flush=100Mbit/s"),
                ("ecn", "drop-ect1"),
                ("corrupt", "0.1%,checksum=fix"),
                ("duplicate", "1%,after=0ms..5ms"),
                ("loss", "gilbert-elliott:to_bad=1%,to_good=10%"),
                ("delay", delay),
                ("batches", "packets=4,wait=3ms"),
            ];
            let spec = LinkSpec::from_pairs(pairs, &no_file).unwrap();
            let mut link = spec.build(Time::ZERO, Seed::new(1), None).unwrap();
            let (mut now, random) = (Time::ZERO, &mut Mix(1));
            send(&mut link, &mut now, 40_000, random);
            let counted = allocations(|| send(&mut link, &mut now, 20_000, random));
            assert_eq!(counted, 0, "{queue} at {rate}, {delay}");
        }
    }
}

#[test]
fn grants_allocate_nothing() {
    let pairs =
        [("rate", "12Mbit/s"), ("queue", "droptail:packets=100"), ("radio", "grants:every=5ms,delay=4ms")];
    let spec = LinkSpec::from_pairs(pairs, &no_file).unwrap();
    let mut link = spec.build(Time::ZERO, Seed::new(1), None).unwrap();
    let (mut now, random) = (Time::ZERO, &mut Mix(1));
    send(&mut link, &mut now, 10_000, random);
    assert_eq!(allocations(|| send(&mut link, &mut now, 10_000, random)), 0);
}
