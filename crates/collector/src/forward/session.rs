//! One session with the other collector: frames are kept until they are acknowledged, over connections that come and go.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use trialwise_streams::native::{Frame, FrameDecoder, PREFACE, Relayed, SessionId};
use trialwise_streams::tls::Channel;

use super::{Shared, Upstream};
use crate::wire::{Wire, is_lasting};

/// The first pause before another attempt; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// An address that does not answer is given up after so long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A collector that owes an answer for so long is taken for dead.
const SILENCE: Duration = Duration::from_secs(30);

/// A session, seen by who fills it.
pub(super) struct Session {
    state: Rc<State>,
}

/// Seen by both.
struct State {
    shared: Rc<Shared>,
    id: SessionId,
    token: Vec<u8>,
    rows: Relayed,
    header: RefCell<Vec<u8>>,
    /// The least number that may yet be pushed when nothing is kept.
    base: Cell<u64>,
    kept: RefCell<VecDeque<(u64, Vec<u8>)>>,
    /// What the other collector has for certain.
    through: Cell<u64>,
    /// Frames at the front of `kept` that this connection has taken whole, and bytes of the next.
    taken: Cell<usize>,
    partial: Cell<usize>,
    welcomed: Cell<bool>,
    refused: RefCell<Option<String>>,
    /// All is said: take leave.
    finished: Cell<bool>,
    /// Nobody needs it any more.
    abandoned: Cell<bool>,
    wake: Notify,
}

impl Session {
    /// Begins a session on the present thread's tasks. Everything with numbers up to `committed` is known to be there.
    pub(super) fn begin(
        shared: &Rc<Shared>,
        id: SessionId,
        token: &str,
        rows: Relayed,
        header: Vec<u8>,
        committed: u64,
    ) -> Self {
        let state = Rc::new(State {
            shared: Rc::clone(shared),
            id,
            token: token.as_bytes().to_vec(),
            rows,
            header: RefCell::new(header),
            base: Cell::new(committed + 1),
            kept: RefCell::default(),
            through: Cell::new(committed),
            taken: Cell::new(0),
            partial: Cell::new(0),
            welcomed: Cell::new(false),
            refused: RefCell::default(),
            finished: Cell::new(false),
            abandoned: Cell::new(false),
            wake: Notify::new(),
        });
        tokio::task::spawn_local(live(Rc::clone(&state)));
        Self { state }
    }

    /// Adds a frame, unless the other collector has it; `header` is what a new connection has to hear from now on.
    pub(super) fn push(&self, number: u64, rows: &[u8], header: Option<Vec<u8>>) {
        let state = &self.state;
        if let Some(header) = header {
            state.header.replace(header);
        }
        if number <= state.through.get() {
            return;
        }
        let mut bytes = Vec::with_capacity(rows.len() + 32);
        Frame::Data { number, rows }.write(&mut bytes);
        state.shared.window.set(state.shared.window.get() + bytes.len());
        state.kept.borrow_mut().push_back((number, bytes));
        state.wake.notify_one();
    }

    /// Whether the other collector has everything.
    pub(super) fn is_settled(&self) -> bool {
        self.state.welcomed.get() && self.state.kept.borrow().is_empty()
    }

    /// Why the other collector will not have it.
    pub(super) fn refusal(&self) -> Option<String> {
        self.state.refused.borrow().clone()
    }

    /// Takes leave; nothing was lost, and this end is remembered.
    pub(super) fn finish(self) {
        self.state.finished.set(true);
        self.state.wake.notify_one();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.state.finished.get() {
            self.state.abandoned.set(true);
            self.state.wake.notify_one();
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let kept: usize = self.kept.get_mut().iter().map(|(_, bytes)| bytes.len()).sum();
        self.shared.window.set(self.shared.window.get() - kept);
    }
}

/// Why a connection is over.
enum Lost {
    /// All was said.
    Done,
    Refused(String),
    /// Told to wait.
    Paused,
    Error(String),
}

impl<E: fmt::Display> From<E> for Lost {
    fn from(error: E) -> Self {
        Self::Error(error.to_string())
    }
}

/// Makes connections until all is said.
async fn live(state: Rc<State>) {
    let mut pause = FIRST_PAUSE;
    while !state.abandoned.get() {
        if state.shared.forwarding.is_paused() {
            tokio::time::sleep(FIRST_PAUSE).await;
            continue;
        }
        let before = state.through.get();
        let lost = converse(&state).await;
        state.taken.set(0);
        state.partial.set(0);
        if state.through.get() > before {
            pause = FIRST_PAUSE; // it was of use
        }
        match lost {
            Lost::Done => return,
            Lost::Paused => continue,
            Lost::Refused(reason) => {
                state.refused.replace(Some(reason));
                return state.shared.changed.notify_one();
            }
            Lost::Error(error) => state.shared.forwarding.fail(&error),
        }
        if state.finished.get() {
            return; // the leave was a courtesy
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

async fn converse(state: &State) -> Lost {
    let mut wire = match tokio::time::timeout(CONNECT_TIMEOUT, connect(&state.shared.upstream)).await {
        Ok(Ok(wire)) => wire,
        Ok(Err(lost)) => return lost,
        Err(_) => return Lost::Error("the other collector's address does not answer".to_owned()),
    };
    let mut talk = Talk {
        state,
        incoming: FrameDecoder::new(),
        greeting: greeting(state),
        greeted: 0,
        open: false,
        heard: tokio::time::Instant::now(),
    };
    let lost = loop {
        match talk.step(&mut wire).await {
            Ok(()) => {}
            Err(lost) => break lost,
        }
    };
    if talk.open {
        state.shared.forwarding.change(|status| status.connected -= 1);
    }
    lost
}

async fn connect(upstream: &Upstream) -> Result<Wire, Lost> {
    let stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await?;
    stream.set_nodelay(true)?;
    let mut wire = Wire::new(stream);
    if let Some(trust) = &upstream.trust {
        wire.channel = Some(Box::new(Channel::client(trust, &upstream.host)?));
    }
    Ok(wire)
}

fn greeting(state: &State) -> Vec<u8> {
    let mut bytes = PREFACE.to_vec();
    let header = state.header.borrow();
    let (token, base) = (&state.token, state.base.get());
    Frame::Relay { session: state.id, base, token, header: &header, rows: state.rows }.write(&mut bytes);
    bytes
}

/// One connection.
struct Talk<'a> {
    state: &'a State,
    incoming: FrameDecoder,
    greeting: Vec<u8>,
    greeted: usize,
    /// The other collector has welcomed it.
    open: bool,
    heard: tokio::time::Instant,
}

impl Talk<'_> {
    /// Writes and reads what can be, and waits for more.
    async fn step(&mut self, wire: &mut Wire) -> Result<(), Lost> {
        let state = self.state;
        if state.abandoned.get() {
            return Err(Lost::Done);
        }
        if state.shared.forwarding.is_paused() {
            return Err(Lost::Paused);
        }
        let blocked = self.write(wire)?;
        tokio::task::yield_now().await; // a connection that is always ready leaves time to the others
        if state.finished.get() && self.open && state.kept.borrow().is_empty() {
            let mut goodbye = Vec::new();
            Frame::Bye { last: state.through.get() }.write(&mut goodbye);
            let _ = wire.try_write(&goodbye); // it is short, and only a courtesy
            return Err(Lost::Done);
        }
        let interest = if blocked { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let owed = !self.open || state.taken.get() > 0;
        tokio::select! {
            ready = wire.stream.ready(interest) => { ready?; }
            () = state.wake.notified() => {}
            () = tokio::time::sleep_until(self.heard + SILENCE), if owed => {
                return Err(Lost::Error("the other collector does not answer".to_owned()));
            }
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
        if !owed {
            self.heard = tokio::time::Instant::now();
        }
        self.read(wire)
    }

    /// Whether more is to be written when the connection takes it.
    fn write(&mut self, wire: &mut Wire) -> Result<bool, Lost> {
        while self.greeted < self.greeting.len() {
            match would_block(wire.try_write(&self.greeting[self.greeted..]))? {
                Some(written) => self.greeted += written,
                None => return Ok(!wire.is_handshaking()), // the answer to a handshake has to be read
            }
        }
        let state = self.state;
        let kept = state.kept.borrow();
        while let Some((_, frame)) = kept.get(state.taken.get()).filter(|_| self.open) {
            match would_block(wire.try_write(&frame[state.partial.get()..]))? {
                None => return Ok(true),
                Some(written) => state.partial.set(state.partial.get() + written),
            }
            if state.partial.get() == frame.len() {
                state.taken.set(state.taken.get() + 1);
                state.partial.set(0);
            }
        }
        Ok(false)
    }

    fn read(&mut self, wire: &mut Wire) -> Result<(), Lost> {
        let mut buffer = [0; 4096];
        while let Some(read) = would_block(wire.try_read(&mut buffer))? {
            if read == 0 {
                return Err(Lost::Error("the other collector closed the connection".to_owned()));
            }
            self.heard = tokio::time::Instant::now();
            self.incoming.push(&buffer[..read]);
            while let Some(frame) = self.incoming.next_frame()? {
                let through = match frame {
                    Frame::Welcome { through } if !self.open => {
                        self.open = true;
                        self.state.welcomed.set(true);
                        self.state.shared.forwarding.change(|status| status.connected += 1);
                        through
                    }
                    Frame::Acknowledgement { through } if self.open => through,
                    Frame::Refusal { reason } => return Err(Lost::Refused(reason.to_owned())),
                    _ => return Err(Lost::Error("the other collector sent a frame out of turn".to_owned())),
                };
                self.state.forget_through(through);
            }
        }
        Ok(())
    }
}

impl State {
    fn forget_through(&self, through: u64) {
        let mut kept = self.kept.borrow_mut();
        self.through.set(self.through.get().max(through));
        let mut bytes = 0;
        while kept.front().is_some_and(|(number, _)| *number <= through) {
            bytes += kept.pop_front().map_or(0, |(_, frame)| frame.len());
            self.taken.set(self.taken.get().saturating_sub(1));
        }
        self.base.set(kept.front().map_or(self.through.get() + 1, |(number, _)| *number));
        self.shared.window.set(self.shared.window.get() - bytes);
        self.shared.forwarding.change(|status| status.acknowledged += bytes as u64);
        self.shared.changed.notify_one();
    }
}

fn would_block(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(number) => Ok(Some(number)),
        Err(error) if is_lasting(&error) => Err(error),
        Err(_) => Ok(None),
    }
}
