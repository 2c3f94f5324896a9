//! A connection in the native protocol: frames go to the spool as they come and are acknowledged when they are on disk.

use std::collections::VecDeque;
use std::io::ErrorKind;

use trialwise_streams::native::{Receiver, ReceiverError, Request, SessionId};
use trialwise_streams::protocol::Header;

use super::{Context, LAST_READ, LONGEST_HEADER, LONGEST_SENDER, Source};
use crate::spool::record::Body;

/// A client that leaves so many bytes of acknowledgements unread is cut off.
const LONGEST_OUTPUT: usize = 64 << 10;

const NOT_ALLOWED: &str =
    "this token or session may not write to this domain; set TRIALWISE_TOKEN to one that the collector knows";

/// Serves a connection whose first bytes are `first`; false when it had to be refused.
pub(super) async fn serve(mut source: Source, context: &Context, first: &[u8]) -> bool {
    let mut peer =
        Peer { context, receiver: Receiver::new(), open: None, waiting: VecDeque::new(), output: Vec::new() };
    peer.receiver.push(first);
    let outcome = converse(&mut source, &mut peer).await;
    if outcome == Outcome::End {
        peer.say_last(&source).await;
    } else {
        peer.write(&source);
    }
    if let Some(open) = &peer.open {
        context.spool.append(open.connection, &open.domain, Body::End);
    }
    outcome != Outcome::Refused
}

/// How a conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    End,
    Refused,
    /// Another connection goes on with the session, the disk failed, or the client does not listen.
    Superseded,
}

async fn converse(source: &mut Source, peer: &mut Peer<'_>) -> Outcome {
    let mut progress = peer.context.spool.progress();
    loop {
        match peer.take_requests().await {
            Ok(Step::Go) => {}
            Ok(Step::End) => return Outcome::End,
            Ok(Step::Superseded) => return Outcome::Superseded,
            Err(Refused) => return Outcome::Refused,
        }
        peer.acknowledge(progress.borrow_and_update().durable);
        peer.write(source);
        if peer.output.len() > LONGEST_OUTPUT {
            return Outcome::Superseded;
        }
        if *source.stop.borrow() {
            return Outcome::End;
        }
        let receiver = &mut peer.receiver;
        tokio::select! {
            more = source.read(peer.context, |piece| receiver.push(piece)) => {
                if !more { return Outcome::End }
            }
            changed = progress.changed(), if !peer.waiting.is_empty() => {
                if changed.is_err() { return Outcome::Superseded }
            }
        }
    }
}

/// What to do after the requests at hand.
enum Step {
    Go,
    End,
    Superseded,
}

/// The client must go.
struct Refused;

impl From<ReceiverError> for Refused {
    fn from(_: ReceiverError) -> Self {
        Self
    }
}

struct Open {
    connection: u64,
    session: SessionId,
    domain: String,
}

struct Peer<'a> {
    context: &'a Context,
    receiver: Receiver,
    open: Option<Open>,
    /// Numbers not yet acknowledged, and the positions behind their records.
    waiting: VecDeque<(u64, u64)>,
    output: Vec<u8>,
}

impl Peer<'_> {
    async fn take_requests(&mut self) -> Result<Step, Refused> {
        let hello = loop {
            match self.receiver.next_request()? {
                None => return Ok(Step::Go),
                Some(Request::Hello { session, base, token, header }) => {
                    let allowed = self.context.config.access.allows(&header.domain, Some(token));
                    break (session, base, header, allowed);
                }
                Some(Request::Data { number, rows }) => {
                    let Some(open) = &self.open else { return Err(Refused) };
                    let spool = &self.context.spool;
                    match spool.append_frame(open.connection, open.session, number, rows) {
                        Some(position) => self.waiting.push_back((number, position)),
                        None => return Ok(Step::Superseded),
                    }
                }
                Some(Request::Bye { .. }) => {
                    let Some(open) = &self.open else { return Err(Refused) };
                    self.context.spool.end_session(open.connection, &open.domain, open.session);
                    return Ok(Step::End);
                }
            }
        };
        let (session, base, header, allowed) = hello;
        self.greet(session, base, &header, allowed).await?;
        // Frames may have come with the hello.
        Box::pin(self.take_requests()).await
    }

    async fn greet(
        &mut self,
        session: SessionId,
        base: u64,
        header: &Header,
        allowed: bool,
    ) -> Result<(), Refused> {
        let spool = &self.context.spool;
        let elsewhere = spool.session(&session).is_some_and(|known| known.domain != header.domain);
        let mut text = Vec::new();
        header.write(&mut text);
        let long = header.sender_id.len() > LONGEST_SENDER || text.len() > LONGEST_HEADER;
        if !allowed || elsewhere || long {
            let reason =
                if long { "the header is too long; name fewer streams or fields" } else { NOT_ALLOWED };
            self.receiver.refuse(reason);
            return Err(Refused);
        }
        let connection = spool.begin(&header.domain, Body::BeginNative(&text));
        let received = spool.take_session(session, connection, &header.domain, base);
        self.open = Some(Open { connection, session, domain: header.domain.clone() });
        // What an older connection brought is on disk before the welcome says so.
        let (end, mut progress) = (spool.end(), spool.progress());
        let safe = progress.wait_for(|progress| progress.durable >= end || progress.failure.is_some()).await;
        if safe.is_err() || safe.is_ok_and(|progress| progress.failure.is_some()) {
            return Err(Refused);
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
    fn write(&mut self, source: &Source) {
        self.output.extend(self.receiver.take_output());
        while !self.output.is_empty() {
            match source.stream.try_write(&self.output) {
                Ok(written) => drop(self.output.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Acknowledges everything received, as far as it comes to disk in time.
    async fn say_last(&mut self, source: &Source) {
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
