//! Text rows: `timestamp TAB index TAB seq TAB v1 TAB v2 …` (OML.md section 4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::{memchr, memchr_iter};

use super::number::{
    parse_decimal, parse_double, parse_integer, parse_whole, write_double, write_seconds, write_signed,
    write_unsigned,
};
use super::row::{Damage, DamageKind, Parts, Slot, Span};
use super::schema::Schema;
use super::types::{ElementType, FieldType};
use super::value::{Element, Value, Vector};

/// Reads `line` (without its LF) into `parts`; spans count from the start of `line`.
pub(super) fn parse<'s>(
    line: &[u8],
    find: impl FnOnce(u32) -> Option<&'s Schema>,
    parts: &mut Parts,
) -> Result<(), Damage> {
    parts.clear();
    let mut fields = Split { line, position: Some(0) };
    parse_prefix(&mut fields, parts).ok_or(Damage::early(DamageKind::Prefix))?;
    let damage = |kind| Damage { kind, stream: Some(parts.stream), seq: Some(parts.seq) };
    if memchr(0, line).is_some() {
        return Err(damage(DamageKind::Nul));
    }
    let schema = find(parts.stream).ok_or_else(|| damage(DamageKind::UnknownStream))?;
    let found = parse_values(line, &mut fields, schema, parts);
    found.map_err(|kind| Damage { kind, stream: Some(parts.stream), seq: Some(parts.seq) })
}

fn parse_prefix(fields: &mut Split<'_>, parts: &mut Parts) -> Option<()> {
    let line = fields.line;
    parts.timestamp = parse_double(fields.next()?.of(line, line))?;
    parts.stream = u32::try_from(parse_decimal(fields.next()?.of(line, line))?).ok()?;
    parts.seq = parse_integer(fields.next()?.of(line, line))?.to_i64()?;
    Some(())
}

fn parse_values(
    line: &[u8],
    fields: &mut Split<'_>,
    schema: &Schema,
    parts: &mut Parts,
) -> Result<(), DamageKind> {
    for field in &schema.fields {
        let span = fields.next().ok_or(DamageKind::Fields)?;
        let slot = parse_value(line, span, field.field_type, parts).unwrap_or(Slot::Null);
        parts.push(slot);
    }
    if fields.next().is_some() { Err(DamageKind::Fields) } else { Ok(()) }
}

/// One value; nothing where the field's type cannot hold it whole.
fn parse_value(line: &[u8], span: Span, field_type: FieldType, parts: &mut Parts) -> Option<Slot> {
    let text = &line[span.start..span.end];
    Some(match field_type {
        FieldType::Int32 => Slot::Int32(parse_whole(text)?.to_i32()?),
        FieldType::UInt32 => Slot::UInt32(parse_whole(text)?.to_u32()?),
        FieldType::Int64 => Slot::Int64(parse_whole(text)?.to_i64()?),
        FieldType::UInt64 => Slot::UInt64(parse_whole(text)?.to_u64()?),
        FieldType::Double => Slot::Double(parse_double(text)?),
        FieldType::Guid => Slot::Guid(parse_decimal(text.trim_ascii())?),
        FieldType::Bool => Slot::Bool(parse_bool(text)),
        FieldType::String => Slot::String(unescape(text, span, parts)),
        FieldType::Blob => Slot::Blob(parse_blob(text, parts)?),
        FieldType::Vector(element) => Slot::Vector(element, parse_vector(text, element, parts)?),
    })
}

/// False is any beginning of "false", in any case, also the empty one; all else is true.
fn parse_bool(text: &[u8]) -> bool {
    !(text.len() <= 5 && text.eq_ignore_ascii_case(&b"false"[..text.len()]))
}

/// The span itself when nothing is escaped, else a copy in the scratch memory.
fn unescape(text: &[u8], span: Span, parts: &mut Parts) -> Span {
    if memchr(b'\\', text).is_none() {
        return span;
    }
    let start = parts.scratch.len();
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => parts.scratch.extend(bytes.next().map(|&escaped| unescape_byte(escaped))),
            _ => parts.scratch.push(byte),
        }
    }
    parts.scratch_from(start)
}

const fn unescape_byte(escaped: u8) -> u8 {
    match escaped {
        b't' => b'\t',
        b'n' => b'\n',
        b'r' => b'\r',
        other => other,
    }
}

fn parse_blob(text: &[u8], parts: &mut Parts) -> Option<Span> {
    let start = parts.scratch.len();
    STANDARD.decode_vec(text, &mut parts.scratch).ok()?;
    Some(parts.scratch_from(start))
}

/// Reads `n e1 e2 …`; elements beyond n are ignored, as a real server does.
fn parse_vector(text: &[u8], element: ElementType, parts: &mut Parts) -> Option<Span> {
    let start = parts.scratch.len();
    let mut words = text.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let count = parse_decimal(words.next()?)?;
    for _ in 0..count {
        parse_element(words.next()?, element)?.pack(&mut parts.scratch);
    }
    Some(parts.scratch_from(start))
}

fn parse_element(text: &[u8], element: ElementType) -> Option<Element> {
    Some(match element {
        ElementType::Int32 => Element::Int32(parse_whole(text)?.to_i32()?),
        ElementType::UInt32 => Element::UInt32(parse_whole(text)?.to_u32()?),
        ElementType::Int64 => Element::Int64(parse_whole(text)?.to_i64()?),
        ElementType::UInt64 => Element::UInt64(parse_whole(text)?.to_u64()?),
        ElementType::Double => Element::Double(parse_double(text)?),
        ElementType::Bool => Element::Bool(parse_bool(text)),
    })
}

/// The spans between TABs.
struct Split<'a> {
    line: &'a [u8],
    position: Option<usize>,
}

impl Split<'_> {
    fn next(&mut self) -> Option<Span> {
        let start = self.position?;
        let length = self.line[start..].iter().position(|&byte| byte == b'\t');
        self.position = length.map(|length| start + length + 1);
        Some(Span::input(start, length.map_or(self.line.len(), |length| start + length)))
    }
}

/// Appends a row with its LF.
pub(super) fn write<'v>(
    out: &mut Vec<u8>,
    stream: u32,
    seq: i64,
    timestamp: f64,
    values: impl Iterator<Item = Value<'v>>,
) {
    write_seconds(out, timestamp);
    out.push(b'\t');
    write_unsigned(out, u64::from(stream));
    out.push(b'\t');
    write_signed(out, seq);
    for value in values {
        out.push(b'\t');
        write_value(out, value);
    }
    out.push(b'\n');
}

fn write_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Int32(value) => write_signed(out, i64::from(value)),
        Value::UInt32(value) => write_unsigned(out, u64::from(value)),
        Value::Int64(value) => write_signed(out, value),
        Value::UInt64(value) | Value::Guid(value) => write_unsigned(out, value),
        // A server's strtod says "out of range" of subnormals and drops the row.
        Value::Double(value) if value.is_subnormal() => write_double(out, 0.0_f64.copysign(value)),
        Value::Double(value) => write_double(out, value),
        Value::Bool(value) => out.push(if value { b'T' } else { b'F' }),
        Value::String(text) => write_string(out, text),
        Value::Blob(bytes) => write_blob(out, bytes),
        Value::Vector(vector) => write_vector(out, vector),
        Value::Null => debug_assert!(false, "the encoder has checked the types"),
    }
}

/// Appends an escaped string up to its first NUL, which no string of the protocol can hold.
fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..memchr(0, text).unwrap_or(text.len())];
    for &byte in text {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(byte),
        }
    }
}

fn write_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start));
}

fn write_vector(out: &mut Vec<u8>, vector: Vector<'_>) {
    write_unsigned(out, vector.len() as u64);
    for element in vector.iter() {
        out.push(b' ');
        match element {
            Element::Int32(value) => write_signed(out, i64::from(value)),
            Element::UInt32(value) => write_unsigned(out, u64::from(value)),
            Element::Int64(value) => write_signed(out, value),
            Element::UInt64(value) => write_unsigned(out, value),
            Element::Double(value) => write_double(out, value),
            Element::Bool(value) => out.extend_from_slice(if value { b"True" } else { b"False" }),
        }
    }
}

/// The first LF in `input` at or after `from`.
pub(super) fn find_line_end(input: &[u8], from: usize) -> Option<usize> {
    memchr_iter(b'\n', &input[from..]).next().map(|position| from + position)
}
