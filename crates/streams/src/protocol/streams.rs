//! The streams defined on one connection.

use std::collections::BTreeMap;

use super::binary::{Dialect, MAX_SCALAR, PREFIX, fixed_length};
use super::schema::Schema;

/// Indexes below this are found without a search; a packet cannot name others.
const DENSE: usize = 256;

/// Definitions by index.
#[derive(Debug, Default)]
pub(super) struct Streams {
    dense: Vec<Option<Stream>>,
    sparse: BTreeMap<u32, Stream>,
    fields: usize,
    dialect: Dialect,
}

#[derive(Debug)]
struct Stream {
    schema: Schema,
    fixed_length: Option<usize>,
}

impl Streams {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }

    pub(super) fn get(&self, index: u32) -> Option<&Schema> {
        Some(&self.find(index)?.schema)
    }

    /// Whether a packet of the stream may have `length` bytes of contents.
    pub(super) fn may_have_length(&self, index: u32, length: usize) -> bool {
        self.find(index).and_then(|stream| stream.fixed_length).is_none_or(|fixed| fixed == length)
    }

    /// As [`Self::may_have_length`], where some values may be scalars of other types than their fields have.
    pub(super) fn may_have_odd_length(&self, index: u32, length: usize) -> bool {
        self.find(index).filter(|stream| stream.fixed_length.is_some()).is_none_or(|stream| {
            let fields = stream.schema.fields.len();
            (PREFIX + fields..=PREFIX + fields * MAX_SCALAR).contains(&length)
        })
    }

    /// Defines or redefines a stream.
    pub(super) fn define(&mut self, schema: Schema) {
        let index = schema.index;
        self.fields = self.fields_with(&schema);
        let stream = Stream { fixed_length: fixed_length(&schema, self.dialect), schema };
        match usize::try_from(index) {
            Ok(place) if place < DENSE => {
                if self.dense.len() <= place {
                    self.dense.resize_with(place + 1, || None);
                }
                self.dense[place] = Some(stream);
            }
            _ => drop(self.sparse.insert(index, stream)),
        }
    }

    /// The number of streams defined.
    pub(super) fn len(&self) -> usize {
        self.dense.iter().flatten().count() + self.sparse.len()
    }

    /// The number of fields of all streams, if `schema` were (re)defined.
    pub(super) fn fields_with(&self, schema: &Schema) -> usize {
        self.fields + schema.fields.len() - self.get(schema.index).map_or(0, |present| present.fields.len())
    }

    fn find(&self, index: u32) -> Option<&Stream> {
        match self.dense.get(index as usize) {
            Some(stream) => stream.as_ref(),
            None => self.sparse.get(&index),
        }
    }
}
