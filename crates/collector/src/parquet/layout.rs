//! The columns of a table: names, types, encodings.

use std::fmt::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};
use trialwise_streams::protocol::{ElementType, FieldType, Schema};

use crate::catalog::{OWN_COLUMNS, columns, is_metadata};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int32,
    UInt32,
    Int64,
    UInt64,
    Double,
    Bool,
    Text,
    Bytes,
}

/// How many values a row has in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One.
    Required,
    /// One or none.
    Optional,
    /// Any number, or no list.
    List,
}

/// One column.
#[derive(Clone, Debug)]
pub(super) struct ColumnLayout {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) shape: Shape,
}

/// A table's columns and how they are written.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) columns: Vec<ColumnLayout>,
    pub(super) schema: TypePtr,
    pub(super) properties: WriterPropertiesPtr,
}

const fn element_kind(element: ElementType) -> Kind {
    match element {
        ElementType::Int32 => Kind::Int32,
        ElementType::UInt32 => Kind::UInt32,
        ElementType::Int64 => Kind::Int64,
        ElementType::UInt64 => Kind::UInt64,
        ElementType::Double => Kind::Double,
        ElementType::Bool => Kind::Bool,
    }
}

const fn kind_and_shape(field_type: FieldType) -> (Kind, Shape) {
    let kind = match field_type {
        FieldType::Int32 => Kind::Int32,
        FieldType::UInt32 => Kind::UInt32,
        FieldType::Int64 => Kind::Int64,
        FieldType::UInt64 | FieldType::Guid => Kind::UInt64,
        FieldType::Double => Kind::Double,
        FieldType::Bool => Kind::Bool,
        FieldType::String => Kind::Text,
        FieldType::Blob => Kind::Bytes,
        FieldType::Vector(element) => return (element_kind(element), Shape::List),
    };
    (kind, Shape::Optional)
}

/// The type in Parquet's message language, before and behind the name.
const fn type_words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Int32 => ("int32", ""),
        Kind::UInt32 => ("int32", " (INTEGER(32,false))"),
        Kind::Int64 => ("int64", ""),
        Kind::UInt64 => ("int64", " (INTEGER(64,false))"),
        Kind::Double => ("double", ""),
        Kind::Bool => ("boolean", ""),
        Kind::Text => ("binary", " (STRING)"),
        Kind::Bytes => ("binary", ""),
    }
}

fn message(columns: &[ColumnLayout]) -> String {
    let mut text = "message schema {".to_owned();
    for ColumnLayout { name, kind, shape } in columns {
        let (before, behind) = type_words(*kind);
        // Writing to a String cannot fail.
        let _ = match shape {
            Shape::Required => write!(text, "required {before} {name}{behind};"),
            Shape::Optional => write!(text, "optional {before} {name}{behind};"),
            Shape::List => write!(
                text,
                "optional group {name} (LIST) {{ repeated group list {{ required {before} element{behind}; }} }}"
            ),
        };
    }
    text + "}"
}

impl ColumnLayout {
    fn path(&self) -> ColumnPath {
        let parts: &[&str] = if self.shape == Shape::List { &["list", "element"] } else { &[] };
        let parts = parts.iter().map(ToString::to_string);
        ColumnPath::new(std::iter::once(self.name.clone()).chain(parts).collect())
    }
}

/// How columns are encoded. Measured on rows of three int32: LZ4 took as much time as no compression, less than Snappy, and as
/// Zstandard, which needs a C library; splitting doubles by bytes saved a tenth more, dictionaries of times less.
fn properties(columns: &[ColumnLayout]) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("trialwise ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_write_batch_size(8192)
        .set_dictionary_enabled(false);
    for column in columns {
        let path = column.path();
        builder = match (column.kind, column.name.as_str()) {
            (Kind::Text, _) => builder.set_column_dictionary_enabled(path, true),
            (_, "oml_sender_id" | "oml_seq") => {
                builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            (Kind::Double, _) => builder.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT),
            _ => builder,
        };
    }
    builder.build()
}

impl Layout {
    /// A table with these columns.
    pub(super) fn new(columns: Vec<ColumnLayout>) -> Result<Self, ParquetError> {
        let schema = Arc::new(parse_message_type(&message(&columns))?);
        let properties = Arc::new(properties(&columns));
        Ok(Self { columns, schema, properties })
    }

    /// The table of a stream. What a collector itself says in metadata has neither sender nor subject.
    pub(super) fn of(schema: &Schema) -> Result<Self, ParquetError> {
        let own = OWN_COLUMNS[1..].iter().zip([Kind::Int32, Kind::Int64, Kind::Double, Kind::Double]);
        let own = own.map(|(name, kind)| (name.to_string(), kind, Shape::Required));
        let fields = columns(&schema.fields, &[]).into_iter().zip(&schema.fields).map(|(name, field)| {
            let (kind, shape) = kind_and_shape(field.field_type);
            (name, kind, shape)
        });
        let some = is_metadata(schema);
        let column = |(name, kind, shape)| ColumnLayout {
            name,
            kind,
            shape: if some && shape == Shape::Required { Shape::Optional } else { shape },
        };
        Self::new(own.chain(fields).map(column).collect())
    }

    /// A table of columns that are always there.
    pub(super) fn plain(columns: &[(&str, Kind)]) -> Result<Self, ParquetError> {
        let column = |&(name, kind): &(&str, Kind)| ColumnLayout {
            name: name.to_owned(),
            kind,
            shape: Shape::Required,
        };
        Self::new(columns.iter().map(column).collect())
    }
}
