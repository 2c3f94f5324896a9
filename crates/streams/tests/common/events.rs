//! What a stream consists of, owned, so that it can be compared.

use trialwise_streams::protocol::{Damage, Element, Event, HeaderError, Limits, StreamDecoder, Value};

/// A value that owns what it holds; doubles as bits, so that NaN equals NaN.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    Integer(i128),
    Double(u64),
    Bytes(Vec<u8>),
    Bool(bool),
    Vector(Vec<Self>),
    Null,
}

pub fn double(value: f64) -> Owned {
    Owned::Double(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() })
}

pub fn owned(value: Value<'_>) -> Owned {
    match value {
        Value::Int32(value) => Owned::Integer(value.into()),
        Value::UInt32(value) => Owned::Integer(value.into()),
        Value::Int64(value) => Owned::Integer(value.into()),
        Value::UInt64(value) | Value::Guid(value) => Owned::Integer(value.into()),
        Value::Double(value) => double(value),
        Value::String(bytes) | Value::Blob(bytes) => Owned::Bytes(bytes.to_vec()),
        Value::Bool(value) => Owned::Bool(value),
        Value::Vector(vector) => Owned::Vector(vector.iter().map(owned_element).collect()),
        Value::Null => Owned::Null,
    }
}

fn owned_element(element: Element) -> Owned {
    match element {
        Element::Int32(value) => Owned::Integer(value.into()),
        Element::UInt32(value) => Owned::Integer(value.into()),
        Element::Int64(value) => Owned::Integer(value.into()),
        Element::UInt64(value) => Owned::Integer(value.into()),
        Element::Double(value) => double(value),
        Element::Bool(value) => Owned::Bool(value),
    }
}

/// What a stream consists of, owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Header,
    Row { stream: u32, name: String, seq: i64, timestamp: u64, values: Vec<Owned>, defines: Option<String> },
    Damaged(Damage),
}

pub fn found(event: Event<'_>) -> Found {
    match event {
        Event::Header(_) => Found::Header,
        Event::Damaged(damage) => Found::Damaged(damage),
        Event::Row(row) => Found::Row {
            stream: row.schema.index,
            name: row.schema.name.clone(),
            seq: row.seq,
            timestamp: row.timestamp.to_bits(),
            values: row.values().map(owned).collect(),
            defines: row.defines.map(ToString::to_string),
        },
    }
}

/// Decodes pieces one after another, to the end.
pub fn decode<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limits: Limits,
) -> Result<Vec<Found>, HeaderError> {
    let mut decoder = StreamDecoder::new(limits);
    let mut all = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(event) = decoder.next_event()? {
            all.push(found(event));
        }
    }
    decoder.finish();
    while let Some(event) = decoder.next_event()? {
        all.push(found(event));
    }
    Ok(all)
}

pub fn decode_all(bytes: &[u8]) -> Vec<Found> {
    decode([bytes], Limits::default()).expect("a good header")
}

/// The rows alone.
pub fn rows(all: &[Found]) -> Vec<&Found> {
    all.iter().filter(|found| matches!(found, Found::Row { .. })).collect()
}

/// The damaged rows alone.
pub fn damages(all: &[Found]) -> Vec<Damage> {
    all.iter()
        .filter_map(|found| if let Found::Damaged(damage) = found { Some(*damage) } else { None })
        .collect()
}
