//! What holds for every controller of the Internet whatever a driver tells it, sensible or not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use trialwise_congestion::{
    Acknowledgement, Algorithm, AnyController, Context, Controller, Factory, Loss, NOTE_BYTES, Sent, Timeout,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

const SEGMENT: u64 = 1200;

/// Whatever is registered for the Internet.
fn over_paths() -> Vec<&'static str> {
    Algorithm::over_paths().into_iter().map(|(name, _)| name).collect()
}

fn build(name: &str) -> AnyController {
    let context = Context {
        now: Time::from_milliseconds(50),
        segment: Bytes::new(SEGMENT),
        line_rate: None,
        base_rtt: None,
        path_window: None,
        hops: None,
        seed: Seed::new(1),
    };
    Algorithm::named(name, Rate::from_megabits_per_second(10)).unwrap().build(&context).unwrap()
}

/// Any time or span, the extremes too.
fn picoseconds() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        0..200_000_000_000_u64,
        0..100_000_000_000_000_u64,
        any::<u64>()
    ]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(0), Just(1), Just(SEGMENT), 0..1_000_000_u64, any::<u64>()].prop_map(Bytes::new)
}

fn acknowledgement() -> impl Strategy<Value = Acknowledgement<'static>> {
    let times = (picoseconds(), prop::option::of(picoseconds()), prop::option::of(picoseconds()));
    let amounts = (bytes(), any::<u64>(), any::<u64>(), bytes(), 0..5_u32);
    let note = prop::collection::vec(any::<u8>(), 0..=NOTE_BYTES);
    (times, amounts, any::<[bool; 2]>(), note).prop_map(|((now, rtt, delay), amounts, flags, note)| {
        Acknowledgement {
            now: Time::from_picoseconds(now),
            acknowledged: amounts.0,
            cumulative: amounts.1,
            next_sequence: amounts.2,
            in_flight: amounts.3,
            in_recovery: flags[0],
            rtt: rtt.map(Duration::from_picoseconds),
            one_way_delay: delay.map(Duration::from_picoseconds),
            packets: 1,
            marked_packets: amounts.4.saturating_sub(3),
            ect0_packets: 0,
            ect1_packets: 0,
            rate_sample: None,
            application_limited: flags[1],
            hops: &[],
            reports: &[],
            note: note.leak(),
        }
    })
}

#[derive(Clone, Debug)]
enum Event {
    Acknowledged(Acknowledgement<'static>),
    /// The same acknowledgement again and again.
    Repeated(Acknowledgement<'static>, u32),
    Lost(Loss<'static>),
    TimedOut(Timeout),
    Sent(Sent),
    Spurious(Time),
    Idle(Time, Duration),
    Timer(Time),
}

fn event() -> impl Strategy<Value = Event> {
    let time = || picoseconds().prop_map(Time::from_picoseconds);
    let loss = (time(), bytes(), any::<bool>(), bytes(), any::<u64>()).prop_map(
        |(now, bytes, new_episode, in_flight, next_sequence)| Loss {
            now,
            bytes,
            new_episode,
            in_flight,
            next_sequence,
            reports: &[],
        },
    );
    let timeout =
        (time(), bytes(), any::<u64>(), 0..5_u32).prop_map(|(now, in_flight, next_sequence, repetition)| {
            Timeout { now, in_flight, next_sequence, repetition }
        });
    let sent = (time(), any::<u64>(), bytes(), bytes(), any::<bool>()).prop_map(
        |(now, number, bytes, in_flight, retransmission)| Sent {
            now,
            number,
            bytes,
            in_flight,
            retransmission,
        },
    );
    prop_oneof![
        6 => acknowledgement().prop_map(Event::Acknowledged),
        1 => (acknowledgement(), 2..40_u32).prop_map(|(event, count)| Event::Repeated(event, count)),
        2 => loss.prop_map(Event::Lost),
        1 => timeout.prop_map(Event::TimedOut),
        1 => sent.prop_map(Event::Sent),
        1 => time().prop_map(Event::Spurious),
        1 => (time(), picoseconds()).prop_map(|(now, idle)| Event::Idle(now, Duration::from_picoseconds(idle))),
        1 => time().prop_map(Event::Timer),
    ]
}

fn tell(controller: &mut AnyController, event: &Event) {
    match event {
        Event::Acknowledged(event) => controller.on_acknowledgement(event),
        Event::Repeated(event, count) => (0..*count).for_each(|_| controller.on_acknowledgement(event)),
        Event::Lost(loss) => controller.on_loss(loss),
        Event::TimedOut(timeout) => controller.on_timeout(timeout),
        Event::Sent(sent) => controller.on_sent(sent),
        Event::Spurious(now) => controller.on_spurious(*now),
        Event::Idle(now, idle) => controller.on_idle_restart(*now, *idle),
        Event::Timer(now) => controller.on_timer(*now),
    }
}

fn assert_sound(name: &str, controller: &AnyController) {
    let lowest = if name == "copa" { 2 * SEGMENT } else { SEGMENT };
    if let Some(window) = controller.window() {
        assert!((lowest..=1 << 40).contains(&window.get()), "{name}: {window}");
    }
    assert!(controller.pacing_rate().is_none_or(|rate| rate > Rate::ZERO), "{name}");
    assert!(!controller.state().to_string().is_empty());
}

/// A sensible acknowledgement of a few segments of a flow whose application holds it back.
fn held_back() -> impl Strategy<Value = (u64, u64, u64)> {
    (1..200_u64, 20..200_u64, 1..4_u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nothing_panics_and_windows_keep_their_bounds(
        name in prop::sample::select(over_paths()),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut controller = build(name);
        for event in &events {
            tell(&mut controller, event);
            assert_sound(name, &controller);
        }
    }

    #[test]
    fn whatever_happened_a_window_still_grows_afterwards(
        name in prop::sample::select(vec!["newreno", "cubic", "ledbat", "copa"]),
        events in prop::collection::vec(event(), 1..40),
    ) {
        let mut controller = build(name);
        events.iter().for_each(|event| tell(&mut controller, event));
        controller.on_timeout(&Timeout {
            now: Time::ZERO, in_flight: Bytes::new(40 * SEGMENT), next_sequence: 0, repetition: 1,
        });
        let before = controller.window().unwrap();
        // Long after whatever was said to have happened, on an empty path.
        for step in 0..400_u64 {
            let window = controller.window().unwrap();
            controller.on_acknowledgement(&Acknowledgement {
                now: Time::MAX - Duration::from_milliseconds(400 - step),
                acknowledged: Bytes::new(SEGMENT),
                cumulative: u64::MAX - 1,
                next_sequence: u64::MAX,
                in_flight: window,
                in_recovery: false,
                rtt: Some(Duration::from_milliseconds(10)),
                one_way_delay: Some(Duration::ZERO),
                packets: 1,
                marked_packets: 0,
                ect0_packets: 0,
                ect1_packets: 0,
                rate_sample: None,
                application_limited: false,
                hops: &[],
                reports: &[],
                note: &[],
            });
        }
        prop_assert!(controller.window().unwrap() > before, "{}: {:?}", name, controller.state());
    }

    #[test]
    fn a_flow_that_the_application_holds_back_never_grows(
        name in prop::sample::select(vec!["newreno", "cubic", "ledbat", "copa"]),
        steps in prop::collection::vec(held_back(), 1..300),
    ) {
        let mut controller = build(name);
        let (mut now, mut cumulative) = (Time::from_milliseconds(100), 0);
        for (milliseconds, rtt, segments) in steps {
            now += Duration::from_milliseconds(milliseconds);
            cumulative += segments * SEGMENT;
            let before = controller.window();
            controller.on_acknowledgement(&Acknowledgement {
                now,
                acknowledged: Bytes::new(segments * SEGMENT),
                cumulative,
                next_sequence: cumulative + 2 * SEGMENT,
                in_flight: Bytes::new(2 * SEGMENT),
                in_recovery: false,
                rtt: Some(Duration::from_milliseconds(rtt)),
                one_way_delay: Some(Duration::from_milliseconds(rtt / 2)),
                packets: segments as u32,
                marked_packets: 0,
                ect0_packets: 0,
                ect1_packets: 0,
                rate_sample: None,
                application_limited: true,
                hops: &[],
                reports: &[],
                note: &[],
            });
            prop_assert!(controller.window() <= before, "{name}");
        }
    }

    #[test]
    fn an_acknowledgement_of_nothing_new_moves_no_window(
        name in prop::sample::select(vec!["newreno", "cubic", "ledbat", "copa"]),
        events in prop::collection::vec(event(), 0..60),
        duplicate in acknowledgement(),
    ) {
        let mut controller = build(name);
        events.iter().for_each(|event| tell(&mut controller, event));
        let before = controller.window();
        let duplicate = Acknowledgement { acknowledged: Bytes::ZERO, marked_packets: 0, ..duplicate };
        controller.on_acknowledgement(&duplicate);
        prop_assert_eq!(controller.window(), before, "{}", name);
    }
}
