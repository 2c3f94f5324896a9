//! BBRv3: what its draft says of it, and its appendix "BBR Example Test Cases" asks for.

use trialwise_congestion::{AnyController, Bbr3, Controller, Phase};
use trialwise_units::{Duration, Rate, Seed};

use crate::flow::{Flow, named};
use crate::network::{Losses, Outcome, Path};

fn bbr(flow: &Flow) -> &Bbr3 {
    match &flow.controller {
        AnyController::Bbr3(bbr) => bbr,
        _ => unreachable!(),
    }
}

fn alone(path: &Path, seconds: u64) -> Outcome {
    path.run(&[named("bbr3")], seconds)
}

fn share_lost(outcome: &Outcome, seconds: u64) -> f64 {
    let arrived = outcome.between(0, seconds).count() as f64;
    outcome.flows[0].lost as f64 / (arrived + outcome.flows[0].lost as f64)
}

#[test]
fn startup_ends_with_the_bandwidth_of_the_link() {
    for (rate, rtt) in [(12, 60), (100, 30), (1, 100)] {
        let outcome = alone(&Path::new(rate, rtt, 2 * rate * rtt / 12 + 10), 3);
        let bbr = bbr(&outcome.flows[0]);
        let found = bbr.maximum_bandwidth() / 1e6 / rate as f64;
        assert!((found - 1.0).abs() < 0.02, "{rate} Mbit/s, {rtt} ms: {found}");
        assert_ne!(bbr.state().phase, Phase::SlowStart);
        assert_eq!(outcome.flows[0].timeouts, 0);
    }
}

#[test]
fn it_fills_a_link_and_keeps_its_queue_short() {
    for (rate, rtt, buffer) in [(12, 60, 120), (100, 30, 250), (100, 200, 1700)] {
        let outcome = alone(&Path::new(rate, rtt, buffer), 60);
        // ProbeRTT costs 2 %, the pacing margin 1 %, and DOWN after a probe the rest.
        let throughput = outcome.throughput(0, 10, 60) / rate as f64;
        assert!(throughput > 0.95, "{rate} Mbit/s, {rtt} ms: {throughput}");
        let queueing = outcome.mean_queueing(10, 60);
        assert!(queueing < 0.25 * rtt as f64, "{rate} Mbit/s, {rtt} ms: {queueing}");
        let least = bbr(&outcome.flows[0]).minimum_round_trip().unwrap();
        assert!(least < Duration::from_milliseconds(rtt + 2), "{least:?}");
    }
}

#[test]
fn a_short_buffer_costs_little() {
    // A quarter of a bandwidth-delay product, where BBRv1 loses more than a tenth.
    for (rate, rtt, buffer) in [(12, 60, 15), (100, 30, 62)] {
        let outcome = alone(&Path::new(rate, rtt, buffer), 60);
        let lost = share_lost(&outcome, 60);
        assert!(lost < 0.02, "{rate} Mbit/s, {rtt} ms: {lost}");
        assert!(outcome.throughput(0, 10, 60) > 0.95 * rate as f64);
    }
}

#[test]
fn random_loss_lowers_the_rate_by_itself_in_each_round_between_probes() {
    // Between two probes the rate follows what arrives, (1 - loss) in each round ("(1 - loss_rate)^N"). A probe comes after 63
    // rounds or 2 to 3 seconds, so that N is 12 over 200 ms and 41 over 60 ms.
    let mean = |rounds: i32| (1.0 - 0.99_f64.powi(rounds)) / (0.01 * f64::from(rounds));
    for (rate, rtt, buffer, rounds) in [(12, 60, 120, 41), (100, 200, 1700, 12)] {
        let path = Path::new(rate, rtt, buffer).losing(Losses::Random(0.01, Seed::new(1)));
        let outcome = alone(&path, 60);
        let found = outcome.throughput(0, 10, 60) / rate as f64;
        assert!((found / (mean(rounds) * 0.97) - 1.0).abs() < 0.1, "{rate} Mbit/s, {rtt} ms: {found}");
    }
    // Beyond 2 % each probe is too high.
    let path = Path::new(100, 30, 250).losing(Losses::Random(0.03, Seed::new(1)));
    let found = alone(&path, 60).throughput(0, 20, 60);
    assert!(found < 25.0, "{found}");
}

#[test]
fn it_shares_with_cubic_and_with_itself() {
    for (rate, rtt, buffer) in [(12, 60, 60), (12, 60, 15), (100, 30, 250)] {
        let path = Path::new(rate, rtt, buffer);
        let beside = path.run(&[named("bbr3"), named("cubic").starting_at(5.0)], 60);
        for flow in [0, 1] {
            let share = beside.throughput(flow, 20, 60) / rate as f64;
            assert!(share > 0.25, "{rate} Mbit/s, {rtt} ms, {buffer} packets, flow {flow}: {share}");
        }
        let fairness = path.run(&[named("bbr3"), named("bbr3").starting_at(5.0)], 60).fairness(20, 60);
        assert!(fairness > 0.95, "{rate} Mbit/s, {rtt} ms, {buffer} packets: {fairness}");
    }
}

#[test]
fn four_packets_are_in_flight_where_less_than_one_fits() {
    let outcome = alone(&Path::new(1, 5, 20), 20);
    assert!(
        outcome
            .windows
            .iter()
            .filter(|window| window.time.as_seconds() > 1.0)
            .all(|window| window.window >= 4.0)
    );
    assert!(outcome.throughput(0, 2, 20) > 0.97);
    let rate = bbr(&outcome.flows[0]).maximum_bandwidth() / 1e6;
    assert!((rate - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn a_flow_that_the_application_holds_back_stays_in_startup() {
    let held_back = named("bbr3").writing(Rate::from_megabits_per_second(2));
    let outcome = Path::new(100, 30, 250).run(&[held_back], 4);
    assert_eq!(outcome.flows[0].controller.state().phase, Phase::SlowStart);
    assert!((outcome.throughput(0, 1, 4) - 2.0).abs() < 0.1);
}

#[test]
fn the_round_trip_is_probed_every_five_seconds() {
    let outcome = alone(&Path::new(12, 60, 120), 31);
    // Half of what the path holds, 61 packets, for 200 ms.
    let low = |window: &f64| *window < 32.0;
    let late = outcome.windows.iter().filter(|window| window.time.as_seconds() > 3.0);
    let windows: Vec<f64> = late.map(|window| window.window).collect();
    let entered = windows.windows(2).filter(|pair| low(&pair[1]) && !low(&pair[0])).count();
    assert!((4..=6).contains(&entered), "{entered}");
}
