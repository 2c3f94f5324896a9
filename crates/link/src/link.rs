//! A one-way link: gates and stages in the order in which a packet meets them.

use std::collections::VecDeque;

use trialwise_units::{Duration, Time};

use crate::duplication::Duplication;
use crate::element::{Cause, Drops, Gate, Stage, Verdict};
use crate::packet::{Packet, Tally};

/// A packet that leaves a link, in whatever way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit<P> {
    /// When it left by the model, however late the caller asks.
    pub time: Time,
    /// The packet.
    pub packet: P,
    /// How it left.
    pub fate: Fate,
}

/// How a packet left a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// At the far end.
    Delivered,
    /// Not at all yet: this is a copy of a packet, which exists from now on and will leave in one of the other ways.
    Copied {
        /// Index of the element that made it.
        element: usize,
    },
    /// Dropped by the element of this index.
    Dropped {
        /// Index of the element in the order of the link.
        element: usize,
        /// Why.
        cause: Cause,
    },
}

/// What one element has done so far: `arrived` + `copied` = `departed` + `dropped` + `held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// What came in.
    pub arrived: Tally,
    /// Copies made here of what came in.
    pub copied: Tally,
    /// What went on.
    pub departed: Tally,
    /// What was dropped here.
    pub dropped: Tally,
    /// What is inside.
    pub held: Tally,
    /// Packets marked here with congestion experienced.
    pub marked: u64,
    /// Packets of which a bit of the payload was changed here.
    pub changed: u64,
}

enum Element<P> {
    Gate(Box<dyn Gate>),
    Stage(Box<dyn Stage<P>>),
    Duplication(Duplication<P>),
}

struct Node<P> {
    name: String,
    element: Element<P>,
    arrived: Tally,
    copied: Tally,
    departed: Tally,
    dropped: Tally,
    changed: u64,
    /// What the stage says of its next event, asked again whenever it was touched.
    next: Option<Time>,
    /// The time that everything after this element takes at least.
    delay_after: Duration,
}

/// A one-way link, driven by whoever holds it: no clock, no thread.
///
/// [`push`](Self::push) brings the model up to `now` and puts a packet in; [`pop`](Self::pop) brings it up to
/// `now` and takes out what has left by then, in order of logical time. A caller that comes late gets the
/// very packets and times that a punctual one gets. `now` never goes back: an earlier `now` counts as the
/// latest one seen.
///
/// An emulator reads packets and pushes them with the instant of reading, pops what is due and writes it, and
/// sleeps until [`next_delivery`](Self::next_delivery). A simulator schedules
/// [`next_event`](Self::next_event). Links join end to end, for whoever wants to see what passes between
/// elements: push each exit of the first into the second at `exit.time`, then pop the second.
pub struct Link<P> {
    nodes: Vec<Node<P>>,
    exits: VecDeque<Exit<P>>,
    drops: Drops<P>,
    now: Time,
    minimum_delay: Duration,
    /// No more copies are made.
    is_ending: bool,
}

impl<P: Packet> Default for Link<P> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            exits: VecDeque::new(),
            drops: Drops::default(),
            now: Time::ZERO,
            minimum_delay: Duration::ZERO,
            is_ending: false,
        }
    }
}

impl<P: Packet> Link<P> {
    /// A link without elements: every packet leaves at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time that a packet takes at least.
    pub const fn minimum_delay(&self) -> Duration {
        self.minimum_delay
    }

    /// Adds a gate at the far end.
    #[must_use]
    pub fn gate(self, name: impl Into<String>, gate: impl Gate + 'static) -> Self {
        self.with(name.into(), Element::Gate(Box::new(gate)), Duration::ZERO)
    }

    /// Adds a stage at the far end.
    #[must_use]
    pub fn stage(self, name: impl Into<String>, stage: impl Stage<P> + 'static) -> Self {
        let delay = stage.minimum_delay();
        self.with(name.into(), Element::Stage(Box::new(stage)), delay)
    }

    /// Adds what copies packets at the far end.
    #[must_use]
    pub fn duplication(self, name: impl Into<String>, duplication: Duplication<P>) -> Self {
        self.with(name.into(), Element::Duplication(duplication), Duration::ZERO)
    }

    fn with(mut self, name: String, element: Element<P>, delay: Duration) -> Self {
        for node in &mut self.nodes {
            node.delay_after += delay;
        }
        self.minimum_delay += delay;
        self.nodes.push(Node {
            name,
            element,
            arrived: Tally::default(),
            copied: Tally::default(),
            departed: Tally::default(),
            dropped: Tally::default(),
            changed: 0,
            next: None,
            delay_after: Duration::ZERO,
        });
        self
    }

    /// Brings the link up to `now` and puts a packet in.
    pub fn push(&mut self, now: Time, packet: P) {
        self.advance(now);
        self.offer(0, self.now, packet);
    }

    /// Brings the link up to `now` and takes out the next packet that left at or before `now`, dropped ones
    /// too. A copy of a packet is told of, with [`Fate::Copied`], before either of them leaves.
    pub fn pop(&mut self, now: Time) -> Option<Exit<P>> {
        self.advance(now);
        self.exits.pop_front()
    }

    /// From now on no copies are made: for who takes out what is inside, to count it as held.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    /// When something happens next inside, exactly: what an event simulator schedules. `None`: nothing until
    /// a packet comes.
    pub fn next_event(&self) -> Option<Time> {
        self.exits.front().map(|exit| exit.time).or_else(|| self.earliest().map(|(_, time)| time))
    }

    /// No packet is delivered before this instant unless another is pushed: how long an emulator may sleep.
    ///
    /// Popping then may give nothing yet (a packet may need a second opportunity), or a later instant. What
    /// is dropped inside is reported at the next call, with its own time.
    pub fn next_delivery(&self) -> Option<Time> {
        let stages = self.nodes.iter().filter_map(|node| Some(node.next? + node.delay_after));
        self.exits.front().map(|exit| exit.time).or_else(|| stages.min())
    }

    /// The latest instant up to which the model was brought.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Names and counters of the elements, in order.
    pub fn counters(&self) -> impl Iterator<Item = (&str, Counters)> {
        self.nodes.iter().map(|node| (node.name.as_str(), node.counters()))
    }

    /// What is inside: in the elements, and departed but not yet popped. A copy that was not told of yet is inside.
    pub fn held(&self) -> Tally {
        let mut held = Tally::default();
        self.nodes.iter().for_each(|node| held += node.counters().held);
        let left = self.exits.iter().filter(|exit| !matches!(exit.fate, Fate::Copied { .. }));
        left.for_each(|exit| held.add(exit.packet.size()));
        held
    }

    /// Makes every event up to `now` happen, in order of time; at equal times the far end first, so that a
    /// stage has let go what is due before it takes in.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some((index, time)) = self.earliest()
            && time <= self.now
        {
            self.step(index, time);
        }
    }

    fn earliest(&self) -> Option<(usize, Time)> {
        let mut earliest: Option<(usize, Time)> = None;
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(time) = node.next
                && earliest.is_none_or(|(_, first)| time <= first)
            {
                earliest = Some((index, time));
            }
        }
        earliest
    }

    fn step(&mut self, index: usize, time: Time) {
        let node = &mut self.nodes[index];
        let departure;
        (departure, node.next) = match &mut node.element {
            Element::Gate(_) => return,
            Element::Stage(stage) => (stage.pop(time, &mut self.drops), stage.next_event()),
            Element::Duplication(copies) => (copies.pop(time, &mut self.drops), copies.next_event()),
        };
        debug_assert!(
            departure.is_some() || node.next.is_none_or(|next| next > time),
            "{} stands still",
            node.name
        );
        self.collect_drops(index);
        if let Some((time, packet)) = departure {
            self.nodes[index].departed.add(packet.size());
            self.offer(index + 1, time, packet);
        }
    }

    /// Hands a packet to the elements from `first` on, until one keeps it.
    fn offer(&mut self, first: usize, time: Time, mut packet: P) {
        let size = packet.size();
        for index in first..self.nodes.len() {
            let node = &mut self.nodes[index];
            node.arrived.add(size);
            match &mut node.element {
                Element::Stage(stage) => {
                    stage.push(time, packet, &mut self.drops);
                    node.next = stage.next_event();
                    return self.collect_drops(index);
                }
                Element::Duplication(duplication) => {
                    node.departed.add(size);
                    if !self.is_ending
                        && let Some(copy) = duplication.copy_of(time, &mut packet)
                    {
                        node.copied.add(size);
                        node.next = duplication.next_event();
                        self.exits.push_back(Exit {
                            time,
                            packet: copy,
                            fate: Fate::Copied { element: index },
                        });
                    }
                }
                Element::Gate(gate) => match gate.judge(time, size, packet.ecn()) {
                    Verdict::Pass => node.departed.add(size),
                    Verdict::PassAs(ecn) => {
                        packet.set_ecn(ecn);
                        node.departed.add(size);
                    }
                    Verdict::PassChanged(which) => {
                        node.changed += u64::from(packet.change_bit(which));
                        node.departed.add(size);
                    }
                    Verdict::Drop(cause) => return self.drop_packet(index, time, packet, cause),
                },
            }
        }
        self.exits.push_back(Exit { time, packet, fate: Fate::Delivered });
    }

    fn collect_drops(&mut self, index: usize) {
        while let Some(dropped) = self.drops.take() {
            self.drop_packet(index, dropped.time, dropped.packet, dropped.cause);
        }
    }

    fn drop_packet(&mut self, element: usize, time: Time, packet: P, cause: Cause) {
        self.nodes[element].dropped.add(packet.size());
        self.exits.push_back(Exit { time, packet, fate: Fate::Dropped { element, cause } });
    }
}

impl<P: Packet> Node<P> {
    fn counters(&self) -> Counters {
        let (held, marked) = match &self.element {
            Element::Gate(_) => (Tally::default(), 0),
            Element::Stage(stage) => (stage.held(), stage.marked()),
            Element::Duplication(copies) => (copies.held(), 0),
        };
        let Self { arrived, copied, departed, dropped, changed, .. } = *self;
        Counters { arrived, copied, departed, dropped, held, marked, changed }
    }
}
