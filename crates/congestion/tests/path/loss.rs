//! Loss that no queue causes, against the published throughput formulas.

use trialwise_units::Seed;

use crate::flow::{SEGMENT, named};
use crate::network::{Losses, Path};

const MILLISECONDS: u64 = 60;

fn megabits(window: f64, milliseconds: u64) -> f64 {
    window * SEGMENT.get() as f64 * 8.0 / (milliseconds as f64 * 1e-3) / 1e6
}

/// Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm", CCR
/// 1997, with one acknowledgement for each packet: `sqrt(3 / 2) / sqrt(p)` segments.
fn mathis(loss: f64) -> f64 {
    (1.5 / loss).sqrt()
}

/// RFC 9438, section 5, figure 5: `(C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4)` segments.
fn cubic(loss: f64, milliseconds: u64) -> f64 {
    (0.4_f64 * 3.7 / 1.2).powf(0.25) * (milliseconds as f64 * 1e-3 / loss).powf(0.75)
}

/// Mean over seeds of what a flow of this name gets where each packet is lost with this probability, in
/// Mbit/s.
fn random(name: &str, loss: f64, rate: u64, buffer: u64) -> f64 {
    let runs = (0..4).map(|seed| {
        let path = Path::new(rate, MILLISECONDS, buffer).losing(Losses::Random(loss, Seed::new(seed)));
        path.run(&[named(name)], 60).throughput(0, 5, 60)
    });
    runs.sum::<f64>() / 4.0
}

#[test]
fn newreno_and_cubic_get_what_the_formula_says_at_a_loss_of_four_in_a_thousand() {
    // On this short path CUBIC is in its Reno-friendly region. Mahimahi gives 3.9 Mbit/s for both at 12
    // Mbit/s.
    let expected = megabits(mathis(0.004), MILLISECONDS);
    for (name, rate, buffer) in
        [("newreno", 100, 1000), ("newreno", 12, 50), ("cubic", 100, 1000), ("cubic", 12, 50)]
    {
        let found = random(name, 0.004, rate, buffer);
        assert!((found / expected - 1.0).abs() < 0.2, "{name} at {rate}: {found} for {expected}");
    }
}

#[test]
fn with_one_loss_in_so_many_packets_the_formulas_hold_closely() {
    let periodic = |name, every: usize, milliseconds| {
        let path = Path::new(200, milliseconds, 3000).losing(Losses::Every(every));
        path.run(&[named(name)], 120).throughput(0, 20, 120)
    };
    for (name, every, milliseconds, window) in [
        ("newreno", 10_000, 30, mathis(1e-4)),
        ("newreno", 2500, 60, mathis(4e-4)),
        ("cubic", 10_000, 100, cubic(1e-4, 100)),
        ("cubic", 10_000, 200, cubic(1e-4, 200)),
        // Reno-friendly.
        ("cubic", 2500, 30, mathis(4e-4)),
    ] {
        let (found, expected) = (periodic(name, every, milliseconds), megabits(window, milliseconds));
        assert!(
            (found / expected - 1.0).abs() < 0.1,
            "{name} {every} {milliseconds}: {found} for {expected}"
        );
    }
}

#[test]
fn copa_alone_ignores_random_loss() {
    assert!(random("copa", 0.004, 12, 50) > 11.5);
}
