use super::*;
use crate::PacketReport;
use crate::testing::{acknowledgement, context, loss};

fn c4() -> C4 {
    C4::new(&C4Settings::default(), &context()).unwrap()
}

fn at(rate: f64, longest: f64) -> C4 {
    let mut c4 = C4 { rate, longest, stage: Stage::Recovery, alpha: RECOVERY, least: longest, ..c4() };
    c4.enter_cruising();
    c4
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn flows_with_more_are_more_sensitive() {
    for (rate, sensitivity) in [(0.0, 0.0), (50e3, 0.0), (525e3, 0.4702), (1e6, 0.9404), (10e6, 1.0), (1e9, 1.0)] {
        assert!((at(rate, 0.1).sensitivity() - sensitivity).abs() < 1e-4, "{rate}");
    }
    let (slow, fast) = (at(50e3, 0.1), at(10e6, 0.1));
    near(slow.loss_threshold(), 0.52);
    near(fast.loss_threshold(), 0.02);
    near(slow.marks_threshold(), 0.1875);
    near(fast.marks_threshold(), 0.09375);
    near(slow.delay_threshold(), 0.025);
    near(fast.delay_threshold(), 0.00625);
}

#[test]
fn a_cruising_flow_paces_at_its_rate_and_has_a_margin_in_its_window() {
    near(at(1e6, 0.1).window_bytes(), 115e3);
    near(at(1e6, 0.02).window_bytes(), 25e3);
    assert_eq!(at(1e6, 0.1).pacing_rate(), Some(Rate::from_megabits_per_second(8)));
    assert_eq!(at(1e6, 0.1).target_rate(), Some(Rate::from_megabits_per_second(8)));
}

#[test]
fn signals_lower_the_rate_while_cruising_only() {
    let mut cruising = at(10e6, 0.1);
    cruising.on_signal(Signal::Losses);
    near(cruising.rate, 7.5e6);
    near(cruising.longest, 0.075);
    assert_eq!(cruising.stage, Stage::Recovery);
    near(cruising.alpha, 0.9375);
    // Once more: the rate stays, and less is sent.
    cruising.on_signal(Signal::Losses);
    near(cruising.rate, 7.5e6);
    near(cruising.alpha, 0.875);
    let mut probing = at(10e6, 0.1);
    probing.enter_probing();
    near(probing.alpha, 1.0625);
    probing.on_signal(Signal::Losses);
    near(probing.rate, 10e6);
    assert_eq!(probing.stage, Stage::Recovery);
}

#[test]
fn the_response_to_delay_and_marks_is_in_proportion() {
    let mut delayed = at(10e6, 0.1);
    delayed.excess = 0.1 * delayed.delay_threshold();
    near(delayed.beta(Signal::Delay), 0.1);
    delayed.excess = 1.0;
    near(delayed.beta(Signal::Delay), 0.25);
    delayed.marks.share = 1.1 * 0.09375;
    near(delayed.beta(Signal::Marks), 0.1);
}

#[test]
fn delay_counts_only_after_a_push() {
    let mut c4 = at(10e6, 0.1);
    c4.observe(0.2);
    assert_eq!(c4.stage, Stage::Cruising);
    c4.enter_probing();
    c4.observe(0.2);
    assert_eq!(c4.stage, Stage::Recovery);
    near(c4.rate, 10e6);
}

#[test]
fn growth_after_a_probe_leads_to_a_push_and_three_of_them_to_the_beginning() {
    let mut c4 = at(1e6, 0.1);
    c4.enter_probing();
    c4.begin_push();
    for (grown, stage, alpha) in [(1.01, Stage::Pushing, 1256.0 / 1024.0), (1.2, Stage::Pushing, 1256.0 / 1024.0), (1.2, Stage::Initial, 2.0)] {
        c4.enter_recovery(None);
        c4.rate *= grown;
        c4.leave_recovery();
        assert_eq!((c4.stage, c4.alpha), (stage, alpha));
    }
}

#[test]
fn less_than_a_quarter_of_a_push_is_no_growth() {
    let mut c4 = at(1e6, 0.1);
    c4.enter_pushing();
    for (grown, growth) in [(1.05, Growth::None), (1.06, Growth::Slow), (1.2, Growth::Fast)] {
        c4.rate = grown * 1e6;
        assert_eq!(c4.growth(), growth, "{grown}");
    }
}

#[test]
fn the_longest_round_trip_follows_up_at_once_and_down_slowly() {
    let mut c4 = at(1e6, 0.1);
    for (seen, expected) in [(0.15, 0.15), (0.07, 0.14), (9.0, 0.35)] {
        c4.era = Era { longest: seen, least: 0.1, ..c4.era };
        c4.learn_round_trips();
        near(c4.longest, expected);
    }
    c4.era = Era { alpha: 1.0625, longest: 0.4, least: 0.1, ..c4.era };
    c4.learn_round_trips();
    near(c4.longest, 0.35);
}

#[test]
fn shares_are_averages_of_sixteen_packets() {
    let mut losses = LossShare::default();
    losses.add(100);
    near(losses.share, 1.0 / 16.0);
    losses.add(100);
    losses.add(99);
    losses.add(101);
    near(losses.share, (15.0_f64 / 16.0).powi(2) / 16.0 + 1.0 / 16.0);
    let mut marks = MarkShare::default();
    marks.add(15, 9);
    near(marks.share, 0.0);
    marks.add(1, 0);
    near(marks.share, 9.0 / 16.0);
    marks.add(16, 0);
    near(marks.share, 9.0 / 16.0 * 15.0 / 16.0);
    // A receiver that tells of more marks than packets.
    marks.add(16, u32::MAX);
    near(marks.share, 1.0);
}

#[test]
fn losses_from_before_a_recovery_are_answered_already() {
    let mut c4 = at(10e6, 0.1);
    c4.next = 1000;
    c4.enter_recovery(None);
    let report = |number| PacketReport {
        number,
        sent: trialwise_units::Time::ZERO,
        bytes: Bytes::new(1000),
        outcome: PacketOutcome::Lost,
    };
    c4.on_loss(&Loss { reports: &[report(999)], ..loss(true) });
    near(c4.alpha, 0.9375);
    c4.on_loss(&Loss { reports: &[report(1000)], ..loss(true) });
    near(c4.alpha, 0.875);
}

#[test]
fn silence_begins_the_flow_anew() {
    let mut c4 = at(10e6, 0.1);
    let timeout = |repetition| Timeout {
        now: trialwise_units::Time::ZERO,
        in_flight: Bytes::new(1_000_000),
        next_sequence: 0,
        repetition,
    };
    c4.on_timeout(&timeout(1));
    near(c4.rate, 7.5e6);
    c4.on_timeout(&timeout(2));
    assert_eq!((c4.window(), c4.pacing_rate(), c4.target_rate()), (Some(Bytes::new(2000)), None, None));
    let mut sample = acknowledgement(1000, 2000);
    sample.rate_sample = Some(RateSample {
        delivered: Bytes::new(u64::MAX),
        prior_delivered: Bytes::ZERO,
        interval: Duration::from_picoseconds(1),
        lost: Bytes::ZERO,
        in_flight_when_sent: Bytes::ZERO,
        application_limited: false,
    });
    c4.on_acknowledgement(&sample);
    assert!(c4.nominal_rate() <= Some(Rate::from_megabits_per_second(1_000_000)), "what nobody can have delivered");
}
