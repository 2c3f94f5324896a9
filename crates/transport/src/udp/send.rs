//! `udp send`.

use std::collections::{HashMap, VecDeque};
use std::io;

use trialwise_units::{Duration, Seed, Time};

use crate::clock::Clock;
use crate::error::Error;
use crate::report::Report;
use crate::session::{Ticks, finish};
use crate::settings::SendSettings;
use crate::system::ip_version;
use crate::udp::connection::{Connection, Outgoing, frame_length};
use crate::udp::outbox::Outbox;
use crate::udp::socket::{EcnField, Inbox, Socket};
use crate::wait::{Waiter, gather};
use trialwise_protocol::application::Application;
use trialwise_protocol::frame::{Frame, Name, write_close};
use trialwise_protocol::load::Job;
use trialwise_protocol::opening::{NAME_BYTES, Opening};
use trialwise_protocol::report::{Ending, Sample, Totals};
use trialwise_protocol::scheme::{Scheme, SchemeError};

/// Batches read before packets may leave again.
const TURN: usize = 4;

/// A flow at work.
struct Flow {
    index: usize,
    connection: Connection,
    application: Application,
    /// When something came, or nothing was awaited.
    heard: Time,
    opened: Time,
}

struct Sender<'a> {
    settings: &'a SendSettings,
    scheme: Scheme,
    socket: Socket,
    inbox: Box<Inbox>,
    outbox: Outbox,
    /// Whether the socket did not take what is in the outbox.
    is_blocked: bool,
    report: Report,
    waiter: Waiter,
    clock: Clock,
    session: u64,
    jobs: VecDeque<Job>,
    flows: Vec<Flow>,
    /// Places in `flows` by number.
    places: HashMap<u32, usize>,
    totals: Totals,
    ticks: Ticks,
}

/// Sends until the load is done, its time is over, or a signal comes, and reports.
pub(crate) fn send(settings: &SendSettings) -> Result<(), Error> {
    let usage = |error: SchemeError| Error::Usage(error.to_string());
    let scheme =
        Scheme::named(&settings.congestion, settings.mtu, ip_version(&settings.peer), settings.marking)
            .map_err(usage)?;
    scheme.sender(Time::ZERO, true, Seed::new(0)).map_err(usage)?;
    check_name(&settings.congestion, &scheme)?;
    let clock = Clock::start();
    let jobs = VecDeque::from(settings.load.jobs());
    let totals = Totals::of_udp(jobs.len());
    let mut sender = Sender {
        settings,
        scheme,
        socket: Socket::connected(&settings.peer, settings.buffer)
            .map_err(Error::from_io(format!("making a socket for {}", settings.peer)))?,
        inbox: Inbox::new(),
        outbox: Outbox::new(),
        is_blocked: false,
        report: Report::create(settings.report.as_deref(), clock)?,
        waiter: Waiter::new().map_err(Error::from_io("taking over signals"))?,
        clock,
        session: session(clock),
        jobs,
        flows: Vec::new(),
        places: HashMap::new(),
        totals,
        ticks: Ticks::new(settings.interval),
    };
    let result = sender.run();
    sender.end(result)
}

/// An end that runs the scheme's half is told which.
fn check_name(congestion: &str, scheme: &Scheme) -> Result<(), Error> {
    if scheme.receiver().has_half() && congestion.len() > NAME_BYTES {
        return Err(Error::Usage(format!(
            "--congestion {congestion}: the receiver, which takes part in it, can be told {NAME_BYTES} bytes at most"
        )));
    }
    Ok(())
}

/// A number that no other sender has at the same time from the same address and port.
fn session(clock: Clock) -> u64 {
    clock.nanoseconds(clock.now()) ^ u64::from(std::process::id()) << 40
}

impl Sender<'_> {
    fn run(&mut self) -> Result<Ending, Error> {
        loop {
            let now = self.clock.now();
            if self.settings.time.is_some_and(|time| now >= Time::ZERO + time) {
                return Ok(Ending::Time);
            }
            self.start_due(now)?;
            self.receive()?;
            let now = self.clock.now();
            self.advance(now)?;
            if self.ticks.is_due(now) {
                self.sample(now)?;
            }
            self.report.flush_when_due(now)?;
            if self.jobs.is_empty() && self.flows.is_empty() {
                return Ok(Ending::Complete);
            }
            if self.wait(now)? {
                return Ok(Ending::Signal);
            }
        }
    }

    fn start_due(&mut self, now: Time) -> Result<(), Error> {
        while self.jobs.front().is_some_and(|job| Time::ZERO + job.start <= now)
            && let Some(job) = self.jobs.pop_front()
        {
            let flow = self.start(&job, now)?;
            self.places.insert(flow.connection.name.flow, self.flows.len());
            self.flows.push(flow);
        }
        Ok(())
    }

    fn start(&self, job: &Job, now: Time) -> Result<Flow, Error> {
        let settings = self.settings;
        let usage = |error: SchemeError| Error::Usage(error.to_string());
        let congestion = settings.congestion.as_str().into();
        let seed = Seed::new(self.session).numbered(job.flow as u64);
        let outgoing = Outgoing {
            sender: self.scheme.sender_on_machine(now, true, seed).map_err(usage)?,
            opening: Some(Opening { task: job.supply.task(), mtu: settings.mtu, congestion }),
            field: EcnField::of(self.scheme.manner.ecn, &settings.peer),
            frame: frame_length(self.scheme.segment()),
        };
        let name = Name { session: self.session, flow: job.flow as u32 };
        Ok(Flow {
            index: job.flow,
            connection: Connection::opening(name, outgoing, self.scheme.receiver()),
            application: Application::new(job.supply.clone(), now, self.scheme.segment()),
            heard: now,
            opened: now,
        })
    }

    /// Takes what has come, and does what it calls for.
    fn receive(&mut self) -> Result<(), Error> {
        for _ in 0..TURN {
            let Self { socket, inbox, outbox, flows, places, session, clock, is_blocked, .. } = self;
            let mut result = Ok(());
            let more = inbox.receive(socket, *clock, |now, arrived| {
                let Some((name, frame)) = Frame::read(arrived.bytes) else { return };
                let Some(place) = places.get(&name.flow).filter(|_| name.session == *session) else { return };
                let flow = &mut flows[*place];
                flow.heard = now;
                flow.connection.on_frame(*clock, now, &frame, &arrived);
                if result.is_ok() {
                    let ends = (&*socket, &mut *outbox);
                    result = flow.connection.respond(&frame, &arrived, *clock, ends, is_blocked);
                }
            });
            if !more.and_then(|more| result.map(|()| more)).map_err(|error| self.failure(error))? {
                break;
            }
        }
        Ok(())
    }

    /// Lets every flow do what is due.
    fn advance(&mut self, now: Time) -> Result<(), Error> {
        self.is_blocked = !self.outbox.flush(&self.socket).map_err(|error| self.failure(error))?;
        let mut place = 0;
        while place < self.flows.len() {
            self.advance_flow(place, now)?;
            if self.flows[place].application.is_finished() {
                self.remove(place);
            } else {
                place += 1;
            }
        }
        Ok(())
    }

    fn advance_flow(&mut self, place: usize, now: Time) -> Result<(), Error> {
        let flow = &mut self.flows[place];
        let received = flow.connection.received();
        let Some(outgoing) = &mut flow.connection.outgoing else { return Ok(()) };
        let sender = &mut outgoing.sender;
        if let Some(completion) = flow.application.on_progress(now, sender.acknowledged(), received) {
            let number = flow.index as u64 + completion.index;
            self.report.completed(number, completion.start, completion.end, completion.size)?;
        }
        flow.application.write(now, sender);
        while let Some(captured) = flow.application.take_captured() {
            self.report.captured(&captured)?;
        }
        if sender.next_timer().is_some_and(|time| time <= now) {
            sender.on_timer(now);
        }
        if !sender.is_waiting() && flow.application.waits_since().is_none() {
            flow.heard = now;
        }
        if now - flow.heard > self.settings.timeout {
            return Err(Error::NoAnswer { peer: self.settings.peer, span: self.settings.timeout });
        }
        // What opens a flow is sent again and again, as anything that is lost, a few round trips later.
        let is_opened = sender.acknowledged() > 0 || sender.delivered() == 0;
        let again = sender.round_trip().smoothed().unwrap_or(Duration::ZERO) * 4;
        if !is_opened && now - flow.opened > self.settings.timeout + again {
            return Err(Error::OtherVersion { peer: self.settings.peer, flow: flow.index });
        }
        flow.connection.answer(self.clock, &self.socket).map_err(|error| self.failure(error))?;
        let flow = &mut self.flows[place];
        if !self.is_blocked {
            let sent = flow.connection.transmit(self.clock, &self.socket, &mut self.outbox);
            self.is_blocked = !sent.map_err(|error| self.failure(error))?;
        }
        Ok(())
    }

    fn remove(&mut self, place: usize) {
        let flow = self.flows.swap_remove(place);
        self.places.remove(&flow.connection.name.flow);
        if let Some(moved) = self.flows.get(place) {
            self.places.insert(moved.connection.name.flow, place);
        }
        self.account(&flow);
    }

    fn account(&mut self, flow: &Flow) {
        let Some(outgoing) = &flow.connection.outgoing else { return };
        self.totals.add(&outgoing.sender, flow.connection.received());
    }

    fn sample(&mut self, now: Time) -> Result<(), Error> {
        if !self.report.is_wanted() {
            return Ok(());
        }
        let time_ns = self.clock.nanoseconds(now);
        for flow in &self.flows {
            let Some(outgoing) = &flow.connection.outgoing else { continue };
            self.report.sample(&Sample::of(time_ns, flow.index, &outgoing.sender))?;
        }
        Ok(())
    }

    /// Whether a signal has come.
    fn wait(&mut self, now: Time) -> Result<bool, Error> {
        self.waiter.clear();
        let rest = self.flows.iter().filter_map(|flow| flow.connection.rests_until(self.clock, now)).min();
        if self.is_blocked || rest.is_none() {
            self.waiter.watch(self.socket.descriptor(), self.is_blocked);
        }
        let end = self.settings.time.map(|time| Time::ZERO + time);
        let job = self.jobs.front().map(|job| Time::ZERO + job.start);
        let flows = self.flows.iter().filter_map(|flow| self.next_event(flow, now));
        let others = [end, job, rest, Some(self.ticks.next())].into_iter().flatten();
        let next = others.chain(flows).min().map(|time| gather(now, time));
        self.waiter.wait(now, next).map_err(Error::from_io("waiting"))
    }

    fn next_event(&self, flow: &Flow, now: Time) -> Option<Time> {
        let sender = &flow.connection.outgoing.as_ref()?.sender;
        let event = if self.is_blocked { sender.next_timer() } else { sender.next_event() };
        let write = flow.application.next_write(now);
        let silence = flow.heard + self.settings.timeout + Duration::from_microseconds(1);
        let answer = flow.connection.next_answer(self.clock);
        [event, write, answer, Some(silence)].into_iter().flatten().min()
    }

    fn failure(&self, error: io::Error) -> Error {
        let peer = self.settings.peer;
        match error.raw_os_error() {
            Some(libc::ECONNREFUSED) => match self.flows.iter().find(|flow| flow.was_answered()) {
                Some(flow) => {
                    let reason = "nothing listens there any more".to_owned();
                    Error::WentAway { peer, flow: flow.index, reason }
                }
                None => Error::Refused { peer },
            },
            Some(libc::EMSGSIZE) => Error::TooLong { mtu: self.settings.mtu, source: error },
            _ => Error::System { doing: format!("sending to {peer}"), source: error },
        }
    }

    fn end(mut self, result: Result<Ending, Error>) -> Result<(), Error> {
        for flow in std::mem::take(&mut self.flows) {
            self.account(&flow);
        }
        let mut buffer = [0; 64];
        let length = write_close(&mut buffer, Name { session: self.session, flow: 0 });
        let _ = self.socket.send(None, &buffer[..length], length, None);
        finish(self.report, self.settings, "udp", &self.totals, result)
    }
}

impl Flow {
    fn was_answered(&self) -> bool {
        self.connection.outgoing.as_ref().is_some_and(|outgoing| outgoing.sender.delivered() > 0)
    }
}
