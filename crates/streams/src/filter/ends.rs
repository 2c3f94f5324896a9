//! The first and the last value of a window, and the step from the last to the last.

use super::{Filter, Output};
use crate::protocol::{FieldType, Value, Vector};

/// A value kept beyond the call that brought it; its memory serves the next.
#[derive(Clone, Debug, Default)]
struct Kept {
    number: Option<Value<'static>>,
    bytes: Vec<u8>,
}

impl Kept {
    fn set(&mut self, value: Value<'_>) {
        self.bytes.clear();
        self.number = Some(match value {
            Value::Int32(value) => Value::Int32(value),
            Value::UInt32(value) => Value::UInt32(value),
            Value::Int64(value) => Value::Int64(value),
            Value::UInt64(value) => Value::UInt64(value),
            Value::Double(value) => Value::Double(value),
            Value::Guid(value) => Value::Guid(value),
            Value::Bool(value) => Value::Bool(value),
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

    fn get(&self) -> Option<Value<'_>> {
        Some(match self.number? {
            Value::String(_) => Value::String(&self.bytes),
            Value::Blob(_) => Value::Blob(&self.bytes),
            Value::Vector(vector) => Value::Vector(Vector::Packed(vector.element_type(), &self.bytes)),
            number => number,
        })
    }
}

/// What a field of this type holds when there is nothing to hold; integers, bool and guid cannot say it.
fn empty(field_type: FieldType) -> Option<Value<'static>> {
    match field_type {
        FieldType::Double => Some(Value::Double(f64::NAN)),
        FieldType::String => Some(Value::String(&[])),
        FieldType::Blob => Some(Value::Blob(&[])),
        FieldType::Vector(element) => Some(Value::Vector(Vector::Packed(element, &[]))),
        _ => None,
    }
}

/// `first`: the first value, of any type, under the field's own name.
#[derive(Clone, Debug)]
pub struct First {
    field_type: FieldType,
    kept: Kept,
}

impl First {
    /// For a field of this type.
    pub fn new(field_type: FieldType) -> Self {
        Self { field_type, kept: Kept::default() }
    }
}

impl Filter for First {
    fn outputs(&self) -> Vec<Output> {
        vec![Output::new("", self.field_type)]
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        if self.kept.number.is_none() {
            self.kept.set(value);
        }
    }

    fn output(&self, _index: usize) -> Option<Value<'_>> {
        self.kept.get().or_else(|| empty(self.field_type))
    }

    fn next_window(&mut self) {
        self.kept.number = None;
    }
}

/// `last`: the last value, of any type.
#[derive(Clone, Debug)]
pub struct Last {
    field_type: FieldType,
    kept: Kept,
}

impl Last {
    /// For a field of this type.
    pub fn new(field_type: FieldType) -> Self {
        Self { field_type, kept: Kept::default() }
    }
}

impl Filter for Last {
    fn outputs(&self) -> Vec<Output> {
        vec![Output::new("last", self.field_type)]
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        self.kept.set(value);
    }

    fn output(&self, _index: usize) -> Option<Value<'_>> {
        self.kept.get().or_else(|| empty(self.field_type))
    }

    fn next_window(&mut self) {
        self.kept.number = None;
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
