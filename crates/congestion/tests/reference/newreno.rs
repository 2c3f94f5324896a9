//! RFC 5681 and RFC 6582, clause by clause.

use trialwise_congestion::{Acknowledgement, Algorithm, Controller, NewRenoSettings};
use trialwise_units::{Duration, Time};

use crate::feeder::{Feeder, SEGMENT, assert_near};

fn feeder() -> Feeder {
    Feeder::new(Algorithm::NewReno(NewRenoSettings::default()), Duration::from_milliseconds(50))
}

#[test]
fn slow_start_doubles_in_a_round_and_bounds_what_one_acknowledgement_adds() {
    let mut feeder = feeder();
    feeder.round();
    assert_eq!(feeder.window(), 20.0);
    let event = feeder.event(5);
    feeder.feed(&event);
    assert_eq!(feeder.window(), 22.0);
    assert_eq!(feeder.controller.state().to_string(), "window 22000 B, slow start");
}

#[test]
fn the_sawtooth_halves_and_adds_a_segment_for_each_round() {
    let mut feeder = feeder();
    feeder.grow_to(64.0);
    let mut top = 64.0;
    for rounds in [20, 40, 10] {
        feeder.lose();
        assert_near(feeder.window(), top / 2.0, 0.5);
        let bottom = feeder.window();
        for _ in 0..rounds {
            feeder.round();
        }
        top = bottom + f64::from(rounds);
        // A round acknowledges the whole segments of a window: a little less than the window.
        assert_near(feeder.window(), top, 0.05 * f64::from(rounds));
        top = feeder.window();
    }
}

#[test]
fn one_episode_cuts_once_and_nothing_grows_while_it_is_repaired() {
    let mut feeder = feeder();
    feeder.grow_to(40.0);
    feeder.lose();
    feeder.lose_of(20_000, false);
    assert_eq!(feeder.window(), 20.0);
    let event = Acknowledgement { in_recovery: true, ..feeder.event(10) };
    feeder.feed(&event);
    assert_eq!(feeder.window(), 20.0);
    assert_eq!(feeder.controller.state().to_string(), "window 20000 B, threshold 20000 B, recovery");
}

#[test]
fn what_is_in_flight_counts_not_the_window() {
    let mut feeder = feeder();
    feeder.grow_to(40.0);
    feeder.lose_of(12 * SEGMENT, true);
    assert_eq!(feeder.window(), 6.0);
    feeder.lose_of(SEGMENT, true);
    assert_eq!((feeder.window(), feeder.threshold()), (2.0, 2.0));
}

#[test]
fn a_time_out_leaves_one_segment_and_the_next_one_keeps_the_threshold() {
    let mut feeder = feeder();
    feeder.grow_to(40.0);
    feeder.time_out(1);
    assert_eq!((feeder.window(), feeder.threshold()), (1.0, 20.0));
    feeder.time_out(2);
    assert_eq!((feeder.window(), feeder.threshold()), (1.0, 20.0));
    feeder.grow_to(20.0);
    feeder.acknowledge();
    assert_near(feeder.window(), 20.05, 0.001);
}

#[test]
fn a_spurious_reduction_is_taken_back() {
    let mut feeder = feeder();
    feeder.grow_to(40.0);
    feeder.lose();
    feeder.controller.on_spurious(Time::ZERO);
    assert_eq!(feeder.window(), 40.0);
    assert_eq!(feeder.controller.state().slow_start_threshold, None);
}

#[test]
fn marks_cut_once_for_a_window() {
    let mut feeder = feeder();
    feeder.grow_to(40.0);
    let event = Acknowledgement { marked_packets: 1, ..feeder.event(1) };
    feeder.feed(&event);
    assert_eq!(feeder.window(), 20.0);
    let event = Acknowledgement { marked_packets: 1, ..feeder.event(1) };
    feeder.feed(&event);
    assert_near(feeder.window(), 20.05, 0.001);
}

#[test]
fn a_long_pause_restarts_from_the_initial_window() {
    let mut feeder = feeder();
    feeder.grow_to(40.0);
    feeder.controller.on_idle_restart(feeder.now, Duration::from_milliseconds(900));
    assert_eq!(feeder.window(), 40.0);
    feeder.controller.on_idle_restart(feeder.now, Duration::from_milliseconds(1100));
    assert_eq!(feeder.window(), 10.0);
}
