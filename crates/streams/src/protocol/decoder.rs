//! The decoder: bytes in, rows out, one connection.

use super::binary::{self, Dialect, Head, HeadFound};
use super::header::{Content, Header, HeaderError};
use super::row::{Damage, DamageKind, Parts, Row};
use super::schema::Schema;
use super::streams::Streams;
use super::text;

/// Bounds on what one connection may make the decoder hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the header with its blank line.
    pub header: usize,
    /// Bytes of one row, line or packet.
    pub row: usize,
    /// Streams defined.
    pub streams: usize,
    /// Fields of all streams together.
    pub fields: usize,
}

impl Default for Limits {
    /// 256 KiB of header, 4 MiB for a row, 4096 streams, 65,536 fields.
    fn default() -> Self {
        Self { header: 256 << 10, row: 4 << 20, streams: 4096, fields: 1 << 16 }
    }
}

impl Limits {
    /// With so many bytes at hand [`Decoder::advance`] always takes some: more need not be buffered.
    pub const fn buffer(&self) -> usize {
        let longest = if self.header > self.row { self.header } else { self.row };
        longest + binary::LONG_HEAD + SYNC_AND_TYPE
    }
}

/// Bytes looked at behind a damaged packet to see that the next follows.
const SYNC_AND_TYPE: usize = 3;

/// What was seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes taken, the header included.
    pub bytes: u64,
    /// Rows given.
    pub rows: u64,
    /// Bytes passed over in search of the next row.
    pub skipped_bytes: u64,
    damaged: [u64; DamageKind::ALL.len()],
}

impl Counters {
    /// Rows (or stretches between rows) damaged in this way.
    pub const fn damaged(&self, kind: DamageKind) -> u64 {
        self.damaged[kind as usize]
    }

    /// Rows damaged in any way.
    pub fn all_damaged(&self) -> u64 {
        self.damaged.iter().sum()
    }
}

/// What one step of the decoder found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// More bytes are needed.
    More,
    /// Bytes were taken that make no row (a header line, a stretch passed over): go on.
    Skipped,
    /// The header is complete.
    Header,
    /// A row.
    Row,
    /// A row that must not be taken as good; the next one will be read.
    Damaged(Damage),
}

/// What a stream consists of.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Once, before everything else.
    Header(&'a Header),
    /// A row.
    Row(Row<'a>),
    /// A row that must not be taken as good.
    Damaged(Damage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Header,
    Text,
    /// Inside a line beyond the limit.
    LongLine,
    Binary,
    /// Between packets, out of step: looking for the next.
    Search,
}

/// Decodes one connection; holds no input.
///
/// What comes out depends on the bytes alone, not on how they were cut into pieces.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    state: State,
    ended: bool,
    /// Bytes of the present line that were searched for its end.
    scanned: usize,
    header_bytes: usize,
    header: Header,
    dialect: Dialect,
    streams: Streams,
    parts: Parts,
    defined: Option<u32>,
    counters: Counters,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Decoder {
    /// A decoder before its header.
    pub fn new(limits: Limits) -> Self {
        Self::with_dialect(limits, Dialect::Oml)
    }

    /// A decoder of packets that come in whole pieces, their header known.
    pub(crate) fn for_pieces(limits: Limits, dialect: Dialect, header: Header) -> Result<Self, HeaderError> {
        let mut decoder = Self::with_dialect(limits, dialect);
        decoder.header = header;
        decoder.finish_header()?;
        decoder.finish();
        decoder.begin_piece();
        Ok(decoder)
    }

    /// The next bytes are the start of a piece, whatever became of the last one.
    pub(crate) const fn begin_piece(&mut self) {
        self.state = State::Binary;
    }

    fn with_dialect(limits: Limits, dialect: Dialect) -> Self {
        Self {
            limits,
            state: State::Header,
            ended: false,
            scanned: 0,
            header_bytes: 0,
            header: Header::default(),
            dialect,
            streams: Streams::new(dialect),
            parts: Parts::default(),
            defined: None,
            counters: Counters::default(),
        }
    }

    /// What was seen so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The header as far as it was read.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The present definition of a stream.
    pub fn schema(&self, index: u32) -> Option<&Schema> {
        self.streams.get(index)
    }

    /// Whether bytes are passed over in search of the next row.
    pub const fn is_passing_over(&self) -> bool {
        matches!(self.state, State::LongLine | State::Search)
    }

    /// Says that no bytes follow those given next: an unfinished row is damaged then, not awaited.
    pub const fn finish(&mut self) {
        self.ended = true;
    }

    /// Takes bytes from the start of `input`: how many, and what they were. Give the same bytes again behind those
    /// taken, with more where [`Advance::More`] came; at most [`Limits::buffer`] bytes are ever needed.
    ///
    /// # Errors
    /// The header cannot be read: close the connection.
    pub fn advance(&mut self, input: &[u8]) -> Result<(usize, Advance), HeaderError> {
        let (taken, found) = match self.state {
            State::Header => self.read_header_line(input)?,
            State::Text => self.read_line(input),
            State::LongLine => self.skip_line(input),
            State::Binary => self.read_packet(input),
            State::Search => self.search(input),
        };
        self.counters.bytes += taken as u64;
        match found {
            Advance::Row => self.counters.rows += 1,
            Advance::Damaged(damage) => self.counters.damaged[damage.kind as usize] += 1,
            _ => {}
        }
        Ok((taken, found))
    }

    /// What the last step found, with the row borrowed from the `input` that the step was given.
    pub fn event<'a>(&'a self, found: Advance, input: &'a [u8]) -> Option<Event<'a>> {
        match found {
            Advance::More | Advance::Skipped => None,
            Advance::Header => Some(Event::Header(&self.header)),
            Advance::Damaged(damage) => Some(Event::Damaged(damage)),
            Advance::Row => Some(Event::Row(Row {
                schema: self.streams.get(self.parts.stream)?,
                seq: self.parts.seq,
                timestamp: self.parts.timestamp,
                defines: self.defined.and_then(|index| self.streams.get(index)),
                nulls: self.parts.nulls,
                slots: &self.parts.slots,
                input,
                scratch: &self.parts.scratch,
                order: None,
            })),
        }
    }

    fn read_header_line(&mut self, input: &[u8]) -> Result<(usize, Advance), HeaderError> {
        let Some(end) = text::find_line_end(input, self.scanned.min(input.len())) else {
            self.scanned = input.len();
            if self.header_bytes + input.len() >= self.limits.header {
                return Err(HeaderError::TooLong(self.limits.header));
            }
            return Ok((0, Advance::More));
        };
        self.scanned = 0;
        self.header_bytes += end + 1;
        if self.header_bytes > self.limits.header {
            return Err(HeaderError::TooLong(self.limits.header));
        }
        if end == 0 {
            self.finish_header()?;
            return Ok((1, Advance::Header));
        }
        let line = std::str::from_utf8(&input[..end]);
        self.header.read_line(line.map_err(|_| HeaderError::NotText(self.header_bytes))?)?;
        Ok((end + 1, Advance::Skipped))
    }

    fn finish_header(&mut self) -> Result<(), HeaderError> {
        self.header.finish()?;
        if self.header.protocol >= 4 {
            self.streams.define(Schema::metadata());
        }
        for schema in &self.header.schemas {
            if !self.may_define(schema) {
                return Err(HeaderError::TooManyStreams(self.limits.streams, self.limits.fields));
            }
            self.streams.define(schema.clone());
        }
        self.state = match self.header.content {
            Content::Text => State::Text,
            Content::Binary => State::Binary,
        };
        Ok(())
    }

    fn read_line(&mut self, input: &[u8]) -> (usize, Advance) {
        let end = text::find_line_end(input, self.scanned.min(input.len()));
        self.scanned = 0;
        match end {
            Some(end) if end < self.limits.row => (end + 1, self.parse_line(&input[..end])),
            Some(end) => (end + 1, Advance::Damaged(Damage::early(DamageKind::TooLong))),
            None if input.len() >= self.limits.row => {
                self.state = State::LongLine;
                (input.len(), Advance::Damaged(Damage::early(DamageKind::TooLong)))
            }
            None if self.ended && !input.is_empty() => {
                (input.len(), Advance::Damaged(Damage::early(DamageKind::Truncated)))
            }
            None => {
                self.scanned = input.len();
                (0, Advance::More)
            }
        }
    }

    fn parse_line(&mut self, line: &[u8]) -> Advance {
        match text::parse(line, |index| self.streams.get(index), &mut self.parts) {
            Ok(()) => self.complete_row(line),
            Err(damage) => Advance::Damaged(damage),
        }
    }

    fn skip_line(&mut self, input: &[u8]) -> (usize, Advance) {
        let end = text::find_line_end(input, 0);
        let taken = end.map_or(input.len(), |end| end + 1);
        self.counters.skipped_bytes += taken as u64;
        if end.is_some() {
            self.state = State::Text;
        }
        (taken, if taken == 0 { Advance::More } else { Advance::Skipped })
    }

    fn read_packet(&mut self, input: &[u8]) -> (usize, Advance) {
        let head = match binary::read_head(input, self.dialect) {
            HeadFound::Some(head) => head,
            HeadFound::None => return self.lose_step(1, Damage::early(DamageKind::Garbage)),
            HeadFound::Short if self.ended && !input.is_empty() => {
                return self.lose_step(1, Damage::early(DamageKind::Truncated));
            }
            HeadFound::Short => return (0, Advance::More),
        };
        if head.end > self.limits.row {
            return self.lose_step(1, Damage::early(DamageKind::TooLong));
        }
        if let Some(damage) = self.distrust(input, head) {
            return self.lose_step(1, damage);
        }
        match (input.len() >= head.end, self.ended) {
            (true, _) => self.parse_packet(input, head),
            (false, true) => self.lose_step(1, Damage::early(DamageKind::Truncated)),
            (false, false) => (0, Advance::More),
        }
    }

    /// What the head and the bytes right after it already show to be wrong with the stated length.
    fn distrust(&self, input: &[u8], head: Head) -> Option<Damage> {
        if head.end - head.start < head.prefix() {
            return Some(Damage::early(DamageKind::Length));
        }
        let prefix = binary::read_prefix_tags(input.get(head.start..)?, head, self.dialect)?;
        if !prefix.tags {
            return Some(Damage::early(DamageKind::Prefix));
        }
        let fits = self.streams.may_have_odd_length(prefix.stream, head.end - head.start);
        (!fits).then_some(Damage { kind: DamageKind::Length, stream: Some(prefix.stream), seq: None })
    }

    fn parse_packet(&mut self, input: &[u8], head: Head) -> (usize, Advance) {
        let find = |index| self.streams.get(index);
        let refused = match binary::parse(input, head, self.dialect, find, &mut self.parts) {
            Ok(()) if self.has_trusted_length(head) => return (head.end, self.complete_row(input)),
            Ok(()) => return self.parse_odd_packet(input, head),
            Err(_) if !self.has_trusted_length(head) => return self.lose_step(1, self.wrong_length()),
            Err(refused) => refused,
        };
        if let Some(end) = refused.values_end {
            return self.lose_step(end, refused.damage);
        }
        match self.packet_follows(&input[head.end..]) {
            Some(true) => (head.end, Advance::Damaged(refused.damage)),
            Some(false) => self.lose_step(1, refused.damage),
            None => (0, Advance::More),
        }
    }

    /// A packet whose values are whole, though not of the length that its stream's types have: some are of other types.
    /// Another packet has to follow, or its length is not believed.
    fn parse_odd_packet(&mut self, input: &[u8], head: Head) -> (usize, Advance) {
        match self.packet_follows(&input[head.end..]) {
            Some(true) => (head.end, self.complete_row(input)),
            Some(false) => self.lose_step(1, self.wrong_length()),
            None => (0, Advance::More),
        }
    }

    /// Whether the packet just read is as long as the types of its stream make it.
    fn has_trusted_length(&self, head: Head) -> bool {
        self.streams.may_have_length(self.parts.stream, head.end - head.start)
    }

    const fn wrong_length(&self) -> Damage {
        Damage { kind: DamageKind::Length, stream: Some(self.parts.stream), seq: None }
    }

    /// Whether the bytes behind a packet begin another (or there are none): then its length was right.
    fn packet_follows(&self, rest: &[u8]) -> Option<bool> {
        match binary::read_head(rest, self.dialect) {
            HeadFound::None => Some(false),
            HeadFound::Some(_) => Some(true),
            HeadFound::Short if rest.len() >= SYNC_AND_TYPE => Some(true),
            HeadFound::Short => self.ended.then_some(rest.is_empty()),
        }
    }

    /// Takes `taken` bytes and searches from there on.
    const fn lose_step(&mut self, taken: usize, damage: Damage) -> (usize, Advance) {
        self.state = State::Search;
        (taken, Advance::Damaged(damage))
    }

    fn search(&mut self, input: &[u8]) -> (usize, Advance) {
        let mut position = 0;
        while let Some(distance) = memchr::memchr(binary::SYNC[0], &input[position..]) {
            position += distance;
            match self.begins_packet(&input[position..]) {
                Some(true) => {
                    self.state = State::Binary;
                    return self.skip(position);
                }
                None if !self.ended => return self.skip(position),
                _ => position += 1,
            }
        }
        self.skip(input.len())
    }

    /// Whether a row of a known stream with the right count and tags begins here; `None`: too few bytes.
    fn begins_packet(&self, bytes: &[u8]) -> Option<bool> {
        let head = match binary::read_head(bytes, self.dialect) {
            HeadFound::Some(head) => head,
            HeadFound::None => return Some(false),
            HeadFound::Short => return None,
        };
        let length = head.end - head.start;
        if head.end > self.limits.row || length < head.prefix() {
            return Some(false);
        }
        let prefix = binary::read_prefix_tags(&bytes[head.start..], head, self.dialect)?;
        let count = self.streams.get(prefix.stream).map(|schema| schema.fields.len() as u8);
        let fits = self.streams.may_have_length(prefix.stream, length);
        Some(prefix.tags && count == Some(prefix.count) && fits)
    }

    fn skip(&mut self, taken: usize) -> (usize, Advance) {
        self.counters.skipped_bytes += taken as u64;
        let found = if taken == 0 && self.state == State::Search { Advance::More } else { Advance::Skipped };
        (taken, found)
    }

    /// Carries out what a row of stream 0 defines.
    fn complete_row(&mut self, input: &[u8]) -> Advance {
        self.defined = None;
        if self.parts.stream != 0 || !self.streams.get(0).is_some_and(Schema::is_metadata) {
            return Advance::Row;
        }
        match self.define_from_row(input) {
            Ok(defined) => {
                self.defined = defined;
                Advance::Row
            }
            Err(()) => Advance::Damaged(Damage {
                kind: DamageKind::Schema,
                stream: Some(0),
                seq: Some(self.parts.seq),
            }),
        }
    }

    /// The index that a row with subject `.` and key `schema` defines (OML.md section 3), if this is one.
    fn define_from_row(&mut self, input: &[u8]) -> Result<Option<u32>, ()> {
        let value = |index: usize| match self.parts.slots[index].value(input, &self.parts.scratch) {
            super::Value::String(text) => text,
            _ => b"",
        };
        if value(0) != b"." || value(1) != b"schema" {
            return Ok(None);
        }
        let schema: Schema = std::str::from_utf8(value(2)).map_err(drop)?.parse().map_err(drop)?;
        let index = schema.index;
        if self.streams.get(index) == Some(&schema) {
            return Ok(Some(index));
        }
        if index == 0 || !self.may_define(&schema) {
            return Err(());
        }
        self.streams.define(schema);
        Ok(Some(index))
    }

    /// Whether the limits leave room for a definition.
    fn may_define(&self, schema: &Schema) -> bool {
        let known = self.streams.get(schema.index).is_some();
        (known || self.streams.len() < self.limits.streams)
            && self.streams.fields_with(schema) <= self.limits.fields
    }
}

/// A [`Decoder`] that keeps the bytes not yet taken.
#[derive(Debug, Default)]
pub struct StreamDecoder {
    decoder: Decoder,
    buffer: Vec<u8>,
    start: usize,
}

impl StreamDecoder {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self { decoder: Decoder::new(limits), ..Self::default() }
    }

    /// Adds bytes. Call [`Self::next_event`] until it gives nothing before adding more: then at most
    /// [`Limits::buffer`] bytes and one piece are held.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.start));
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that nothing follows.
    pub const fn finish(&mut self) {
        self.decoder.finish();
    }

    /// The next event, or nothing when more bytes are needed.
    ///
    /// # Errors
    /// As [`Decoder::advance`].
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, HeaderError> {
        loop {
            let start = self.start;
            let (taken, found) = self.decoder.advance(&self.buffer[start..])?;
            self.start += taken;
            match found {
                Advance::More => return Ok(None),
                Advance::Skipped => {}
                found => return Ok(self.decoder.event(found, &self.buffer[start..])),
            }
        }
    }

    /// What was seen so far.
    pub const fn counters(&self) -> &Counters {
        self.decoder.counters()
    }

    /// The present definition of a stream.
    pub fn schema(&self, index: u32) -> Option<&Schema> {
        self.decoder.schema(index)
    }

    /// Bytes held.
    pub fn buffered(&self) -> usize {
        self.buffer.len() - self.start
    }
}
