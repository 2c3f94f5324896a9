//! DualPI2 (RFC 9332): two queues under two coupled AQMs. L, for packets with ECT(1) or CE, is kept short by marks; C, for the others, by
//! a PI controller whose output is squared.
//!
//! As appendix A has it: PI2 (A.1) with its response to overload (A.2), and a scheduler that goes by weights (section 2.4), counted in
//! bytes. Marks in L recur at even distances (`recur()` of A.1). In C the square of p' is drawn as two trials of p' (De Schepper et al.,
//! "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016, section 4).

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Ecn, Seed, Time};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::{FULL_PACKET, Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, LimitSpec, Queue, Surroundings, Waiting};
use crate::random::Random;

/// p_Lmax (RFC 9332 appendix A.1): a coupled probability from here on is overload.
const OVERLOAD: f64 = 1.0;
/// The default limit is what the link sends in this time (appendix A.1, `limit`).
const LIMIT: Duration = Duration::from_milliseconds(250);
/// The default limit of Linux (tc-dualpi2(8), `limit`).
const LINUX_PACKETS: u64 = 10_000;

/// What DualPI2 goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Parameters {
    /// `target`: the delay that the PI controller keeps C at.
    pub target: Duration,
    /// `Tupdate`: how often the probability is computed.
    pub update: Duration,
    /// Weight of the distance from the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    pub beta: f64,
    /// `k`: L is marked with so many times the square root of what C is dropped with.
    pub coupling: f64,
    /// `minTh`: up to this delay L does not mark by itself.
    pub threshold: Duration,
    /// `range`: over so much more delay marks of L rise from none to all; zero makes a step.
    pub range: Duration,
    /// `Th_len`: L does not mark by itself while no more than so many packets wait there.
    pub spared: u64,
    /// The part of the link that C has at least, while packets wait in both.
    pub share: f64,
}

impl DualPi2Parameters {
    /// Those of Linux 6.17 (tc-dualpi2(8)).
    pub const LINUX: Self = Self {
        target: Duration::from_milliseconds(15),
        update: Duration::from_milliseconds(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        threshold: Duration::from_milliseconds(1),
        range: Duration::ZERO,
        spared: 0,
        share: 0.1,
    };

    /// Those of RFC 9332, appendix A.1, for this target and round-trip times of up to `max_rtt`: `Tupdate = min(target, RTT_max / 3)`,
    /// `alpha = 0.1 Tupdate / RTT_max^2`, `beta = 0.3 / RTT_max`.
    pub fn for_round_trips(target: Duration, max_rtt: Duration) -> Self {
        let update = target.min(max_rtt / 3);
        let round_trip = max_rtt.as_seconds();
        Self {
            target,
            update,
            alpha: 0.1 * update.as_seconds() / (round_trip * round_trip),
            beta: 0.3 / round_trip,
            coupling: 2.0,
            threshold: Duration::from_microseconds(800),
            range: Duration::from_microseconds(400),
            spared: 1,
            share: 1.0 / 16.0,
        }
    }

    /// The probability with which L marks by itself a packet that waited so long (appendix A.1, `laqm()`).
    fn native(&self, delay: Duration) -> f64 {
        if delay <= self.threshold {
            return 0.0;
        }
        let above = (delay - self.threshold).as_seconds();
        if self.range == Duration::ZERO { 1.0 } else { (above / self.range.as_seconds()).min(1.0) }
    }
}

impl Default for DualPi2Parameters {
    /// A target of 15 ms for round-trip times of up to 100 ms (RFC 9332, appendix A.1).
    fn default() -> Self {
        Self::for_round_trips(Duration::from_milliseconds(15), Duration::from_milliseconds(100))
    }
}

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

/// `dualpi2` or `dualpi2-linux`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Spec {
    /// None for what the link sends in 250 ms.
    pub(crate) limit: Option<LimitSpec>,
    /// What it goes by.
    pub(crate) parameters: DualPi2Parameters,
}

const TARGET: Key =
    Key { name: "target", takes: Takes::Span, words: "Target delay of the classic queue; default 15 ms." };
const COUPLING: Key = Key {
    name: "coupling",
    takes: Takes::Number,
    words: "Ratio of the marks of the low-latency queue to the square root of what the classic queue drops; default 2.",
};

impl Declared for DualPi2Spec {
    const FORMS: &'static [Form] = &[
        Form {
            name: "dualpi2",
            words: "DualPI2 (RFC 9332, appendix A): a short queue for ECT(1) and CE, a classic one for the rest; default limit 250 ms at the link's rate.",
            head: None,
            keys: &[
                LimitSpec::PACKETS,
                LimitSpec::BYTES,
                LimitSpec::BDP,
                TARGET,
                Key {
                    name: "max_rtt",
                    takes: Takes::Span,
                    words: "Longest usual round-trip time, by which the controller is tuned; default 100 ms.",
                },
                COUPLING,
                Key {
                    name: "threshold",
                    takes: Takes::Time,
                    words: "Delay up to which the low-latency queue does not mark by itself; default 800 us.",
                },
                Key {
                    name: "range",
                    takes: Takes::Time,
                    words: "Further delay over which its marks rise to all, 0 for a step; default 400 us.",
                },
                Key {
                    name: "share",
                    takes: Takes::Share,
                    words: "Part of the link that the classic queue has at least; default 1/16.",
                },
            ],
            example: "dualpi2:target=15ms,max_rtt=100ms",
        },
        Form {
            name: "dualpi2-linux",
            words: "DualPI2 with the settings of Linux 6.17; default limit 10000 packets.",
            head: None,
            keys: &[
                LimitSpec::PACKETS,
                LimitSpec::BYTES,
                LimitSpec::BDP,
                TARGET,
                Key {
                    name: "update",
                    takes: Takes::Span,
                    words: "Interval at which the probability is updated; default 16 ms.",
                },
                Key {
                    name: "alpha",
                    takes: Takes::Number,
                    words: "Weight of the distance from the target, per second; default 0.16.",
                },
                Key {
                    name: "beta",
                    takes: Takes::Number,
                    words: "Weight of the change of the delay, per second; default 3.2.",
                },
                COUPLING,
                Key {
                    name: "threshold",
                    takes: Takes::Time,
                    words: "Delay above which the low-latency queue marks all; default 1 ms.",
                },
                Key {
                    name: "share",
                    takes: Takes::Share,
                    words: "Part of the link that the classic queue has at least; default 10 %.",
                },
            ],
            example: "dualpi2-linux:packets=10000",
        },
    ];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let is_linux = arguments.name() == "dualpi2-linux";
        let given = LimitSpec::read(arguments)?;
        let limit = if is_linux { Some(given.or_packets(LINUX_PACKETS)) } else { given.if_given() };
        let base = if is_linux { read_linux(arguments)? } else { read_rfc(arguments)? };
        let parameters = DualPi2Parameters {
            coupling: arguments.number("coupling")?.unwrap_or(base.coupling),
            threshold: arguments.time("threshold")?.unwrap_or(base.threshold),
            share: arguments.share("share")?.unwrap_or(base.share),
            ..base
        };
        Ok(Self { limit, parameters })
    }
}

fn read_rfc(arguments: &Arguments<'_>) -> Result<DualPi2Parameters, ElementError> {
    let target = arguments.span("target")?.unwrap_or(Duration::from_milliseconds(15));
    let max_rtt = arguments.span("max_rtt")?.unwrap_or(Duration::from_milliseconds(100));
    let base = DualPi2Parameters::for_round_trips(target, max_rtt);
    Ok(DualPi2Parameters { range: arguments.time("range")?.unwrap_or(base.range), ..base })
}

fn read_linux(arguments: &Arguments<'_>) -> Result<DualPi2Parameters, ElementError> {
    let base = DualPi2Parameters::LINUX;
    Ok(DualPi2Parameters {
        target: arguments.span("target")?.unwrap_or(base.target),
        update: arguments.span("update")?.unwrap_or(base.update),
        alpha: arguments.number("alpha")?.unwrap_or(base.alpha),
        beta: arguments.number("beta")?.unwrap_or(base.beta),
        ..base
    })
}

impl DeclaredQueue for DualPi2Spec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        let limit = match &self.limit {
            Some(limit) => limit.resolve(surroundings)?,
            None => Limit::bytes(surroundings.rate.bytes_in(LIMIT).max(FULL_PACKET)),
        };
        Ok(Box::new(DualPi2::new(self.parameters, limit, surroundings.seed)))
    }
}

#[cfg(test)]
mod tests {
    use trialwise_units::Bytes;

    use super::*;
    use crate::queue::testing::Numbered;

    type Dropped = Vec<(u64, Cause)>;

    fn at(microseconds: u64) -> Time {
        Time::from_nanoseconds(1000 * microseconds)
    }

    /// A queue with a clock in microseconds, and what it dropped.
    struct Bench {
        queue: DualPi2<Numbered>,
        drops: Drops<Numbered>,
    }

    impl Bench {
        fn new(parameters: DualPi2Parameters) -> Self {
            Self { queue: DualPi2::new(parameters, Limit::NONE, Seed::new(1)), drops: Drops::default() }
        }

        fn rfc() -> Self {
            Self::new(DualPi2Parameters::default())
        }

        fn enqueue(&mut self, microseconds: u64, ecn: Ecn, number: u64) {
            let packet = Numbered { number, flow: 0, ecn };
            let arrival = at(microseconds);
            self.queue.enqueue(Waiting { packet, size: Bytes::new(1500), arrival }, &mut self.drops);
        }

        fn dequeue(&mut self, microseconds: u64) -> Option<Numbered> {
            let found = self.queue.dequeue(at(microseconds), &mut self.drops);
            found.map(|waiting| waiting.packet)
        }

        fn take_drops(&mut self) -> Dropped {
            std::iter::from_fn(|| self.drops.take()).map(|each| (each.packet.number, each.cause)).collect()
        }
    }

    const L: Ecn = Ecn::Capable1;
    const CE: Ecn = Ecn::CongestionExperienced;

    #[test]
    fn the_numbers_are_those_of_appendix_a_1() {
        let DualPi2Parameters { update, alpha, beta, .. } = DualPi2Parameters::default();
        assert_eq!(update, Duration::from_milliseconds(15));
        assert!((alpha - 0.15).abs() < 1e-12 && (beta - 3.0).abs() < 1e-12, "{alpha} {beta}");
        // Round trips of 30 ms: every 10 ms, 0.1 * 0.01 / 0.03^2 = 1.111, 0.3 / 0.03 = 10.
        let near = DualPi2Parameters::for_round_trips(
            Duration::from_milliseconds(15),
            Duration::from_milliseconds(30),
        );
        assert_eq!(near.update, Duration::from_milliseconds(10));
        assert!((near.alpha - 10.0 / 9.0).abs() < 1e-12 && (near.beta - 10.0).abs() < 1e-12);
    }

    #[test]
    fn l_marks_by_itself_along_its_ramp_and_on_linux_at_a_step() {
        let microseconds = [800, 900, 1000, 1100, 1200, 5000].map(Duration::from_microseconds);
        let rfc = microseconds.map(|delay| DualPi2Parameters::default().native(delay));
        for (found, expected) in rfc.iter().zip([0.0, 0.25, 0.5, 0.75, 1.0, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let linux = microseconds.map(|delay| DualPi2Parameters::LINUX.native(delay));
        assert_eq!(linux, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_packet_that_waits_alone_is_spared() {
        let mut bench = Bench::rfc();
        bench.enqueue(0, L, 0);
        assert_eq!(bench.dequeue(9000).unwrap().ecn, L);
        (1..3).for_each(|number| bench.enqueue(10_000, L, number));
        assert_eq!(bench.dequeue(19_000).unwrap().ecn, CE, "another waits behind it");
        assert_eq!(bench.dequeue(19_000).unwrap().ecn, L);
    }

    #[test]
    fn marks_and_drops_go_by_the_square_and_by_twice_the_root() {
        // p' of 0.2: p_C = p'^2 = 0.04, p_CL = 2 p' = 0.4.
        const COUNT: u64 = 50_000;
        let mut bench = Bench::rfc();
        // Updates leave p' alone where alpha and beta are zero.
        (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
        bench.queue.probability = 0.2;
        let mut count_marks = |ecn| {
            let mut marks = 0;
            for number in 0..COUNT {
                bench.enqueue(0, ecn, number);
                marks += u64::from(bench.dequeue(0).is_some_and(|packet| packet.ecn == CE));
            }
            (marks, bench.take_drops().len() as u64)
        };
        let deviation = (COUNT as f64 * 0.04 * 0.96).sqrt();
        let is_squared = |count: u64| (count as f64 - COUNT as f64 * 0.04).abs() < 4.0 * deviation;
        let (marks, drops) = count_marks(Ecn::NotCapable);
        assert!(marks == 0 && is_squared(drops), "{drops}");
        let (marks, drops) = count_marks(Ecn::Capable0);
        assert!(drops == 0 && is_squared(marks), "{marks}");
        // Evenly: two of five, whatever the generator says.
        let (marks, drops) = count_marks(L);
        assert!(drops == 0 && marks.abs_diff(COUNT * 2 / 5) <= 1, "{marks}");
    }

    #[test]
    fn in_overload_l_is_dropped_as_c_is_and_the_rest_is_marked() {
        // p' of 0.6: p_CL = 1.2, and p_C = 0.36.
        const COUNT: u64 = 20_000;
        for ecn in [L, Ecn::Capable0] {
            let mut bench = Bench::rfc();
            (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
            bench.queue.probability = 0.6;
            for number in 0..COUNT {
                bench.enqueue(0, ecn, number);
                if let Some(packet) = bench.dequeue(0) {
                    assert_eq!(packet.ecn, if ecn == L { CE } else { ecn });
                }
            }
            let drops = bench.take_drops();
            let expected = COUNT as f64 * 0.36;
            let distance = (drops.len() as f64 - expected).abs();
            assert!(distance < 4.0 * (expected * 0.64).sqrt(), "{}", drops.len());
            assert!(drops.iter().all(|(_, cause)| *cause == Cause::Managed));
        }
    }

    #[test]
    fn just_below_overload_nothing_of_l_is_dropped() {
        let mut bench = Bench::rfc();
        (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
        bench.queue.probability = 0.499_999;
        (0..10_000).for_each(|number| {
            bench.enqueue(0, L, number);
            assert!(bench.dequeue(0).is_some());
        });
        assert_eq!(bench.take_drops(), []);
    }

    #[test]
    fn c_has_its_share_while_both_wait_and_all_that_l_leaves() {
        for (parameters, share) in [(DualPi2Parameters::default(), 16), (DualPi2Parameters::LINUX, 10)] {
            let mut bench = Bench::new(parameters);
            (bench.queue.parameters.alpha, bench.queue.parameters.beta) = (0.0, 0.0);
            (0..1600).for_each(|number| bench.enqueue(0, L, number));
            (0..200).for_each(|number| bench.enqueue(0, Ecn::NotCapable, number));
            let classic = (0..1600).filter(|_| bench.dequeue(0).unwrap().ecn == Ecn::NotCapable).count();
            assert_eq!(classic, 1600 / share);
        }
        let mut bench = Bench::rfc();
        (0..3).for_each(|number| bench.enqueue(0, Ecn::NotCapable, number));
        (0..3).for_each(|number| assert_eq!(bench.dequeue(0).unwrap().number, number));
    }

    #[test]
    fn packets_are_sorted_by_the_last_bit_of_their_field() {
        let mut bench = Bench::rfc();
        for (number, ecn) in (0..).zip([Ecn::NotCapable, Ecn::Capable0, L, CE]) {
            bench.enqueue(0, ecn, number);
        }
        let order: Vec<u64> = std::iter::from_fn(|| bench.dequeue(0)).map(|packet| packet.number).collect();
        assert_eq!(order, [2, 3, 0, 1]);
    }

    #[test]
    fn the_controller_integrates_the_delay_of_c_and_its_change() {
        // A packet in C that waits: delays of 15, 30 and 45 ms at the updates at 15, 30, 45 ms.
        let mut bench = Bench::rfc();
        bench.enqueue(0, Ecn::NotCapable, 0);
        let mut expected = 0.0;
        for (milliseconds, before) in [(15.0, 0.0), (30.0, 15.0), (45.0, 30.0)] {
            expected += 0.15 * (milliseconds - 15.0) / 1e3 + 3.0 * (milliseconds - before) / 1e3;
            bench.queue.update_through(at((milliseconds * 1e3) as u64));
            assert!((bench.queue.base_probability() - expected).abs() < 1e-12, "{milliseconds}");
        }
        // What waits in L moves it only in overload.
        let mut bench = Bench::rfc();
        bench.enqueue(0, L, 0);
        bench.queue.update_through(Time::from_milliseconds(45));
        assert_eq!(bench.queue.base_probability(), 0.0);
        bench.queue.probability = 0.5;
        bench.queue.update_through(Time::from_milliseconds(60));
        assert!((bench.queue.base_probability() - 0.5 - 0.15 * 0.045 - 3.0 * 0.06).abs() < 1e-12);
    }

    #[test]
    fn a_long_rest_takes_p_down_by_the_same_step_each_time_and_is_cheap() {
        let mut bench = Bench::rfc();
        bench.enqueue(0, L, 0);
        assert!(bench.dequeue(0).is_some());
        bench.queue.probability = 0.4;
        // 100 updates of 0.15 * 15 ms each.
        bench.queue.update_through(Time::from_milliseconds(1500));
        assert!((bench.queue.base_probability() - (0.4 - 0.225)).abs() < 1e-9);
        bench.queue.update_through(Time::from_milliseconds(1_000_000_000));
        assert_eq!(bench.queue.base_probability(), 0.0);
        let next = bench.queue.next_update.unwrap().milliseconds();
        assert_eq!((next % 15, next > 1_000_000_000, next <= 1_000_000_015), (0, true, true));
    }

    #[test]
    fn one_limit_holds_for_both_queues() {
        let limit = Limit::packets(3);
        let queue = DualPi2::new(DualPi2Parameters::default(), limit, Seed::new(1));
        let mut bench = Bench { queue, drops: Drops::default() };
        for (number, ecn) in (0..).zip([L, Ecn::NotCapable, L, L, Ecn::Capable0]) {
            bench.enqueue(0, ecn, number);
        }
        assert_eq!(bench.take_drops(), [(3, Cause::Overflow), (4, Cause::Overflow)]);
        assert_eq!(bench.queue.backlog().packets, 3);
    }
}
