//! Rows as they come out of a stream, and what is said of damaged ones.

use super::schema::Schema;
use super::types::ElementType;
use super::value::{Value, Vector};

/// A decoded row; strings, blobs and vectors borrow from the input.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The stream's definition.
    pub schema: &'a Schema,
    /// Number of the row in its stream; a gap means rows lost at the sender.
    pub seq: i64,
    /// Seconds since the sender's start time.
    pub timestamp: f64,
    /// The stream that this row of stream 0 defines, if it does.
    pub defines: Option<&'a Schema>,
    /// How many values are [`Value::Null`]: their fields' types cannot hold what was sent.
    pub nulls: u32,
    pub(super) slots: &'a [Slot],
    pub(super) input: &'a [u8],
    pub(super) scratch: &'a [u8],
    pub(super) order: Option<&'a [usize]>,
}

/// Where a value lies: offsets, so that the memory of one row serves the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Int32(i32),
    UInt32(u32),
    Int64(i64),
    UInt64(u64),
    Double(f64),
    Guid(u64),
    Bool(bool),
    String(Span),
    Blob(Span),
    Vector(ElementType, Span),
    Null,
}

/// A stretch of the input or of the scratch memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(super) scratch: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The parts of a row while it is read.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) stream: u32,
    pub(super) seq: i64,
    pub(super) timestamp: f64,
    pub(super) nulls: u32,
    pub(super) slots: Vec<Slot>,
    pub(super) scratch: Vec<u8>,
}

impl Parts {
    pub(super) fn clear(&mut self) {
        self.nulls = 0;
        self.slots.clear();
        self.scratch.clear();
    }

    /// Adds the next value.
    pub(super) fn push(&mut self, slot: Slot) {
        self.nulls += u32::from(matches!(slot, Slot::Null));
        self.slots.push(slot);
    }

    /// The scratch memory from `start` on.
    pub(super) fn scratch_from(&self, start: usize) -> Span {
        Span { scratch: true, start, end: self.scratch.len() }
    }
}

impl Span {
    pub(crate) const fn input(start: usize, end: usize) -> Self {
        Self { scratch: false, start, end }
    }

    pub(super) fn of<'a>(self, input: &'a [u8], scratch: &'a [u8]) -> &'a [u8] {
        &(if self.scratch { scratch } else { input })[self.start..self.end]
    }
}

impl<'a> Row<'a> {
    /// The number of values, equal to the number of fields of the schema.
    pub const fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the stream has no field.
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The value of field `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        let place = self.order.map_or(Some(index), |order| order.get(index).copied())?;
        self.slots.get(place).map(|slot| slot.value(self.input, self.scratch))
    }

    /// The same values in another order: the first is the one of field `order[0]` of the schema, and so on. It names every field once.
    #[must_use]
    pub fn reordered(self, order: &'a [usize]) -> Self {
        debug_assert_eq!(order.len(), self.slots.len());
        Self { order: (order.len() == self.slots.len()).then_some(order), ..self }
    }

    /// The values in the order of the fields.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        let Self { slots, input, scratch, order, .. } = *self;
        let place = move |index| order.map_or(index, |order| order[index]);
        (0..slots.len()).map(move |index| slots[place(index)].value(input, scratch))
    }
}

impl Slot {
    pub(crate) fn value<'a>(self, input: &'a [u8], scratch: &'a [u8]) -> Value<'a> {
        match self {
            Self::Int32(value) => Value::Int32(value),
            Self::UInt32(value) => Value::UInt32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::UInt64(value) => Value::UInt64(value),
            Self::Double(value) => Value::Double(value),
            Self::Guid(value) => Value::Guid(value),
            Self::Bool(value) => Value::Bool(value),
            Self::String(span) => Value::String(span.of(input, scratch)),
            Self::Blob(span) => Value::Blob(span.of(input, scratch)),
            Self::Vector(element, span) => Value::Vector(Vector::Packed(element, span.of(input, scratch))),
            Self::Null => Value::Null,
        }
    }
}

/// What was wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DamageKind {
    /// A NUL byte in a text row (a defect of liboml2 up to 2.12 loses a byte there).
    Nul,
    /// Time stamp, stream index or sequence number cannot be read.
    Prefix,
    /// Another number of values than the schema has fields.
    Fields,
    /// A value in a packet whose end cannot be told.
    Value,
    /// No schema was given for the stream.
    UnknownStream,
    /// Longer than the limit.
    TooLong,
    /// The stream ended inside the row.
    Truncated,
    /// The length does not fit the contents.
    Length,
    /// Bytes between packets that begin none.
    Garbage,
    /// A late definition that cannot be read, or one stream more than the limit.
    Schema,
}

impl DamageKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Nul,
        Self::Prefix,
        Self::Fields,
        Self::Value,
        Self::UnknownStream,
        Self::TooLong,
        Self::Truncated,
        Self::Length,
        Self::Garbage,
        Self::Schema,
    ];
}

/// A row that must not be taken as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What was wrong.
    pub kind: DamageKind,
    /// Its stream, where that could be read.
    pub stream: Option<u32>,
    /// Its sequence number, where that could be read.
    pub seq: Option<i64>,
}

impl Damage {
    /// Damage before the stream was known.
    pub(super) const fn early(kind: DamageKind) -> Self {
        Self { kind, stream: None, seq: None }
    }
}
