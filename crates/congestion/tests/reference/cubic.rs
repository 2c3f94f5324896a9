//! RFC 9438, figures 1, 2 and 4 in closed form, and sections 4.6 to 4.10.

use trialwise_congestion::{Acknowledgement, Algorithm, Controller, CubicSettings, Phase};
use trialwise_units::{Duration, Time};

use crate::feeder::{Feeder, assert_near};

const C: f64 = 0.4;
const BETA: f64 = 0.7;

fn feeder(rtt: u64, settings: CubicSettings) -> Feeder {
    Feeder::new(Algorithm::Cubic(settings), Duration::from_milliseconds(rtt))
}

/// Without HyStart++, at the top of the first tooth.
fn at_top(rtt: u64, segments: f64) -> Feeder {
    let mut feeder = feeder(rtt, CubicSettings { hystart: false, ..CubicSettings::default() });
    feeder.grow_to(segments);
    feeder
}

/// Figures 1 and 2: the window so many seconds after it was `bottom`.
fn curve(seconds: f64, bottom: f64, plateau: f64) -> f64 {
    let rise = ((plateau - bottom) / C).cbrt();
    plateau + C * (seconds - rise).powi(3)
}

/// Follows the curve for so many rounds, and holds the window against it.
fn assert_follows(feeder: &mut Feeder, rounds: u32, bottom: f64, plateau: f64) {
    feeder.acknowledge();
    let start = feeder.now;
    for _ in 0..rounds {
        feeder.round();
        let expected = curve((feeder.now - start).as_seconds(), bottom, plateau);
        // The window follows the target of a round trip later with a lag of about a round trip.
        assert_near(feeder.window(), expected, 0.003 * expected + 0.3);
    }
}

#[test]
fn the_window_follows_the_concave_and_the_convex_curve() {
    let mut feeder = at_top(100, 1000.0);
    feeder.lose();
    assert_eq!((feeder.window(), feeder.threshold()), (700.0, 700.0));
    // K = cbrt(300 / 0.4) = 9.09 s; five seconds beyond it.
    assert_follows(&mut feeder, 140, 700.0, 1000.0);
    assert!(feeder.window() > 1040.0);
    assert_eq!(feeder.controller.state().phase, Phase::CongestionAvoidance);
}

#[test]
fn fast_convergence_lowers_the_plateau_of_a_flow_that_sinks() {
    for fast_convergence in [true, false] {
        let settings = CubicSettings { hystart: false, fast_convergence, ..CubicSettings::default() };
        let mut feeder = feeder(100, settings);
        feeder.grow_to(1000.0);
        feeder.lose();
        feeder.lose();
        assert_eq!(feeder.window(), 490.0);
        // Section 4.7: 700 (1 + 0.7) / 2 = 595 instead of 700.
        let plateau = if fast_convergence { 700.0 * (1.0 + BETA) / 2.0 } else { 700.0 };
        assert_follows(&mut feeder, 100, 490.0, plateau);
    }
}

#[test]
fn a_short_path_is_reno_friendly() {
    let mut feeder = at_top(10, 40.0);
    feeder.lose();
    assert_eq!(feeder.window(), 28.0);
    // Figure 4: alpha = 3 (1 - beta) / (1 + beta) a round until W_est is at cwnd_prior = 40, then 1.
    let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
    for round in 1..=20 {
        feeder.round();
        assert_near(feeder.window(), 28.0 + alpha * f64::from(round), 0.03 * f64::from(round) + 0.1);
    }
    assert_eq!(feeder.controller.state().phase, Phase::RenoFriendly);
    while feeder.window() < 40.5 {
        feeder.round();
    }
    let before = feeder.window();
    for _ in 0..10 {
        feeder.round();
    }
    assert_near(feeder.window(), before + 10.0, 0.4);
}

#[test]
fn after_a_time_out_the_curve_starts_flat_at_the_threshold() {
    let mut feeder = at_top(300, 1400.0);
    // The plateau of an earlier loss is forgotten.
    feeder.lose();
    feeder.grow_to(1000.0);
    feeder.time_out(1);
    assert_eq!((feeder.window(), feeder.threshold()), (1.0, 700.0));
    feeder.grow_to(700.0);
    // K = 0, W_max = cwnd (section 4.8): 700 + 0.4 t^3.
    assert_follows(&mut feeder, 40, 700.0, 700.0);
    assert!(feeder.window() > 1200.0);
}

#[test]
fn time_in_which_the_application_holds_the_flow_back_is_not_on_the_curve() {
    let mut feeder = at_top(100, 1000.0);
    feeder.lose();
    feeder.acknowledge();
    for _ in 0..30 {
        feeder.round();
    }
    let before = feeder.window();
    for _ in 0..100 {
        feeder.now += Duration::from_milliseconds(500);
        let event = Acknowledgement { application_limited: true, ..feeder.event(1) };
        feeder.feed(&event);
    }
    assert_eq!(feeder.window(), before);
    for _ in 0..10 {
        feeder.round();
    }
    assert_near(feeder.window(), curve(4.0, 700.0, 1000.0), 3.0);
}

#[test]
fn a_round_trip_adds_half_of_the_window_at_most() {
    let mut feeder = at_top(100, 100.0);
    feeder.lose();
    feeder.acknowledge();
    feeder.now += Duration::from_milliseconds(1_000_000);
    let before = feeder.window();
    feeder.round();
    assert!(feeder.window() <= 1.5 * 1.5 * before && feeder.window() > 1.3 * before, "{}", feeder.window());
}

#[test]
fn a_spurious_reduction_gives_the_old_curve_back() {
    let mut feeder = at_top(100, 1000.0);
    feeder.lose();
    feeder.acknowledge();
    for _ in 0..20 {
        feeder.round();
    }
    let before = feeder.window();
    feeder.lose();
    assert!(feeder.window() < before);
    feeder.controller.on_spurious(Time::ZERO);
    assert_eq!(feeder.window(), before);
    feeder.round();
    assert_near(feeder.window(), curve(2.1, 700.0, 1000.0), 3.0);
}

#[test]
fn hystart_divides_the_growth_by_four_and_then_ends_slow_start() {
    let mut feeder = feeder(50, CubicSettings::default());
    feeder.round();
    assert_eq!(feeder.window(), 20.0);
    feeder.rtt = Duration::from_milliseconds(80);
    feeder.round();
    let conservative = feeder.window();
    assert_eq!(feeder.controller.state().phase, Phase::ConservativeSlowStart);
    feeder.round();
    assert_near(feeder.window(), 1.25 * conservative, 1.0);
    while feeder.controller.state().phase == Phase::ConservativeSlowStart {
        feeder.round();
    }
    // Five rounds, the first of them in part.
    let rounds = (feeder.threshold() / conservative).ln() / 1.25_f64.ln();
    assert!((3.5..=5.0).contains(&rounds), "{rounds}");
}
