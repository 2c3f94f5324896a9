//! Rows in the binary format of COPY (PostgreSQL's documentation, "COPY", Binary Format; values as their types' receive
//! functions read them).

use trialwise_streams::protocol::{ElementType, Value, Vector};

use crate::values::element_value;

/// What begins the data of a COPY: a signature, flags, an extension without bytes.
pub(super) const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What ends it.
pub(super) const END: &[u8] = &[0xff, 0xff];

/// The base of the digits of a NUMERIC.
const BASE: u64 = 10_000;

/// Begins a row of so many columns (1600 at most).
pub(super) fn begin_row(columns: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(columns as u16).to_be_bytes());
}

/// Appends NULL.
pub(super) fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i32).to_be_bytes());
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a value in the type of its field's column; a guid of 0 is NULL.
pub(super) fn write_value(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Int32(value) => write_bytes(&value.to_be_bytes(), out),
        Value::UInt32(value) => write_bytes(&i64::from(value).to_be_bytes(), out),
        Value::Int64(value) => write_bytes(&value.to_be_bytes(), out),
        Value::Double(value) => write_bytes(&value.to_be_bytes(), out),
        Value::Bool(value) => write_bytes(&[u8::from(value)], out),
        Value::String(bytes) | Value::Blob(bytes) => write_bytes(bytes, out),
        Value::Guid(0) | Value::Null => write_null(out),
        Value::UInt64(value) | Value::Guid(value) => write_numeric(value, out),
        Value::Vector(vector) => write_vector(vector, out),
    }
}

/// Digits, weight of the first, sign, decimals, then the digits.
fn write_numeric(value: u64, out: &mut Vec<u8>) {
    let (mut digits, mut left) = ([0_u16; 5], value);
    let mut first = digits.len();
    while left > 0 {
        first -= 1;
        digits[first] = (left % BASE) as u16;
        left /= BASE;
    }
    let digits = &digits[first..];
    let count = digits.len() as u16;
    out.extend_from_slice(&(u32::from(count) * 2 + 8).to_be_bytes());
    for part in [count, count.saturating_sub(1), 0, 0].iter().chain(digits) {
        out.extend_from_slice(&part.to_be_bytes());
    }
}

/// The number of the element's type in `pg_type`.
const fn element_oid(element: ElementType) -> u32 {
    match element {
        ElementType::Bool => 16,
        ElementType::Int32 => 23,
        ElementType::UInt32 | ElementType::Int64 => 20,
        ElementType::UInt64 => 1700,
        ElementType::Double => 701,
    }
}

/// Dimensions, whether there are NULLs, element type; for each dimension its length and first index; then the elements.
fn write_vector(vector: Vector<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let head = [u32::from(!vector.is_empty()), 0, element_oid(vector.element_type())];
    let dimension = [vector.len() as u32, 1];
    let dimension = if vector.is_empty() { &[][..] } else { &dimension };
    for word in head.iter().chain(dimension) {
        out.extend_from_slice(&word.to_be_bytes());
    }
    vector.iter().for_each(|element| write_value(element_value(element), out));
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
