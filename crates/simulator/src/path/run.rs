//! The events of a trial, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trialwise_link::{Exit, Fate, Link};
use trialwise_protocol::frame::{Frame, Way};
use trialwise_protocol::scheme::SchemeError;
use trialwise_units::{Duration, Seed, Time};

use crate::path::connection::{Connection, Leaving};
use crate::path::flow::RunningFlow;
use crate::path::log::PacketColumns;
use crate::path::packet::PathPacket;
use crate::path::{Direction, PathError, PathFlow, PathOutcome, Watch};

/// What happens beside the arrival of packets; at the same instant in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The flow of this place opens connections.
    Open(u16),
    /// Something is to be done for the connection of this place.
    Wake(u32),
    /// The flow of this place reports.
    Sample(u16),
    /// The flow of this place is ended.
    Stop(u16),
}

/// Packets that may be on the path, and that may leave at one instant: 12 Gbit/s over a round trip of a second.
const MAX_AT_ONCE: u32 = 1 << 20;
/// Packets of a whole trial; their log takes two gigabytes.
const MAX_PACKETS: u32 = 1 << 26;

/// How many packets there are, so that a flow that nothing holds back ends in words.
#[derive(Default)]
struct Traffic {
    inside: u32,
    /// Sent at the present instant.
    at_once: u32,
    sent: u32,
}

impl Traffic {
    /// Whether one more may leave.
    const fn has_room(&self) -> bool {
        self.inside < MAX_AT_ONCE && self.at_once < MAX_AT_ONCE && self.sent < MAX_PACKETS
    }

    const fn check(&self) -> Result<(), PathError> {
        match self.has_room() {
            true => Ok(()),
            false if self.sent == MAX_PACKETS => Err(PathError::TooLong(MAX_PACKETS)),
            false => Err(PathError::Boundless(MAX_AT_ONCE)),
        }
    }
}

/// A trial at work.
pub(super) struct Run<'a> {
    now: Time,
    links: [Link<PathPacket>; 2],
    /// Of the controllers.
    seed: Seed,
    flows: Vec<RunningFlow<'a>>,
    connections: Vec<Connection>,
    /// The next wake of each connection that counts; others in the queue are out of date.
    wakes: Vec<Option<Time>>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    interval: Option<Duration>,
    packets: PacketColumns,
    traffic: Traffic,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        links: [Link<PathPacket>; 2],
        seed: Seed,
        flows: &'a [PathFlow],
        interval: Option<Duration>,
    ) -> Self {
        let mut events = BinaryHeap::new();
        for (place, flow) in (0_u16..).zip(flows) {
            events.push(Reverse((flow.start, Event::Open(place))));
            events.push(Reverse((flow.stop, Event::Stop(place))));
            if interval.is_some() {
                events.push(Reverse((flow.start, Event::Sample(place))));
            }
        }
        Self {
            now: Time::ZERO,
            links,
            seed,
            flows: flows.iter().map(RunningFlow::new).collect(),
            connections: Vec::new(),
            wakes: Vec::new(),
            events,
            interval,
            packets: PacketColumns::default(),
            traffic: Traffic::default(),
        }
    }

    pub(super) fn run(mut self, watch: &mut Watch<'_>) -> Result<PathOutcome, PathError> {
        while self.flows.iter().any(|flow| !flow.is_over()) {
            let Some(next) = self.next_instant() else { break };
            if next > self.now {
                self.traffic.at_once = 0;
            }
            self.now = next;
            self.deliver()?;
            self.happen()?;
            self.traffic.check()?;
            if watch(self.now).is_break() {
                return Err(PathError::Interrupted);
            }
        }
        self.hold();
        let flows = self.flows.into_iter().map(RunningFlow::outcome).collect();
        Ok(PathOutcome { packets: self.packets, flows, end: self.now })
    }

    fn next_instant(&self) -> Option<Time> {
        let event = self.events.peek().map(|Reverse((time, _))| *time);
        let links = self.links.iter().filter_map(Link::next_event);
        links.chain(event).min().map(|next| next.max(self.now))
    }

    /// Takes what is due out of both links.
    fn deliver(&mut self) -> Result<(), PathError> {
        for direction in [Direction::Forward, Direction::Backward] {
            while let Some(exit) = self.links[direction as usize].pop(self.now) {
                self.packets.add(direction, &exit);
                match exit.fate {
                    Fate::Copied { .. } => {
                        self.traffic.inside += 1;
                        continue;
                    }
                    Fate::Delivered | Fate::Dropped { .. } => self.traffic.inside -= 1,
                }
                if exit.fate == Fate::Delivered {
                    self.arrive(direction, exit)?;
                }
            }
        }
        Ok(())
    }

    fn arrive(&mut self, direction: Direction, exit: Exit<PathPacket>) -> Result<(), PathError> {
        let PathPacket { flow, connection: place, ecn, frame, .. } = exit.packet;
        let connection = &mut self.connections[place as usize];
        let answer = connection.on_frame(self.now, &frame, ecn);
        if let Some(answer) = answer.map_err(|source| refused(flow, source))? {
            self.send(place, direction.reverse(), answer);
        }
        // Where nothing else says when packets leave, an acknowledgement sends what it permits before anything else is
        // looked at, as the UDP transport has it: controllers may go by what is in flight then (RFC 6817, section 2.4.2).
        if let Frame::Answer(way, _) = frame
            && self.connections[place as usize]
                .sender(way)
                .is_some_and(|sender| sender.is_clocked_by_answers())
        {
            self.transmit(place, way);
        }
        self.wake(place, self.now);
        Ok(())
    }

    /// Makes the events happen that are due.
    fn happen(&mut self) -> Result<(), PathError> {
        while let Some(Reverse((time, event))) = self.events.peek().copied()
            && time <= self.now
        {
            self.events.pop();
            match event {
                Event::Open(place) => self.open(place)?,
                Event::Wake(place) => self.advance(place, time),
                Event::Sample(place) => self.sample(place),
                Event::Stop(place) => {
                    let flow = &mut self.flows[usize::from(place)];
                    if !flow.is_over() {
                        flow.stop(self.now, &mut self.connections);
                    }
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, place: u16) -> Result<(), PathError> {
        let flow = &mut self.flows[usize::from(place)];
        while !flow.is_over()
            && let Some(job) = flow.open(self.now, self.connections.len() as u32)
        {
            let seed = self.seed.numbered(self.connections.len() as u64);
            let connection = Connection::new(place, flow.flow.scheme.clone(), &job, self.now, seed);
            self.connections.push(connection.map_err(|source| refused(place, source))?);
            self.wakes.push(Some(self.now));
            self.events.push(Reverse((self.now, Event::Wake(self.connections.len() as u32 - 1))));
        }
        if let Some(next) = flow.next_start() {
            self.events.push(Reverse((next, Event::Open(place))));
        }
        Ok(())
    }

    fn advance(&mut self, place: u32, time: Time) {
        let index = place as usize;
        if self.wakes[index] != Some(time) {
            return;
        }
        self.wakes[index] = None;
        let connection = &mut self.connections[index];
        let was_over = connection.is_over;
        let completion = connection.advance(self.now);
        let flow = &mut self.flows[usize::from(connection.flow)];
        flow.frames(connection);
        if let Some(completion) = completion {
            flow.complete(connection.job(), &completion);
        }
        if connection.is_over && !was_over {
            flow.close(self.now, place, connection);
        }
        self.transmit(place, Way::Out);
        self.transmit(place, Way::Back);
        if let Some(next) = self.connections[index].next_event(self.now) {
            self.wake(place, next.max(self.now));
        }
    }

    /// Has the connection looked at by this time.
    fn wake(&mut self, place: u32, time: Time) {
        let wake = &mut self.wakes[place as usize];
        if wake.is_none_or(|known| time < known) {
            *wake = Some(time);
            self.events.push(Reverse((time, Event::Wake(place))));
        }
    }

    fn sample(&mut self, place: u16) {
        let flow = &mut self.flows[usize::from(place)];
        if let Some(interval) = self.interval.filter(|_| !flow.is_over()) {
            let next = flow.sample(self.now, interval, &self.connections);
            self.events.push(Reverse((next, Event::Sample(place))));
        }
    }

    /// Sends the answer to data of one way that is due, and what may leave that way of a connection.
    fn transmit(&mut self, place: u32, way: Way) {
        if let Some(answer) = self.connections[place as usize].poll_answer(way, self.now) {
            self.send(place, self.direction(place, way).reverse(), answer);
        }
        while self.traffic.has_room()
            && let Some(leaving) = self.connections[place as usize].poll(way, self.now)
        {
            self.send(place, self.direction(place, way), leaving);
        }
    }

    /// Where data of a connection go.
    fn direction(&self, place: u32, way: Way) -> Direction {
        let out = self.flows[usize::from(self.connections[place as usize].flow)].flow.direction;
        if way == Way::Out { out } else { out.reverse() }
    }

    fn send(&mut self, connection: u32, direction: Direction, (frame, size, ecn): Leaving) {
        if !self.traffic.has_room() {
            return;
        }
        self.traffic.inside += 1;
        self.traffic.at_once += 1;
        self.traffic.sent += 1;
        let flow = self.connections[connection as usize].flow;
        let packet = PathPacket { arrival: self.now, flow, connection, size, ecn, is_copy: false, frame };
        self.links[direction as usize].push(self.now, packet);
    }

    /// Takes out what is inside, which is held, whatever would have become of it.
    fn hold(&mut self) {
        for direction in [Direction::Forward, Direction::Backward] {
            let link = &mut self.links[direction as usize];
            link.end();
            while let Some(exit) = link.pop(Time::MAX) {
                if let Fate::Copied { .. } = exit.fate {
                    continue;
                }
                self.packets.add_held(direction, self.now, &exit.packet);
            }
        }
    }
}

fn refused(flow: u16, source: SchemeError) -> PathError {
    PathError::Scheme { flow: usize::from(flow) + 1, source }
}
