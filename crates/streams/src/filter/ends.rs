//! The first and the last value of a window, and the step from the last to the last.

use super::{Filter, Output};
use crate::protocol::{FieldType, Value, Vector};

/// A value kept beyond the call that brought it; its memory serves the next.
#[derive(Clone, Debug)]
struct Kept {
    field_type: FieldType,
    /// Strings and the like without what they hold.
    value: Option<Value<'static>>,
    bytes: Vec<u8>,
}

impl Kept {
    const fn new(field_type: FieldType) -> Self {
        Self { field_type, value: None, bytes: Vec::new() }
    }

    fn set(&mut self, value: Value<'_>) {
        self.bytes.clear();
        self.value = Some(match value {
            Value::Int32(value) => Value::Int32(value),
            Value::UInt32(value) => Value::UInt32(value),
            Value::Int64(value) => Value::Int64(value),
            Value::UInt64(value) => Value::UInt64(value),
            Value::Double(value) => Value::Double(value),
            Value::Guid(value) => Value::Guid(value),
            Value::Bool(value) => Value::Bool(value),
            Value::Null => Value::Null,
            Value::String(bytes) => {
                self.bytes.extend_from_slice(bytes);
                Value::String(&[])
            }
            Value::Blob(bytes) => {
                self.bytes.extend_from_slice(bytes);
                Value::Blob(&[])
            }
            Value::Vector(vector) => {
                vector.pack(&mut self.bytes);
                Value::Vector(Vector::Packed(vector.element_type(), &[]))
            }
        });
    }

    /// The value, or what its type has for none (integers, bool and guid have nothing).
    fn get(&self) -> Option<Value<'_>> {
        let Some(value) = self.value else { return empty(self.field_type) };
        Some(match value {
            Value::String(_) => Value::String(&self.bytes),
            Value::Blob(_) => Value::Blob(&self.bytes),
            Value::Vector(vector) => Value::Vector(Vector::Packed(vector.element_type(), &self.bytes)),
            number => number,
        })
    }
}

fn empty(field_type: FieldType) -> Option<Value<'static>> {
    match field_type {
        FieldType::Double => Some(Value::Double(f64::NAN)),
        FieldType::String => Some(Value::String(&[])),
        FieldType::Blob => Some(Value::Blob(&[])),
        FieldType::Vector(element) => Some(Value::Vector(Vector::Packed(element, &[]))),
        _ => None,
    }
}

/// `first` and `last`: one value of the window, of any type; the first keeps the field's own name.
#[derive(Clone, Debug)]
pub struct End {
    kept: Kept,
    last: bool,
}

impl End {
    /// The first value of a field of this type.
    pub const fn first(field_type: FieldType) -> Self {
        Self { kept: Kept::new(field_type), last: false }
    }

    /// The last value of a field of this type.
    pub const fn last(field_type: FieldType) -> Self {
        Self { kept: Kept::new(field_type), last: true }
    }
}

impl Filter for End {
    fn outputs(&self) -> Vec<Output> {
        vec![Output::new(if self.last { "last" } else { "" }, self.kept.field_type)]
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        if self.last || self.kept.value.is_none() {
            self.kept.set(value);
        }
    }

    fn output(&self, _index: usize) -> Option<Value<'_>> {
        self.kept.get()
    }

    fn next_window(&mut self) {
        self.kept.value = None;
    }
}

/// `delta`: last value of this window minus last value before it (minus 0 in the first window, as liboml2 does),
/// and the last value; NaN over an empty window, whose successor counts from the last value there was.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    before: f64,
    last: Option<f64>,
}

impl Filter for Delta {
    fn outputs(&self) -> Vec<Output> {
        Output::doubles(&["delta", "last"])
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        self.last = value.to_f64().or(self.last);
    }

    fn output(&self, index: usize) -> Option<Value<'_>> {
        let last = self.last.unwrap_or(f64::NAN);
        Some(Value::Double(if index == 0 { last - self.before } else { last }))
    }

    fn next_window(&mut self) {
        self.before = self.last.take().unwrap_or(self.before);
    }
}
