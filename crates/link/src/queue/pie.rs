//! PIE (RFC 8033): the basic algorithm (section 4, appendix A) with ECN (5.1), derandomisation (5.4) and the capped adjustment (5.5).
//!
//! Latency is that of the packet dequeued last (section 4.3, second way), and zero while the queue is empty.
//! Switching itself on and off (5.3) is left out: it would need a limit to go by.

use trialwise_units::{Bytes, Duration, Seed, Time};

use crate::element::{Cause, Drops};
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::{Limit, Queue, Waiting};
use crate::random::Random;

/// Weights of the controller, per second (RFC 8033 appendix A).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Between these no drop is certain, below the first none happens, above the second one does (RFC 8033 section 5.4).
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
    /// MEAN_PKTSIZE: nothing is dropped while no more than two such packets wait (RFC 8033 section 4.1).
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
    marked: u64,
}

impl<P: Packet> Pie<P> {
    /// An empty queue.
    pub fn new(parameters: PieParameters, limit: Limit, seed: Seed) -> Self {
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
            marked: 0,
        }
    }

    /// The probability with which an arrival is dropped now.
    pub fn drop_probability(&self) -> f64 {
        self.probability
    }

    /// Makes the updates due by `now`. Between two events of the queue nothing changes, so that late ones are exact.
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
        let is_short = self.buffer.tally().bytes.get() <= 2 * self.parameters.mean_packet.get();
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
