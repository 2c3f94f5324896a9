//! Rows inside data frames; [`crate::protocol::Encoder::native`] writes them.

use super::frame::MAX_FRAME;
use crate::protocol::{Advance, Counters, Decoder, Dialect, Event, Header, HeaderError, Limits};

/// Reads the rows of a session's data frames, in order.
#[derive(Debug)]
pub struct RowDecoder(Decoder);

impl RowDecoder {
    /// For the streams of a hello's header.
    ///
    /// # Errors
    /// More streams than a connection may define.
    pub fn new(header: Header) -> Result<Self, HeaderError> {
        let limits = Limits { row: MAX_FRAME, ..Limits::default() };
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
