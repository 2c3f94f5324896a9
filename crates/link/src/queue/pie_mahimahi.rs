//! mm-link's PIE, which follows an early draft (draft-ietf-aqm-pie) and differs from RFC 8033 in these ways:
//!
//! - all times are whole milliseconds, and α = 0.125 and β = 1.25 apply to milliseconds, not to seconds;
//! - the probability is updated every 30 ms (once more than 30 ms have gone by), its steps divided by 128, 32
//!   or 16;
//! - latency is the backlog over a rate (bytes per millisecond, whole) measured over more than 16384 bytes
//!   that left, weighed 1/8;
//! - the burst allowance starts at zero, shrinks by updates and by measured time, and is renewed only after a
//!   rate was known;
//! - no drop is capped or derandomised, and there is no ECN.
//!
//! Source of these facts and constants: mahimahi's `pie_packet_queue.cc` at commit 2ac8d1c.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Seed, Time};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{Packet, Tally};
use crate::queue::buffer::Buffer;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};
use crate::random::Random;

const UPDATE_MILLISECONDS: u64 = 30;
const MEASURED_BYTES: u64 = 16_384;
const FULL_PACKET: u64 = 1_504;

/// What mm-link's PIE goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MahimahiPieParameters {
    /// `qdelay_ref`, in whole milliseconds.
    pub target: Duration,
    /// `max_burst`, in whole milliseconds.
    pub max_burst: Duration,
}

/// A queue under mm-link's PIE, with a limit at its tail.
#[derive(Debug)]
pub struct MahimahiPie<P> {
    target: u64,
    max_burst: u64,
    limit: Limit,
    buffer: Buffer<P>,
    random: Random,
    probability: f64,
    latency: u64,
    old_latency: u64,
    burst_allowance: u64,
    /// Bytes per millisecond; zero while none is known.
    rate: u64,
    measurement: Option<Measurement>,
    updated: u64,
}

#[derive(Clone, Copy, Debug)]
struct Measurement {
    start: u64,
    bytes: u64,
}

impl<P: Packet> MahimahiPie<P> {
    /// An empty queue, whose updates are counted from `start`.
    pub fn new(parameters: MahimahiPieParameters, limit: Limit, start: Time, seed: Seed) -> Self {
        Self {
            target: parameters.target.milliseconds(),
            max_burst: parameters.max_burst.milliseconds(),
            limit,
            buffer: Buffer::default(),
            random: Random::new(seed),
            probability: 0.0,
            latency: 0,
            old_latency: 0,
            burst_allowance: 0,
            rate: 0,
            measurement: None,
            updated: start.milliseconds(),
        }
    }

    fn backlog_bytes(&self) -> u64 {
        self.buffer.tally().bytes.get()
    }

    fn update_through(&mut self, now: u64) {
        while now.saturating_sub(self.updated) > UPDATE_MILLISECONDS {
            self.update();
            self.updated += UPDATE_MILLISECONDS;
        }
    }

    fn update(&mut self) {
        self.old_latency = self.latency;
        self.latency = self.backlog_bytes().checked_div(self.rate).unwrap_or(0);
        let difference = |from: u64| self.latency as f64 - from as f64;
        let step = 0.125 * difference(self.target) + 1.25 * difference(self.old_latency);
        let raised = self.probability + step / divisor(self.probability);
        self.probability = raised.clamp(0.0, 1.0);
        let is_idle = self.backlog_bytes() == 0 && self.latency == 0 && self.old_latency == 0;
        if is_idle && raised <= 1.0 {
            self.probability *= 0.98;
        }
        self.burst_allowance = self.burst_allowance.saturating_sub(UPDATE_MILLISECONDS);
        self.renew_when_calm();
    }

    fn renew_when_calm(&mut self) {
        let is_calm = self.latency < self.target / 2 && self.old_latency < self.target / 2;
        if self.probability == 0.0 && is_calm && self.rate > 0 {
            self.measurement = None;
            self.rate = 0;
            self.burst_allowance = self.max_burst;
        }
    }

    fn chooses_drop(&mut self) -> bool {
        let is_low = self.old_latency < self.target / 2 && self.probability < 0.2;
        let is_short = self.backlog_bytes() < 2 * FULL_PACKET;
        self.burst_allowance == 0 && !is_low && !is_short && self.random.chance(self.probability)
    }

    /// Takes note of bytes that left, after they did.
    fn measure(&mut self, now: u64, bytes: u64) {
        if self.backlog_bytes() >= MEASURED_BYTES {
            self.measurement.get_or_insert(Measurement { start: now, bytes: 0 });
        }
        let Some(measurement) = &mut self.measurement else { return };
        measurement.bytes += bytes;
        let Measurement { start, bytes } = *measurement;
        if bytes > MEASURED_BYTES && now > start {
            self.finish_measurement(now, now - start, bytes);
        }
    }

    fn finish_measurement(&mut self, now: u64, span: u64, bytes: u64) {
        let sample = bytes / span;
        self.rate = if self.rate == 0 { sample } else { self.rate - (self.rate >> 3) + (sample >> 3) };
        let goes_on = self.backlog_bytes() >= MEASURED_BYTES;
        self.measurement = goes_on.then_some(Measurement { start: now, bytes: 0 });
        self.burst_allowance = self.burst_allowance.saturating_sub(span);
    }
}

fn divisor(probability: f64) -> f64 {
    match probability {
        p if p < 0.01 => 128.0,
        p if p < 0.1 => 32.0,
        _ => 16.0,
    }
}

impl<P: Packet> Queue<P> for MahimahiPie<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        self.update_through(waiting.arrival.milliseconds());
        if !self.limit.admits(self.buffer.tally(), waiting.size) {
            drops.record(waiting.arrival, waiting.packet, Cause::Overflow);
        } else if self.chooses_drop() {
            drops.record(waiting.arrival, waiting.packet, Cause::Managed);
        } else {
            self.buffer.push(waiting);
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        let waiting = self.buffer.pop()?;
        self.measure(now.milliseconds(), waiting.size.get());
        self.update_through(now.milliseconds());
        Some(waiting)
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }
}

/// `pie-mahimahi:packets=1000,target=20ms,max_burst=100ms`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MahimahiPieSpec {
    /// At least one limit.
    pub(crate) limit: LimitSpec,
    /// What it goes by.
    pub(crate) parameters: MahimahiPieParameters,
}

impl Declared for MahimahiPieSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "pie-mahimahi",
        words: "PIE as in mm-link; needs a limit, target and max_burst.",
        head: None,
        keys: &[
            LimitSpec::PACKETS,
            LimitSpec::BYTES,
            LimitSpec::BDP,
            Key { name: "target", takes: Takes::Span, words: "Target latency, mm-link's qdelay_ref." },
            Key { name: "max_burst", takes: Takes::Span, words: "Length of a burst that passes." },
        ],
        example: "pie-mahimahi:packets=1000,target=20ms,max_burst=100ms",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let limit = LimitSpec::required(arguments)?;
        match (arguments.span("target")?, arguments.span("max_burst")?) {
            (Some(target), Some(max_burst)) => {
                Ok(Self { limit, parameters: MahimahiPieParameters { target, max_burst } })
            }
            _ => Err(arguments.missing("target and max_burst")),
        }
    }
}

impl DeclaredQueue for MahimahiPieSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        let Surroundings { start, seed, .. } = *surroundings;
        Ok(Box::new(MahimahiPie::new(self.parameters, self.limit.resolve(surroundings)?, start, seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{Bench, Numbered};

    fn bench() -> Bench<MahimahiPie<Numbered>> {
        let parameters = MahimahiPieParameters {
            target: Duration::from_milliseconds(20),
            max_burst: Duration::from_milliseconds(100),
        };
        let mut bench = Bench::new(MahimahiPie::new(parameters, Limit::NONE, Time::ZERO, Seed::new(1)));
        bench.size = 1504;
        bench
    }

    #[test]
    fn rate_and_probability_are_those_computed_by_hand() {
        let mut bench = bench();
        (0..100).for_each(|_| bench.enqueue(0, 0));
        (1..=11).for_each(|now| assert!(bench.dequeue(now).is_some()));
        // 11 · 1504 = 16544 bytes in 10 ms.
        assert_eq!(bench.queue.rate, 1654);
        (12..=22).for_each(|now| assert!(bench.dequeue(now).is_some()));
        // Again 16544, in 11 ms: 1504; 1654 − 206 + 188.
        assert_eq!(bench.queue.rate, 1636);
        (23..=30).for_each(|now| assert!(bench.dequeue(now).is_some()));
        assert_eq!(bench.queue.probability, 0.0, "no update until more than 30 ms have gone by");
        bench.dequeue(31);
        // 69 · 1504 / 1636 = 63 ms: (0.125 · 43 + 1.25 · 63) / 128.
        assert_eq!((bench.queue.latency, bench.queue.probability), (63, 84.125 / 128.0));
        assert!(bench.take_drops().is_empty());
        // Then p > 0.1, so over 16; the latency sample before was 63 and 39 packets of 1504 over the rate are
        // left at 61.
        (32..=61).for_each(|now| assert!(bench.dequeue(now).is_some()));
        let latency = 39 * 1504 / bench.queue.rate;
        let step = 0.125 * (latency as f64 - 20.0) + 1.25 * (latency as f64 - 63.0);
        assert_eq!(bench.queue.probability, (84.125_f64 / 128.0 + step / 16.0).clamp(0.0, 1.0));
    }

    /// How many of 1000 arrivals are chosen with this probability, sample of latency before and backlog of
    /// full packets.
    fn chosen(probability: f64, old_latency: u64, packets: u64) -> usize {
        let mut bench = bench();
        (0..packets).for_each(|_| bench.enqueue(0, 0));
        (bench.queue.probability, bench.queue.old_latency) = (probability, old_latency);
        (0..1000).filter(|_| bench.queue.chooses_drop()).count()
    }

    #[test]
    fn low_latency_and_short_queues_are_spared() {
        // Below half of 20 ms while p < 0.2, and below two full packets. Else as many as p says, with five
        // standard errors: √(1000 · 0.19 · 0.81) = 12.4.
        assert_eq!(chosen(0.19, 9, 2), 0);
        assert_eq!(chosen(1.0, 100, 1), 0);
        for (probability, old_latency) in [(0.19, 10), (0.2, 0), (0.2, 9)] {
            let expected = 1000.0 * probability;
            assert!((chosen(probability, old_latency, 2) as f64 - expected).abs() < 62.0);
        }
    }

    #[test]
    fn measured_time_uses_the_allowance_up() {
        let mut bench = bench();
        bench.queue.burst_allowance = 100;
        (0..100).for_each(|_| bench.enqueue(0, 0));
        // Measurements end after 10 and 11 ms more, before the first update.
        (1..=22).for_each(|now| assert!(bench.dequeue(now).is_some()));
        assert_eq!(bench.queue.burst_allowance, 79);
    }

    #[test]
    fn an_allowance_is_there_only_after_a_calm_that_followed_a_load() {
        let mut bench = bench();
        assert_eq!(bench.queue.burst_allowance, 0);
        (0..100).for_each(|_| bench.enqueue(0, 0));
        (1..=100).for_each(|now| assert!(bench.dequeue(now).is_some()));
        assert!(bench.queue.rate > 0 && bench.queue.burst_allowance == 0);
        let renewed = (101..60_000).find(|now| {
            bench.queue.update_through(*now);
            bench.queue.rate == 0
        });
        assert_eq!(bench.queue.burst_allowance, 100);
        bench.queue.update_through(renewed.unwrap() + 10_000);
        assert_eq!(bench.queue.burst_allowance, 0, "no second one without a rate");
    }
}
