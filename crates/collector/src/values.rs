//! Values on their way to a store; above all strings that its texts cannot hold: OML promises no UTF-8.

use std::collections::BTreeMap;

use trialwise_streams::protocol::{Element, FieldType, Row, Schema, Value};

/// Whether the rows of a stream may have strings that a store cannot hold.
pub(crate) fn has_text(schema: &Schema) -> bool {
    schema.fields.iter().any(|field| field.field_type == FieldType::String)
}

/// What to store, by field, for the strings of a row that are not `storable`: U+FFFD for each byte that is not.
pub(crate) fn replacements(row: &Row<'_>, storable: fn(&[u8]) -> bool) -> BTreeMap<usize, String> {
    let replace = |(field, value)| match value {
        Value::String(bytes) if !storable(bytes) => Some((field, replacement(bytes))),
        _ => None,
    };
    row.values().enumerate().filter_map(replace).collect()
}

fn replacement(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// The values of a row with replacements.
pub(crate) fn replaced<'a>(
    row: &Row<'a>,
    replacements: &'a BTreeMap<usize, String>,
) -> impl ExactSizeIterator<Item = Value<'a>> {
    row.values()
        .enumerate()
        .map(|(field, value)| replacements.get(&field).map_or(value, |text| Value::String(text.as_bytes())))
}

/// Whether `bytes` are UTF-8.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

/// Whether `bytes` are UTF-8 without NUL.
pub(crate) fn is_text_without_nul(bytes: &[u8]) -> bool {
    is_utf8(bytes) && !bytes.contains(&0)
}

/// The three texts of a row of metadata, which a store can hold.
pub(crate) fn metadata_texts<'a>(values: impl Iterator<Item = Value<'a>>) -> [&'a [u8]; 3] {
    let mut texts = [&[][..]; 3];
    for (text, value) in texts.iter_mut().zip(values) {
        if let Value::String(bytes) = value {
            *text = bytes;
        }
    }
    texts
}

/// An element of a vector as a value of its own.
pub(crate) const fn element_value(element: Element) -> Value<'static> {
    match element {
        Element::Int32(value) => Value::Int32(value),
        Element::UInt32(value) => Value::UInt32(value),
        Element::Int64(value) => Value::Int64(value),
        Element::UInt64(value) => Value::UInt64(value),
        Element::Double(value) => Value::Double(value),
        Element::Bool(value) => Value::Bool(value),
    }
}
