//! Events for the tests of controllers.

use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::{Acknowledgement, Context, Loss};

/// The dumbbell of the HPCC simulator: 100 Gbit/s, six links of a microsecond there and back.
pub(crate) fn context() -> Context {
    Context {
        now: Time::ZERO,
        segment: Bytes::new(1000),
        line_rate: Some(Rate::from_megabits_per_second(100_000)),
        base_rtt: Some(Duration::from_nanoseconds(6240)),
        path_window: Some(Bytes::new(78_000)),
        hops: Some(2),
        seed: Seed::new(1),
    }
}

pub(crate) fn acknowledgement(cumulative: u64, next_sequence: u64) -> Acknowledgement<'static> {
    Acknowledgement {
        now: Time::ZERO,
        acknowledged: Bytes::new(1000),
        cumulative,
        next_sequence,
        in_flight: Bytes::new(next_sequence - cumulative),
        in_recovery: false,
        rtt: None,
        one_way_delay: None,
        packets: 1,
        marked_packets: 0,
        ect0_packets: 0,
        ect1_packets: 0,
        rate_sample: None,
        application_limited: false,
        hops: &[],
        reports: &[],
        note: &[],
    }
}

pub(crate) fn loss(new_episode: bool) -> Loss<'static> {
    Loss {
        now: Time::ZERO,
        bytes: Bytes::new(1000),
        new_episode,
        in_flight: Bytes::new(10_000),
        next_sequence: 20_000,
        reports: &[],
    }
}
