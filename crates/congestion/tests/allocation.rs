//! No controller of the Internet allocates for a packet, an acknowledgement or a timer, once it holds a window.

use trialwise_allocations::{Counting, by_this_thread};
use trialwise_congestion::{
    Acknowledgement, Algorithm, AnyController, Context, Controller, Factory, PacketOutcome, PacketReport,
    RateSample, Sent,
};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SEGMENT: Bytes = Bytes::new(1440);
const IN_FLIGHT: u64 = 100;
const RTT: Duration = Duration::from_milliseconds(20);

/// Packets leave 0.2 ms apart and are acknowledged a round trip later; timers fire when they are due.
fn drive(controller: &mut AnyController, numbers: std::ops::Range<u64>) {
    let in_flight = Bytes::new(IN_FLIGHT * SEGMENT.get());
    for number in numbers {
        let now = Time::ZERO + RTT / IN_FLIGHT * number;
        while controller.next_timer().is_some_and(|timer| timer <= now) {
            controller.on_timer(now);
        }
        controller.on_sent(&Sent { now, number, bytes: SEGMENT, in_flight, retransmission: false });
        let Some(oldest) = number.checked_sub(IN_FLIGHT) else { continue };
        let (cumulative, outcome) = (oldest * SEGMENT.get(), PacketOutcome::Arrived(Some(now - RTT / 2)));
        controller.on_acknowledgement(&Acknowledgement {
            now,
            acknowledged: SEGMENT,
            cumulative,
            next_sequence: cumulative + in_flight.get(),
            in_flight,
            in_recovery: false,
            rtt: Some(RTT),
            one_way_delay: Some(RTT / 2),
            packets: 1,
            marked_packets: 0,
            ect0_packets: 0,
            ect1_packets: 0,
            rate_sample: Some(RateSample {
                delivered: Bytes::new(cumulative),
                prior_delivered: Bytes::new(cumulative.saturating_sub(in_flight.get())),
                interval: RTT,
                lost: Bytes::ZERO,
                in_flight_when_sent: in_flight,
                application_limited: false,
            }),
            application_limited: false,
            hops: &[],
            reports: &[PacketReport { number: oldest, sent: now - RTT, bytes: SEGMENT, outcome }],
            note: &[],
        });
    }
}

#[test]
fn steady_controllers_allocate_nothing() {
    let before = by_this_thread();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(by_this_thread() - before, 1, "the allocator counts");
    let context = Context {
        now: Time::ZERO,
        segment: SEGMENT,
        line_rate: None,
        base_rtt: None,
        path_window: None,
        hops: None,
        seed: Seed::new(1),
    };
    for (name, _) in Algorithm::over_paths() {
        let algorithm = Algorithm::named(name, Rate::from_megabits_per_second(10)).unwrap();
        let mut controller = algorithm.build(&context).unwrap();
        drive(&mut controller, 0..20_000);
        let before = by_this_thread();
        drive(&mut controller, 20_000..40_000);
        assert_eq!(by_this_thread() - before, 0, "{name}");
    }
}
