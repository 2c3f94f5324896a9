//! Sprout and Verus over links whose rate changes as that of a phone does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/ways.rs"]
mod ways;

use ways::{Arrivals, Flow, Ways};

fn no_files(path: &str) -> Result<String, String> {
    Err(format!("{path} is not read"))
}

/// What came of a bulk flow.
struct Run {
    arrivals: Arrivals,
    seconds: f64,
}

fn run(scheme: &str, forward: &[(&str, &str)], backward: &[(&str, &str)], seconds: u64) -> Run {
    let ways = Ways { forward, backward, read: &no_files };
    let arrivals = ways.run(&[Flow { scheme, ..Flow::default() }], seconds);
    Run { arrivals, seconds: seconds as f64 }
}

impl Run {
    fn megabits(&self) -> f64 {
        self.arrivals.megabits(1, 0.0, self.seconds)
    }

    fn percentile(&self, share: f64) -> f64 {
        self.arrivals.delay(1, 0.0, share)
    }
}

/// Packets as a Poisson process of a rate that wanders between nothing and twice the mean, as on a phone's link.
const PHONE: &[(&str, &str)] = &[("rate", "cellular:rate=6Mbit/s,length=60s,dwell=1s"), ("delay", "20ms")];
const BACK: &[(&str, &str)] = &[("rate", "100Mbit/s"), ("delay", "20ms")];

#[test]
fn packets_of_sprout_wait_for_less_than_100_ms() {
    let (sprout, cubic) = (run("sprout", PHONE, BACK, 60), run("cubic", PHONE, BACK, 60));
    // 95 % of them (section 5.2 has 7.9 times less than Skype's), behind 20 ms of delay; of the link CUBIC uses all.
    assert!(sprout.percentile(0.95) < 120.0, "{}", sprout.percentile(0.95));
    assert!(sprout.megabits() > 0.85 * cubic.megabits(), "{} of {}", sprout.megabits(), cubic.megabits());
    assert!(cubic.percentile(0.95) > 100.0 * sprout.percentile(0.95), "{}", cubic.percentile(0.95));
}

#[test]
fn sprout_is_as_near_to_the_empty_path_as_that_of_pantheon() {
    // Pantheon's walkthrough: 4.57 Mbit/s, and 95 % of one-way delays below 54.0 ms. By the paper's steps a sender fills this link or
    // hardly sends (tests/golden/test_sprout.py).
    let path = [("rate", "10Mbit/s"), ("delay", "28ms"), ("loss", "0.4%")];
    let found = run("sprout", &path, &path, 60);
    assert!((found.percentile(0.95) / 54.0 - 1.0).abs() < 0.1, "{}", found.percentile(0.95));
    assert!(found.megabits() > 0.97 * 10.0, "{}", found.megabits());
}

#[test]
fn sprout_forecasts_no_more_than_12_megabits() {
    // In a round trip it sends what it forecasts for 100 ms: here that is the rate, over shorter paths it is more.
    let path = [("rate", "100Mbit/s"), ("delay", "50ms")];
    let found = run("sprout", &path, &path, 20);
    assert!((4.0..12.0).contains(&found.megabits()), "{}", found.megabits());
}

#[test]
fn verus_holds_the_round_trip_near_six_times_the_shortest() {
    // Without loss Pantheon's walkthrough has 341 ms one way: a round trip of 369 ms, 6.6 times 56 ms.
    let path = [("rate", "10Mbit/s"), ("delay", "28ms")];
    let found = run("verus", &path, &path, 60);
    let round_trip = found.percentile(0.95) + 28.0;
    assert!((5.5 * 56.0..7.0 * 56.0).contains(&round_trip), "{round_trip}");
    assert!((found.percentile(0.95) / 341.0 - 1.0).abs() < 0.1, "{}", found.percentile(0.95));
    assert!(found.megabits() > 0.9 * 10.0, "{}", found.megabits());
}

#[test]
fn verus_delays_a_tenth_of_what_cubic_does() {
    let (verus, cubic) = (run("verus", PHONE, BACK, 60), run("cubic", PHONE, BACK, 60));
    assert!(cubic.percentile(0.95) > 10.0 * verus.percentile(0.95), "{}", verus.percentile(0.95));
    assert!(cubic.percentile(0.5) > 10.0 * verus.percentile(0.5), "{}", verus.percentile(0.5));
    assert!(verus.megabits() > 0.9 * cubic.megabits(), "{} of {}", verus.megabits(), cubic.megabits());
}
