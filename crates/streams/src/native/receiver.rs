//! The collector's half of one connection: greets, passes over what it has, acknowledges.

use std::ops::Range;

use super::frame::{Frame, FrameDecoder, FrameError, Relayed};
use super::{PREFACE, SessionId};
use crate::protocol::{Decoder, Header, HeaderError, Limits};

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Answer with [`Receiver::welcome`] or [`Receiver::refuse`]; end an older connection of the same session first.
    Hello {
        /// Which client.
        session: SessionId,
        /// The oldest number that it still has: with nothing known of the session, `base` − 1 is safe.
        base: u64,
        /// What it gives to prove its right.
        token: &'a [u8],
        /// Who it is, and its streams.
        header: Header,
        /// What the frames hold when a collector passes them on.
        relayed: Option<Relayed>,
    },
    /// Rows that were not received before; acknowledge the number once they are safe.
    Data {
        /// One more than the last.
        number: u64,
        /// For a [`super::RowDecoder`].
        rows: &'a [u8],
    },
    /// An answer to [`Receiver::ask`].
    Clock {
        /// As it was asked.
        asked: u64,
        /// Then, by the client's clock: microseconds of UNIX time.
        answered: u64,
    },
    /// The client has ended; nothing follows on any connection of the session.
    Bye {
        /// The last number that it used.
        last: u64,
    },
}

/// Why a connection must be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverError {
    /// The bytes make no sense.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The hello's header cannot be read.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The header does not end in the hello.
    #[error("the header of the hello is not complete")]
    HeaderEnd,
    /// A frame that no client sends, or not now.
    #[error("the client sent a frame out of turn")]
    Turn,
    /// A number was left out.
    #[error("frame {found} came where {expected} should")]
    Gap {
        /// One more than the last.
        expected: u64,
        /// What came.
        found: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hello,
    /// The caller has to welcome or to refuse.
    Asked,
    Open,
    Ended,
}

/// One connection.
#[derive(Debug)]
pub struct Receiver {
    incoming: FrameDecoder,
    state: State,
    /// The last number received, on this or an earlier connection.
    through: u64,
    /// Numbers may be left out.
    sparse: bool,
    acknowledged: u64,
    duplicates: u64,
    output: Vec<u8>,
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new()
    }
}

impl Receiver {
    /// A connection before its first byte.
    pub fn new() -> Self {
        Self {
            incoming: FrameDecoder::after(PREFACE),
            state: State::Hello,
            through: 0,
            sparse: false,
            acknowledged: 0,
            duplicates: 0,
            output: Vec::new(),
        }
    }

    /// Adds bytes from the client. Take all requests before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.incoming.push(bytes);
    }

    /// The next request, or nothing when more bytes are needed or an answer is due.
    ///
    /// # Errors
    /// Close the connection; the client will come back.
    pub fn next_request(&mut self) -> Result<Option<Request<'_>>, ReceiverError> {
        if self.state == State::Asked {
            return Ok(None);
        }
        let Some(found) = self.next_new()? else { return Ok(None) };
        let frame = self.incoming.frame(&found)?;
        match (self.state, frame) {
            (State::Hello, Frame::Hello { session, base, token, header }) => {
                self.state = State::Asked;
                let header = parse_header(header)?;
                Ok(Some(Request::Hello { session, base, token, header, relayed: None }))
            }
            (State::Hello, Frame::Relay { session, base, token, header, rows }) => {
                (self.state, self.sparse) = (State::Asked, true);
                let header = parse_header(header)?;
                Ok(Some(Request::Hello { session, base, token, header, relayed: Some(rows) }))
            }
            (State::Open, Frame::Data { number, rows }) if self.sparse || number == self.through + 1 => {
                self.through = number;
                Ok(Some(Request::Data { number, rows }))
            }
            (State::Open, Frame::Data { number, .. }) => {
                Err(ReceiverError::Gap { expected: self.through + 1, found: number })
            }
            (State::Open, Frame::ClockAnswer { asked, answered }) => {
                Ok(Some(Request::Clock { asked, answered }))
            }
            (State::Open, Frame::Bye { last }) => {
                self.state = State::Ended;
                Ok(Some(Request::Bye { last }))
            }
            _ => Err(ReceiverError::Turn),
        }
    }

    /// Where the next frame lies that was not received before.
    fn next_new(&mut self) -> Result<Option<Range<usize>>, FrameError> {
        while let Some(found) = self.incoming.find()? {
            match self.incoming.frame(&found)? {
                Frame::Data { number, .. } if self.state == State::Open && number <= self.through => {
                    self.duplicates += 1;
                }
                _ => return Ok(Some(found)),
            }
        }
        Ok(None)
    }

    /// Answers a hello: everything up to `safe` is on disk, so that the client may forget it, and everything up to
    /// `received` was received, though it may be lost yet: the client sends it again and it is passed over.
    pub fn welcome(&mut self, safe: u64, received: u64) {
        debug_assert!(self.state == State::Asked && safe <= received);
        (self.state, self.through, self.acknowledged) = (State::Open, received, safe);
        Frame::Welcome { through: safe }.write(&mut self.output);
    }

    /// Answers a hello: no. Write [`Self::take_output`], then close.
    pub fn refuse(&mut self, reason: &str) {
        self.state = State::Ended;
        Frame::Refusal { reason }.write(&mut self.output);
    }

    /// Says that everything up to `through` is safe; what was said before, or never came, is not said.
    pub fn acknowledge(&mut self, through: u64) {
        let through = through.min(self.through);
        if through > self.acknowledged && matches!(self.state, State::Open | State::Ended) {
            self.acknowledged = through;
            Frame::Acknowledgement { through }.write(&mut self.output);
        }
    }

    /// Asks the client for the time; `now` is ours, in microseconds of UNIX time.
    pub fn ask(&mut self, now: u64) {
        if self.state == State::Open {
            Frame::ClockQuestion { asked: now }.write(&mut self.output);
        }
    }

    /// The last number received.
    pub const fn through(&self) -> u64 {
        self.through
    }

    /// Frames that came although they had been received before.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// What is to be written to the client.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}

/// Reads a header that must be complete.
fn parse_header(text: &[u8]) -> Result<Header, ReceiverError> {
    let mut decoder = Decoder::new(Limits { header: super::MAX_FRAME, ..Limits::default() });
    let mut rest = text;
    loop {
        let (taken, found) = decoder.advance(rest)?;
        rest = &rest[taken..];
        match found {
            crate::protocol::Advance::Header if rest.is_empty() => return Ok(decoder.header().clone()),
            crate::protocol::Advance::Skipped => {}
            _ => return Err(ReceiverError::HeaderEnd),
        }
    }
}
