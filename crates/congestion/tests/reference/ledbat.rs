//! RFC 6817, section 2.4.2, step by step.

use trialwise_congestion::{Acknowledgement, Algorithm, BuildError, Controller, DelayFilter, LedbatSettings};
use trialwise_units::{Bytes, Duration};

use crate::feeder::{Feeder, SEGMENT, assert_near};

const RTT: Duration = Duration::from_milliseconds(50);

fn feeder(settings: LedbatSettings) -> Feeder {
    Feeder::new(Algorithm::Ledbat(settings), RTT)
}

/// Acknowledges one segment of a full window at this one-way delay.
fn feed(feeder: &mut Feeder, milliseconds: u64) {
    feeder.now += Duration::from_milliseconds(1);
    let delay = Some(Duration::from_milliseconds(milliseconds));
    let event = Acknowledgement { one_way_delay: delay, ..feeder.event(1) };
    feeder.feed(&event);
}

#[test]
fn each_acknowledgement_moves_the_window_by_the_equation() {
    let newest = LedbatSettings {
        filter: DelayFilter::Newest,
        gain: 0.5,
        allowed_increase: 4.0,
        initial_window: 20,
        ..LedbatSettings::default()
    };
    let mut feeder = feeder(newest);
    let mut expected = 20.0_f64;
    let mut base = u64::MAX;
    for delay in [40, 60, 90, 140, 200, 400, 30, 80, 131] {
        feed(&mut feeder, delay);
        base = base.min(delay);
        let off_target = (100.0 - (delay - base) as f64) / 100.0;
        expected += 0.5 * off_target / expected;
        assert_near(feeder.window(), expected, 0.002);
    }
}

#[test]
fn the_minimum_of_four_samples_passes_over_a_late_one() {
    let mut feeder = feeder(LedbatSettings { initial_window: 20, ..LedbatSettings::default() });
    for _ in 0..4 {
        feed(&mut feeder, 40);
    }
    let before = feeder.window();
    feed(&mut feeder, 900);
    assert_near(feeder.window(), before + 1.0 / before, 0.002);
}

#[test]
fn at_the_target_the_window_stands_and_above_it_shrinks_to_two_segments() {
    let mut feeder = feeder(LedbatSettings { initial_window: 20, ..LedbatSettings::default() });
    feed(&mut feeder, 40);
    for _ in 0..10 {
        feed(&mut feeder, 140);
    }
    let before = feeder.window();
    for _ in 0..100 {
        feed(&mut feeder, 140);
    }
    assert_eq!(feeder.window(), before);
    for _ in 0..1000 {
        feed(&mut feeder, 500);
    }
    assert_eq!(feeder.window(), 2.0);
}

#[test]
fn a_window_that_is_not_used_is_taken_back_to_what_is_in_flight_and_one_more() {
    let mut feeder = feeder(LedbatSettings { initial_window: 20, ..LedbatSettings::default() });
    let event = Acknowledgement { in_flight: Bytes::new(4 * SEGMENT), ..feeder.event(1) };
    feeder.feed(&event);
    // Five were in flight before it.
    assert_eq!(feeder.window(), 6.0);
}

#[test]
fn a_loss_halves_once_an_episode_and_a_time_out_leaves_one_segment() {
    let mut feeder = feeder(LedbatSettings { initial_window: 20, ..LedbatSettings::default() });
    feeder.lose();
    feeder.lose_of(10_000, false);
    assert_eq!(feeder.window(), 10.0);
    feeder.time_out(1);
    assert_eq!(feeder.window(), 1.0);
    feeder.lose_of(2 * SEGMENT, true);
    assert_eq!(feeder.window(), 1.0);
    feed(&mut feeder, 40);
    assert_eq!(feeder.window(), 2.0);
    feeder.lose();
    assert_eq!(feeder.window(), 2.0);
}

#[test]
fn without_a_delay_nothing_moves() {
    let mut feeder = feeder(LedbatSettings::default());
    let event = Acknowledgement { one_way_delay: None, ..feeder.event(1) };
    feeder.feed(&event);
    assert_eq!(feeder.window(), 2.0);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let sound = LedbatSettings::default();
    for (settings, name) in [
        (LedbatSettings { gain: f64::NAN, ..sound }, "gain"),
        (LedbatSettings { gain: 1.5, ..sound }, "gain"),
        (LedbatSettings { target: Duration::ZERO, ..sound }, "target"),
        (LedbatSettings { base_history: 0, ..sound }, "base_history"),
        (LedbatSettings { current_filter: 17, ..sound }, "current_filter"),
        (LedbatSettings { allowed_increase: 0.0, ..sound }, "allowed_increase"),
    ] {
        let context = trialwise_congestion::Context {
            now: trialwise_units::Time::ZERO,
            segment: Bytes::new(SEGMENT),
            line_rate: None,
            base_rtt: None,
            path_window: None,
            hops: None,
            seed: trialwise_units::Seed::new(1),
        };
        let error = trialwise_congestion::Ledbat::new(&settings, &context).unwrap_err();
        assert!(matches!(error, BuildError::Setting { setting, .. } if setting == name), "{error}");
    }
}

#[test]
fn its_state_prints() {
    assert_eq!(feeder(LedbatSettings::default()).controller.state().to_string(), "window 2000 B, steady");
}
