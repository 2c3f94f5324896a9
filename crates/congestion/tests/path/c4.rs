//! C4: what its draft promises of long flows.

use trialwise_congestion::{AnyController, C4};
use trialwise_units::{Rate, Seed};

use crate::flow::{Flow, named};
use crate::network::{Losses, Path};

const PATHS: [(u64, u64, u64); 3] = [(12, 60, 120), (100, 30, 250), (20, 40, 60)];

fn c4(flow: &Flow) -> &C4 {
    match &flow.controller {
        AnyController::C4(c4) => c4,
        _ => unreachable!(),
    }
}

#[test]
fn it_finds_the_rate_and_fills_the_link_without_a_queue() {
    for (rate, rtt, buffer) in PATHS {
        let outcome = Path::new(rate, rtt, buffer).run(&[named("c4")], 60);
        let found = c4(&outcome.flows[0]).nominal_rate().unwrap().bits_per_second() as f64 / 1e6;
        assert!((found / rate as f64 - 1.0).abs() < 0.05, "{rate} Mbit/s, {rtt} ms: {found}");
        // Of four eras one is sent a sixteenth slower, and one a sixteenth faster, which the queue keeps for it.
        assert!(outcome.throughput(0, 5, 60) > 0.98 * rate as f64, "{rate} Mbit/s, {rtt} ms");
        let queueing = outcome.mean_queueing(20, 60);
        assert!(queueing < 0.25 * rtt as f64, "{rate} Mbit/s, {rtt} ms: {queueing}");
        assert_eq!((outcome.flows[0].episodes, outcome.flows[0].timeouts), (1, 0), "only at the start");
    }
}

#[test]
fn two_flows_share_within_thirty_seconds() {
    for (rate, rtt, buffer) in PATHS {
        let outcome = Path::new(rate, rtt, buffer).run(&[named("c4"), named("c4").starting_at(5.0)], 30);
        let fairness = outcome.fairness(20, 30);
        assert!(fairness >= 0.9, "{rate} Mbit/s, {rtt} ms: {fairness}");
    }
}

#[test]
fn beside_cubic_it_has_a_quarter_of_the_link() {
    for (rate, rtt, _) in PATHS {
        let path = Path::new(rate, rtt, rate * rtt / 12);
        for (first, second, c4) in [("c4", "cubic", 0), ("cubic", "c4", 1)] {
            let outcome = path.run(&[named(first), named(second).starting_at(5.0)], 60);
            let share = outcome.throughput(c4, 20, 60) / rate as f64;
            assert!(share >= 0.25, "{rate} Mbit/s, {rtt} ms, {first} first: {share}");
        }
    }
}

#[test]
fn random_losses_below_its_threshold_cost_little() {
    // A threshold of 2 % and an average over sixteen packets: what counts is that it does not collapse as CUBIC does.
    let path = Path::new(12, 60, 120).losing(Losses::Random(0.01, Seed::new(1)));
    let shares = ["c4", "cubic"].map(|name| path.run(&[named(name)], 60).throughput(0, 10, 60) / 12.0);
    assert!(shares[0] > 2.0 * shares[1], "{shares:?}");
}

#[test]
fn a_flow_that_the_application_holds_back_keeps_its_rate_and_no_queue() {
    let held_back = named("c4").writing(Rate::from_megabits_per_second(2));
    let outcome = Path::new(20, 40, 60).run(&[held_back], 20);
    assert!((outcome.throughput(0, 1, 20) - 2.0).abs() < 0.02);
    assert!(outcome.maximum_queueing(1, 20) < 1.0, "milliseconds");
}
