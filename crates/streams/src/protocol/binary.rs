//! Binary packets: `AA AA | type | length | count | stream | seq | timestamp | values` (OML.md section 5).

use super::number::{pack_double, unpack_double};
use super::row::{Damage, DamageKind, Parts, Slot, Span};
use super::schema::Schema;
use super::types::{ElementType, FieldType};
use super::value::{PACKED_FALSE, PACKED_TRUE, Value};

/// The two bytes before every packet.
pub(super) const SYNC: [u8; 2] = [0xaa, 0xaa];
/// Bytes of a short packet's head: sync, type, 16-bit length.
const SHORT_HEAD: usize = 5;
/// Bytes of a long packet's head: sync, type, 32-bit length.
pub(super) const LONG_HEAD: usize = 7;
/// count, stream, tagged seq, tagged timestamp.
pub(super) const PREFIX: usize = 2 + 5 + 6;
/// What a stream of four bytes takes more.
const WIDER: usize = 3;
/// Bytes of the longest value of a type of fixed length, with its tag.
pub(super) const MAX_SCALAR: usize = 9;
/// Longest string that a packet can hold (OML.md section 5).
pub(super) const MAX_STRING: usize = 254;

mod tag {
    pub(super) const LONG: u8 = 0x01;
    pub(super) const DOUBLE: u8 = 0x02;
    pub(super) const NAN: u8 = 0x03;
    pub(super) const STRING: u8 = 0x04;
    pub(super) const INT32: u8 = 0x05;
    pub(super) const UINT32: u8 = 0x06;
    pub(super) const INT64: u8 = 0x07;
    pub(super) const UINT64: u8 = 0x08;
    pub(super) const BLOB: u8 = 0x09;
    pub(super) const GUID: u8 = 0x0a;
    pub(super) const FALSE: u8 = 0x0b;
    pub(super) const TRUE: u8 = 0x0c;
    pub(super) const VECTOR: u8 = 0x0d;
    pub(super) const ELEMENT_BOOL: u8 = 0x0e;
    /// IEEE 754: an element tag in OML; the native protocol also has it for scalars and the time stamp.
    pub(super) const EXACT: u8 = 0x0f;
    /// A string with a 32-bit length: native protocol only.
    pub(super) const TEXT: u8 = 0x10;
}

/// Which tags a packet may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// What a real server and a real client know.
    #[default]
    Oml,
    /// Also exact doubles and strings of any length.
    Native,
}

/// The head of a packet: where its contents start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The stream has four bytes, not one (native dialect).
    pub(super) wide: bool,
}

impl Head {
    /// Bytes before the values.
    pub(super) const fn prefix(self) -> usize {
        if self.wide { PREFIX + WIDER } else { PREFIX }
    }
}

/// What the first bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadFound {
    /// Too few bytes to say.
    Short,
    /// No packet begins here.
    None,
    /// A packet.
    Some(Head),
}

/// Looks for a packet's head at the start of `bytes`.
pub(super) fn read_head(bytes: &[u8], dialect: Dialect) -> HeadFound {
    let is_wide = |kind: u8| kind == 3 && dialect == Dialect::Native;
    match *bytes {
        [first, ..] if first != SYNC[0] => HeadFound::None,
        [_, second, ..] if second != SYNC[1] => HeadFound::None,
        [_, _, 1, high, low, ..] => {
            let length = usize::from(u16::from_be_bytes([high, low]));
            HeadFound::Some(Head { start: SHORT_HEAD, end: SHORT_HEAD + length, wide: false })
        }
        [_, _, kind, a, b, c, d, ..] if kind == 2 || is_wide(kind) => {
            let length = u32::from_be_bytes([a, b, c, d]) as usize;
            HeadFound::Some(Head { start: LONG_HEAD, end: LONG_HEAD + length, wide: kind == 3 })
        }
        [_, _, kind, ..] if kind != 1 && kind != 2 && !is_wide(kind) => HeadFound::None,
        _ => HeadFound::Short,
    }
}

/// What the first bytes of a packet's contents say before the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// seq and time stamp carry the tags that they must.
    pub(super) tags: bool,
    /// Number of values, modulo 256.
    pub(super) count: u8,
    /// The stream.
    pub(super) stream: u32,
}

/// Looks at the bytes after a head; `None`: too few to say.
pub(super) fn read_prefix_tags(contents: &[u8], head: Head, dialect: Dialect) -> Option<Prefix> {
    let all = contents.get(..head.prefix())?;
    let (stream, prefix) = match *all {
        [_, a, b, c, d, ..] if head.wide => (u32::from_be_bytes([a, b, c, d]), &all[WIDER..]),
        _ => (u32::from(all[1]), all),
    };
    let exact = dialect == Dialect::Native && prefix[7] == tag::EXACT;
    let tags = prefix[2] == tag::INT32 && (prefix[7] == tag::DOUBLE || prefix[7] == tag::NAN || exact);
    Some(Prefix { tags, count: all[0], stream })
}

/// The length of every packet of a stream, where its fields and the dialect leave one only.
pub(super) fn fixed_length(schema: &Schema, dialect: Dialect) -> Option<usize> {
    if dialect == Dialect::Native {
        return None;
    }
    schema.fields.iter().try_fold(PREFIX, |length, field| {
        Some(match field.field_type {
            FieldType::Int32 | FieldType::UInt32 => length + 5,
            FieldType::Double => length + 6,
            FieldType::Int64 | FieldType::UInt64 | FieldType::Guid => length + 9,
            FieldType::Bool => length + 1,
            FieldType::String | FieldType::Blob | FieldType::Vector(_) => return None,
        })
    })
}

/// Why a packet's contents are refused, and whether its end can still be trusted.
pub(super) struct Refused {
    pub(super) damage: Damage,
    /// Where all values were read, when that is not the end that the head states.
    pub(super) values_end: Option<usize>,
}

/// Reads the contents of one packet (`bytes[head.start..head.end]`) into `parts`; spans count from the start of `bytes`.
pub(super) fn parse<'s>(
    bytes: &[u8],
    head: Head,
    dialect: Dialect,
    find: impl FnOnce(u32) -> Option<&'s Schema>,
    parts: &mut Parts,
) -> Result<(), Refused> {
    parts.clear();
    let mut reader = Reader { bytes: &bytes[..head.end], position: head.start };
    let refused = |damage| Refused { damage, values_end: None };
    let count = read_prefix(&mut reader, head, dialect, parts)
        .ok_or_else(|| refused(Damage::early(DamageKind::Prefix)))?;
    let (stream, seq) = (parts.stream, parts.seq);
    let damage = |kind| Damage { kind, stream: Some(stream), seq: Some(seq) };
    let schema = find(stream).ok_or_else(|| refused(damage(DamageKind::UnknownStream)))?;
    if schema.fields.len() as u8 != count {
        return Err(refused(damage(DamageKind::Fields)));
    }
    for field in &schema.fields {
        let slot = read_value(&mut reader, field.field_type, dialect);
        let slot = slot.ok_or_else(|| refused(damage(DamageKind::Value)))?;
        parts.push(slot);
    }
    if reader.position == head.end {
        return Ok(());
    }
    Err(Refused { damage: damage(DamageKind::Length), values_end: Some(reader.position) })
}

fn read_prefix(reader: &mut Reader<'_>, head: Head, dialect: Dialect, parts: &mut Parts) -> Option<u8> {
    let [count] = reader.array()?;
    let stream =
        if head.wide { u32::from_be_bytes(reader.array()?) } else { u32::from(reader.array::<1>()?[0]) };
    let [tag::INT32] = reader.array()? else { return None };
    parts.stream = stream;
    parts.seq = i64::from(i32::from_be_bytes(reader.array()?));
    let Slot::Double(timestamp) = read_value(reader, FieldType::Double, dialect)? else { return None };
    parts.timestamp = timestamp;
    Some(count)
}

/// One tagged value: null where it is of another type than its field; nothing where its end cannot be told.
fn read_value(reader: &mut Reader<'_>, field_type: FieldType, dialect: Dialect) -> Option<Slot> {
    let [tag] = reader.array()?;
    Some(match (field_type, tag) {
        (FieldType::Int32, tag::INT32 | tag::LONG) => Slot::Int32(i32::from_be_bytes(reader.array()?)),
        (FieldType::UInt32, tag::UINT32) => Slot::UInt32(u32::from_be_bytes(reader.array()?)),
        (FieldType::Int64, tag::INT64) => Slot::Int64(i64::from_be_bytes(reader.array()?)),
        (FieldType::UInt64, tag::UINT64) => Slot::UInt64(u64::from_be_bytes(reader.array()?)),
        (FieldType::Double, tag::DOUBLE) => Slot::Double(read_packed_double(reader)?),
        (FieldType::Double, tag::NAN) => reader.array::<5>().map(|_| Slot::Double(f64::NAN))?,
        (FieldType::Double, tag::EXACT) if dialect == Dialect::Native => {
            Slot::Double(f64::from_be_bytes(reader.array()?))
        }
        (FieldType::String, tag::STRING) => {
            let [length] = reader.array()?;
            Slot::String(reader.span(usize::from(length))?)
        }
        (FieldType::String, tag::TEXT) if dialect == Dialect::Native => Slot::String(read_long_span(reader)?),
        (FieldType::Blob, tag::BLOB) => Slot::Blob(read_long_span(reader)?),
        (FieldType::Guid, tag::GUID) => Slot::Guid(u64::from_be_bytes(reader.array()?)),
        (FieldType::Bool, tag::FALSE) => Slot::Bool(false),
        (FieldType::Bool, tag::TRUE) => Slot::Bool(true),
        (FieldType::Vector(element), tag::VECTOR) => read_vector(reader, element)?,
        (_, tag) => return skip_value(reader, tag).map(|()| Slot::Null),
    })
}

/// Passes over the payload behind a tag.
fn skip_value(reader: &mut Reader<'_>, tag: u8) -> Option<()> {
    let length = match tag {
        tag::FALSE | tag::TRUE => 0,
        tag::LONG | tag::INT32 | tag::UINT32 => 4,
        tag::DOUBLE | tag::NAN => 5,
        tag::INT64 | tag::UINT64 | tag::GUID | tag::EXACT => 8,
        tag::STRING => usize::from(reader.array::<1>()?[0]),
        tag::BLOB => u32::from_be_bytes(reader.array()?) as usize,
        tag::VECTOR => {
            let [element, high, low] = reader.array()?;
            usize::from(u16::from_be_bytes([high, low])) * element_width(element)?
        }
        _ => return None,
    };
    reader.span(length).map(drop)
}

/// Bytes of an element with this tag.
const fn element_width(tag: u8) -> Option<usize> {
    Some(match tag {
        tag::INT32 | tag::UINT32 => 4,
        tag::INT64 | tag::UINT64 | tag::EXACT => 8,
        tag::ELEMENT_BOOL => 1,
        _ => return None,
    })
}

fn read_packed_double(reader: &mut Reader<'_>) -> Option<f64> {
    let mantissa = i32::from_be_bytes(reader.array()?);
    Some(unpack_double(mantissa, i8::from_be_bytes(reader.array()?)))
}

fn read_long_span(reader: &mut Reader<'_>) -> Option<Span> {
    let length = u32::from_be_bytes(reader.array()?) as usize;
    reader.span(length)
}

fn read_vector(reader: &mut Reader<'_>, element: ElementType) -> Option<Slot> {
    let [found, high, low] = reader.array()?;
    let count = usize::from(u16::from_be_bytes([high, low]));
    let span = reader.span(count * element_width(found)?)?;
    let bools = element == ElementType::Bool;
    let valid = |byte: &u8| *byte == PACKED_FALSE || *byte == PACKED_TRUE;
    let whole =
        found == element_tag(element) && (!bools || reader.bytes[span.start..span.end].iter().all(valid));
    Some(if whole { Slot::Vector(element, span) } else { Slot::Null })
}

const fn element_tag(element: ElementType) -> u8 {
    match element {
        ElementType::Int32 => tag::INT32,
        ElementType::UInt32 => tag::UINT32,
        ElementType::Int64 => tag::INT64,
        ElementType::UInt64 => tag::UINT64,
        ElementType::Bool => tag::ELEMENT_BOOL,
        ElementType::Double => tag::EXACT,
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes[self.position..].first_chunk()?;
        self.position += N;
        Some(array)
    }

    fn span(&mut self, length: usize) -> Option<Span> {
        let start = self.position;
        self.position = start.checked_add(length).filter(|&end| end <= self.bytes.len())?;
        Some(Span::input(start, self.position))
    }
}

/// Appends one packet: short if it fits, else long. Vectors have at most 65535 elements.
pub(super) fn write<'v>(
    out: &mut Vec<u8>,
    dialect: Dialect,
    stream: u32,
    seq: i64,
    timestamp: f64,
    values: impl ExactSizeIterator<Item = Value<'v>>,
) {
    let start = out.len();
    out.extend_from_slice(&[SYNC[0], SYNC[1], 1, 0, 0, values.len() as u8]);
    match u8::try_from(stream) {
        Ok(stream) => out.push(stream),
        Err(_) => out.extend_from_slice(&stream.to_be_bytes()),
    }
    out.push(tag::INT32);
    out.extend_from_slice(&(seq as i32).to_be_bytes());
    write_double(out, dialect, timestamp);
    for value in values {
        write_value(out, dialect, value);
    }
    write_length(out, start, u8::try_from(stream).is_err());
}

/// Puts the length in the head, making it a long one where needed.
fn write_length(out: &mut Vec<u8>, start: usize, wide: bool) {
    let length = out.len() - start - SHORT_HEAD;
    let fits = !wide && length + SHORT_HEAD <= usize::from(u16::MAX);
    if let (Ok(short), true) = (u16::try_from(length), fits) {
        out[start + 3..start + 5].copy_from_slice(&short.to_be_bytes());
        return;
    }
    out.splice(start + 3..start + 5, (length as u32).to_be_bytes());
    out[start + 2] = if wide { 3 } else { 2 };
}

fn write_value(out: &mut Vec<u8>, dialect: Dialect, value: Value<'_>) {
    match value {
        Value::Int32(value) => write_tagged(out, tag::INT32, &value.to_be_bytes()),
        Value::UInt32(value) => write_tagged(out, tag::UINT32, &value.to_be_bytes()),
        Value::Int64(value) => write_tagged(out, tag::INT64, &value.to_be_bytes()),
        Value::UInt64(value) => write_tagged(out, tag::UINT64, &value.to_be_bytes()),
        Value::Guid(value) => write_tagged(out, tag::GUID, &value.to_be_bytes()),
        Value::Double(value) => write_double(out, dialect, value),
        Value::Bool(value) => out.push(if value { tag::TRUE } else { tag::FALSE }),
        Value::String(text) => write_string(out, dialect, text),
        Value::Blob(bytes) => {
            write_tagged(out, tag::BLOB, &(bytes.len() as u32).to_be_bytes());
            out.extend_from_slice(bytes);
        }
        Value::Vector(vector) => {
            write_tagged(out, tag::VECTOR, &[element_tag(vector.element_type())]);
            out.extend_from_slice(&(vector.len() as u16).to_be_bytes());
            vector.pack(out);
        }
        Value::Null => debug_assert!(false, "the encoder has checked the types"),
    }
}

fn write_tagged(out: &mut Vec<u8>, tag: u8, payload: &[u8]) {
    out.push(tag);
    out.extend_from_slice(payload);
}

/// What OML's double cannot hold (infinities, very large and small) goes as NaN, never as another number.
fn write_double(out: &mut Vec<u8>, dialect: Dialect, value: f64) {
    if dialect == Dialect::Native {
        return write_tagged(out, tag::EXACT, &value.to_be_bytes());
    }
    match pack_double(value) {
        Some((mantissa, exponent)) => {
            write_tagged(out, tag::DOUBLE, &mantissa.to_be_bytes());
            out.push(exponent.to_be_bytes()[0]);
        }
        None => write_tagged(out, tag::NAN, &[0; 5]),
    }
}

fn write_string(out: &mut Vec<u8>, dialect: Dialect, text: &[u8]) {
    if dialect == Dialect::Native && text.len() > MAX_STRING {
        write_tagged(out, tag::TEXT, &(text.len() as u32).to_be_bytes());
        return out.extend_from_slice(text);
    }
    let text = cut(text);
    write_tagged(out, tag::STRING, &[text.len() as u8]);
    out.extend_from_slice(text);
}

/// At most 254 bytes, cut before a UTF-8 character rather than in it.
fn cut(text: &[u8]) -> &[u8] {
    if text.len() <= MAX_STRING {
        return text;
    }
    let continues = |&end: &usize| text[end] & 0xc0 == 0x80;
    let end = (MAX_STRING - 3..=MAX_STRING).rev().find(|end| !continues(end));
    &text[..end.unwrap_or(MAX_STRING)]
}
