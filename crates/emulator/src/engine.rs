//! What one path does: packets of both directions through their links, in real time.

use std::io;
use std::os::fd::RawFd;

use trialwise_link::log::{Direction, Event, Record};
use trialwise_link::{Counters, Exit, Fate, Link, Packet, Tally};
use trialwise_units::{Bytes, Duration, Time};

use crate::clock::Clock;
use crate::datagram::{Datagram, split};
use crate::device::{Device, DeviceCounters};
use crate::histogram::Histogram;
use crate::join::Joiner;
use crate::log::PacketLog;
use crate::pool::Pool;
use crate::relay::Gate;
use crate::report::{DirectionReport, EcnCounts};

/// Frames read, and packets written, before others have their turn.
const FRAMES: usize = 16;
const PACKETS: usize = 1024;
/// What a device holds at most comes in so many turns.
const LAST_TURNS: usize = 256;
/// Records do not wait longer than this for more of them.
const LOG_PERIOD: Duration = Duration::from_milliseconds(100);

/// One direction.
pub(crate) struct Way {
    direction: Direction,
    link: Link<Datagram>,
    joiner: Joiner,
    /// Who hears of new connections before they arrive.
    gate: Option<Gate>,
    lateness: Histogram,
    arrived: Tally,
    copied: Tally,
    delivered: Tally,
    dropped: Tally,
    held: Tally,
    /// Packets by their ECN field, as they came and as they were delivered.
    came: EcnCounts,
    went: EcnCounts,
}

/// A path between two devices. Its clock starts with it.
pub(crate) struct Engine {
    pub(crate) clock: Clock,
    pool: Pool,
    pub(crate) devices: [Device; 2],
    pub(crate) ways: [Way; 2],
    /// That each way takes at least.
    delays: [Duration; 2],
    /// Until when all that came where each way starts was read, where the kernel says when it came.
    heard: [Time; 2],
    /// Where more may wait to be read than was read.
    waiting: [bool; 2],
    /// When something is due next.
    next: Option<Time>,
    pub(crate) unseen: Histogram,
    pub(crate) log: Option<PacketLog>,
    log_flushed: Time,
}

impl Way {
    pub(crate) fn new(direction: Direction, link: Link<Datagram>, gate: Option<Gate>) -> Self {
        Self {
            direction,
            link,
            joiner: Joiner::new(),
            gate,
            lateness: Histogram::default(),
            arrived: Tally::default(),
            copied: Tally::default(),
            delivered: Tally::default(),
            dropped: Tally::default(),
            held: Tally::default(),
            came: EcnCounts::default(),
            went: EcnCounts::default(),
        }
    }

    pub(crate) fn report(
        &self,
        before: [DeviceCounters; 2],
        after: [DeviceCounters; 2],
        elements: Vec<(String, Counters)>,
    ) -> DirectionReport {
        let (from, to) = (self.direction as usize, 1 - self.direction as usize);
        DirectionReport {
            arrived: self.arrived,
            copied: self.copied,
            delivered: self.delivered,
            dropped: self.dropped,
            held: self.held,
            arrived_ecn: self.came,
            delivered_ecn: self.went,
            lateness: self.lateness.percentiles(),
            overrun: after[from].sent_dropped - before[from].sent_dropped,
            // What a write refuses the kernel counts too.
            refused: (after[to].received_dropped - before[to].received_dropped).max(self.joiner.refused),
            elements,
        }
    }

    fn settle(&mut self, exit: &Exit<Datagram>, now: Time, pool: &mut Pool, device: &Device) {
        let size = exit.packet.size();
        match exit.fate {
            Fate::Copied { .. } => {
                self.copied.add(size);
                pool.retain(exit.packet.buffer);
            }
            Fate::Delivered => {
                self.delivered.add(size);
                self.went.add(exit.packet.ecn());
                self.lateness.record(now - exit.time);
                if self.gate.as_ref().is_some_and(|gate| gate.takes(&exit.packet, pool)) {
                    return pool.release(exit.packet.buffer, 1);
                }
                self.joiner.add(exit.packet, pool, device);
            }
            Fate::Dropped { .. } => {
                self.dropped.add(size);
                pool.release(exit.packet.buffer, 1);
            }
        }
    }

    pub(crate) fn elements(&self) -> Vec<(String, Counters)> {
        self.link.counters().map(|(name, counters)| (name.to_owned(), counters)).collect()
    }
}

impl Engine {
    pub(crate) fn new(devices: [Device; 2], ways: [Way; 2], log: Option<PacketLog>) -> Self {
        Self {
            clock: Clock::start(),
            pool: Pool::new(),
            devices,
            delays: ways.each_ref().map(|way| way.link.minimum_delay()),
            ways,
            heard: [Time::ZERO; 2],
            waiting: [true; 2],
            next: None,
            unseen: Histogram::default(),
            log,
            log_flushed: Time::ZERO,
        }
    }

    /// What becomes readable where its ways start.
    pub(crate) fn descriptors(&self) -> [RawFd; 2] {
        self.devices.each_ref().map(Device::descriptor)
    }

    /// That a packet there and its answer take at least.
    pub(crate) fn round_trip(&self) -> Duration {
        self.delays[0] + self.delays[1]
    }

    /// For how long what comes may lie unread: its arrival is known, and nothing of it is due before.
    pub(crate) fn patience(&self) -> Duration {
        if self.has_stamps(0) && self.has_stamps(1) {
            self.delays[0].min(self.delays[1])
        } else {
            Duration::ZERO
        }
    }

    /// Packets that came so far, both ways.
    pub(crate) fn carried(&self) -> u64 {
        self.ways.iter().map(|way| way.arrived.packets).sum()
    }

    /// When something is due next, on its own clock.
    pub(crate) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Whether more may wait to be read.
    pub(crate) fn has_more(&self) -> bool {
        self.waiting.into_iter().any(|waiting| waiting)
    }

    /// Reads what waits where a way is ready or was not read to its end. A frame may have waited `unseen` for so long.
    pub(crate) fn read(&mut self, ready: [bool; 2], unseen: Duration) -> io::Result<()> {
        self.waiting = self.take_in_from([0, 1].map(|way| ready[way] || self.waiting[way]), unseen)?;
        self.next = self.next_delivery();
        Ok(())
    }

    /// Writes what is due, and reads what that provokes; whether there may be more that is due.
    pub(crate) fn write(&mut self) -> io::Result<bool> {
        // Others may have had their turn since the last look.
        let more = self.take_in_from([0, 1].map(|way| self.has_stamps(way)), Duration::ZERO)?;
        self.waiting = [0, 1].map(|way| self.waiting[way] || more[way]);
        let start = self.clock.now();
        let (due, provokes) = self.let_out_of_both();
        let now = self.clock.now();
        // What goes through at once must be let out after it was taken in.
        let goes_on = |way: usize| provokes[way] && !self.waiting[way] && self.delays[way] > Duration::ZERO;
        let more = self.take_in_from([0, 1].map(goes_on), now - start)?;
        self.waiting = [0, 1].map(|way| self.waiting[way] || more[way]);
        self.next = self.next_delivery();
        self.flush_log(now);
        Ok(due)
    }

    /// Reads what came before the end and was not seen, for so long.
    pub(crate) fn take_in_the_last(&mut self, unseen: Duration) -> io::Result<()> {
        for way in 0..self.ways.len() {
            for _ in 0..LAST_TURNS {
                let taken = self.take_in(way, unseen)?;
                if taken < FRAMES {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether the kernel says when what comes came. Where it passes at once, the time of reading counts: it cannot leave before.
    fn has_stamps(&self, way: usize) -> bool {
        self.devices[way].stamps() && self.delays[way] > Duration::ZERO
    }

    /// Reads what waits where these ways start, and lay there unseen for so long; where more may wait.
    fn take_in_from(&mut self, ways: [bool; 2], unseen: Duration) -> io::Result<[bool; 2]> {
        let mut more = [false; 2];
        for way in (0..2).filter(|way| ways[*way]) {
            more[way] = self.take_in(way, unseen)? == FRAMES;
        }
        Ok(more)
    }

    /// Writes what is due; whether there may be more, and at which ends that makes the kernel send, as it does in the same moment
    /// what an acknowledgement permits, or an acknowledgement of data.
    fn let_out_of_both(&mut self) -> (bool, [bool; 2]) {
        let before = self.ways.each_ref().map(|way| way.delivered.packets);
        let due = [self.let_out(0), self.let_out(1)];
        let written = [0, 1].map(|way| self.ways[way].delivered.packets > before[way]);
        (due[0] || due[1], [written[1], written[0]])
    }

    /// Reads what waits at the end where this way starts, and lay there unseen for so long where the kernel does not stamp it;
    /// how many frames that were.
    fn take_in(&mut self, way: usize, unseen: Duration) -> io::Result<usize> {
        for taken in 0..FRAMES {
            let before = self.clock.now();
            let Some(frame) = self.devices[way].read(self.pool.reading())? else {
                self.heard[way] = before;
                return Ok(taken);
            };
            let stamp = frame.came.filter(|_| self.delays[way] > Duration::ZERO);
            self.unseen.record(if stamp.is_some() { Duration::ZERO } else { unseen });
            let came = stamp.map_or_else(|| self.clock.now(), |came| self.clock.time_at(came));
            // Programs on two processors may overtake each other between a stamp and its frame.
            let came = came.max(self.heard[way]);
            self.heard[way] = came;
            let way = &mut self.ways[way];
            for datagram in split(&mut self.pool, frame.length, came) {
                way.arrived.add(datagram.size());
                way.came.add(datagram.ecn());
                way.link.push(came, datagram);
            }
        }
        Ok(FRAMES)
    }

    /// Writes what is due at the end to which this way leads; whether there may be more.
    fn let_out(&mut self, way: usize) -> bool {
        let now = self.clock.now();
        let device = &self.devices[1 - way];
        // What came later may still change what leaves later.
        let until = if self.has_stamps(way) { self.heard[way].min(now) } else { now };
        let way = &mut self.ways[way];
        let mut more = true;
        for _ in 0..PACKETS {
            let Some(exit) = way.link.pop(until) else {
                more = false;
                break;
            };
            if let Some(log) = &mut self.log
                && let Some(event) = event_of(exit.fate)
            {
                log.add(&record_of(way.direction, &exit.packet, event, exit.time, now));
            }
            way.settle(&exit, now, &mut self.pool, device);
        }
        way.joiner.flush(&mut self.pool, device);
        more
    }

    fn next_delivery(&self) -> Option<Time> {
        self.ways.iter().filter_map(|way| way.link.next_delivery()).min()
    }

    fn flush_log(&mut self, now: Time) {
        if let Some(log) = &mut self.log
            && now - self.log_flushed > LOG_PERIOD
        {
            log.pass_on();
            self.log_flushed = now;
        }
    }

    /// Takes out what is inside `now`: to the log it is held, whatever would have become of it.
    pub(crate) fn hold_the_rest(&mut self, now: Time) {
        for way in &mut self.ways {
            way.link.end();
            while let Some(exit) = way.link.pop(Time::MAX) {
                if let Fate::Copied { .. } = exit.fate {
                    way.copied.add(exit.packet.size());
                    self.pool.retain(exit.packet.buffer);
                    continue;
                }
                way.held.add(exit.packet.size());
                if let Some(log) = &mut self.log {
                    log.add(&record_of(way.direction, &exit.packet, Event::Held, now, now));
                }
                self.pool.release(exit.packet.buffer, 1);
            }
            let left = way.link.held();
            way.held += left;
        }
    }
}

/// What its record says of a packet that leaves its link; a copy that was made will have a record when it leaves.
fn event_of(fate: Fate) -> Option<Event> {
    match fate {
        Fate::Delivered => Some(Event::Delivered),
        Fate::Dropped { element, cause } => Some(Event::Dropped { element, cause }),
        Fate::Copied { .. } => None,
    }
}

/// What a packet's record holds when it leaves its link.
fn record_of(direction: Direction, datagram: &Datagram, event: Event, time: Time, now: Time) -> Record {
    Record {
        time,
        delay: time - datagram.arrival,
        flow: datagram.flow,
        lateness: now - time,
        size: Bytes::new(datagram.length() as u64),
        event,
        copy: datagram.is_copy,
        direction,
        ecn: datagram.ecn,
    }
}
