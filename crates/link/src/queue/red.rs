//! RED: random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993), gentle
//! if asked for.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};
use trialwise_units::{Duration, Seed, Time};

use crate::element::{Cause, Drops};
use crate::error::SpecError;
use crate::packet::FULL_PACKET;
use crate::packet::{Packet, Tally, mark_congestion};
use crate::queue::buffer::Buffer;
use crate::queue::codel::ECN;
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, Queue, Waiting};
use crate::queue::{LimitSpec, Surroundings};
use crate::random::Random;

/// What RED goes by; the queue is measured in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedParameters {
    /// min_th: below this average nothing is marked.
    pub minimum: f64,
    /// max_th: from this average on everything is dropped, or, when gentle, ever more until twice this.
    pub maximum: f64,
    /// max_p: the probability just below `maximum`.
    pub probability: f64,
    /// w_q: the weight of a new sample of the queue's length.
    pub weight: f64,
    /// Whether the probability rises from max_p to 1 between `maximum` and twice that, instead of at once
    /// (Floyd, "Recommendation on using the gentle_ variant of RED", 2000).
    pub is_gentle: bool,
    /// Mark ECN-capable packets instead of dropping them, while the average is below `maximum`;
    /// above it they are dropped (RFC 3168 section 7).
    pub ecn: bool,
    /// s: the time that a typical packet takes on the link, by which the average decays while the queue is
    /// empty.
    pub packet_time: Duration,
}

/// A queue under RED, with a limit at its tail.
#[derive(Debug)]
pub struct Red<P> {
    parameters: RedParameters,
    limit: Limit,
    buffer: Buffer<P>,
    random: Random,
    average: f64,
    /// Packets since the last one marked or dropped; `None` below the minimum (count = −1 in the paper).
    count: Option<u32>,
    empty_since: Time,
    marked: u64,
}

enum Decision {
    Accept,
    Mark,
    Drop,
}

impl RedParameters {
    /// p_b at this average (equations 1 and 2 of the paper, section 4); from `maximum` on by the gentle
    /// variant, or 1.
    pub fn base_probability(&self, average: f64) -> f64 {
        let Self { minimum, maximum, probability, is_gentle, .. } = *self;
        if average < minimum {
            0.0
        } else if average < maximum {
            probability * (average - minimum) / (maximum - minimum)
        } else if is_gentle && average < 2.0 * maximum {
            probability + (1.0 - probability) * (average - maximum) / maximum
        } else {
            1.0
        }
    }
}

impl<P: Packet> Red<P> {
    /// An empty queue.
    pub fn new(parameters: RedParameters, limit: Limit, seed: Seed) -> Self {
        Self {
            parameters,
            limit,
            buffer: Buffer::default(),
            random: Random::new(seed),
            average: 0.0,
            count: None,
            empty_since: Time::ZERO,
            marked: 0,
        }
    }

    /// The average length of the queue, in packets.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The average at an arrival (figure 2 of the paper).
    fn update_average(&mut self, now: Time) {
        let weight = self.parameters.weight;
        match self.buffer.tally().packets {
            0 => {
                let idle = (now - self.empty_since).picoseconds() as f64;
                let missed = idle / self.parameters.packet_time.picoseconds().max(1) as f64;
                self.average *= libm::pow(1.0 - weight, missed);
            }
            length => self.average += weight * (length as f64 - self.average),
        }
    }

    /// Spreads marks evenly: p_a = p_b / (1 − count · p_b) (section 7 of the paper, method 2).
    fn decide(&mut self) -> Decision {
        let base = self.parameters.base_probability(self.average);
        if self.average < self.parameters.minimum {
            self.count = None;
            return Decision::Accept;
        }
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        let spread = 1.0 - f64::from(count) * base;
        if base < 1.0 && spread > 0.0 && !self.random.chance(base / spread) {
            return Decision::Accept;
        }
        self.count = Some(0);
        if self.parameters.ecn && self.average < self.parameters.maximum {
            Decision::Mark
        } else {
            Decision::Drop
        }
    }
}

impl<P: Packet> Queue<P> for Red<P> {
    fn enqueue(&mut self, mut waiting: Waiting<P>, drops: &mut Drops<P>) {
        self.update_average(waiting.arrival);
        let is_dropped = match self.decide() {
            Decision::Accept => false,
            Decision::Drop => true,
            Decision::Mark => {
                let is_marked = mark_congestion(&mut waiting.packet);
                self.marked += u64::from(is_marked);
                !is_marked
            }
        };
        if is_dropped {
            drops.record(waiting.arrival, waiting.packet, Cause::Managed);
        } else if self.limit.admits(self.buffer.tally(), waiting.size) {
            self.buffer.push(waiting);
        } else {
            drops.record(waiting.arrival, waiting.packet, Cause::Overflow);
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<Waiting<P>> {
        let waiting = self.buffer.pop()?;
        if self.buffer.tally().packets == 0 {
            self.empty_since = now;
        }
        Some(waiting)
    }

    fn backlog(&self) -> Tally {
        self.buffer.tally()
    }

    fn marked(&self) -> u64 {
        self.marked
    }
}

/// `red:packets=100,min=5,max=15`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedSpec {
    /// At least one limit.
    pub(crate) limit: LimitSpec,
    /// What it goes by; the packet time is that of the link.
    pub(crate) parameters: RedParameters,
}

impl Declared for RedSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "red",
        words: "RED (Floyd and Jacobson 1993) on the average number of packets; with ecn it marks below max and drops above it.",
        head: None,
        keys: &[
            LimitSpec::PACKETS,
            LimitSpec::BYTES,
            LimitSpec::BDP,
            Key {
                name: "min",
                takes: Takes::Number,
                words: "Average below which nothing is dropped; default 5.",
            },
            Key {
                name: "max",
                takes: Takes::Number,
                words: "Average from which all packets are dropped or, with gentle, ever more; default three times min.",
            },
            Key {
                name: "probability",
                takes: Takes::Share,
                words: "Drop probability just below max; default 0.1.",
            },
            Key {
                name: "weight",
                takes: Takes::Share,
                words: "Weight of a new sample in the average; default 0.002.",
            },
            Key {
                name: "gentle",
                takes: Takes::Flag,
                words: "Raise the probability to 1 between max and twice max; default yes.",
            },
            ECN,
        ],
        example: "red:packets=100,min=20,max=60",
    }];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let minimum = arguments.number("min")?.unwrap_or(5.0);
        // Three times min_th and max_p of 0.1, as Floyd recommends ("RED: discussions of setting parameters",
        // 1997).
        let maximum = arguments.number("max")?.unwrap_or(3.0 * minimum);
        if maximum < minimum {
            return Err(
                arguments.bad("max", format!("{maximum} is below min ({minimum}); write at least that"))
            );
        }
        let weight = arguments.share("weight")?.unwrap_or(0.002);
        if weight == 0.0 {
            return Err(
                arguments.bad("weight", "at 0 the average would never move; write one like 0.002".to_owned())
            );
        }
        let parameters = RedParameters {
            minimum,
            maximum,
            probability: arguments.share("probability")?.unwrap_or(0.1),
            weight,
            is_gentle: arguments.flag("gentle")?.unwrap_or(true),
            ecn: arguments.flag("ecn")?.unwrap_or(false),
            packet_time: Duration::ZERO,
        };
        Ok(Self { limit: LimitSpec::required(arguments)?, parameters })
    }
}

impl DeclaredQueue for RedSpec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        let packet_time = surroundings.rate.transmission_time(FULL_PACKET);
        let parameters = RedParameters { packet_time, ..self.parameters };
        Ok(Box::new(Red::new(parameters, self.limit.resolve(surroundings)?, surroundings.seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::testing::{Bench, Numbered};

    const PARAMETERS: RedParameters = RedParameters {
        minimum: 5.0,
        maximum: 15.0,
        probability: 0.1,
        weight: 1.0,
        is_gentle: false,
        ecn: true,
        packet_time: Duration::from_milliseconds(1),
    };

    fn bench(parameters: RedParameters) -> Bench<Red<Numbered>> {
        let mut bench = Bench::new(Red::new(parameters, Limit::NONE, Seed::new(1)));
        bench.ecn = Ecn::Capable0;
        bench
    }

    #[test]
    fn the_base_probability_rises_as_in_the_paper_and_gently() {
        let hard = [4.9, 5.0, 10.0, 14.9, 15.0].map(|average| PARAMETERS.base_probability(average));
        for (found, expected) in hard.iter().zip([0.0, 0.0, 0.05, 0.099, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let gentle = RedParameters { is_gentle: true, ..PARAMETERS };
        let soft = [15.0, 22.5, 30.0].map(|average| gentle.base_probability(average));
        for (found, expected) in soft.iter().zip([0.1, 0.55, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn marks_at_a_constant_average_are_spread_uniformly() {
        // The queue stays at 10, so that p_b = 1/20: by figure 2 of the paper, a mark is 1 to 19 packets
        // after the one before, each equally likely.
        let mut bench = bench(PARAMETERS);
        (0..10).for_each(|_| bench.enqueue(0, 0));
        let (mut counts, mut gap, mut before) = ([0_u32; 21], 0, bench.queue.marked());
        for now in 1..200_000 {
            bench.enqueue(now, 0);
            bench.dequeue(now);
            gap += 1;
            if bench.queue.marked() > before {
                counts[gap] += 1;
                (gap, before) = (0, bench.queue.marked());
            }
        }
        assert!((bench.queue.average() - 10.0).abs() < 1e-9 && bench.take_drops().is_empty());
        let marks = f64::from(counts.iter().sum::<u32>());
        assert!((marks - 20_000.0).abs() < 400.0, "{marks}");
        for count in &counts[1..20] {
            let (expected, error) = (marks / 19.0, (marks / 19.0).sqrt());
            assert!((f64::from(*count) - expected).abs() < 5.0 * error, "{counts:?}");
        }
    }

    #[test]
    fn the_average_decays_while_the_queue_is_empty() {
        let mut bench = bench(RedParameters { weight: 0.5, ..PARAMETERS });
        (0..4).for_each(|_| bench.enqueue(0, 0));
        // Arrivals find 0, 1, 2, 3: 0, 0.5, 1.25, 2.125.
        assert_eq!(bench.queue.average(), 2.125);
        (1..=4).for_each(|now| assert!(bench.dequeue(now).is_some()));
        // Empty from 4 to 7, three packet times.
        bench.enqueue(7, 0);
        assert!((bench.queue.average() - 2.125 / 8.0).abs() < 1e-12);
    }

    #[test]
    fn above_the_maximum_capable_packets_are_dropped_too() {
        let mut bench = bench(PARAMETERS);
        (0..30).for_each(|_| bench.enqueue(0, 0));
        let drops = bench.take_drops();
        assert!(drops.iter().all(|(_, _, cause)| *cause == Cause::Managed));
        // Arrival 15 finds 15 packets; from there on the queue stays, and so does the average.
        assert_eq!(
            drops.iter().map(|(_, number, _)| *number).collect::<Vec<_>>(),
            (15..30).collect::<Vec<_>>()
        );
    }

    #[test]
    fn packets_that_are_not_capable_are_dropped_instead() {
        let mut bench = bench(PARAMETERS);
        bench.ecn = Ecn::NotCapable;
        for now in 0..20_000 {
            bench.enqueue(now, 0);
            if bench.queue.backlog().packets > 10 {
                bench.dequeue(now);
            }
        }
        assert!(bench.take_drops().len() > 1_500 && bench.queue.marked() == 0);
    }
}
