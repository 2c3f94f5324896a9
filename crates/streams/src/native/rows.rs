//! Rows inside data frames.

use super::frame::LONGEST_FRAME;
use crate::protocol::{
    Advance, Counters, Decoder, Dialect, EncodeError, Encoder, Event, Header, HeaderError, Limits, Schema,
    Value,
};

/// Writes rows for data frames: doubles exact, strings of any length.
#[derive(Clone, Copy, Debug)]
pub struct RowEncoder(Encoder);

impl Default for RowEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl RowEncoder {
    /// An encoder; it has no state.
    pub const fn new() -> Self {
        Self(Encoder::native())
    }

    /// Appends one row; `timestamp` in seconds since the start time of the header.
    ///
    /// # Errors
    /// The values do not fit the schema; nothing is appended then.
    pub fn write_row<'v, I>(
        &self,
        out: &mut Vec<u8>,
        schema: &Schema,
        seq: i64,
        timestamp: f64,
        values: I,
    ) -> Result<(), EncodeError>
    where
        I: ExactSizeIterator<Item = Value<'v>> + Clone,
    {
        self.0.write_row(out, schema, seq, timestamp, values)
    }
}

/// Reads the rows of a session's data frames, in order.
#[derive(Debug)]
pub struct RowDecoder(Decoder);

impl RowDecoder {
    /// For the streams of a hello's header.
    ///
    /// # Errors
    /// More streams than a connection may define.
    pub fn new(header: Header) -> Result<Self, HeaderError> {
        let limits = Limits { row: LONGEST_FRAME, ..Limits::default() };
        Decoder::for_pieces(limits, Dialect::Native, header).map(Self)
    }

    /// The next row of a frame, taken off the front of `rows`; nothing when it is empty.
    pub fn next_row<'s, 'i: 's>(&'s mut self, rows: &mut &'i [u8]) -> Option<Event<'s>> {
        let (input, found) = loop {
            let input = *rows;
            // A decoder past its header gives no errors.
            let (taken, found) = self.0.advance(input).ok()?;
            *rows = &input[taken..];
            match found {
                Advance::More => {
                    self.0.begin_piece();
                    return None;
                }
                Advance::Skipped => {}
                found => break (input, found),
            }
        };
        self.0.event(found, input)
    }

    /// What was seen so far.
    pub const fn counters(&self) -> &Counters {
        self.0.counters()
    }
}
