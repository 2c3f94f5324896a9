//! Constant rates, delays and batches at known instants.

mod common;

use common::{drain, packet};
use trialwise_link::{
    Batches, ConstantRate, Delay, Distribution, DropHead, DropTail, Fate, Limit, Link, OrderedDelay,
    ReorderingDelay, Series, TraceRate,
};
use trialwise_link::{ByteConvention, Repeat, Schedule};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

fn milliseconds(milliseconds: u64) -> Duration {
    Duration::from_milliseconds(milliseconds)
}

#[test]
fn ten_million_packets_leave_exactly_when_their_bits_are_sent() {
    // A rate that divides nothing: each packet takes 972000.0088 ps.
    let rate = 12_345_678_901;
    let queue = DropTail::new(Limit::NONE);
    let mut link =
        Link::new().stage("rate", ConstantRate::new(Rate::from_bits_per_second(rate), Bytes::ZERO, queue));
    let (mut sent, mut bits) = (0_u64, 0_u128);
    let start = Time::from_nanoseconds(17);
    (0..64).for_each(|number| link.push(start, packet(number, 1500)));
    while sent < 10_000_000 {
        let wake = link.next_event().unwrap();
        let exit = link.pop(wake).unwrap();
        sent += 1;
        bits += 12_000;
        let exact = (bits * 1_000_000_000_000).div_ceil(u128::from(rate)) as u64;
        assert_eq!(exit.time, start + Duration::from_picoseconds(exact), "packet {sent}");
        link.push(wake, packet(sent + 63, 1500));
    }
}

#[test]
fn an_idle_link_starts_afresh_with_each_arrival() {
    let rate = Rate::from_megabits_per_second(12);
    let mut link =
        Link::new().stage("rate", ConstantRate::new(rate, Bytes::new(38), DropTail::new(Limit::NONE)));
    link.push(Time::from_milliseconds(1), packet(0, 1462));
    link.push(Time::from_nanoseconds(2_000_001), packet(1, 1462));
    let times: Vec<u64> =
        drain(&mut link, Time::from_milliseconds(9)).iter().map(|exit| exit.time.nanoseconds()).collect();
    // 1462 + 38 bytes take a millisecond.
    assert_eq!(times, [2_000_000, 3_000_001]);
}

#[test]
fn at_rate_zero_nothing_leaves() {
    let mut link = Link::new()
        .stage("rate", ConstantRate::new(Rate::ZERO, Bytes::ZERO, DropTail::new(Limit::packets(1))));
    link.push(Time::ZERO, packet(0, 100));
    link.push(Time::ZERO, packet(1, 100));
    assert_eq!(link.next_event(), Some(Time::ZERO), "the second packet was dropped");
    assert_eq!(drain(&mut link, Time::from_milliseconds(1_000_000)).len(), 1);
    assert_eq!(link.next_event(), None);
}

#[test]
fn the_packet_that_is_sent_does_not_count_against_the_limit() {
    let rate = Rate::from_megabits_per_second(12);
    let mut link =
        Link::new().stage("rate", ConstantRate::new(rate, Bytes::ZERO, DropTail::new(Limit::packets(2))));
    (0..5).for_each(|number| link.push(Time::ZERO, packet(number, 1500)));
    let exits = drain(&mut link, Time::from_milliseconds(9));
    let numbers = |fate: fn(&Fate) -> bool| {
        exits.iter().filter(|exit| fate(&exit.fate)).map(|exit| exit.packet.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(|fate| *fate == Fate::Delivered), [0, 1, 2]);
    assert_eq!(numbers(|fate| *fate != Fate::Delivered), [3, 4]);
}

#[test]
fn at_one_instant_departures_come_before_arrivals() {
    let rate = Rate::from_megabits_per_second(12);
    let mut link = Link::new()
        .stage("delay", OrderedDelay::new(Delay::fixed(milliseconds(1))))
        .stage("rate", ConstantRate::new(rate, Bytes::ZERO, DropTail::new(Limit::packets(1))));
    link.push(Time::ZERO, packet(0, 1500));
    link.push(Time::ZERO, packet(1, 1500));
    // It meets the queue at 2 ms, when the first has been sent and the second leaves the queue.
    link.push(Time::from_milliseconds(1), packet(2, 1500));
    let exits = drain(&mut link, Time::from_milliseconds(9));
    assert!(exits.iter().all(|exit| exit.fate == Fate::Delivered));
    assert_eq!(exits.iter().map(|exit| exit.time.milliseconds()).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn drop_head_keeps_the_newest() {
    let rate = Rate::from_megabits_per_second(12);
    let queue = DropHead::new(Limit::bytes(Bytes::new(3_000)));
    let mut link = Link::new().stage("rate", ConstantRate::new(rate, Bytes::ZERO, queue));
    (0..5).for_each(|number| link.push(Time::ZERO, packet(number, 1500)));
    let exits = drain(&mut link, Time::from_milliseconds(9));
    assert_eq!(exits.iter().map(|exit| exit.packet.number).collect::<Vec<_>>(), [1, 2, 0, 3, 4]);
}

#[test]
fn a_trace_that_ends_holds_what_is_left() {
    let schedule = Schedule::new("1\n2\n".parse().unwrap(), Repeat::Once, Time::ZERO);
    let queue = DropTail::new(Limit::NONE);
    let mut link = Link::new().stage("link", TraceRate::new(schedule, ByteConvention::Documented, queue));
    // The second packet of 2000 bytes has had 1000 of its bytes sent when the trace ends.
    (0..3).for_each(|number| link.push(Time::ZERO, packet(number, 2000)));
    let exits = drain(&mut link, Time::from_milliseconds(1_000));
    assert_eq!((exits.len(), exits[0].time), (1, Time::from_milliseconds(2)));
    assert_eq!((link.held().packets, link.held().bytes, link.next_event()), (2, Bytes::new(4_000), None));
}

#[test]
fn jitter_has_the_moments_of_its_distribution() {
    let samples = |distribution| -> Vec<f64> {
        let delay = Delay::jitter(milliseconds(20), milliseconds(4), distribution, Seed::new(3));
        let mut link = Link::new().stage("delay", OrderedDelay::new(delay));
        // Far enough apart that keeping order changes nothing.
        (0..20_000)
            .for_each(|number| link.push(Time::from_milliseconds(number * 1_000), packet(number, 100)));
        let exits = drain(&mut link, Time::MAX - milliseconds(1));
        exits
            .iter()
            .map(|exit| (exit.time - Time::from_milliseconds(exit.packet.number * 1_000)).as_seconds() * 1e3)
            .collect()
    };
    for (distribution, mean, deviation) in [
        (Distribution::Uniform, 20.0, 4.0 / 3.0_f64.sqrt()),
        (Distribution::Normal, 20.0, 4.0),
        (Distribution::Exponential, 24.0, 4.0),
    ] {
        let samples = samples(distribution);
        let count = samples.len() as f64;
        let found = samples.iter().sum::<f64>() / count;
        let spread = (samples.iter().map(|sample| (sample - found).powi(2)).sum::<f64>() / count).sqrt();
        // Five standard errors; the fourth moment of the exponential is 9.
        assert!((found - mean).abs() < 5.0 * deviation / count.sqrt(), "{distribution:?}: mean {found}");
        assert!(
            (spread / deviation - 1.0).abs() < 5.0 * (2.0 / count).sqrt(),
            "{distribution:?}: deviation {spread}"
        );
    }
}

#[test]
fn packets_that_are_due_together_leave_in_order() {
    let mut link = Link::new().stage("delay", ReorderingDelay::new(Delay::fixed(milliseconds(5))));
    (0..50).for_each(|number| link.push(Time::ZERO, packet(number, 100)));
    assert!(drain(&mut link, Time::from_milliseconds(9)).is_sorted_by_key(|exit| exit.packet.number));
}

#[test]
fn a_recorded_delay_that_falls_overtakes_nobody_in_order() {
    let series = Series::parse_delays("0 50ms\n10 5ms\n").unwrap();
    let mut link = Link::new().stage("delay", OrderedDelay::new(Delay::varying(&series, Time::ZERO)));
    [5, 20, 60].iter().for_each(|time| link.push(Time::from_milliseconds(*time), packet(*time, 100)));
    let times: Vec<u64> =
        drain(&mut link, Time::from_milliseconds(99)).iter().map(|exit| exit.time.milliseconds()).collect();
    assert_eq!(times, [55, 55, 65]);
}

#[test]
fn batches_leave_when_full_or_when_the_oldest_has_waited() {
    let mut link = Link::new().stage("batches", Batches::new(3, milliseconds(10)));
    [0, 1, 2, 3, 4].iter().for_each(|time| link.push(Time::from_milliseconds(*time), packet(*time, 100)));
    let times: Vec<u64> =
        drain(&mut link, Time::from_milliseconds(99)).iter().map(|exit| exit.time.milliseconds()).collect();
    assert_eq!(times, [2, 2, 2, 13, 13]);
}

#[test]
fn periodic_batches_are_those_of_the_aggregation_trace() {
    // PATHS: 10-every-200.trace releases up to ten packets at each multiple of 200 ms.
    let delay = Delay::until_multiple_of(milliseconds(200), Time::ZERO);
    let mut link = Link::new().stage("batches", OrderedDelay::new(delay));
    [10, 150, 200, 201].iter().for_each(|time| link.push(Time::from_milliseconds(*time), packet(*time, 100)));
    let times: Vec<u64> =
        drain(&mut link, Time::from_milliseconds(999)).iter().map(|exit| exit.time.milliseconds()).collect();
    assert_eq!(times, [200, 200, 200, 400]);
}

#[test]
fn a_now_that_goes_back_counts_as_the_latest_seen() {
    let mut link = Link::new().stage("delay", OrderedDelay::new(Delay::fixed(milliseconds(5))));
    link.push(Time::from_milliseconds(10), packet(0, 100));
    link.push(Time::from_milliseconds(3), packet(1, 100));
    assert_eq!(link.now(), Time::from_milliseconds(10));
    let times: Vec<u64> =
        drain(&mut link, Time::from_milliseconds(99)).iter().map(|exit| exit.time.milliseconds()).collect();
    assert_eq!(times, [15, 15]);
}

#[test]
fn a_link_may_be_handed_to_another_thread() {
    fn is_send<T: Send>(_: &T) -> bool {
        true
    }
    assert!(is_send(&Link::<common::Numbered>::new()));
}

#[test]
fn a_packet_of_9000_bytes_takes_six_opportunities() {
    let trace = "1\n".parse().unwrap();
    let schedule = Schedule::new(trace, Repeat::Forever, Time::ZERO);
    let queue = DropTail::new(Limit::NONE);
    let mut link = Link::new().stage("rate", TraceRate::new(schedule, ByteConvention::Documented, queue));
    for number in 0..3 {
        link.push(Time::ZERO, packet(number, 9000));
    }
    let times: Vec<u64> =
        drain(&mut link, Time::from_milliseconds(100)).iter().map(|exit| exit.time.milliseconds()).collect();
    assert_eq!(times, [6, 12, 18]);
}
