//! Rows by columns, as they wait in memory for a row group.

use bytes::Bytes;
use parquet::data_type::ByteArray;
use trialwise_streams::protocol::{Value, Vector};

use super::layout::{Kind, Layout, Shape};
use crate::values::element_value;

/// The values of a column that are there.
#[derive(Debug)]
pub(super) enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    /// All bytes, and where each value ends.
    Bytes(Vec<u8>, Vec<usize>),
}

/// One column. Levels are Parquet's: a definition of 1 where there is a value (in a list 2; 1 for an empty list), a repetition of 1
/// where it goes on a list.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) values: Values,
    pub(super) definitions: Option<Vec<i16>>,
    pub(super) repetitions: Option<Vec<i16>>,
}

/// Rows.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Values {
    const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int32 | Kind::UInt32 => Self::Int32(Vec::new()),
            Kind::Int64 | Kind::UInt64 => Self::Int64(Vec::new()),
            Kind::Double => Self::Double(Vec::new()),
            Kind::Bool => Self::Bool(Vec::new()),
            Kind::Text | Kind::Bytes => Self::Bytes(Vec::new(), Vec::new()),
        }
    }

    /// Appends a value of this type, unsigned ones by their bits.
    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Int32(values), Value::Int32(value)) => values.push(value),
            (Self::Int32(values), Value::UInt32(value)) => values.push(value.cast_signed()),
            (Self::Int64(values), Value::Int64(value)) => values.push(value),
            (Self::Int64(values), Value::UInt64(value) | Value::Guid(value)) => {
                values.push(value.cast_signed());
            }
            (Self::Double(values), Value::Double(value)) => values.push(value),
            (Self::Bool(values), Value::Bool(value)) => values.push(value),
            (Self::Bytes(bytes, ends), Value::String(value) | Value::Blob(value)) => {
                bytes.extend_from_slice(value);
                ends.push(bytes.len());
            }
            // A decoder gives the types of the schema, from which the columns were made.
            (column, value) => debug_assert!(false, "{value:?} for {column:?}"),
        }
    }

    /// Appends what another column of the type has.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Int32(values), Self::Int32(more)) => values.extend(more),
            (Self::Int64(values), Self::Int64(more)) => values.extend(more),
            (Self::Double(values), Self::Double(more)) => values.extend(more),
            (Self::Bool(values), Self::Bool(more)) => values.extend(more),
            (Self::Bytes(bytes, ends), Self::Bytes(more, more_ends)) => {
                let before = bytes.len();
                bytes.extend(more);
                ends.extend(more_ends.into_iter().map(|end| before + end));
            }
            (column, other) => debug_assert!(false, "{other:?} for {column:?}"),
        }
    }

    /// The bytes of value `index`; nothing where the column has other values.
    fn bytes(&self, index: usize) -> &[u8] {
        match self {
            Self::Bytes(bytes, ends) => {
                &bytes[index.checked_sub(1).map_or(0, |before| ends[before])..ends[index]]
            }
            _ => &[],
        }
    }
}

/// Values as the writer takes them, without a copy of their bytes.
pub(super) fn byte_arrays(bytes: Vec<u8>, ends: &[usize]) -> Vec<ByteArray> {
    let (bytes, mut start) = (Bytes::from(bytes), 0);
    let array = |&end: &usize| ByteArray::from(bytes.slice(std::mem::replace(&mut start, end)..end));
    ends.iter().map(array).collect()
}

impl Column {
    pub(super) fn new(kind: Kind, shape: Shape) -> Self {
        Self {
            values: Values::new(kind),
            definitions: (shape != Shape::Required).then(Vec::new),
            repetitions: (shape == Shape::List).then(Vec::new),
        }
    }

    pub(super) fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Vector(vector) => return self.push_vector(vector),
            Value::Null => return self.push_null(),
            _ => {}
        }
        self.values.push(value);
        if let Some(definitions) = &mut self.definitions {
            definitions.push(1);
        }
    }

    fn push_vector(&mut self, vector: Vector<'_>) {
        if let (Some(definitions), Some(repetitions)) = (&mut self.definitions, &mut self.repetitions) {
            let levels = vector.len().max(1);
            definitions.resize(definitions.len() + levels, 1 + i16::from(!vector.is_empty()));
            repetitions.push(0);
            repetitions.resize(definitions.len(), 1);
        }
        vector.iter().for_each(|element| self.values.push(element_value(element)));
    }

    fn push_null(&mut self) {
        if let Some(definitions) = &mut self.definitions {
            definitions.push(0);
        }
        if let Some(repetitions) = &mut self.repetitions {
            repetitions.push(0);
        }
    }

    /// The levels that the collectors had that wrote no NULL: without definitions, or lists with one less.
    pub(super) fn raise_definitions(&mut self, rows: usize) {
        match (&mut self.definitions, &self.repetitions) {
            (Some(definitions), Some(_)) => definitions.iter_mut().for_each(|level| *level += 1),
            (Some(definitions), None) => definitions.resize(rows, 1),
            (None, _) => {}
        }
    }

    fn append(&mut self, other: Self) {
        self.values.append(other.values);
        if let (Some(levels), Some(more)) = (&mut self.definitions, other.definitions) {
            levels.extend(more);
        }
        if let (Some(levels), Some(more)) = (&mut self.repetitions, other.repetitions) {
            levels.extend(more);
        }
    }

    /// Where the value of each row of a column without lists stands; nothing where there is none.
    fn places(&self, rows: usize) -> Vec<Option<usize>> {
        let mut next = 0;
        let place = |row| {
            let present = self.definitions.as_ref().is_none_or(|levels| levels[row] == 1);
            let place = next;
            next += usize::from(present);
            present.then_some(place)
        };
        (0..rows).map(place).collect()
    }
}

impl Columns {
    pub(super) fn new(layout: &Layout) -> Self {
        let columns = layout.columns.iter().map(|column| Column::new(column.kind, column.shape)).collect();
        Self { columns, rows: 0 }
    }

    /// Adds a row.
    pub(super) fn push<'a>(&mut self, values: impl Iterator<Item = Value<'a>>) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.rows += 1;
    }

    /// Adds a row, some of whose columns are empty.
    pub(super) fn push_some<'a>(&mut self, values: impl Iterator<Item = Option<Value<'a>>>) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            match value {
                Some(value) => column.push(value),
                None => column.push_null(),
            }
        }
        self.rows += 1;
    }

    /// Adds the rows of another of the same layout.
    pub(super) fn append(&mut self, other: Self) {
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            column.append(more);
        }
        self.rows += other.rows;
    }

    /// What each row says in the columns of sender, number, time and three texts; rows without a sender are left out.
    pub(super) fn metadata(&self) -> Vec<(i64, i64, f64, [&[u8]; 3])> {
        let places: Vec<_> = self.columns.iter().map(|column| column.places(self.rows)).collect();
        let row = |row: usize| {
            let (Values::Int32(senders), Values::Int64(seqs), Values::Double(times)) =
                (&self.columns[0].values, &self.columns[1].values, &self.columns[2].values)
            else {
                return None;
            };
            let text = |column: usize| {
                places[column][row].map_or(&[][..], |at| self.columns[column].values.bytes(at))
            };
            let (sender, seq, time) =
                (senders[places[0][row]?], seqs[places[1][row]?], times[places[2][row]?]);
            Some((sender.into(), seq, time, [text(4), text(5), text(6)]))
        };
        (0..self.rows).filter_map(row).collect()
    }
}
