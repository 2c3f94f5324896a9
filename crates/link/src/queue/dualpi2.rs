//! DualPI2 (RFC 9332): two queues under two coupled AQMs. L, for packets with ECT(1) or CE, is kept short by marks; C, for the others, by
//! a PI controller whose output is squared.
//!
//! As appendix A has it: PI2 (A.1) with its response to overload (A.2), and a scheduler that goes by weights (section 2.4), counted in
//! bytes. Marks in L recur at even distances (`recur()` of A.1). In C the square of p' is drawn as two trials of p' (De Schepper et al.,
//! "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016, section 4).

mod parameters;
mod spec;
#[cfg(test)]
mod tests;

use trialwise_units::{Duration, Ecn, Seed, Time};

pub use self::parameters::DualPi2Parameters;
pub(crate) use self::spec::DualPi2Spec;
use crate::element::{Cause, Drops};
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::{Limit, Queue, Waiting};
use crate::random::Random;

/// p_Lmax (RFC 9332 appendix A.1): a coupled probability from here on is overload.
const OVERLOAD: f64 = 1.0;

/// The two queues, with one limit at their tail.
#[derive(Debug)]
pub struct DualPi2<P> {
    parameters: DualPi2Parameters,
    limit: Limit,
    low: Buffer<P>,
    classic: Buffer<P>,
    random: Random,
    /// p'.
    probability: f64,
    /// The delay at the update before.
    old_delay: Duration,
    next_update: Option<Time>,
    /// Bytes that C may send although packets wait in L.
    credit: f64,
    /// Marks of L that are due.
    due: f64,
    marked: u64,
}

impl<P: Packet> DualPi2<P> {
    /// Two empty queues.
    pub fn new(mut parameters: DualPi2Parameters, limit: Limit, seed: Seed) -> Self {
        // Time must go on from update to update.
        parameters.update = parameters.update.max(Duration::from_nanoseconds(1));
        Self {
            parameters,
            limit,
            low: Buffer::default(),
            classic: Buffer::default(),
            random: Random::new(seed),
            probability: 0.0,
            old_delay: Duration::ZERO,
            next_update: None,
            credit: 0.0,
            due: 0.0,
            marked: 0,
        }
    }

    /// p', the output of the PI controller: C is dropped or marked with its square, L is marked with `coupling` times as much.
    pub const fn base_probability(&self) -> f64 {
        self.probability
    }

    /// p_CL, what L is marked with at least.
    fn coupled(&self) -> f64 {
        self.parameters.coupling * self.probability
    }

    /// Whether marks alone are no longer enough (appendix A.2).
    fn is_overloaded(&self) -> bool {
        self.coupled() >= OVERLOAD
    }

    /// Makes the updates due by `now`. Between two events of the queue nothing comes or goes, so that late ones are exact.
    fn update_through(&mut self, now: Time) {
        let period = self.parameters.update;
        let mut next = self.next_update.unwrap_or(now + period);
        while next <= now {
            let delay = self.delay(next);
            if delay == Duration::ZERO && self.old_delay == Duration::ZERO {
                // However long nothing waits: p' falls by the same step at each update.
                let count = (now - next).picoseconds() / period.picoseconds() + 1;
                self.step(-self.parameters.alpha * self.parameters.target.as_seconds() * count as f64);
                next += period * count;
            } else {
                self.update(delay);
                next += period;
            }
        }
        self.next_update = Some(next);
    }

    /// How long the first packet of C has waited; in overload that of either queue which waited longer (appendix A.2).
    fn delay(&self, now: Time) -> Duration {
        let of = |queue: &Buffer<P>| queue.front().map_or(Duration::ZERO, |first| now - first.arrival);
        let classic = of(&self.classic);
        if self.is_overloaded() { classic.max(of(&self.low)) } else { classic }
    }

    /// `dualpi2_update()`: p' += alpha (q - target) + beta (q - q before).
    fn update(&mut self, delay: Duration) {
        let (now, old) = (delay.as_seconds(), self.old_delay.as_seconds());
        let error = now - self.parameters.target.as_seconds();
        self.step(self.parameters.alpha * error + self.parameters.beta * (now - old));
        self.old_delay = delay;
    }

    fn step(&mut self, step: f64) {
        self.probability = (self.probability + step).clamp(0.0, 1.0);
    }

    /// Whether L sends next; none where nothing waits.
    fn is_lows_turn(&self) -> Option<bool> {
        match (self.low.front(), self.classic.front()) {
            (None, None) => None,
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(_), Some(first)) => {
                Some(self.credit < first.size.get() as f64 * (1.0 - self.parameters.share))
            }
        }
    }

    /// What has been sent counts while packets wait in the other queue too.
    fn account(&mut self, sent: f64, is_low: bool) {
        let other = if is_low { &self.classic } else { &self.low };
        if other.tally().packets > 0 {
            let share = self.parameters.share;
            self.credit += sent * if is_low { share } else { share - 1.0 };
        }
        if self.classic.tally().packets == 0 {
            self.credit = 0.0;
        }
    }

    /// Marks a packet of L that leaves, or says that it is dropped, which happens in overload only.
    fn passes_low(&mut self, now: Time, waiting: &mut Waiting<P>) -> bool {
        if self.is_overloaded() && self.squared_chance() {
            return false;
        }
        let behind = self.low.tally().packets;
        let is_spared = behind < self.parameters.spared;
        let native = if is_spared { 0.0 } else { self.parameters.native(now - waiting.arrival) };
        self.due += native.max(self.coupled()).min(1.0);
        if self.due >= 1.0 {
            self.due -= 1.0;
            self.mark(&mut waiting.packet);
        }
        true
    }

    /// Marks a packet of C that leaves, or says that it is dropped. In overload (p_C >= p_Cmax = 1/k^2) none is marked.
    fn passes_classic(&mut self, waiting: &mut Waiting<P>) -> bool {
        !self.squared_chance() || (!self.is_overloaded() && self.mark(&mut waiting.packet))
    }

    /// Whether an event of probability p'^2 happens.
    fn squared_chance(&mut self) -> bool {
        self.random.chance(self.probability) && self.random.chance(self.probability)
    }

    fn mark(&mut self, packet: &mut P) -> bool {
        let is_marked = mark_congestion(packet);
        self.marked += u64::from(is_marked);
        is_marked
    }
}

impl<P: Packet> Queue<P> for DualPi2<P> {
    /// `dualpi2_enqueue()`: ECT(1) and CE go to L (RFC 9332 section 2.5.1.1).
    fn enqueue(&mut self, waiting: Waiting<P>, drops: &mut Drops<P>) {
        self.update_through(waiting.arrival);
        if !self.limit.admits(self.backlog(), waiting.size) {
            return drops.record(waiting.arrival, waiting.packet, Cause::Overflow);
        }
        match waiting.packet.ecn() {
            Ecn::Capable1 | Ecn::CongestionExperienced => self.low.push(waiting),
            Ecn::Capable0 | Ecn::NotCapable => self.classic.push(waiting),
        }
    }

    /// `dualpi2_dequeue()`.
    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Waiting<P>> {
        self.update_through(now);
        while let Some(is_low) = self.is_lows_turn() {
            let mut waiting = if is_low { self.low.pop() } else { self.classic.pop() }?;
            let passes =
                if is_low { self.passes_low(now, &mut waiting) } else { self.passes_classic(&mut waiting) };
            if passes {
                self.account(waiting.size.get() as f64, is_low);
                return Some(waiting);
            }
            drops.record(now, waiting.packet, Cause::Managed);
        }
        None
    }

    fn backlog(&self) -> Tally {
        let mut backlog = self.low.tally();
        backlog += self.classic.tally();
        backlog
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}
