//! A connection in the native protocol: frames go to the spool as they come and are acknowledged when they are on disk.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::time::Duration;

use trialwise_streams::native::{Receiver, ReceiverError, Relayed, Request, SessionId};
use trialwise_streams::protocol::Header;

use super::{Context, LAST_READ, MAX_HEADER, MAX_SENDER, Source};
use crate::clock::now_micros;
use crate::counters::Refusal;
use crate::spool::record::Body;
use crate::status::Guard;

/// A client that leaves so many bytes of acknowledgements unread is cut off.
const MAX_OUTPUT: usize = 64 << 10;

/// Clocks are compared so often.
const COMPARISON: Duration = Duration::from_secs(5);

const NOT_ALLOWED: &str =
    "this token or session may not write to this domain; set TRIALWISE_TOKEN to one that the collector knows";

const IN_THE_OPEN: &str = "this collector takes native clients of other machines inside TLS alone; write the destination as tls:HOST:PORT";

/// Serves a connection whose first bytes are `first`.
pub(super) async fn serve(mut source: Source, context: &Context, first: &[u8]) -> Result<(), Refusal> {
    let mut peer = Peer {
        context,
        receiver: Receiver::new(),
        open: None,
        waiting: VecDeque::new(),
        output: Vec::new(),
        in_the_open: context.identity.is_some() && source.wire.channel.is_none() && !source.is_local(),
        compares_clocks: false,
    };
    peer.receiver.push(first);
    let outcome = converse(&mut source, &mut peer).await;
    if outcome.is_ok() {
        peer.say_last(&mut source).await;
    } else {
        peer.write(&mut source);
    }
    if let Some(open) = &peer.open {
        context.spool.append(open.connection, &open.domain, Body::End);
    }
    match outcome {
        Err(Leave::Refused(reason)) => Err(reason),
        _ => Ok(()),
    }
}

/// Why a connection is left before its end.
enum Leave {
    Refused(Refusal),
    /// Another connection goes on with the session, the disk failed, or the client does not listen.
    Superseded,
}

impl From<ReceiverError> for Leave {
    fn from(error: ReceiverError) -> Self {
        Self::Refused(match error {
            ReceiverError::Header(_) | ReceiverError::HeaderEnd => Refusal::Header,
            _ => Refusal::Frame,
        })
    }
}

async fn converse(source: &mut Source, peer: &mut Peer<'_>) -> Result<(), Leave> {
    let mut progress = peer.context.spool.progress();
    let mut comparison = tokio::time::interval(COMPARISON);
    loop {
        if peer.take_requests(source).await? {
            return Ok(());
        }
        peer.acknowledge(progress.borrow_and_update().durable);
        peer.write(source);
        if peer.output.len() > MAX_OUTPUT {
            return Err(Leave::Superseded);
        }
        if *source.stop.borrow() {
            return Ok(());
        }
        let Peer { receiver, waiting, context, compares_clocks, .. } = peer;
        tokio::select! {
            more = source.read(context, |piece| receiver.push(piece)) => {
                if !more && source.late { return Err(Leave::Refused(Refusal::Late)) }
                if !more { return Ok(()) }
            }
            changed = progress.changed(), if !waiting.is_empty() => {
                if changed.is_err() { return Err(Leave::Superseded) }
            }
            _ = comparison.tick(), if *compares_clocks => receiver.ask(now_micros()),
        }
    }
}

struct Open {
    connection: u64,
    session: SessionId,
    domain: String,
    guard: Guard,
}

struct Peer<'a> {
    context: &'a Context,
    receiver: Receiver,
    open: Option<Open>,
    /// Numbers not yet acknowledged, and the positions behind their records.
    waiting: VecDeque<(u64, u64)>,
    output: Vec<u8>,
    /// What it sends can be read and changed on the way, though it need not be.
    in_the_open: bool,
    compares_clocks: bool,
}

/// What a client asked for.
struct Asked {
    session: SessionId,
    base: u64,
    header: Header,
    relayed: Option<Relayed>,
}

impl Peer<'_> {
    /// Does what is asked; whether the client has ended.
    async fn take_requests(&mut self, source: &mut Source) -> Result<bool, Leave> {
        let hello = loop {
            match self.receiver.next_request()? {
                None => return Ok(false),
                Some(Request::Hello { session, base, token, header, relayed }) => {
                    let allowed = self.context.config.access.allows(&header.domain, Some(token));
                    break (Asked { session, base, header, relayed }, allowed);
                }
                Some(Request::Data { number, rows }) => {
                    let Some(open) = &self.open else { return Err(Leave::Refused(Refusal::Frame)) };
                    let spool = &self.context.spool;
                    match spool.append_frame(open.connection, open.session, number, rows) {
                        Some(position) => self.waiting.push_back((number, position)),
                        None => return Err(Leave::Superseded),
                    }
                }
                Some(Request::Clock { asked, answered }) => {
                    if let Some(open) = &self.open {
                        open.guard.compare_clocks(asked, answered, now_micros());
                    }
                }
                Some(Request::Bye { .. }) => {
                    let Some(open) = &self.open else { return Err(Leave::Refused(Refusal::Frame)) };
                    self.context.spool.end_session(open.connection, &open.domain, open.session);
                    return Ok(true);
                }
            }
        };
        let (asked, allowed) = hello;
        self.greet(source, &asked, allowed).await?;
        // Frames may have come with the hello.
        Box::pin(self.take_requests(source)).await
    }

    async fn greet(&mut self, source: &mut Source, asked: &Asked, allowed: bool) -> Result<(), Leave> {
        let &Asked { session, base, ref header, relayed } = asked;
        let spool = &self.context.spool;
        let elsewhere = spool.session(&session).is_some_and(|known| known.domain != header.domain);
        let mut text = Vec::new();
        header.write(&mut text);
        let long = header.sender_id.len() > MAX_SENDER || text.len() > MAX_HEADER;
        let refusal = if self.in_the_open {
            Some((Refusal::Tls, IN_THE_OPEN))
        } else if !allowed || elsewhere {
            Some((Refusal::Access, NOT_ALLOWED))
        } else {
            long.then_some((Refusal::Header, "the header is too long; name fewer streams or fields"))
        };
        if let Some((kind, reason)) = refusal {
            self.receiver.refuse(reason);
            return Err(Leave::Refused(kind));
        }
        // A client that is told nothing comes again.
        source.settle(self.context).await.map_err(Leave::Refused)?;
        let body = match relayed {
            Some(Relayed::Oml) => Body::BeginOml(&text),
            _ => Body::BeginNative(&text),
        };
        let connection = spool.begin(&header.domain, body);
        let received = spool.take_session(session, connection, &header.domain, base);
        let protocol = if relayed.is_some() { "relayed" } else { "native" };
        let guard = self.context.counting.senders.connected(&header.domain, &header.sender_id, protocol);
        self.open = Some(Open { connection, session, domain: header.domain.clone(), guard });
        self.compares_clocks = relayed.is_none(); // a relay has its own clock, not the sender's
        // What an older connection brought is on disk before the welcome says so.
        let (end, mut progress) = (spool.end(), spool.progress());
        let safe = progress.wait_for(|progress| progress.durable >= end || progress.failure.is_some()).await;
        if safe.is_err() || safe.is_ok_and(|progress| progress.failure.is_some()) {
            return Err(Leave::Superseded);
        }
        self.receiver.welcome(received, received);
        Ok(())
    }

    fn acknowledge(&mut self, durable: u64) {
        let mut through = None;
        while let Some(&(number, position)) = self.waiting.front().filter(|waiting| waiting.1 <= durable) {
            debug_assert!(position <= durable);
            through = Some(number);
            self.waiting.pop_front();
        }
        if let Some(through) = through {
            self.receiver.acknowledge(through);
        }
        self.output.extend(self.receiver.take_output());
    }

    /// Writes what the connection takes; acknowledgements are small, and the next ones say it again.
    fn write(&mut self, source: &mut Source) {
        self.output.extend(self.receiver.take_output());
        while !self.output.is_empty() {
            match source.try_write(&self.output) {
                Ok(written) => drop(self.output.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Acknowledges everything received, as far as it comes to disk in time.
    async fn say_last(&mut self, source: &mut Source) {
        if let Some(&(_, end)) = self.waiting.back() {
            let mut progress = self.context.spool.progress();
            let safe = progress.wait_for(|progress| progress.durable >= end || progress.failure.is_some());
            let _ = tokio::time::timeout(LAST_READ, safe).await; // what is not said now, the next welcome says
            let durable = self.context.spool.progress().borrow().durable;
            self.acknowledge(durable);
        }
        self.write(source);
    }
}
