use super::*;
use crate::onnx::testing::Model;
use crate::testing::{acknowledgement, context};

/// A policy whose action is the same whatever it sees.
fn constant(action: f32) -> Policy {
    let model = Model::new(&[1, 30], &[1, 1])
        .node("Gemm", &["in", "weights", "action"], "out", &[])
        .floats("weights", &[30, 1], &[0.0; 30])
        .floats("action", &[1], &[action]);
    Policy::parse("constant", &FORM, &model.file()).unwrap()
}

fn aurora(policy: Policy) -> Aurora {
    of_path(policy, None)
}

fn of_path(policy: Policy, base_rtt: Option<Duration>) -> Aurora {
    let context = Context { segment: Bytes::new(1440), base_rtt, ..context() };
    Aurora::new(&AuroraSettings { policy }, &context).unwrap()
}

#[test]
fn it_begins_with_ten_packets_in_a_round_trip_that_is_known() {
    let aurora = of_path(constant(0.0), Some(Duration::from_microseconds(100)));
    assert!((aurora.rate / (10.0 * 1440.0 * 8.0 / 100e-6) - 1.0).abs() < 1e-12);
    assert_eq!(aurora.timer, Time::ZERO + Duration::from_microseconds(100));
    assert_eq!(of_path(constant(0.0), Some(Duration::from_milliseconds(1000))).rate, FIRST_RATE);
}

/// An interval of so many packets sent and acknowledged, with round trips in milliseconds.
fn interval(aurora: &mut Aurora, sent: u64, acknowledged: u64, round_trips: &[u64]) {
    let bytes = Bytes::new(1440);
    for number in 0..sent {
        aurora.on_sent(&Sent { now: aurora.began, number, bytes, in_flight: bytes, retransmission: false });
    }
    for (place, round_trip) in round_trips.iter().enumerate() {
        let acknowledged = if place == 0 { Bytes::new(1440 * acknowledged) } else { Bytes::ZERO };
        let rtt = Some(Duration::from_milliseconds(*round_trip));
        aurora.on_acknowledgement(&Acknowledgement { acknowledged, rtt, ..acknowledgement(0, 0) });
    }
    aurora.on_timer(aurora.timer);
}

/// The signature of the paper: (1.025)^28 = 2.0.
#[test]
fn the_rate_doubles_in_28_actions_of_one() {
    let mut aurora = aurora(constant(1.0));
    (0..28).for_each(|_| interval(&mut aurora, 5, 5, &[50, 50]));
    assert!((aurora.rate / 1e6 - 1.025_f64.powi(28)).abs() < 1e-9 && (aurora.rate / 2e6 - 1.0).abs() < 0.005);
    assert_eq!(aurora.pacing_rate(), Some(Rate::from_bits_per_second(1_996_495)));
}

#[test]
fn actions_are_bounded_and_opposite_ones_undo_each_other() {
    for (action, rate) in [(1e9, 2e6), (-1e9, 0.5e6), (8.0, 1.2e6), (-8.0, 1e6 / 1.2)] {
        let mut aurora = aurora(constant(action));
        interval(&mut aurora, 5, 5, &[50]);
        assert!((aurora.rate - rate).abs() < 1e-3, "{action}: {}", aurora.rate);
    }
    for (action, rate) in [(40.0, MOST_RATE), (-40.0, LEAST_RATE)] {
        let mut aurora = aurora(constant(action));
        (0..20).for_each(|_| interval(&mut aurora, 5, 5, &[50]));
        assert_eq!(aurora.rate, rate);
    }
}

#[test]
fn an_action_that_is_no_number_holds_the_rate() {
    // 3e38 times 3e38 is infinite, and that less itself is no number.
    let model = Model::new(&[1, 30], &[1, 1])
        .node("Gemm", &["in", "weights", "large"], "sum", &[])
        .node("Mul", &["sum", "large"], "infinite", &[])
        .node("Sub", &["infinite", "infinite"], "out", &[])
        .floats("weights", &[30, 1], &[0.0; 30])
        .floats("large", &[1], &[3e38]);
    let mut aurora = aurora(Policy::parse("none", &FORM, &model.file()).unwrap());
    (0..3).for_each(|_| interval(&mut aurora, 5, 5, &[50]));
    assert_eq!((aurora.rate, aurora.history[HISTORY - 1]), (1e6, NOTHING));
}

/// The same numbers as in `tests/unit/test_learned.py`, of the class in Python.
#[test]
fn the_state_of_known_acknowledgements() {
    let mut aurora = aurora(constant(0.0));
    let last = |aurora: &Aurora| aurora.history[HISTORY - 1];
    interval(&mut aurora, 4, 3, &[40, 40, 60, 60]);
    assert_eq!((aurora.began, last(&aurora)), (Time::from_milliseconds(100), [0.2, 1.0, 4.0 / 3.0]));
    interval(&mut aurora, 2, 4, &[100, 100, 100]);
    assert_eq!((aurora.began, last(&aurora)), (Time::from_milliseconds(150), [0.0, 2.0, 0.5]));
    interval(&mut aurora, 3, 0, &[]);
    assert_eq!((aurora.began, last(&aurora)), (Time::from_milliseconds(250), [0.0, 2.0, 10.0]));
    // Nothing was sent: nothing is decided.
    interval(&mut aurora, 0, 0, &[]);
    assert_eq!(aurora.history[HISTORY - 4..], [NOTHING, [0.2, 1.0, 4.0 / 3.0], [0.0, 2.0, 0.5], [0.0, 2.0, 10.0]]);
    interval(&mut aurora, 1, 1, &[20]);
    interval(&mut aurora, 1, 1, &[30]);
    assert_eq!(aurora.history[HISTORY - 2..], [NOTHING, [0.0, 1.5, 1.0]]);
}

#[test]
fn silence_halves_the_rate_and_what_the_application_holds_back_does_not_raise_it() {
    let mut aurora = aurora(constant(4.0));
    let timeout = Timeout { now: Time::ZERO, in_flight: Bytes::ZERO, next_sequence: 0, repetition: 1 };
    aurora.on_timeout(&timeout);
    assert_eq!(aurora.rate, 0.5e6);
    aurora.on_sent(&Sent {
        now: Time::ZERO,
        number: 0,
        bytes: Bytes::new(1440),
        in_flight: Bytes::new(1440),
        retransmission: false,
    });
    let rtt = Some(Duration::from_milliseconds(50));
    let limited = Acknowledgement { rtt, application_limited: true, ..acknowledgement(0, 0) };
    aurora.on_acknowledgement(&limited);
    aurora.on_timer(aurora.timer);
    assert_eq!(aurora.rate, 0.5e6);
    (0..50).for_each(|_| aurora.on_timeout(&timeout));
    assert_eq!(aurora.rate, LEAST_RATE);
}

#[test]
fn a_window_is_two_round_trips_and_at_least_ten_packets() {
    let mut aurora = aurora(constant(0.0));
    assert_eq!(aurora.window(), Some(Bytes::new(14_400)));
    aurora.rate = 10e6;
    interval(&mut aurora, 5, 5, &[100]);
    assert_eq!(aurora.window(), Some(Bytes::new(250_000)));
}

#[test]
fn a_policy_of_another_form_and_none_at_all_are_refused() {
    for (text, said) in [
        ("aurora:policy=/nowhere.onnx", "aurora:policy: the policy /nowhere.onnx: cannot be read"),
        ("aurora:policy=/dev/zero", "is longer than 8 MiB"),
        ("aurora:policies=x", "it has policy"),
    ] {
        let error = crate::Algorithm::written(text, None).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let written = crate::Algorithm::written("aurora:policy=trialwise-1x", None);
    assert_eq!(written, Ok(crate::Algorithm::Aurora(AuroraSettings::default())));
}
