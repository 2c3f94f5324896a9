//! Copa's equations (NSDI 2018, section 2).

use trialwise_congestion::{Algorithm, AnyController, Controller, Copa, CopaMode, CopaSettings, Phase};
use trialwise_units::{Duration, Rate};

use crate::feeder::{Feeder, SEGMENT, assert_near};

fn feeder(settings: CopaSettings) -> Feeder {
    Feeder::new(Algorithm::Copa(settings), Duration::from_milliseconds(50))
}

fn copa(feeder: &Feeder) -> &Copa {
    match &feeder.controller {
        AnyController::Copa(copa) => copa,
        _ => unreachable!(),
    }
}

/// A flow that has seen an empty path of 50 ms, and now rounds of this time.
fn beside_a_queue(settings: CopaSettings, milliseconds: u64) -> Feeder {
    let mut feeder = feeder(settings);
    feeder.round();
    feeder.rtt = Duration::from_milliseconds(milliseconds);
    feeder
}

#[test]
fn slow_start_doubles_until_the_rate_exceeds_the_target() {
    let mut feeder = feeder(CopaSettings::default());
    for expected in [20.0, 40.0, 80.0] {
        feeder.round();
        assert_eq!(feeder.window(), expected);
    }
    assert_eq!(feeder.controller.state().phase, Phase::SlowStart);
    // dq = 10 ms: the target is 1 / (0.5 * 10 ms) = 200 packets/s, and 80 in 60 ms are more.
    feeder.rtt = Duration::from_milliseconds(60);
    feeder.now += Duration::from_milliseconds(100);
    feeder.acknowledge();
    assert_eq!(feeder.controller.state().phase, Phase::Default);
    assert!(feeder.window() < 80.0);
}

#[test]
fn without_slow_start_the_first_window_is_steered() {
    let mut feeder = feeder(CopaSettings { slow_start: false, ..CopaSettings::default() });
    assert_eq!(feeder.controller.state().phase, Phase::Default);
    // v / (delta cwnd) for each of ten packets, of a window that grows meanwhile.
    feeder.round();
    assert_near(feeder.window(), 12.0, 0.2);
    feeder.time_out(1);
    assert_eq!(feeder.controller.state().phase, Phase::Default);
}

#[test]
fn the_window_comes_to_the_target_rate_and_stays_about_it() {
    for (delta, milliseconds) in [(0.5, 60), (0.5, 75), (0.1, 80)] {
        let settings = CopaSettings { delta, mode: CopaMode::Default, ..CopaSettings::default() };
        let mut feeder = beside_a_queue(settings, milliseconds);
        // cwnd / RTTstanding = 1 / (delta dq)
        let expected = milliseconds as f64 / (delta * (milliseconds - 50) as f64);
        for _ in 0..40 {
            feeder.round();
        }
        // The steps of a round are 1 / delta.
        for _ in 0..20 {
            feeder.round();
            assert_near(feeder.window(), expected, 1.0 / delta);
        }
    }
}

#[test]
fn a_packet_moves_the_window_by_the_velocity_over_delta_and_window() {
    let settings = CopaSettings { delta: 0.25, ..CopaSettings::default() };
    let mut feeder = beside_a_queue(settings, 100);
    feeder.now += Duration::from_milliseconds(100);
    let before = feeder.window();
    feeder.acknowledge();
    assert_eq!(copa(&feeder).queueing_delay(), Some(Duration::from_milliseconds(50)));
    assert_near(feeder.window(), before - 1.0 / (0.25 * before), 0.002);
}

#[test]
fn the_velocity_doubles_after_three_windows_in_one_direction_and_falls_back_at_the_turn() {
    let settings = CopaSettings { mode: CopaMode::Default, ..CopaSettings::default() };
    let mut feeder = feeder(settings);
    feeder.grow_to(400.0);
    feeder.rtt = Duration::from_milliseconds(150);
    feeder.now += Duration::from_milliseconds(150);
    let mut velocities = Vec::new();
    for _ in 0..40 {
        feeder.round();
        velocities.push(copa(&feeder).velocity());
    }
    // Down by 2, 2, 2, ... a window at first.
    assert_eq!(velocities[..2], [1.0, 1.0]);
    assert!(velocities.windows(2).filter(|pair| pair[1] == 2.0 * pair[0]).count() >= 5, "{velocities:?}");
    feeder.rtt = Duration::from_milliseconds(50);
    feeder.now += Duration::from_milliseconds(150);
    feeder.acknowledge();
    assert_eq!(copa(&feeder).velocity(), 1.0);
}

#[test]
fn the_velocity_is_bounded_where_the_window_can_shrink_no_more() {
    let settings = CopaSettings { delta: 2.0, mode: CopaMode::Default, ..CopaSettings::default() };
    let mut feeder = beside_a_queue(settings, 200);
    for _ in 0..40 {
        feeder.round();
    }
    // Two segments, half of one wanted: four segments of delta times window, doubled once before it is used.
    assert_eq!(feeder.window(), 2.0);
    assert!((4.0..=8.0).contains(&copa(&feeder).velocity()), "{}", copa(&feeder).velocity());
}

#[test]
fn a_queue_that_never_empties_for_five_round_trips_leads_to_aimd_of_the_inverse_of_delta() {
    let mut feeder = beside_a_queue(CopaSettings::default(), 100);
    feeder.now += Duration::from_milliseconds(100);
    let mut inverse = Vec::new();
    for _ in 0..12 {
        feeder.round();
        inverse.push((1.0 / copa(&feeder).delta()).round());
    }
    assert_eq!(feeder.controller.state().phase, Phase::Competitive);
    assert!(inverse[..4].iter().all(|value| *value == 2.0), "{inverse:?}");
    assert!(inverse.windows(2).all(|pair| pair[1] - pair[0] <= 1.0), "{inverse:?}");
    let last = *inverse.last().unwrap();
    assert!(last >= 6.0, "{inverse:?}");
    feeder.lose();
    assert_near(1.0 / copa(&feeder).delta(), last / 2.0, 0.001);
    for _ in 0..4 {
        feeder.lose();
    }
    assert_near(copa(&feeder).delta(), 0.5, 1e-9);
    // And back, with delta of the default mode, as soon as the queue is empty.
    feeder.rtt = Duration::from_milliseconds(50);
    feeder.acknowledge();
    assert_eq!(feeder.controller.state().phase, Phase::Default);
    assert_eq!(copa(&feeder).delta(), 0.5);
}

#[test]
fn packets_leave_at_twice_the_window_in_a_standing_round_trip() {
    let mut feeder = feeder(CopaSettings::default());
    assert_eq!(feeder.controller.pacing_rate(), None);
    feeder.acknowledge();
    let expected = 2 * 11 * SEGMENT * 8 * 20;
    assert_eq!(feeder.controller.pacing_rate(), Some(Rate::from_bits_per_second(expected)));
}

#[test]
fn losses_in_the_default_mode_change_nothing_and_a_time_out_starts_again() {
    let mut feeder = feeder(CopaSettings::default());
    feeder.grow_to(40.0);
    feeder.lose();
    assert_eq!(feeder.window(), 40.0);
    feeder.time_out(1);
    assert_eq!((feeder.window(), feeder.controller.state().phase), (2.0, Phase::SlowStart));
}

#[test]
fn the_smallest_round_trip_time_is_forgotten_after_ten_seconds() {
    let mut feeder = beside_a_queue(CopaSettings::default(), 60);
    let queueing = |feeder: &Feeder| copa(feeder).queueing_delay().unwrap().milliseconds();
    for _ in 0..160 {
        feeder.round();
    }
    assert_eq!(queueing(&feeder), 10);
    for _ in 0..10 {
        feeder.round();
    }
    assert_eq!(queueing(&feeder), 0);
}
