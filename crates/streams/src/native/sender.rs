//! The client's half: numbers, keeps and repeats frames until they are acknowledged.

use std::collections::VecDeque;

use super::frame::{Frame, FrameDecoder, FrameError};
use super::{PREFACE, SessionId};

/// A frame that is kept until it is acknowledged.
#[derive(Debug)]
struct Kept<T> {
    bytes: Vec<u8>,
    note: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection.
    Apart,
    /// Hello is (being) sent, no welcome yet.
    Greeting,
    /// Data flow.
    Streaming,
}

/// Sends frames over connections that come and go. `T` is what the caller wants back with each acknowledged frame.
#[derive(Debug)]
pub struct Sender<T> {
    session: SessionId,
    token: Vec<u8>,
    capacity: usize,
    state: State,
    kept: VecDeque<Kept<T>>,
    kept_bytes: usize,
    /// Number of the oldest kept frame.
    base: u64,
    /// Kept frames that this connection has taken whole.
    taken: usize,
    /// Bytes of the next one, or of the greeting, that it has taken.
    partial: usize,
    greeting: Vec<u8>,
    incoming: FrameDecoder,
    /// The collector's question about the time that is not answered yet.
    question: Option<u64>,
    /// An answer that goes between two frames, and how much of it the connection has taken.
    answer: Vec<u8>,
    answer_taken: usize,
}

/// Why a connection must be given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    /// The bytes make no sense.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame that no collector sends, or not now.
    #[error("the collector sent a frame out of turn")]
    Turn,
    /// A number that was never sent, or that is forgotten.
    #[error("the collector speaks of frame {0}; the client has {1} to {2}")]
    Number(u64, u64, u64),
    /// The collector will not have this client.
    #[error("the collector refuses: {0}")]
    Refused(String),
}

/// A frame that is safe now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<T> {
    /// Its number.
    pub number: u64,
    /// What was given with it.
    pub note: T,
}

impl<T> Sender<T> {
    /// A session without connection; `capacity` is a bound on the bytes kept, passed by one frame at most.
    pub fn new(session: SessionId, token: &[u8], capacity: usize) -> Self {
        Self {
            session,
            token: token.to_vec(),
            capacity,
            state: State::Apart,
            kept: VecDeque::new(),
            kept_bytes: 0,
            base: 1,
            taken: 0,
            partial: 0,
            greeting: Vec::new(),
            incoming: FrameDecoder::new(),
            question: None,
            answer: Vec::new(),
            answer_taken: 0,
        }
    }

    /// Whether another frame may be pushed.
    pub const fn has_room(&self) -> bool {
        self.kept_bytes < self.capacity
    }

    /// Bytes kept.
    pub const fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Whether everything is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Takes rows as the next frame and returns its number.
    pub fn push(&mut self, rows: &[u8], note: T) -> u64 {
        let number = self.base + self.kept.len() as u64;
        let mut bytes = Vec::with_capacity(rows.len() + 32);
        Frame::Data { number, rows }.write(&mut bytes);
        self.kept_bytes += bytes.len();
        self.kept.push_back(Kept { bytes, note });
        number
    }

    /// A connection is made; `header` names all streams defined so far.
    pub fn connected(&mut self, header: &[u8]) {
        self.disconnected();
        self.state = State::Greeting;
        self.greeting.clear();
        self.greeting.extend_from_slice(&PREFACE);
        let hello = Frame::Hello { session: self.session, base: self.base, token: &self.token, header };
        hello.write(&mut self.greeting);
    }

    /// The connection is lost: what it did not acknowledge will be sent again.
    pub fn disconnected(&mut self) {
        self.state = State::Apart;
        (self.taken, self.partial) = (0, 0);
        self.incoming = FrameDecoder::new();
        self.question = None;
        self.answer.clear();
        self.answer_taken = 0;
    }

    /// Whether the collector asked for the time: answer with [`Self::tell_time`] at once.
    pub const fn asks_time(&self) -> bool {
        self.question.is_some()
    }

    /// Answers the collector's question; `now` is in microseconds of UNIX time.
    pub fn tell_time(&mut self, now: u64) {
        if let Some(asked) = self.question.take().filter(|_| self.answer.is_empty()) {
            Frame::ClockAnswer { asked, answered: now }.write(&mut self.answer);
        }
    }

    /// Says on this connection that nothing follows; everything should be acknowledged before.
    pub fn goodbye(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Frame::Bye { last: self.base + self.kept.len() as u64 - 1 }.write(&mut bytes);
        bytes
    }

    /// What the connection takes next; empty when there is nothing to send, or not yet.
    pub fn unsent(&self) -> &[u8] {
        let bytes = match self.state {
            State::Apart => return &[],
            State::Greeting => &self.greeting,
            State::Streaming if self.partial == 0 && !self.answer.is_empty() => {
                return &self.answer[self.answer_taken..];
            }
            State::Streaming => match self.kept.get(self.taken) {
                Some(kept) => &kept.bytes,
                None => return &[],
            },
        };
        &bytes[self.partial..]
    }

    /// The connection took so many bytes of [`Self::unsent`].
    pub fn advance(&mut self, bytes: usize) {
        if self.state == State::Streaming && self.partial == 0 && !self.answer.is_empty() {
            self.answer_taken += bytes;
            if self.answer_taken == self.answer.len() {
                self.answer.clear();
                self.answer_taken = 0;
            }
            return;
        }
        self.partial += bytes;
        if self.state == State::Streaming
            && self.kept.get(self.taken).is_some_and(|kept| kept.bytes.len() == self.partial)
        {
            self.taken += 1;
            self.partial = 0;
        }
    }

    /// Whether the connection has taken frames that are not acknowledged, or waits for its welcome.
    pub fn awaits_answer(&self) -> bool {
        self.state == State::Greeting || (self.state == State::Streaming && self.taken > 0)
    }

    /// Takes bytes from the collector; calls `sent` for every frame that is safe now.
    ///
    /// # Errors
    /// The connection must be given up ([`Self::disconnected`]); nothing is lost by it.
    pub fn receive(&mut self, bytes: &[u8], mut sent: impl FnMut(Sent<T>)) -> Result<(), SenderError> {
        self.incoming.push(bytes);
        loop {
            let (through, state) = match self.incoming.next_frame()? {
                None => return Ok(()),
                Some(Frame::Welcome { through }) => (through, State::Greeting),
                Some(Frame::Acknowledgement { through }) => (through, State::Streaming),
                Some(Frame::ClockQuestion { asked }) if self.state == State::Streaming => {
                    self.question = Some(asked);
                    continue;
                }
                Some(Frame::Refusal { reason }) => return Err(SenderError::Refused(reason.to_owned())),
                Some(_) => return Err(SenderError::Turn),
            };
            if state != self.state || (state == State::Greeting && self.partial < self.greeting.len()) {
                return Err(SenderError::Turn);
            }
            self.forget_through(through, state, &mut sent)?;
        }
    }

    /// Forgets frames up to a number. A welcome may speak of any kept frame (an earlier connection took it), an
    /// acknowledgement of those that this connection has taken.
    fn forget_through(
        &mut self,
        through: u64,
        state: State,
        sent: &mut impl FnMut(Sent<T>),
    ) -> Result<(), SenderError> {
        let known = if state == State::Greeting { self.kept.len() } else { self.taken };
        let last = self.base + known as u64 - 1;
        if through > last || (state == State::Greeting && through < self.base - 1) {
            return Err(SenderError::Number(through, self.base, last));
        }
        while self.base <= through {
            let Some(kept) = self.kept.pop_front() else { break };
            self.kept_bytes -= kept.bytes.len();
            self.taken = self.taken.saturating_sub(1);
            sent(Sent { number: self.base, note: kept.note });
            self.base += 1;
        }
        if state == State::Greeting {
            self.state = State::Streaming;
            (self.taken, self.partial) = (0, 0);
        }
        Ok(())
    }

    /// Gives up everything kept, in order; the session cannot go on after that.
    pub fn give_up(&mut self) -> impl Iterator<Item = T> {
        self.kept_bytes = 0;
        self.disconnected();
        self.kept.drain(..).map(|kept| kept.note)
    }
}
