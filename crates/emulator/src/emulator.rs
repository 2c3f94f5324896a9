//! The emulator's thread: packets of both directions through their links, in real time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use trialwise_link::log::{Direction, Event, Record};
use trialwise_link::{Counters, Exit, Fate, Link, Packet, Tally};
use trialwise_units::{Bytes, Duration, Time};

use crate::clock::{self, Clock, RunDelay, Waiter};
use crate::datagram::{Datagram, split};
use crate::device::{Device, DeviceCounters};
use crate::error::Error;
use crate::histogram::Histogram;
use crate::join::Joiner;
use crate::log::PacketLog;

use crate::pool::Pool;
use crate::priority::Scheduling;
use crate::relay::Gate;
use crate::report::{DirectionReport, EcnCounts, Report};

/// Frames read, and packets written, before the other direction has its turn.
const FRAMES: usize = 16;
const PACKETS: usize = 1024;
/// What a device holds at most comes in so many turns.
const LAST_TURNS: usize = 256;
/// Who comes back so soon has not slept, and has not been waiting for a processor.
const AWAKE: Duration = Duration::from_microseconds(20);
/// Records do not wait longer than this for more of them.
const LOG_PERIOD: Duration = Duration::from_milliseconds(100);

/// An emulated path at work: a thread that takes packets from either device through its link to the other. Dropping it
/// stops the thread.
#[derive(Debug)]
pub struct Emulator {
    /// None once it is waited for.
    thread: Option<JoinHandle<Report>>,
    stop: Arc<Stop>,
}

#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    event: OwnedFd,
}

struct Way {
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

struct Engine {
    clock: Clock,
    pool: Pool,
    devices: [Device; 2],
    ways: [Way; 2],
    unseen: Histogram,
    log: Option<PacketLog>,
    log_flushed: Time,
}

impl Emulator {
    /// Starts the thread between the devices of the sender and of the receiver. The links, to the receiver and back,
    /// start at [`Time::ZERO`], which is now.
    ///
    /// # Errors
    /// `System`.
    pub fn start(
        devices: [Device; 2],
        links: [Link<Datagram>; 2],
        log: Option<PacketLog>,
    ) -> Result<Self, Error> {
        Self::start_with_gate(devices, links, log, None)
    }

    pub(crate) fn start_with_gate(
        devices: [Device; 2],
        [forward, backward]: [Link<Datagram>; 2],
        log: Option<PacketLog>,
        gate: Option<Gate>,
    ) -> Result<Self, Error> {
        let stop = Arc::new(Stop::new()?);
        let counters = read_counters(&devices).map_err(Error::from_io("reading the counters of a device"))?;
        let ways =
            [Way::new(Direction::Forward, forward, gate), Way::new(Direction::Backward, backward, None)];
        let signal = Arc::clone(&stop);
        let run = move || {
            let engine = Engine {
                clock: Clock::start(),
                pool: Pool::new(),
                devices,
                ways,
                unseen: Histogram::default(),
                log,
                log_flushed: Time::ZERO,
            };
            engine.run(&signal, counters)
        };
        let thread = thread::Builder::new().name("emulator".to_owned()).spawn(run);
        let thread = thread.map_err(Error::from_io("starting the emulator's thread"))?;
        Ok(Self { thread: Some(thread), stop })
    }

    /// Stops the thread and tells what it did. Packets that are still inside are held, not delivered.
    ///
    /// # Errors
    /// `System` when the thread died.
    pub fn stop(mut self) -> Result<Report, Error> {
        let died = || Error::System { attempt: "running the emulator", source: io::Error::other("it died") };
        self.finish().ok_or_else(died)
    }

    fn finish(&mut self) -> Option<Report> {
        self.stop.ask();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Stop {
    fn new() -> Result<Self, Error> {
        // SAFETY: makes a descriptor.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if event < 0 {
            return Err(Error::last("making an event"));
        }
        // SAFETY: it was just made and belongs to nobody else.
        Ok(Self { asked: AtomicBool::new(false), event: unsafe { OwnedFd::from_raw_fd(event) } })
    }

    fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // SAFETY: writes eight bytes, as an event wants them.
        unsafe { libc::write(self.event.as_raw_fd(), 1_u64.to_ne_bytes().as_ptr().cast(), 8) };
    }
}

impl Way {
    fn new(direction: Direction, link: Link<Datagram>, gate: Option<Gate>) -> Self {
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

    fn report(
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

    fn elements(&self) -> Vec<(String, Counters)> {
        self.link.counters().map(|(name, counters)| (name.to_owned(), counters)).collect()
    }
}

impl Engine {
    fn run(mut self, stop: &Stop, before: [DeviceCounters; 2]) -> Report {
        let processor_before = clock::processor_time();
        let mut scheduling = Scheduling::start();
        let failure = self.work(stop, &mut scheduling).err();
        let duration = self.clock.now() - Time::ZERO;
        let processor_time = clock::processor_time().saturating_sub(processor_before);
        let (after, failure) = match read_counters(&self.devices) {
            Ok(after) => (after, failure),
            Err(error) => (before, failure.or(Some(error))),
        };
        // Asked now: what is held counts as such, also where its element would have let it go later.
        let elements = self.ways.each_ref().map(Way::elements);
        self.hold_the_rest();
        let (records_lost, written) = self.log.take().map_or((0, Ok(())), PacketLog::finish);
        let [forward, backward] = elements;
        Report {
            started: self.clock.origin(),
            duration,
            processor_time,
            device: self.devices[0].kind(),
            priority: scheduling.permitted(),
            yielded: scheduling.yielded,
            unseen: self.unseen.percentiles(),
            forward: self.ways[0].report(before, after, forward),
            backward: self.ways[1].report(before, after, backward),
            records_lost,
            log_error: written.err().map(|error| error.to_string()),
            failure: failure.map(|error| error.to_string()),
        }
    }

    fn work(&mut self, stop: &Stop, scheduling: &mut Scheduling) -> io::Result<()> {
        let [one, other] = self.devices.each_ref().map(Device::descriptor);
        let delays = self.ways.each_ref().map(|way| way.link.minimum_delay());
        let mut waiter = Waiter::new([one, other, stop.event.as_raw_fd()], delays[0] + delays[1]);
        let mut run_delay = RunDelay::start();
        let mut waiting = [true; 2];
        let (mut turn, mut waited) = (Duration::ZERO, Time::ZERO);
        while !stop.asked.load(Ordering::Relaxed) {
            let start = self.clock.now();
            let is_ready = [0, 1].map(|way| waiting[way] || waiter.is_ready(way));
            let (frames, more) = self.take_in_from(is_ready)?;
            waiting = more;
            if frames > 0 {
                let slept = start - waited > AWAKE;
                let ran_late = if slept { run_delay.since_last() } else { Duration::ZERO };
                self.unseen.record_times(turn + ran_late, frames);
            }
            let writing = self.clock.now();
            let gathers = waiter.gathers(start);
            let (due, provokes) = if gathers { (false, [false; 2]) } else { self.let_out_of_both() };
            let now = self.clock.now();
            // What goes through at once must be let out after it was taken in.
            let goes_on = |way: usize| provokes[way] && !waiting[way] && delays[way] > Duration::ZERO;
            let (frames, more) = self.take_in_from([0, 1].map(goes_on))?;
            if frames > 0 {
                self.unseen.record_times(now - writing, frames);
            }
            waiting = [0, 1].map(|way| waiting[way] || more[way]);
            scheduling.check(now);
            self.flush_log(now);
            waited = self.clock.now();
            turn = waited - start;
            let more = due || waiting.into_iter().any(|more| more);
            if more {
                waiter.look()?;
            } else {
                waiter.wait(self.clock, waited, self.next_delivery())?;
            }
        }
        self.take_in_the_last(turn + run_delay.since_last())
    }

    /// Reads what came before the end and was not seen, for so long.
    fn take_in_the_last(&mut self, unseen: Duration) -> io::Result<()> {
        for way in 0..self.ways.len() {
            for _ in 0..LAST_TURNS {
                let taken = self.take_in(way)?;
                self.unseen.record_times(unseen, taken as u64);
                if taken < FRAMES {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads what waits where these ways start; how many frames that were, and where more may wait.
    fn take_in_from(&mut self, ways: [bool; 2]) -> io::Result<(u64, [bool; 2])> {
        let (mut frames, mut more) = (0, [false; 2]);
        for way in (0..2).filter(|way| ways[*way]) {
            let taken = self.take_in(way)?;
            frames += taken as u64;
            more[way] = taken == FRAMES;
        }
        Ok((frames, more))
    }

    /// Writes what is due; whether there may be more, and at which ends that makes the kernel send, as it does in the same moment
    /// what an acknowledgement permits, or an acknowledgement of data.
    fn let_out_of_both(&mut self) -> (bool, [bool; 2]) {
        let before = self.ways.each_ref().map(|way| way.delivered.packets);
        let due = [self.let_out(0), self.let_out(1)];
        let written = [0, 1].map(|way| self.ways[way].delivered.packets > before[way]);
        (due[0] || due[1], [written[1], written[0]])
    }

    /// Reads what waits at the end where this way starts; how many frames that were.
    fn take_in(&mut self, way: usize) -> io::Result<usize> {
        for taken in 0..FRAMES {
            let Some(length) = self.devices[way].read(self.pool.reading())? else { return Ok(taken) };
            let now = self.clock.now();
            let way = &mut self.ways[way];
            for datagram in split(&mut self.pool, length, now) {
                way.arrived.add(datagram.size());
                way.came.add(datagram.ecn());
                way.link.push(now, datagram);
            }
        }
        Ok(FRAMES)
    }

    /// Writes what is due at the end to which this way leads; whether there may be more.
    fn let_out(&mut self, way: usize) -> bool {
        let now = self.clock.now();
        let device = &self.devices[1 - way];
        let way = &mut self.ways[way];
        let mut more = true;
        for _ in 0..PACKETS {
            let Some(exit) = way.link.pop(now) else {
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

    /// Takes out what is inside: to the log it is held, whatever would have become of it.
    fn hold_the_rest(&mut self) {
        let now = self.clock.now();
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

fn read_counters(devices: &[Device; 2]) -> io::Result<[DeviceCounters; 2]> {
    Ok([devices[0].counters()?, devices[1].counters()?])
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
