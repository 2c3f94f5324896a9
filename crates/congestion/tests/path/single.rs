//! One flow alone.

use trialwise_congestion::{
    Algorithm, Controller, CopaSettings, CubicSettings, FixedRateSettings, LedbatSettings, Phase,
};
use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::flow::{Plan, SEGMENT, named};
use crate::network::{Outcome, Path};

#[test]
fn each_fills_a_link_of_12_megabits_and_30_milliseconds() {
    for name in ["newreno", "cubic", "ledbat", "copa"] {
        let outcome = Path::new(12, 30, 100).run(&[named(name)], 20);
        let throughput = outcome.throughput(0, 5, 20);
        assert!((11.9..=12.001).contains(&throughput), "{name}: {throughput}");
        assert_eq!(outcome.flows[0].timeouts, 0, "{name}");
    }
}

/// The window of the only flow at this second.
fn window_at(outcome: &Outcome, seconds: f64) -> f64 {
    let time = Time::ZERO + Duration::from_seconds(seconds);
    outcome.windows.iter().take_while(|window| window.time <= time).last().unwrap().window
}

/// The smallest and largest window after the tenth second.
fn swing(outcome: &Outcome) -> (f64, f64) {
    let late = outcome.windows.iter().filter(|window| window.time >= Time::from_milliseconds(10_000));
    late.fold((f64::MAX, 0.0), |(low, high), window| (window.window.min(low), window.window.max(high)))
}

#[test]
fn the_teeth_of_newreno_and_cubic_are_as_high_as_path_and_buffer_and_cut_by_their_factor() {
    for (name, factor) in [("newreno", 0.5), ("cubic", 0.7)] {
        let outcome = Path::new(12, 30, 50).run(&[named(name)], 40);
        let (low, high) = swing(&outcome);
        // 30 packets on the way, one being sent, 50 waiting; the loss is known a round trip after the queue
        // was full, in which a flow of this rate adds a packet or two.
        assert!((81.0..84.5).contains(&high), "{name}: {high}");
        assert!((low / high - factor).abs() < 0.02, "{name}: {low} of {high}");
    }
}

#[test]
fn a_tooth_of_newreno_adds_a_segment_for_each_round_trip() {
    let outcome = Path::new(12, 30, 50).run(&[named("newreno")], 40);
    // From the bottom of a tooth on, integrate W' = 1 / RTT(W) with RTT = 30 ms, or W milliseconds where a
    // queue stands.
    let rises: Vec<_> =
        outcome.windows.windows(2).filter(|pair| pair[1].window < 0.6 * pair[0].window).collect();
    let (first, second) = (rises[rises.len() - 2][1].time, rises[rises.len() - 1][1].time);
    let bottom = rises[rises.len() - 2][1].window;
    let (mut time, mut window) = (first.as_seconds(), bottom);
    while time < second.as_seconds() - 0.1 {
        window += 1e-3 / (window * 1e-3).max(0.030);
        time += 1e-3;
    }
    let found = window_at(&outcome, time);
    assert!((found - window).abs() < 0.03 * window, "{found} for {window}");
}

#[test]
fn copa_holds_the_packets_in_the_queue_that_delta_asks_for() {
    for delta in [0.5, 0.25, 0.1] {
        let settings = CopaSettings { delta, ..CopaSettings::default() };
        let outcome = Path::new(12, 60, 1000).run(&[Plan::new(Algorithm::Copa(settings))], 30);
        // At 12 Mbit/s a packet is a millisecond. The queue swings about 1 / delta, between 0 and 2.5 / delta
        // (the cycle of five round trips that the paper analyses); now and then three windows in one
        // direction double the velocity once.
        let own = outcome.mean_queueing(10, 30) * delta;
        assert!((0.9..1.5).contains(&own), "{delta}: {own}");
        let largest = outcome.maximum_queueing(10, 30) * delta;
        assert!(largest < 7.0, "{delta}: {largest}");
        assert_eq!(outcome.flows[0].lost, 0);
        assert_eq!(outcome.flows[0].controller.state().phase, Phase::Default);
    }
}

#[test]
fn ledbat_holds_the_queue_at_its_target() {
    for target in [100, 25] {
        let target = Duration::from_milliseconds(target);
        let settings = LedbatSettings { target, ..LedbatSettings::default() };
        let outcome = Path::new(12, 30, 1000).run(&[Plan::new(Algorithm::Ledbat(settings))], 110);
        let (mean, target) = (outcome.mean_queueing(90, 110), 1e3 * target.as_seconds());
        assert!((mean - target).abs() < 0.05 * target, "{mean} for {target}");
        assert!(outcome.maximum_queueing(0, 110) < 1.05 * target);
    }
}

#[test]
fn ledbat_nears_its_target_as_its_equation_does() {
    let outcome = Path::new(12, 30, 1000).run(&[named("ledbat")], 40);
    // W' = (1 - q / 100 ms) / RTT with q = W - 31 packets of a millisecond, RTT = 30 ms + a packet + q (RFC
    // 6817, section 2.4.2).
    let (mut time, mut window) = (0.0, 2.0_f64);
    for checkpoint in [5.0, 10.0, 20.0, 40.0] {
        while time < checkpoint {
            let queue = (window - 31.0).max(0.0);
            window += 1e-3 * (1.0 - queue / 100.0) / (0.031 + queue * 1e-3);
            time += 1e-3;
        }
        let found = window_at(&outcome, checkpoint);
        assert!((found - window).abs() < 0.03 * window, "{found} for {window} at {checkpoint}");
    }
}

#[test]
fn hystart_ends_slow_start_before_the_buffer_is_full() {
    // A round sees what the one before sent: the rise shows at 160 packets or so, and five conservative
    // rounds triple them.
    let run = |hystart| {
        let settings = CubicSettings { hystart, ..CubicSettings::default() };
        Path::new(12, 60, 600).run(&[Plan::new(Algorithm::Cubic(settings))], 5)
    };
    let (with, without) = (run(true), run(false));
    assert_eq!(with.flows[0].lost, 0);
    assert!(with.flows[0].controller.state().slow_start_threshold.is_some());
    assert!(without.flows[0].lost > 50, "{}", without.flows[0].lost);
    // And the link is full after it.
    assert!(with.throughput(0, 1, 5) > 11.9);
}

#[test]
fn a_saturator_sends_at_its_rate_whatever_the_path_carries() {
    for (megabits, carried) in [(6, 6.0), (24, 12.0)] {
        let rate = Rate::from_megabits_per_second(megabits);
        let plan = Plan::new(Algorithm::FixedRate(FixedRateSettings { rate }));
        let outcome = Path::new(12, 30, 50).run(&[plan], 5);
        let throughput = outcome.throughput(0, 1, 5);
        assert!((throughput - carried).abs() < 0.02 * carried, "{throughput} for {carried}");
    }
}

#[test]
fn a_flow_that_the_application_holds_back_does_not_grow() {
    for name in ["newreno", "cubic", "ledbat", "copa"] {
        let plan = named(name).writing(Rate::from_megabits_per_second(1));
        let outcome = Path::new(12, 60, 100).run(&[plan], 20);
        let largest = outcome.windows.iter().map(|window| window.window).fold(0.0, f64::max);
        // A megabit needs five packets in a round trip; the initial window is ten.
        assert!(largest <= 10.0, "{name}: {largest}");
        assert!((outcome.throughput(0, 5, 20) - 1.0).abs() < 0.02, "{name}");
        assert!(outcome.flows[0].controller.window().unwrap() >= Bytes::new(2 * SEGMENT.get()));
    }
}
