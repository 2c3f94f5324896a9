//! The path: one bottleneck for all flows, a way back without one.

use trialwise_congestion::Controller;
use trialwise_link::{Bernoulli, ConstantRate, Delay, DropTail, Fate, Limit, Link, OrderedDelay, Packet};
use trialwise_link::{PatternLoss, Repeat};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::flow::{Flow, Header, Plan, Reply, SEGMENT};

impl Packet for Header {
    fn size(&self) -> Bytes {
        SEGMENT
    }
}

/// Which packets are lost before the queue.
#[derive(Clone, Copy)]
pub(crate) enum Losses {
    None,
    /// Each with this probability.
    Random(f64, Seed),
    /// The last of so many, again and again.
    Every(usize),
}

/// A path.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub(crate) rate: Rate,
    /// There and back together, half of it each way.
    pub(crate) rtt: Duration,
    /// Of the droptail queue, in packets.
    pub(crate) buffer: u64,
    pub(crate) losses: Losses,
}

impl Path {
    pub(crate) fn new(megabits: u64, milliseconds: u64, buffer: u64) -> Self {
        Self {
            rate: Rate::from_megabits_per_second(megabits),
            rtt: Duration::from_milliseconds(milliseconds),
            buffer,
            losses: Losses::None,
        }
    }

    pub(crate) fn losing(self, losses: Losses) -> Self {
        Self { losses, ..self }
    }

    fn link(&self) -> Link<Header> {
        let link = match self.losses {
            Losses::None => Link::new(),
            Losses::Random(probability, seed) => Link::new().gate("loss", Bernoulli::new(probability, seed)),
            Losses::Every(count) => {
                let text = "0".repeat(count - 1) + "1";
                Link::new().gate("loss", PatternLoss::new(text.parse().unwrap(), Repeat::Forever))
            }
        };
        let queue = DropTail::new(Limit::packets(self.buffer));
        link.stage("rate", ConstantRate::new(self.rate, Bytes::ZERO, queue))
            .stage("delay", OrderedDelay::new(Delay::fixed(self.rtt / 2)))
    }

    /// Runs these flows for so many seconds.
    pub(crate) fn run(&self, plans: &[Plan], seconds: u64) -> Outcome {
        let mut run = Run { path: *self, link: self.link(), flows: Vec::new(), outcome: Outcome::default() };
        run.flows.extend((0..).zip(plans).map(|(flow, plan)| Flow::new(*plan, Seed::new(flow))));
        run.until(Time::from_milliseconds(1000 * seconds));
        run.finish()
    }
}

struct Run {
    path: Path,
    link: Link<Header>,
    flows: Vec<Flow>,
    outcome: Outcome,
}

impl Run {
    fn until(&mut self, end: Time) {
        let mut now = Time::ZERO;
        while now < end {
            self.deliver(now);
            for index in 0..self.flows.len() {
                self.serve(index, now);
            }
            let flows = self.flows.iter().filter_map(Flow::next_event);
            let Some(next) = flows.chain(self.link.next_event()).min() else { return };
            now = now.max(next);
        }
    }

    fn deliver(&mut self, now: Time) {
        while let Some(exit) = self.link.pop(now) {
            if exit.fate != Fate::Delivered {
                continue;
            }
            let header = exit.packet;
            let flow = &mut self.flows[header.flow];
            let arrival = exit.time + self.path.rtt / 2 + flow.plan.extra_delay;
            flow.replies.push_back(Reply { header, received: exit.time, arrival });
            let empty = self.path.rtt / 2 + self.path.rate.transmission_time(SEGMENT);
            let queueing = (exit.time - header.sent).saturating_sub(empty);
            self.outcome.arrivals.push(Arrival { time: exit.time, flow: header.flow, queueing });
        }
    }

    fn serve(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        if now < flow.plan.start {
            return;
        }
        flow.advance(now);
        while let Some(header) = flow.send(index, now) {
            self.link.push(now, header);
        }
        let window = flow.controller.window().unwrap_or_default().get() as f64 / SEGMENT.get() as f64;
        if self.outcome.windows.last().is_none_or(|last| last.flow != index || last.window != window) {
            self.outcome.windows.push(Window { time: now, flow: index, window });
        }
    }

    fn finish(mut self) -> Outcome {
        self.outcome.flows = self.flows;
        self.outcome
    }
}

/// A packet at the receiver.
pub(crate) struct Arrival {
    pub(crate) time: Time,
    pub(crate) flow: usize,
    pub(crate) queueing: Duration,
}

/// A window from this time on, in segments.
pub(crate) struct Window {
    pub(crate) time: Time,
    pub(crate) flow: usize,
    pub(crate) window: f64,
}

/// What happened.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) windows: Vec<Window>,
    pub(crate) flows: Vec<Flow>,
}

impl Outcome {
    pub(crate) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &Arrival> {
        let (from, to) = (Time::from_milliseconds(1000 * from), Time::from_milliseconds(1000 * to));
        self.arrivals.iter().filter(move |arrival| arrival.time >= from && arrival.time < to)
    }

    /// What a flow got between these seconds, in Mbit/s.
    pub(crate) fn throughput(&self, flow: usize, from: u64, to: u64) -> f64 {
        let packets = self.between(from, to).filter(|arrival| arrival.flow == flow).count();
        packets as f64 * SEGMENT.get() as f64 * 8.0 / (to - from) as f64 / 1e6
    }

    /// Queueing delays of all packets between these seconds, in milliseconds.
    pub(crate) fn queueing(&self, from: u64, to: u64) -> Vec<f64> {
        self.between(from, to).map(|arrival| 1e3 * arrival.queueing.as_seconds()).collect()
    }

    /// Mean queueing delay of all packets between these seconds, in milliseconds.
    pub(crate) fn mean_queueing(&self, from: u64, to: u64) -> f64 {
        let delays = self.queueing(from, to);
        delays.iter().sum::<f64>() / delays.len() as f64
    }

    /// The largest queueing delay between these seconds, in milliseconds.
    pub(crate) fn maximum_queueing(&self, from: u64, to: u64) -> f64 {
        let largest = self.between(from, to).map(|arrival| arrival.queueing).max();
        1e3 * largest.unwrap().as_seconds()
    }

    /// Jain's index of what the flows got.
    pub(crate) fn fairness(&self, from: u64, to: u64) -> f64 {
        let shares: Vec<_> = (0..self.flows.len()).map(|flow| self.throughput(flow, from, to)).collect();
        let sum: f64 = shares.iter().sum();
        sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
    }
}
