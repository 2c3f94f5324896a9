//! Frames: what is sent, and reading it back from a stream of bytes.

use std::ops::Range;

use super::SessionId;

/// Longest payload that is taken.
pub const MAX_FRAME: usize = 8 << 20;
/// type, length, CRC.
const HEAD: usize = 9;
/// Longest token of a hello.
const MAX_TOKEN: usize = u16::MAX as usize;

/// One frame, borrowed from the bytes that it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A client begins or goes on.
    Hello {
        /// Which client.
        session: SessionId,
        /// The oldest number that it still has.
        base: u64,
        /// What proves its right to send; may be empty.
        token: &'a [u8],
        /// OML's header with its blank line.
        header: &'a [u8],
    },
    /// A collector begins or goes on to pass on what it received on one connection.
    Relay {
        /// The same at every start, for this connection.
        session: SessionId,
        /// The least number that it may yet send.
        base: u64,
        /// What proves its right to send; may be empty.
        token: &'a [u8],
        /// The header of the connection, with the streams defined since.
        header: &'a [u8],
        /// What the connection spoke, and so what the data frames hold.
        rows: Relayed,
    },
    /// Rows.
    Data {
        /// Counts up from 1.
        number: u64,
        /// Whole packets.
        rows: &'a [u8],
    },
    /// Nothing follows.
    Bye {
        /// The last number.
        last: u64,
    },
    /// The client's answer to a question about the time.
    ClockAnswer {
        /// As it was asked.
        asked: u64,
        /// Then, by the client's clock: microseconds of UNIX time.
        answered: u64,
    },
    /// The collector has everything up to a number: go on behind it.
    Welcome {
        /// That number.
        through: u64,
    },
    /// Everything up to a number is safe.
    Acknowledgement {
        /// That number.
        through: u64,
    },
    /// What time is it? Asked at once after the welcome, and from time to time.
    ClockQuestion {
        /// Now, by the collector's clock: microseconds of UNIX time.
        asked: u64,
    },
    /// The collector will not have this client.
    Refusal {
        /// Why.
        reason: &'a str,
    },
}

/// What the data frames of a relay hold. Their numbers grow, but not by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relayed {
    /// Rows of the native protocol.
    Native,
    /// Bytes of OML's protocol behind its header, cut between rows.
    Oml,
}

/// Why a connection's bytes make no sense: close it and connect anew.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Damaged on the way.
    #[error("a frame's checksum is wrong")]
    Checksum,
    /// More than is taken.
    #[error("a frame of {0} bytes is longer than {MAX_FRAME}")]
    TooLong(usize),
    /// No type, or not the contents of its type.
    #[error("frame type {0} is unknown or has wrong contents")]
    Type(u8),
    /// The connection does not begin as one of this protocol and version.
    #[error("the connection does not begin with the native protocol, version 1")]
    Preface,
}

impl Frame<'_> {
    const fn code(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Data { .. } => 2,
            Self::Bye { .. } => 3,
            Self::ClockAnswer { .. } => 4,
            Self::Relay { rows: Relayed::Native, .. } => 5,
            Self::Relay { rows: Relayed::Oml, .. } => 6,
            Self::Welcome { .. } => 16,
            Self::Acknowledgement { .. } => 17,
            Self::Refusal { .. } => 18,
            Self::ClockQuestion { .. } => 19,
        }
    }

    /// Appends the frame. A token beyond 65535 bytes is cut.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(self.code());
        out.extend_from_slice(&[0; 8]);
        match *self {
            Self::Hello { session, base, token, header }
            | Self::Relay { session, base, token, header, .. } => {
                let token = &token[..token.len().min(MAX_TOKEN)];
                out.extend_from_slice(&session);
                out.extend_from_slice(&base.to_be_bytes());
                out.extend_from_slice(&(token.len() as u16).to_be_bytes());
                out.extend_from_slice(token);
                out.extend_from_slice(header);
            }
            Self::Data { number, rows } => {
                out.extend_from_slice(&number.to_be_bytes());
                out.extend_from_slice(rows);
            }
            Self::ClockAnswer { asked, answered } => {
                out.extend_from_slice(&asked.to_be_bytes());
                out.extend_from_slice(&answered.to_be_bytes());
            }
            Self::Bye { last: number }
            | Self::ClockQuestion { asked: number }
            | Self::Welcome { through: number }
            | Self::Acknowledgement { through: number } => out.extend_from_slice(&number.to_be_bytes()),
            Self::Refusal { reason } => out.extend_from_slice(reason.as_bytes()),
        }
        seal(&mut out[start..]);
    }

    fn parse(code: u8, payload: &[u8]) -> Option<Frame<'_>> {
        let number = || payload.try_into().ok().map(u64::from_be_bytes);
        Some(match code {
            1 => parse_hello(payload, None)?,
            2 => {
                let (number, rows) = payload.split_first_chunk()?;
                Frame::Data { number: u64::from_be_bytes(*number), rows }
            }
            3 => Frame::Bye { last: number()? },
            4 => {
                let (asked, answered) = payload.split_first_chunk()?;
                let answered = u64::from_be_bytes(answered.try_into().ok()?);
                Frame::ClockAnswer { asked: u64::from_be_bytes(*asked), answered }
            }
            5 => parse_hello(payload, Some(Relayed::Native))?,
            6 => parse_hello(payload, Some(Relayed::Oml))?,
            16 => Frame::Welcome { through: number()? },
            17 => Frame::Acknowledgement { through: number()? },
            19 => Frame::ClockQuestion { asked: number()? },
            18 => Frame::Refusal { reason: std::str::from_utf8(payload).ok()? },
            _ => return None,
        })
    }
}

/// Puts length and CRC in a frame that is complete but for them.
fn seal(frame: &mut [u8]) {
    let length = (frame.len() - HEAD) as u32;
    frame[1..5].copy_from_slice(&length.to_be_bytes());
    let checksum = checksum(frame);
    frame[5..9].copy_from_slice(&checksum.to_be_bytes());
}

fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..5]);
    hasher.update(&frame[HEAD..]);
    hasher.finalize()
}

fn parse_hello(payload: &[u8], relayed: Option<Relayed>) -> Option<Frame<'_>> {
    let (&session, rest) = payload.split_first_chunk()?;
    let (base, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (token, header) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let base = u64::from_be_bytes(*base);
    Some(match relayed {
        None => Frame::Hello { session, base, token, header },
        Some(rows) => Frame::Relay { session, base, token, header, rows },
    })
}

/// Finds frames in bytes that come in pieces; holds one frame at most, and the piece.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    start: usize,
    /// Bytes of a preface still to come before the first frame.
    preface: Option<[u8; 8]>,
}

impl FrameDecoder {
    /// Frames from the first byte on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Frames behind a preface.
    pub fn after(preface: [u8; 8]) -> Self {
        Self { preface: Some(preface), ..Self::default() }
    }

    /// Adds bytes. Take all frames before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.start));
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, or nothing when more bytes are needed.
    ///
    /// # Errors
    /// The connection cannot go on.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let Some(found) = self.find()? else { return Ok(None) };
        self.frame(&found).map(Some)
    }

    /// Where the next frame lies, whole and undamaged; [`Self::frame`] reads it until more is pushed.
    pub(super) fn find(&mut self) -> Result<Option<Range<usize>>, FrameError> {
        if !self.take_preface()? {
            return Ok(None);
        }
        let rest = &self.buffer[self.start..];
        let Some(head) = rest.get(..HEAD) else { return Ok(None) };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > MAX_FRAME {
            return Err(FrameError::TooLong(length));
        }
        let Some(frame) = rest.get(..HEAD + length) else { return Ok(None) };
        if checksum(frame).to_be_bytes() != frame[5..9] {
            return Err(FrameError::Checksum);
        }
        let found = self.start..self.start + frame.len();
        self.start = found.end;
        Ok(Some(found))
    }

    /// Reads a frame that was found.
    pub(super) fn frame(&self, found: &Range<usize>) -> Result<Frame<'_>, FrameError> {
        let frame = &self.buffer[found.clone()];
        Frame::parse(frame[0], &frame[HEAD..]).ok_or(FrameError::Type(frame[0]))
    }

    /// Whether the preface, if there is one, has come.
    fn take_preface(&mut self) -> Result<bool, FrameError> {
        let Some(preface) = self.preface else { return Ok(true) };
        let rest = &self.buffer[self.start..];
        let seen = rest.len().min(preface.len());
        if rest[..seen] != preface[..seen] {
            return Err(FrameError::Preface);
        }
        if seen == preface.len() {
            self.start += seen;
            self.preface = None;
        }
        Ok(self.preface.is_none())
    }
}
