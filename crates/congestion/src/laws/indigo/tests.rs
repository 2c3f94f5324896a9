use super::*;
use crate::onnx::testing::Model;
use crate::testing::{acknowledgement, context};
use crate::{PacketOutcome, PacketReport, RateSample};

/// A policy with these scores whatever it sees.
fn constant(scores: &[f32; 5]) -> Policy {
    let model = Model::new(&[1, 9], &[1, 5])
        .node("Gemm", &["in", "weights", "scores"], "out", &[])
        .floats("weights", &[9, 5], &[0.0; 45])
        .floats("scores", &[5], scores);
    Policy::parse("constant", &FORM, &model.file()).unwrap()
}

fn always(action: usize) -> Policy {
    let mut scores = [0.0; 5];
    scores[action] = 1.0;
    constant(&scores)
}

fn indigo(policy: Policy) -> Indigo {
    Indigo::new(&IndigoSettings { policy }, &context()).unwrap()
}

fn acknowledge(indigo: &mut Indigo, rtt: u64, megabits: u64, since: u64, is_limited: bool) {
    indigo.last_sent = since;
    let report = PacketReport {
        number: 0,
        sent: Time::ZERO,
        bytes: Bytes::new(1000),
        outcome: PacketOutcome::Arrived(None),
    };
    let sample = RateSample {
        delivered: Bytes::new(megabits * 1250),
        prior_delivered: Bytes::ZERO,
        interval: Duration::from_milliseconds(10),
        lost: Bytes::ZERO,
        in_flight_when_sent: Bytes::ZERO,
        application_limited: is_limited,
    };
    indigo.on_acknowledgement(&Acknowledgement {
        rtt: Some(Duration::from_milliseconds(rtt)),
        rate_sample: Some(sample),
        application_limited: is_limited,
        reports: &[report],
        ..acknowledgement(0, 0)
    });
}

fn step(indigo: &mut Indigo) -> f64 {
    acknowledge(indigo, 20, 8, 10, false);
    indigo.on_timer(indigo.timer);
    indigo.window
}

#[test]
fn five_actions_change_the_window_within_its_bounds() {
    for (action, windows) in
        [[5.0, 2.5, 2.0], [2.0, 2.0, 2.0], [10.0, 10.0, 10.0], [20.0, 30.0, 40.0], [20.0, 40.0, 80.0]].iter().enumerate()
    {
        let mut indigo = indigo(always(action));
        assert_eq!(&[0; 3].map(|_| step(&mut indigo)), windows, "action {action}");
        assert_eq!(indigo.action, action);
    }
    let mut indigo = indigo(always(4));
    (0..20).for_each(|_| _ = step(&mut indigo));
    assert_eq!(indigo.window(), Some(Bytes::new(5_000_000)));
}

/// 8 Mbit/s and 10 packets of 1000 bytes within 20 ms, 4 Mbit/s; then 24 ms, 16 Mbit/s and 30 packets, 10 Mbit/s: an eighth of the way.
#[test]
fn the_state_is_what_the_paper_says() {
    let mut indigo = indigo(always(3));
    acknowledge(&mut indigo, 20, 8, 10, false);
    assert_eq!(indigo.averages, Some([0.0, 8.0, 4.0]));
    acknowledge(&mut indigo, 24, 16, 30, false);
    assert_eq!(indigo.averages, Some([0.5, 9.0, 4.75]));
    let first = [0.0025, 0.045, 0.02375, 0.002, 0.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(indigo.seen(indigo.averages.unwrap()), first);
    indigo.on_timer(indigo.timer);
    assert_eq!((indigo.averages, indigo.timer), (None, Time::from_milliseconds(20)));
    assert_eq!(indigo.seen([0.0; 3]), [0.0, 0.0, 0.0, 0.004, 0.0, 0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn a_step_without_acknowledgements_and_scores_that_are_no_numbers_hold_the_window() {
    let mut indigo_now = indigo(always(4));
    indigo_now.on_timer(indigo_now.timer);
    assert_eq!((indigo_now.window, indigo_now.action), (10.0, FIRST_ACTION));
    let model = Model::new(&[1, 9], &[1, 5])
        .node("Gemm", &["in", "weights", "large"], "sum", &[])
        .node("Mul", &["sum", "sum"], "out", &[])
        .floats("weights", &[9, 5], &[0.0; 45])
        .floats("large", &[5], &[0.0, 0.0, 0.0, 0.0, 3e38]);
    let mut indigo = indigo(Policy::parse("none", &FORM, &model.file()).unwrap());
    assert_eq!((step(&mut indigo), indigo.action), (10.0, HOLD));
}

#[test]
fn what_the_application_holds_back_does_not_raise_the_window() {
    let mut indigo = indigo(always(3));
    acknowledge(&mut indigo, 20, 8, 10, true);
    indigo.on_timer(indigo.timer);
    assert_eq!(indigo.window, 10.0);
    acknowledge(&mut indigo, 20, 8, 10, true);
    assert_eq!(step(&mut indigo), 20.0);
}

#[test]
fn silence_begins_the_flow_anew_with_the_least_window() {
    let mut indigo = indigo(IndigoSettings::default().policy);
    let fresh = indigo.clone();
    (0..30).for_each(|_| _ = step(&mut indigo));
    assert_ne!(format!("{:?}", indigo.policy), format!("{:?}", fresh.policy));
    indigo.on_timeout(&Timeout { now: Time::ZERO, in_flight: Bytes::ZERO, next_sequence: 0, repetition: 1 });
    assert_eq!(format!("{:?}", indigo.policy), format!("{:?}", fresh.policy));
    assert_eq!((indigo.window(), indigo.averages, indigo.action), (Some(Bytes::new(2000)), None, FIRST_ACTION));
}

#[test]
fn acknowledgements_that_tell_nothing_change_nothing() {
    let mut indigo = indigo(always(4));
    indigo.on_acknowledgement(&acknowledgement(0, 0));
    let rtt = Some(Duration::ZERO);
    indigo.on_acknowledgement(&Acknowledgement { rtt, ..acknowledgement(0, 0) });
    assert_eq!(indigo.averages, None);
}

#[test]
fn a_policy_of_another_form_is_refused() {
    let model = Model::new(&[1, 30], &[1, 1]).node("Relu", &["in"], "out", &[]);
    let error = Policy::parse("mine", &FORM, &model.file()).unwrap_err().to_string();
    assert!(error.contains("the policy mine: makes 30 values of 30; wanted are 5 values of 9"), "{error}");
}
