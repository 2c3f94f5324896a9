//! A bottleneck that sends at the opportunities of a trace, as mm-link does.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Duration, Rate, Seed, Time};

use crate::element::{Drops, Stage};
use crate::packet::{Packet, Tally};
use crate::queue::{Queue, Waiting};
use crate::rate::constant::held;
use crate::rate::register::{DeclaredRate, Server};
use crate::trace::{ByteConvention, Repeat, Schedule, Trace, TraceError};

/// A queue served at the opportunities of a schedule, with mm-link's accounting, as observed of it:
///
/// - an opportunity carries the bytes of one full packet; small packets share it, a packet may span several;
/// - what is left of an opportunity when nothing waits is wasted;
/// - opportunities at or before an arrival pass before it is enqueued, so it uses later ones only;
/// - a packet of which a part has been sent has left the queue and does not count against the queue's limit;
/// - a packet departs at the nominal time of the opportunity that ends it.
///
/// mm-link stops with an error at a packet larger than an opportunity; here such a packet spans several.
/// After the last opportunity of a schedule that does not repeat, what waits is held for ever.
#[derive(Debug)]
pub struct TraceRate<P, Q> {
    schedule: Schedule,
    convention: ByteConvention,
    queue: Q,
    sending: Option<Sending<P>>,
    /// The opportunity at hand: its time, and the bytes that it can still carry.
    opportunity: Time,
    budget: u64,
}

#[derive(Debug)]
struct Sending<P> {
    packet: P,
    left: u64,
}

impl<P: Packet, Q: Queue<P>> TraceRate<P, Q> {
    /// A bottleneck that sends at the opportunities of `schedule`.
    pub fn new(schedule: Schedule, convention: ByteConvention, queue: Q) -> Self {
        Self { schedule, convention, queue, sending: None, opportunity: Time::ZERO, budget: 0 }
    }

    fn is_idle(&self) -> bool {
        self.sending.is_none() && self.queue.backlog().packets == 0
    }

    /// Wastes what has gone by while nothing waited.
    fn waste_through(&mut self, now: Time) {
        self.budget = 0;
        self.schedule.skip_through(now);
    }

    /// Goes to the next opportunity at or before `now`.
    fn take_opportunity(&mut self, now: Time) -> Option<()> {
        self.opportunity = self.schedule.peek().filter(|time| *time <= now)?;
        self.schedule.next();
        self.budget = self.convention.opportunity().get();
        Some(())
    }

    /// Sends as much as the budget allows of the packet that is being sent, or else of the next: the packet,
    /// when it ends.
    fn send(&mut self, drops: &mut Drops<P>) -> Option<P> {
        let mut sending = match self.sending.take() {
            Some(sending) => sending,
            None => {
                let Waiting { packet, size, .. } = self.queue.dequeue(self.opportunity, drops)?;
                Sending { packet, left: size.get() }
            }
        };
        let sent = sending.left.min(self.budget);
        self.budget -= sent;
        sending.left -= sent;
        if sending.left == 0 {
            return Some(sending.packet);
        }
        self.sending = Some(sending);
        None
    }
}

impl<P: Packet, Q: Queue<P>> Stage<P> for TraceRate<P, Q> {
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>) {
        if self.is_idle() {
            self.waste_through(now);
        }
        let size = packet.size() + self.convention.overhead();
        self.queue.enqueue(Waiting { packet, size, arrival: now }, drops);
    }

    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        while !self.is_idle() {
            if self.budget == 0 {
                self.take_opportunity(now)?;
            }
            if let Some(packet) = self.send(drops) {
                return Some((self.opportunity, packet));
            }
        }
        None
    }

    fn next_event(&self) -> Option<Time> {
        match (self.is_idle(), self.budget) {
            (true, _) => None,
            (false, 0) => self.schedule.peek(),
            (false, _) => Some(self.opportunity),
        }
    }

    fn held(&self) -> Tally {
        let sending = self.sending.as_ref().map(|sending| &sending.packet);
        held(self.queue.backlog(), self.convention.overhead(), sending)
    }

    fn marked(&self) -> u64 {
        self.queue.marked()
    }
}

/// `trace:FILE,bytes=mahimahi,repeat=no`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRateSpec {
    pub(crate) trace: Trace,
    pub(crate) convention: ByteConvention,
    pub(crate) repeat: Repeat,
}

impl Declared for TraceRateSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "trace",
        words: "A trace in mahimahi's format: each line gives a millisecond at which a full packet may leave.",
        head: Some(Key { name: "FILE", takes: Takes::File, words: "The trace." }),
        keys: &[
            Key {
                name: "bytes",
                takes: Takes::Word(&["documented", "mahimahi"]),
                words: "Whether an opportunity carries 1500 bytes, or 1504 with 4 bytes of overhead per packet; default documented.",
            },
            Key {
                name: "repeat",
                takes: Takes::Flag,
                words: "Whether to start again after the end; with no, the link ends there; default yes.",
            },
        ],
        example: "trace:FILE.trace",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let repeat = Repeat::after(written.flag("repeat")?.unwrap_or(true));
        let trace = written.file(HEAD, str::parse)?;
        let conventions = [ByteConvention::Documented, ByteConvention::Mahimahi];
        Ok(Self { trace, convention: written.word("bytes", &conventions)?.unwrap_or_default(), repeat })
    }
}

impl DeclaredRate for TraceRateSpec {
    fn mean(&self) -> Rate {
        self.trace.mean_rate(self.convention)
    }

    fn trace(&self, _length: Option<Duration>, _seed: Seed) -> Result<Trace, TraceError> {
        Ok(self.trace.clone())
    }

    fn server(&self, _seed: Seed) -> Result<Server, TraceError> {
        Ok(Server::of_trace(self.trace.clone(), self.convention, self.repeat))
    }
}
