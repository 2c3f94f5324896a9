//! `udp receive`.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use trialwise_units::{Duration, Seed, Time};

use crate::clock::Clock;
use crate::error::Error;
use crate::output::{complain, say_ready};
use crate::report::Report;
use crate::settings::ReceiveSettings;
use crate::system::ip_version;
use crate::udp::connection::{Connection, Outgoing, frame_length};
use crate::udp::outbox::Outbox;
use crate::udp::socket::{EcnField, Inbox, Socket};
use crate::wait::{Waiter, gather};
use trialwise_protocol::frame::{Data, Frame, Name, Way};
use trialwise_protocol::message::Whole;
use trialwise_protocol::opening::{Opening, Task};
use trialwise_protocol::scheme::{MAX_MTU, MIN_MTU, Marking, Scheme, SchemeError};

/// Batches read before packets may leave.
const TURN: usize = 4;
/// What is not heard of for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_milliseconds(60_000);
const SWEEP: Duration = Duration::from_milliseconds(10_000);

type Key = (SocketAddr, Name);

/// A connection of a sender.
struct Peer {
    connection: Connection,
    task: Option<Task>,
    heard: Time,
}

struct Receiver {
    socket: Socket,
    inbox: Box<Inbox>,
    outbox: Outbox,
    is_blocked: bool,
    report: Report,
    /// Frames of media that have wholly come and are not in the report yet.
    whole: Vec<Whole>,
    clock: Clock,
    peers: HashMap<Key, Peer>,
    /// Those that send back.
    answering: HashSet<Key>,
    /// Those that are owed an answer, or whose packets come so fast that they are read now and then.
    owed: HashSet<Key>,
    next_sweep: Time,
}

/// Takes flows until a signal comes.
pub(crate) fn receive(settings: &ReceiveSettings) -> Result<(), Error> {
    let mut waiter = Waiter::new().map_err(Error::from_io("taking over signals"))?;
    let address =
        SocketAddr::new(settings.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), settings.port);
    let socket = Socket::listening(settings.address, settings.port, settings.buffer)
        .map_err(|source| Error::PortInUse { address, source })?;
    let clock = Clock::start();
    let mut receiver = Receiver {
        socket,
        report: Report::create(settings.report.as_deref(), clock)?,
        whole: Vec::new(),
        inbox: Inbox::new(),
        outbox: Outbox::new(),
        is_blocked: false,
        clock,
        peers: HashMap::new(),
        answering: HashSet::new(),
        owed: HashSet::new(),
        next_sweep: Time::ZERO + SWEEP,
    };
    say_ready()?;
    receiver.run(&mut waiter)?;
    receiver.report.flush()?;
    let dropped = receiver.socket.dropped();
    if dropped > 0 {
        complain(&format!(
            "{dropped} packets were lost because this receiver read too slowly; give a larger --buffer"
        ));
    }
    Ok(())
}

impl Receiver {
    fn run(&mut self, waiter: &mut Waiter) -> Result<(), Error> {
        loop {
            waiter.clear();
            let now = self.clock.now();
            let rest = self.rests_until(now);
            if self.is_blocked || rest.is_none() {
                waiter.watch(self.socket.descriptor(), self.is_blocked);
            }
            let next = gather(now, rest.into_iter().fold(self.next_event(), Time::min));
            if waiter.wait(now, Some(next)).map_err(Error::from_io("waiting"))? {
                return Ok(());
            }
            self.take().map_err(Error::from_io("receiving"))?;
            for whole in self.whole.drain(..) {
                self.report.arrived(whole)?;
            }
            self.report.flush_when_due(now)?;
            self.answer().and_then(|()| self.send()).map_err(Error::from_io("sending"))?;
            self.sweep();
        }
    }

    fn next_event(&self) -> Time {
        let senders =
            self.answering.iter().filter_map(|key| self.peers.get(key)?.connection.outgoing.as_ref());
        let events = senders.filter_map(|outgoing| {
            if self.is_blocked { outgoing.sender.next_timer() } else { outgoing.sender.next_event() }
        });
        let owed = self.owed.iter().filter_map(|key| self.peers.get(key)?.connection.next_answer(self.clock));
        events.chain(owed).fold(self.next_sweep, Time::min)
    }

    /// Until when nobody needs to look at the socket, now.
    fn rests_until(&self, now: Time) -> Option<Time> {
        let peers = self.owed.union(&self.answering).filter_map(|key| self.peers.get(key));
        peers.filter_map(|peer| peer.connection.rests_until(self.clock, now)).min()
    }

    /// Takes what has come and acknowledges it.
    fn take(&mut self) -> std::io::Result<()> {
        for _ in 0..TURN {
            let Self { socket, inbox, outbox, peers, answering, owed, clock, is_blocked, whole, .. } = self;
            let (mut result, mut last) = (Ok(()), None);
            let more = inbox.receive(socket, *clock, |now, arrived| {
                let Some((name, frame)) = Frame::read(arrived.bytes) else { return };
                let key = (arrived.from, name);
                if frame == Frame::Close {
                    peers.retain(|(from, other), _| *from != arrived.from || other.session != name.session);
                    return;
                }
                let Some(peer) = find(peers, key, &frame, now) else { return };
                peer.heard = now;
                if let Frame::Data(_, Data { opening: Some(opening), .. }) = &frame
                    && peer.open(opening, key, now)
                {
                    answering.insert(key);
                }
                peer.connection.on_frame(*clock, now, &frame, &arrived);
                whole.extend(iter::from_fn(|| peer.connection.take_whole()));
                peer.serve();
                if result.is_ok() {
                    let ends = (&*socket, &mut *outbox);
                    result = peer.connection.respond(&frame, &arrived, *clock, ends, is_blocked);
                }
                if last != Some(key) {
                    owed.insert(key);
                    last = Some(key);
                }
            })?;
            result?;
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Gives the answers that are due.
    fn answer(&mut self) -> std::io::Result<()> {
        let (mut result, Self { socket, peers, owed, clock, .. }) = (Ok(()), self);
        let now = clock.now();
        owed.retain(|key| {
            let Some(peer) = peers.get_mut(key).filter(|_| result.is_ok()) else { return false };
            result = peer.connection.answer(*clock, socket);
            peer.connection.next_answer(*clock).is_some()
                || peer.connection.rests_until(*clock, now).is_some()
        });
        result
    }

    /// Sends what may leave of the responses.
    fn send(&mut self) -> std::io::Result<()> {
        let now = self.clock.now();
        let Self { socket, outbox, peers, answering, clock, .. } = self;
        self.is_blocked = !outbox.flush(socket)?;
        answering.retain(|key| peers.contains_key(key));
        for key in answering.iter() {
            let Some(peer) = peers.get_mut(key) else { continue };
            if let Some(outgoing) = &mut peer.connection.outgoing
                && outgoing.sender.next_timer().is_some_and(|time| time <= now)
            {
                outgoing.sender.on_timer(now);
            }
            if !self.is_blocked {
                self.is_blocked = !peer.connection.transmit(*clock, socket, outbox)?;
            }
        }
        Ok(())
    }

    fn sweep(&mut self) {
        let now = self.clock.now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.peers.retain(|_, peer| now - peer.heard < FORGOTTEN);
        }
    }
}

/// The connection of a frame; data make one where there is none.
fn find<'a>(peers: &'a mut HashMap<Key, Peer>, key: Key, frame: &Frame, now: Time) -> Option<&'a mut Peer> {
    if matches!(frame, Frame::Data(Way::Out, _)) {
        let make = || Peer { connection: Connection::opened(key.1, key.0), task: None, heard: now };
        return Some(peers.entry(key).or_insert_with(make));
    }
    peers.get_mut(&key)
}

impl Peer {
    /// Takes what the first opening says; whether this end sends something back.
    fn open(&mut self, opening: &Opening, key: Key, now: Time) -> bool {
        if self.task.is_none() {
            self.task = Some(opening.task);
            let answers = matches!(opening.task, Task::Answer { .. });
            // An end that only takes can do without a scheme that it does not know.
            if let Err(error) = self.take_part(opening, answers, key, now)
                && answers
            {
                complain(&format!("cannot answer {}: {error}", key.0));
            }
        }
        self.connection.outgoing.is_some()
    }

    fn take_part(
        &mut self,
        opening: &Opening,
        answers: bool,
        key: Key,
        now: Time,
    ) -> Result<(), SchemeError> {
        let mtu = opening.mtu.clamp(MIN_MTU, MAX_MTU);
        let scheme = Scheme::named(opening.congestion.as_str(), mtu, ip_version(&key.0), Marking::Declared)?;
        self.connection.receive_as(scheme.receiver());
        if answers {
            self.connection.outgoing = Some(outgoing(&scheme, key, now)?);
        }
        Ok(())
    }

    /// Does the task of the connection as far as data have come.
    fn serve(&mut self) {
        let received = self.connection.received();
        if let (Some(task), Some(outgoing)) = (self.task, &mut self.connection.outgoing) {
            outgoing.sender.write(task.owed(received));
        }
    }
}

fn outgoing(scheme: &Scheme, key: Key, now: Time) -> Result<Outgoing, SchemeError> {
    let seed = Seed::new(key.1.session).named("answerer").numbered(u64::from(key.1.flow));
    Ok(Outgoing {
        sender: scheme.sender_on_machine(now, false, seed)?,
        opening: None,
        field: EcnField::of(scheme.manner.ecn, &key.0),
        frame: frame_length(scheme.segment()),
    })
}
