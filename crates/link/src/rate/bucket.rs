//! A token-bucket shaper: what the bucket does not pay for waits.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::element::{Drops, Stage};
use crate::packet::{FULL_PACKET, MAX_BYTES, Packet, Tally};
use crate::queue::{Queue, Waiting};
use crate::rate::constant::held;
use crate::rate::register::{DeclaredRate, LENGTH, Server};
use crate::trace::{Trace, TraceError};

/// Tokens are counted in bytes / (8 · 10¹²), so that a rate in bits per second fills whole ones in each picosecond.
const TOKENS_PER_BYTE: i128 = 8_000_000_000_000;

/// A queue whose packets leave when the bucket has tokens for them, each taking its time at the peak rate (without one: none).
///
/// The bucket fills at `rate` up to `burst` and starts full, as tc-tbf does it. A packet larger than the bucket leaves when
/// that is full, and what it takes more is owed.
#[derive(Debug)]
pub(crate) struct Bucket<P, Q> {
    spec: BucketSpec,
    /// Negative where a large packet has taken more than there was.
    tokens: i128,
    updated: Time,
    queue: Q,
    sending: Option<(Time, P)>,
}

impl<P: Packet, Q: Queue<P>> Bucket<P, Q> {
    pub(crate) fn new(spec: BucketSpec, queue: Q, start: Time) -> Self {
        Self { spec, tokens: tokens(spec.burst), updated: start, queue, sending: None }
    }

    fn refill(&mut self, now: Time) {
        let picoseconds = (now - self.updated).picoseconds();
        let filled = u128::from(self.spec.rate.bits_per_second()) * u128::from(picoseconds);
        let filled = i128::try_from(filled).unwrap_or(i128::MAX);
        self.tokens = self.tokens.saturating_add(filled).min(tokens(self.spec.burst));
        self.updated = self.updated.max(now);
    }

    /// Takes the next packet, if there is one, when the line is free at `free`.
    fn start_next(&mut self, free: Time, drops: &mut Drops<P>) {
        self.refill(free);
        let Some(Waiting { packet, size, .. }) = self.queue.dequeue(free, drops) else { return };
        let missing = tokens(size.min(self.spec.burst)) - self.tokens;
        let rate = i128::from(self.spec.rate.bits_per_second().max(1));
        let wait = u64::try_from(missing.max(0).div_euclid(rate) + i128::from(missing.max(0) % rate > 0));
        let begins = free + Duration::from_picoseconds(wait.unwrap_or(u64::MAX));
        self.refill(begins);
        self.tokens -= tokens(size);
        let takes = self.spec.peak.map_or(Duration::ZERO, |peak| peak.transmission_time(size));
        self.sending = Some((begins + takes, packet));
    }
}

fn tokens(size: Bytes) -> i128 {
    i128::from(size.get()) * TOKENS_PER_BYTE
}

impl<P: Packet, Q: Queue<P>> Stage<P> for Bucket<P, Q> {
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>) {
        let size = packet.size();
        self.queue.enqueue(Waiting { packet, size, arrival: now }, drops);
        if self.sending.is_none() {
            self.start_next(now, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        let left = self.sending.take_if(|(end, _)| *end <= now)?;
        self.start_next(left.0, drops);
        Some(left)
    }

    fn next_event(&self) -> Option<Time> {
        self.sending.as_ref().map(|(end, _)| *end)
    }

    fn held(&self) -> Tally {
        held(self.queue.backlog(), Bytes::ZERO, self.sending.as_ref().map(|(_, packet)| packet))
    }

    fn marked(&self) -> u64 {
        self.queue.marked()
    }
}

/// `bucket:rate=12Mbit/s,burst=30kB,peak=100Mbit/s`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSpec {
    pub(crate) rate: Rate,
    pub(crate) burst: Bytes,
    pub(crate) peak: Option<Rate>,
}

impl Declared for BucketSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "bucket",
        words: "A token-bucket shaper, which lets packets wait that a policer would drop (tc-tbf).",
        head: None,
        keys: &[
            Key { name: "rate", takes: Takes::Rate, words: "Rate at which the bucket fills; required." },
            Key {
                name: "burst",
                takes: Takes::Size,
                words: "Size of the bucket, at least one full packet; required.",
            },
            Key {
                name: "peak",
                takes: Takes::Rate,
                words: "Rate at which a burst leaves, above the other rate; default at once.",
            },
        ],
        example: "bucket:rate=12Mbit/s,burst=30kB",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let rate = written.needed(written.rate("rate")?, "a rate")?;
        let burst = written.needed(written.size("burst")?, "a burst")?;
        if !(FULL_PACKET..=MAX_BYTES).contains(&burst) {
            let problem = "the bucket holds from one full packet, 1500 bytes, to 4 GiB";
            return Err(written.bad("burst", problem));
        }
        let peak = written.rate("peak")?;
        if peak.is_some_and(|peak| peak <= rate) {
            return Err(written.bad("peak", "it must be above the rate at which the bucket fills"));
        }
        Ok(Self { rate, burst, peak })
    }
}

impl DeclaredRate for BucketSpec {
    fn mean(&self) -> Rate {
        self.rate
    }

    fn trace(&self, length: Option<Duration>, _seed: Seed) -> Result<Trace, TraceError> {
        Trace::constant(self.rate, length.unwrap_or(LENGTH))
    }

    fn server(&self, _seed: Seed) -> Result<Server, TraceError> {
        Ok(Server::Bucket(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{DropTail, Limit};
    use crate::rate::RateSpec;

    #[derive(Clone)]
    struct Sized(u64);

    impl Packet for Sized {
        fn size(&self) -> Bytes {
            Bytes::new(self.0)
        }
    }

    /// When packets of one size that all come at the start leave, in microseconds.
    fn departures(text: &str, size: u64, count: usize) -> Vec<u64> {
        let RateSpec::Bucket(spec) = text.parse().unwrap() else { panic!("{text} is no bucket") };
        let mut stage = Bucket::new(spec, DropTail::new(Limit::NONE), Time::ZERO);
        let mut drops = Drops::default();
        (0..count).for_each(|_| stage.push(Time::ZERO, Sized(size), &mut drops));
        let times = std::iter::from_fn(|| stage.pop(Time::from_milliseconds(60_000), &mut drops));
        times.map(|(time, _)| time.nanoseconds() / 1_000).collect()
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        // 1500 bytes at 12 Mbit/s take a millisecond.
        let times = departures("bucket:rate=12Mbit/s,burst=4500", 1500, 6);
        assert_eq!(times, [0, 0, 0, 1_000, 2_000, 3_000]);
    }

    #[test]
    fn a_peak_rate_spreads_the_burst() {
        // 100 us for each packet at 120 Mbit/s; tokens come back meanwhile.
        let times = departures("bucket:rate=12Mbit/s,burst=4500,peak=120Mbit/s", 1500, 5);
        assert_eq!(times, [100, 200, 300, 1_100, 2_100]);
    }

    #[test]
    fn a_packet_larger_than_the_bucket_is_owed() {
        // 9000 bytes are 6 ms of tokens: the first leaves from a full bucket of 1 ms and owes 5 ms.
        assert_eq!(departures("bucket:rate=12Mbit/s,burst=1500", 9000, 3), [0, 6_000, 12_000]);
    }

    #[test]
    fn a_full_queue_drops_what_exceeds_it() {
        let spec =
            BucketSpec { rate: Rate::from_megabits_per_second(12), burst: Bytes::new(1500), peak: None };
        let mut stage = Bucket::new(spec, DropTail::new(Limit::packets(2)), Time::ZERO);
        let mut drops = Drops::default();
        (0..5).for_each(|_| stage.push(Time::ZERO, Sized(1500), &mut drops));
        // Two are taken from the queue before it is full: the one whose tokens are there, and, when that has left, the next.
        assert_eq!(std::iter::from_fn(|| drops.take()).count(), 2);
        assert_eq!(stage.held().packets, 3);
    }

    #[test]
    fn a_bucket_that_passes_nothing_is_refused() {
        let message = |text: &str| text.parse::<RateSpec>().unwrap_err().to_string();
        assert!(message("bucket:rate=12Mbit/s").contains("needs a burst"));
        assert!(message("bucket:rate=12Mbit/s,burst=1kB").contains("from one full packet"));
        assert!(message("bucket:rate=12Mbit/s,burst=30kB,peak=12Mbit/s").contains("above the rate"));
    }
}
