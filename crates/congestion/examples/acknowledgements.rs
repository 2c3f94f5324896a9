//! What an acknowledgement and a timer cost each controller of the Internet, and a packet and a timer its half at the receiver: time of one core.
//!
//! `cargo run --release -p trialwise-congestion --example acknowledgements`

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures and prints")]

use std::fs;
use std::time::Instant;

use trialwise_congestion::{
    Acknowledgement, Algorithm, AnyController, BuildError, Context, Controller, Factory, Loss, Note,
    PacketOutcome, PacketReport, RateSample, Received, ReceiverHalf, Sent,
};
use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

const PACKETS: u64 = 2_000_000;
const TIMERS: u64 = 20_000;
const SEGMENT: Bytes = Bytes::new(1440);
const RTT: Duration = Duration::from_milliseconds(20);

const IN_FLIGHT: u64 = 200;
const GAP: Duration = Duration::from_microseconds(100);

fn acknowledgement<'a>(
    now: Time,
    cumulative: u64,
    reports: &'a [PacketReport],
    is_marked: bool,
    note: &'a Note,
) -> Acknowledgement<'a> {
    let in_flight = Bytes::new(IN_FLIGHT * SEGMENT.get());
    Acknowledgement {
        now,
        acknowledged: SEGMENT,
        cumulative,
        next_sequence: cumulative + in_flight.get(),
        in_flight,
        in_recovery: false,
        rtt: Some(RTT),
        one_way_delay: Some(RTT / 2),
        packets: 1,
        marked_packets: u32::from(is_marked),
        ect0_packets: 0,
        ect1_packets: u32::from(!is_marked),
        rate_sample: Some(RateSample {
            delivered: Bytes::new(cumulative),
            prior_delivered: Bytes::new(cumulative - in_flight.get()),
            interval: RTT,
            lost: Bytes::ZERO,
            in_flight_when_sent: in_flight,
            application_limited: false,
        }),
        application_limited: false,
        hops: &[],
        reports,
        note,
    }
}

/// A packet of each kind that comes up in a steady flow: sent, and reported by itself; one in forty is marked, and one in a
/// thousand is lost.
fn feed(controller: &mut AnyController, note: &Note) {
    let in_flight = Bytes::new(IN_FLIGHT * SEGMENT.get());
    let sent = |number: u64| Sent {
        now: Time::ZERO + GAP * number,
        number,
        bytes: SEGMENT,
        in_flight,
        retransmission: false,
    };
    (0..IN_FLIGHT).for_each(|number| controller.on_sent(&sent(number)));
    for number in IN_FLIGHT..PACKETS {
        let now = Time::ZERO + GAP * number;
        let oldest = sent(number - IN_FLIGHT);
        let report =
            |outcome| [PacketReport { number: oldest.number, sent: oldest.now, bytes: SEGMENT, outcome }];
        let cumulative = number * SEGMENT.get();
        if number % 1000 == 0 {
            controller.on_loss(&Loss {
                now,
                bytes: SEGMENT,
                new_episode: true,
                in_flight,
                next_sequence: cumulative,
                reports: &report(PacketOutcome::Lost),
            });
            controller.on_sent(&sent(number));
            continue;
        }
        let is_marked = number % 40 == 0;
        let reports = report(PacketOutcome::Arrived(Some(now - RTT / 2)));
        controller.on_acknowledgement(&acknowledgement(now, cumulative, &reports, is_marked, note));
        controller.on_sent(&sent(number));
        std::hint::black_box((controller.window(), controller.pacing_rate()));
    }
}

/// What a timer costs with the packet and the acknowledgement before it, in seconds; nothing where there is none.
fn feed_timers(controller: &mut AnyController, note: &Note, origin: Instant) -> Option<f64> {
    controller.next_timer()?;
    let start = processor_seconds(origin);
    for number in 0..TIMERS {
        let now = controller.next_timer()?;
        let number = PACKETS + number;
        let report =
            PacketReport { number, sent: now, bytes: SEGMENT, outcome: PacketOutcome::Arrived(Some(now)) };
        controller.on_sent(&Sent { now, number, bytes: SEGMENT, in_flight: SEGMENT, retransmission: false });
        controller.on_acknowledgement(&acknowledgement(now, number * SEGMENT.get(), &[report], false, note));
        controller.on_timer(now);
        std::hint::black_box((controller.window(), controller.pacing_rate()));
    }
    Some((processor_seconds(origin) - start) / TIMERS as f64)
}

/// What a packet costs the half, and a timer with the ten packets before it, in seconds.
fn feed_half(half: &mut dyn ReceiverHalf, origin: Instant) -> (f64, f64) {
    let mut now = Time::ZERO;
    let take = |half: &mut dyn ReceiverHalf, now| {
        let (next, ecn) = (Some(Duration::ZERO), Ecn::NotCapable);
        half.on_data(&Received { number: 0, arrival: now, bytes: SEGMENT, ecn, next });
        std::hint::black_box(half.note(now));
    };
    let start = processor_seconds(origin);
    (0..PACKETS).for_each(|_| take(half, now));
    let between = processor_seconds(origin);
    for _ in 0..TIMERS {
        now = half.next_timer().unwrap_or(now);
        half.on_timer(now);
        (0..10).for_each(|_| take(half, now));
    }
    let end = processor_seconds(origin);
    ((between - start) / PACKETS as f64, (end - between) / TIMERS as f64)
}

/// Seconds that this thread has been on a processor (Linux), or else that have gone by: other programs must not count.
fn processor_seconds(origin: Instant) -> f64 {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.map_or_else(|| origin.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() -> Result<(), BuildError> {
    let context = Context {
        now: Time::ZERO,
        segment: SEGMENT,
        line_rate: None,
        base_rtt: None,
        path_window: None,
        hops: None,
        seed: trialwise_units::Seed::new(1),
    };
    let origin = Instant::now();
    for (name, _) in Algorithm::over_paths() {
        let algorithm = Algorithm::named(name, Rate::from_megabits_per_second(100))?;
        let (mut controller, mut half) = (algorithm.build(&context)?, algorithm.receiver_half());
        let costs = half.as_mut().map(|half| feed_half(half.as_mut(), origin));
        let note = half.map_or(Note::EMPTY, |half| half.note(Time::ZERO));
        let start = processor_seconds(origin);
        feed(&mut controller, &note);
        let seconds = processor_seconds(origin) - start;
        print!("{:>6.1} ns: {name}", seconds * 1e9 / PACKETS as f64);
        if let Some(timer) = feed_timers(&mut controller, &note, origin) {
            print!(", {:.1} us for a timer", timer * 1e6);
        }
        match costs {
            Some((packet, timer)) => {
                println!(
                    " (at the receiver {:.1} ns, and {:.1} us for a timer with ten packets)",
                    packet * 1e9,
                    timer * 1e6
                );
            }
            None => println!(),
        }
    }
    Ok(())
}
