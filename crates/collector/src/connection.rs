//! One connection as the loader sees it: a decoder, and where each stream goes. It can be put aside and taken up again.

use std::collections::BTreeMap;

use trialwise_streams::native::RowDecoder;
use trialwise_streams::protocol::{Advance, Content, Damage, Decoder, Event, Header, Limits, Row, Schema};

use crate::status::Watched;
use crate::store::TableId;

/// Reads rows and says what they are.
enum Reader {
    /// The bytes of a row that is not complete yet are kept.
    Oml(Box<Decoder>, Vec<u8>),
    Native(Box<RowDecoder>),
}

/// A live connection.
pub(crate) struct Connection {
    reader: Reader,
    header: Header,
    pub(crate) place: Place,
    /// Changed since it was last kept.
    pub(crate) changed: bool,
    /// A text row longer than the limit is being passed over.
    inside_line: bool,
}

/// Where a connection's rows go.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) sender: i64,
    /// What is added to a row's time stamp (OML.md section 7).
    pub(crate) offset: f64,
    /// Tables by stream; nothing where the store cannot have the table.
    pub(crate) tables: BTreeMap<u32, Option<Target>>,
    /// What is seen of it besides.
    pub(crate) watched: Watched,
}

/// The table of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) table: TableId,
    /// Where the values of its columns are in a row, when that is not in their order.
    pub(crate) order: Option<Vec<usize>>,
}

/// Takes what a connection says.
pub(crate) trait Sink {
    type Error;

    fn row(&mut self, place: &mut Place, row: &Row<'_>) -> Result<(), Self::Error>;
    fn damage(&mut self, place: &mut Place, damage: Damage);
}

/// What a state in the database begins with.
const OML: u8 = 1;
const OML_INSIDE_LINE: u8 = 2;
const NATIVE: u8 = 3;

/// The server has bounded the header; here it may be longer, with late streams in it.
fn unbounded_header(limits: Limits) -> Limits {
    Limits { header: usize::MAX / 2, ..limits }
}

impl Connection {
    /// Reads the header of an OML connection.
    pub(crate) fn oml(text: &[u8], bounds: Limits) -> Option<Self> {
        let decoder = read_header(text, unbounded_header(bounds))?;
        let header = decoder.header().clone();
        Some(Self::new(Reader::Oml(Box::new(decoder), Vec::new()), header))
    }

    /// Reads the header of a native connection.
    pub(crate) fn native(text: &[u8], bounds: Limits) -> Option<Self> {
        let header = read_header(text, unbounded_header(bounds))?.header().clone();
        let decoder = RowDecoder::new(header.clone()).ok()?;
        Some(Self::new(Reader::Native(Box::new(decoder)), header))
    }

    fn new(reader: Reader, header: Header) -> Self {
        let watched = Watched::new(&header);
        let place = Place { sender: 0, offset: 0.0, tables: BTreeMap::new(), watched };
        Self { reader, header, place, changed: true, inside_line: false }
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Takes what came next.
    pub(crate) fn take<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), S::Error> {
        self.changed = true;
        let mut late = Vec::new();
        match &mut self.reader {
            Reader::Native(decoder) => {
                let mut rest = bytes;
                while let Some(event) = decoder.next_row(&mut rest) {
                    give(&mut self.place, &event, sink, &mut late)?;
                }
            }
            Reader::Oml(decoder, kept) if kept.is_empty() => {
                let bytes = if self.inside_line { behind_line(bytes, &mut self.inside_line) } else { bytes };
                let taken = decode(decoder, bytes, &mut self.place, sink, &mut late)?;
                kept.extend_from_slice(&bytes[taken..]);
            }
            Reader::Oml(decoder, kept) => {
                kept.extend_from_slice(bytes);
                let taken = decode(decoder, kept, &mut self.place, sink, &mut late)?;
                kept.drain(..taken);
            }
        }
        self.header.schemas.retain(|schema| late.iter().all(|other: &Schema| other.index != schema.index));
        self.header.schemas.extend(late);
        Ok(())
    }

    /// Nothing more will come: what is unfinished is damaged.
    pub(crate) fn finish<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if let Reader::Oml(decoder, kept) = &mut self.reader {
            decoder.finish();
            decode(decoder, kept, &mut self.place, sink, &mut Vec::new())?;
            kept.clear();
        }
        Ok(())
    }

    /// What [`Self::restore`] needs, between two pieces.
    pub(crate) fn state(&self) -> Vec<u8> {
        let (kind, kept): (_, &[u8]) = match &self.reader {
            Reader::Native(_) => (NATIVE, &[]),
            Reader::Oml(decoder, kept) if self.inside_line || cut_inside_line(decoder) => {
                (OML_INSIDE_LINE, kept)
            }
            Reader::Oml(_, kept) => (OML, kept),
        };
        let mut header = Vec::new();
        self.header.write(&mut header);
        let mut state = vec![kind];
        state.extend_from_slice(&self.place.sender.to_le_bytes());
        state.extend_from_slice(&(header.len() as u64).to_le_bytes());
        state.extend_from_slice(&header);
        state.extend_from_slice(kept);
        state
    }

    /// A connection as it was when its state was kept; its tables have to be looked up again.
    pub(crate) fn restore(state: &[u8], bounds: Limits) -> Option<Self> {
        let (&kind, rest) = state.split_first()?;
        let (sender, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (header, kept) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let mut connection = match kind {
            NATIVE => Self::native(header, bounds)?,
            _ => Self::oml(header, bounds)?,
        };
        connection.place.sender = i64::from_le_bytes(*sender);
        connection.inside_line = kind == OML_INSIDE_LINE;
        connection.changed = false;
        if let Reader::Oml(_, bytes) = &mut connection.reader {
            bytes.extend_from_slice(kept);
        }
        Some(connection)
    }
}

/// A decoder behind the header that `text` is.
pub(crate) fn read_header(text: &[u8], bounds: Limits) -> Option<Decoder> {
    let mut decoder = Decoder::new(bounds);
    let mut rest = text;
    loop {
        let (taken, found) = decoder.advance(rest).ok()?;
        rest = &rest[taken..];
        match found {
            Advance::Header => return Some(decoder),
            Advance::Skipped => {}
            _ => return None,
        }
    }
}

/// Whether the decoder passes over the rest of a line that was too long.
fn cut_inside_line(decoder: &Decoder) -> bool {
    decoder.header().content == Content::Text && decoder.is_passing_over()
}

/// What follows the line that `bytes` go on with.
fn behind_line<'a>(bytes: &'a [u8], inside: &mut bool) -> &'a [u8] {
    match bytes.iter().position(|&byte| byte == b'\n') {
        Some(end) => {
            *inside = false;
            &bytes[end + 1..]
        }
        None => &[],
    }
}

/// Decodes what can be; returns how many bytes are done with.
fn decode<S: Sink>(
    decoder: &mut Decoder,
    bytes: &[u8],
    place: &mut Place,
    sink: &mut S,
    late: &mut Vec<Schema>,
) -> Result<usize, S::Error> {
    let mut done = 0;
    // A decoder past its header gives no errors.
    while let Ok((taken, found)) = decoder.advance(&bytes[done..]) {
        if found == Advance::More {
            break;
        }
        if let Some(event) = decoder.event(found, &bytes[done..]) {
            give(place, &event, sink, late)?;
        }
        done += taken;
    }
    Ok(done)
}

fn give<S: Sink>(
    place: &mut Place,
    event: &Event<'_>,
    sink: &mut S,
    late: &mut Vec<Schema>,
) -> Result<(), S::Error> {
    match event {
        Event::Row(row) => {
            if let Some(schema) = row.defines {
                late.retain(|other| other.index != schema.index);
                late.push(schema.clone());
            }
            sink.row(place, row)
        }
        Event::Damaged(damage) => {
            sink.damage(place, *damage);
            Ok(())
        }
        Event::Header(_) => Ok(()),
    }
}
