//! PIE (RFC 8033): the basic algorithm (section 4, appendix A) with ECN (5.1), derandomisation (5.4) and the
//! capped adjustment (5.5).
//!
//! Latency is that of the packet dequeued last (section 4.3, second way), and zero while the queue is empty.
//! Switching itself on and off (5.3) is left out: it would need a limit to go by.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Bytes, Duration, Seed, Time};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::codel::ECN;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};
use crate::random::Random;

/// Weights of the controller, per second (RFC 8033 appendix A).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Between these no drop is certain, below the first none happens, above the second one does (RFC 8033
/// section 5.4).
const ACCUMULATED_LOW: f64 = 0.85;
const ACCUMULATED_HIGH: f64 = 8.5;

/// What PIE goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieParameters {
    /// QDELAY_REF: the latency aimed at (RFC 8033 section 4.2: 15 ms).
    pub target: Duration,
    /// T_UPDATE: how often the probability is computed (RFC 8033 section 4.2: 15 ms).
    pub update: Duration,
    /// MAX_BURST: how long a burst is let through (RFC 8033 section 4.4: 150 ms).
    pub max_burst: Duration,
    /// MEAN_PKTSIZE: nothing is dropped while no more than two such packets wait (RFC 8033 section 4.1). A larger packet that was
    /// seen takes its place.
    pub mean_packet: Bytes,
    /// Mark ECN-capable packets instead of dropping them, while the probability is below `mark_below`.
    pub ecn: bool,
    /// mark_ecnth (RFC 8033 section 5.1: 10 %).
    pub mark_below: f64,
}

impl Default for PieParameters {
    fn default() -> Self {
        Self {
            target: Duration::from_milliseconds(15),
            update: Duration::from_milliseconds(15),
            max_burst: Duration::from_milliseconds(150),
            mean_packet: Bytes::new(1500),
            ecn: false,
            mark_below: 0.1,
        }
    }
}

/// A queue under PIE, with a limit at its tail.
#[derive(Debug)]
pub struct Pie<P> {
    parameters: PieParameters,
    limit: Limit,
    buffer: Buffer<P>,
    random: Random,
    probability: f64,
    accumulated: f64,
    latency: Duration,
    old_latency: Duration,
    burst_allowance: Duration,
    next_update: Option<Time>,
    largest: Bytes,
    marked: u64,
}

impl<P: Packet> Pie<P> {
    /// An empty queue.
    pub fn new(mut parameters: PieParameters, limit: Limit, seed: Seed) -> Self {
        // Time must go on from update to update.
        parameters.update = parameters.update.max(Duration::from_nanoseconds(1));
        Self {
            parameters,
            limit,
            buffer: Buffer::default(),
            random: Random::new(seed),
            probability: 0.0,
            accumulated: 0.0,
            latency: Duration::ZERO,
            old_latency: Duration::ZERO,
            burst_allowance: parameters.max_burst,
            next_update: None,
            largest: Bytes::ZERO,
            marked: 0,
        }
    }

    /// The probability with which an arrival is dropped now.
    pub fn drop_probability(&self) -> f64 {
        self.probability
    }

    /// Makes the updates due by `now`. Between two events of the queue nothing changes, so that late ones are
    /// exact.
    fn update_through(&mut self, now: Time) {
        let mut next = self.next_update.unwrap_or(now + self.parameters.update);
        while next <= now {
            self.update();
            next += self.parameters.update;
            if self.is_at_rest() && next <= now {
                let period = self.parameters.update.picoseconds();
                next += self.parameters.update * ((now - next).picoseconds() / period + 1);
            }
        }
        self.next_update = Some(next);
    }

    /// Whether further updates of an empty queue would change nothing that matters.
    fn is_at_rest(&self) -> bool {
        self.probability == 0.0 && self.buffer.tally().packets == 0 && self.old_latency == Duration::ZERO
    }

    /// `calculate_drop_prob()` (RFC 8033 section 4.2 and appendix B).
    fn update(&mut self) {
        if self.buffer.tally().packets == 0 {
            self.latency = Duration::ZERO;
        }
        let (latency, old) = (self.latency.as_seconds(), self.old_latency.as_seconds());
        let error = latency - self.parameters.target.as_seconds();
        let mut step = (ALPHA * error + BETA * (latency - old)) / divisor(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02); // section 5.5
        }
        self.probability += step;
        if self.is_calm() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_latency = self.latency;
        self.burst_allowance -= self.parameters.update; // section 4.4; spans end at zero
    }

    /// Whether both samples of latency are below half the target.
    fn is_calm(&self) -> bool {
        let half = self.parameters.target / 2;
        self.latency < half && self.old_latency < half
    }

    /// `drop_early()` (RFC 8033 sections 4.1 and 5.4).
    fn chooses_drop(&mut self) -> bool {
        let is_low = self.old_latency < self.parameters.target / 2 && self.probability < 0.2;
        let packet = self.parameters.mean_packet.max(self.largest);
        let is_short = self.buffer.tally().bytes.get() <= 2 * packet.get();
        if is_low || is_short {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < ACCUMULATED_LOW {
            return false;
        }
        self.accumulated >= ACCUMULATED_HIGH || self.random.chance(self.probability)
    }

    fn mark(&mut self, packet: &mut P) -> bool {
        let is_marked =
            self.parameters.ecn && self.probability < self.parameters.mark_below && mark_congestion(packet);
        self.marked += u64::from(is_marked);
        is_marked
    }
}

/// By how much adjustments are made smaller while the probability is small (RFC 8033 section 4.2).
fn divisor(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

impl<P: Packet> Queue<P> for Pie<P> {
    /// `enque()` (RFC 8033 appendix B).
    fn enqueue(&mut self, mut waiting: Waiting<P>, drops: &mut Drops<P>) {
        self.update_through(waiting.arrival);
        if !self.limit.admits(self.buffer.tally(), waiting.size) {
            self.accumulated = 0.0;
            return drops.record(waiting.arrival, waiting.packet, Cause::Overflow);
        }
        if self.probability == 0.0 && self.is_calm() {
            self.burst_allowance = self.parameters.max_burst;
        }
        self.largest = self.largest.max(waiting.packet.size());
        if self.burst_allowance == Duration::ZERO && self.chooses_drop() {
            self.accumulated = 0.0;
            if !self.mark(&mut waiting.packet) {
                return drops.record(waiting.arrival, waiting.packet, Cause::Managed);
            }
        }
        self.buffer.push(waiting);
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        self.update_through(now);
        let waiting = self.buffer.pop()?;
        self.latency = now - waiting.arrival;
        Some(waiting)
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}

/// `pie:packets=1000,target=15ms`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieSpec {
    /// 1000 packets unless given.
    pub(crate) limit: LimitSpec,
    /// What it goes by.
    pub(crate) parameters: PieParameters,
}

impl Declared for PieSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "pie",
        words: "PIE (RFC 8033); default limit 1000 packets.",
        head: None,
        keys: &[
            LimitSpec::PACKETS,
            LimitSpec::BYTES,
            LimitSpec::BDP,
            Key { name: "target", takes: Takes::Span, words: "Target latency; default 15 ms." },
            Key {
                name: "update",
                takes: Takes::Span,
                words: "Interval at which the probability is updated; default 15 ms.",
            },
            Key {
                name: "max_burst",
                takes: Takes::Time,
                words: "Length of a burst that passes; default 150 ms.",
            },
            ECN,
        ],
        example: "pie:packets=1000,target=15ms",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let default = PieParameters::default();
        let parameters = PieParameters {
            target: arguments.span("target")?.unwrap_or(default.target),
            update: arguments.span("update")?.unwrap_or(default.update),
            max_burst: arguments.time("max_burst")?.unwrap_or(default.max_burst),
            ecn: arguments.flag("ecn")?.unwrap_or(default.ecn),
            ..default
        };
        Ok(Self { limit: LimitSpec::read(arguments)?.or_packets(1000), parameters })
    }
}

impl DeclaredQueue for PieSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        Ok(Box::new(Pie::new(self.parameters, self.limit.resolve(surroundings)?, surroundings.seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::testing::{Bench, Numbered};

    fn bench(parameters: PieParameters) -> Bench<Pie<Numbered>> {
        Bench::new(Pie::new(parameters, Limit::NONE, Seed::new(1)))
    }

    /// A packet in each millisecond, each leaving 20 ms after it came: probability after each update, from
    /// the second on.
    fn probabilities(count: u64) -> Vec<f64> {
        let mut bench = bench(PieParameters::default());
        let mut found = Vec::new();
        for now in 0..=15 * (count + 1) {
            bench.enqueue(now, 0);
            if now >= 20 {
                bench.dequeue(now);
            }
            if now % 15 == 0 && now >= 30 {
                found.push(bench.queue.drop_probability());
            }
        }
        found
    }

    #[test]
    fn the_probability_follows_the_controller() {
        // At 15 nothing has left: 0. At 30: 0.125 · 5 ms + 1.25 · 20 ms = 0.025625, over 2048 as p < 10⁻⁶.
        // Then 0.125 · 5 ms = 0.000625 each: over 128 below 10⁻⁴, over 32 below 10⁻³.
        let found = probabilities(25);
        let mut expected = vec![0.025_625 / 2048.0];
        for _ in 0..18 {
            expected.push(expected[expected.len() - 1] + 0.000_625 / 128.0);
        }
        assert!(expected[17] < 1e-4 && expected[18] > 1e-4);
        expected.push(expected[18] + 0.000_625 / 32.0);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(found.len() >= expected.len());
    }

    /// The probability after one update from this one and these samples of latency, in milliseconds.
    fn updated(probability: f64, old_latency: u64, latency: u64) -> f64 {
        let mut bench = bench(PieParameters::default());
        bench.enqueue(0, 0);
        bench.queue.probability = probability;
        bench.queue.old_latency = Duration::from_milliseconds(old_latency);
        bench.queue.latency = Duration::from_milliseconds(latency);
        bench.queue.update();
        bench.queue.probability
    }

    #[test]
    fn steps_are_capped_from_a_tenth_on() {
        // 0.125 · 985 ms + 1.25 · 1 s is far above 0.02 (section 5.5); below 0.1 it is halved and not capped.
        assert!((updated(0.2, 0, 1_000) - 0.22).abs() < 1e-12);
        assert!((updated(0.09, 0, 1_000) - (0.09 + (0.123_125 + 1.25) / 2.0)).abs() < 1e-12);
    }

    #[test]
    fn the_probability_decays_while_latency_is_below_half_the_target() {
        // 0.125 · −14 ms, and then 2 % less (appendix B); at 8 ms without.
        assert!((updated(0.5, 1, 1) - (0.5 - 0.001_75) * 0.98).abs() < 1e-12);
        assert!((updated(0.5, 8, 8) - (0.5 - 0.000_875)).abs() < 1e-12);
    }

    #[test]
    fn divisors_are_those_of_section_4_2() {
        let at = [0.0, 5e-6, 5e-5, 5e-4, 5e-3, 5e-2, 0.5];
        assert_eq!(at.map(divisor), [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0]);
    }

    #[test]
    fn drops_keep_the_distances_of_section_5_4() {
        let mut queue = bench(PieParameters::default());
        (0..10).for_each(|_| queue.enqueue(0, 0));
        let queue = &mut queue.queue;
        (queue.probability, queue.old_latency) = (0.1, Duration::from_milliseconds(20));
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..20_000 {
            gap += 1;
            if queue.chooses_drop() {
                queue.accumulated = 0.0;
                gaps.push(gap);
                gap = 0;
            }
        }
        // The ninth packet brings 0.1 each to 0.9 ≥ 0.85, the 85th to 8.5. In between it is a coin: mean 8 +
        // 10.
        assert_eq!(gaps.iter().min(), Some(&9));
        assert!(gaps.iter().all(|gap| *gap <= 86));
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        assert!((mean - 18.0).abs() < 5.0 * 90.0_f64.sqrt() / (gaps.len() as f64).sqrt(), "{mean}");
    }

    /// Whether one of 100 arrivals is chosen with this probability, old latency and backlog of packets of 1000
    /// bytes; by section 5.4 at the latest the 85th is at 0.1 (the 43rd at 0.2).
    fn chooses(probability: f64, old_nanoseconds: u64, packets: u64) -> bool {
        chooses_of(1_000, probability, old_nanoseconds, packets)
    }

    /// The same for packets of another size.
    fn chooses_of(size: u64, probability: f64, old_nanoseconds: u64, packets: u64) -> bool {
        let parameters = PieParameters { mean_packet: Bytes::new(1_000), ..PieParameters::default() };
        let mut bench = bench(parameters);
        bench.size = size;
        (0..packets).for_each(|_| bench.enqueue(0, 0));
        let queue = &mut bench.queue;
        (queue.probability, queue.old_latency) = (probability, Duration::from_nanoseconds(old_nanoseconds));
        (0..100).any(|_| queue.chooses_drop())
    }

    #[test]
    fn low_latency_and_short_queues_are_spared_within_the_bounds_of_section_4_1() {
        // qdelay_old < QDELAY_REF / 2 (7.5 ms) and p < 0.2; or no more than two mean packets.
        assert!(!chooses(0.1, 7_499_999, 3));
        assert!(chooses(0.1, 7_500_000, 3));
        assert!(!chooses(0.199, 0, 3));
        assert!(chooses(0.2, 0, 3));
        assert!(!chooses(0.5, 100_000_000, 2));
        assert!(chooses(0.5, 100_000_000, 3));
        // Packets of 9000 bytes are no more than two such packets either.
        assert!(!chooses_of(9_000, 0.5, 100_000_000, 2));
        assert!(chooses_of(9_000, 0.5, 100_000_000, 3));
    }

    #[test]
    fn capable_packets_are_marked_below_a_tenth_and_dropped_above() {
        for (probability, is_marked) in [(0.09, true), (0.11, false)] {
            let mut bench = bench(PieParameters { ecn: true, ..PieParameters::default() });
            bench.ecn = Ecn::Capable0;
            (0..10).for_each(|_| bench.enqueue(0, 0));
            bench.queue.probability = probability;
            bench.queue.old_latency = Duration::from_milliseconds(20);
            bench.queue.burst_allowance = Duration::ZERO;
            (0..200).for_each(|_| bench.enqueue(1, 0));
            assert_eq!(bench.queue.marked() > 3, is_marked);
            assert_eq!(bench.take_drops().len() > 3, !is_marked);
        }
    }

    #[test]
    fn a_burst_is_let_through_for_its_allowance() {
        let mut bench = bench(PieParameters::default());
        // 2 packets come for each that leaves, so that latency grows; updates at 15, 30, ... use the
        // allowance up at 165.
        for now in 0..400 {
            bench.enqueue(now, 0);
            bench.enqueue(now, 0);
            bench.dequeue(now);
            bench.queue.probability = bench.queue.probability.max(0.5);
        }
        let first = bench.take_drops()[0].0;
        assert!((150..=170).contains(&first), "{first}");
    }

    #[test]
    fn after_a_long_rest_updates_are_in_step_and_cheap() {
        let mut bench = bench(PieParameters::default());
        bench.enqueue(0, 0);
        bench.dequeue(0);
        bench.enqueue(1_000_000_000, 0);
        let next = bench.queue.next_update.unwrap().milliseconds();
        assert_eq!((next % 15, next > 1_000_000_000, next <= 1_000_000_015), (0, true, true));
    }
}
