//! Saturators.

use trialwise_congestion::{Algorithm, Context, Controller, Factory};
use trialwise_units::{Rate, Seed, Time};

use crate::flow::{Plan, SEGMENT, named};
use crate::network::{Losses, Path};

/// The share of packets after the fifth second whose round-trip time, of 56 ms and what they wait, is in a band of milliseconds.
fn share_in_band(path: &Path, name: &str, (low, high): (f64, f64)) -> f64 {
    let outcome = path.run(&[named(name)], 40);
    let delays = outcome.queueing(5, 40);
    let base = 1e3 * (path.rtt.as_seconds() + path.rate.transmission_time(SEGMENT).as_seconds());
    let inside = delays.iter().filter(|delay| (low..=high).contains(&(base + **delay))).count();
    inside as f64 / delays.len() as f64
}

#[test]
fn the_round_trip_stays_in_the_band_whatever_the_loss() {
    for (name, low, high) in
        [("saturator", 230.0, 245.0), ("greg_saturator", 305.0, 320.0), ("cellular_saturator", 750.0, 3000.0)]
    {
        // Pantheon's two lost 1.41 % and 3.21 % on the real path.
        for loss in [0.0, 0.0141, 0.0321] {
            let path = Path::new(12, 56, 10_000).losing(Losses::Random(loss, Seed::new(1)));
            let share = share_in_band(&path, name, (low, high));
            assert!(share > 0.95, "{name} {loss}: {share}");
        }
    }
}

#[test]
fn the_queue_is_never_empty_after_five_seconds() {
    for loss in [0.0, 0.004] {
        let path = Path::new(12, 56, 10_000).losing(Losses::Random(loss, Seed::new(1)));
        let outcome = path.run(&[named("saturator")], 40);
        assert!(outcome.queueing(5, 40).iter().all(|delay| *delay > 1.0), "{loss}");
        assert!(outcome.throughput(0, 5, 40) > 11.99);
    }
}

#[test]
fn a_queue_too_short_for_the_band_is_not_flooded() {
    let outcome = Path::new(12, 56, 100).run(&[named("saturator")], 20);
    // 245 ms at 12 Mbit/s are 245 packets, of which 157 fit.
    let window = outcome.flows[0].controller.window().unwrap().get() / 1500;
    assert!((200..=260).contains(&window), "{window}");
    assert!(outcome.throughput(0, 5, 20) > 11.9);
}

#[test]
fn a_window_has_a_largest_size() {
    let algorithm = Algorithm::written("saturator:maximum_window=50", None).unwrap();
    let outcome = Path::new(12, 56, 1000).run(&[Plan::new(algorithm)], 20);
    assert_eq!(outcome.flows[0].controller.window().unwrap().get(), 50 * 1500);
    for wrong in ["saturator:low=1s", "saturator:maximum_window=10"] {
        let algorithm = Algorithm::written(wrong, Some(Rate::ZERO)).unwrap();
        let context = Context {
            now: Time::ZERO,
            segment: SEGMENT,
            line_rate: None,
            base_rtt: None,
            path_window: None,
            hops: None,
            seed: Seed::new(1),
        };
        assert!(algorithm.build(&context).is_err(), "{wrong}");
    }
}
