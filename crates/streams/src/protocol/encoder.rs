//! The encoder: rows in, bytes out, one connection.

use super::binary::{self, Dialect};
use super::header::Content;
use super::number::{Packed, packed};
use super::schema::Schema;
use super::text;
use super::value::Value;

/// Fields that a real server accepts in a text row (OML.md section 4).
const SERVER_TEXT_FIELDS: usize = 26;
/// Longest schema text that a real server can store and read back (OML.md section 16).
const SERVER_SCHEMA_TEXT: usize = 430;
/// Highest stream that a packet can name.
const LAST_BINARY_STREAM: u32 = 255;
/// Elements of the longest vector that a packet can hold.
const MAX_VECTOR: usize = 65_535;
/// Bytes of the longest blob; what the 32-bit lengths leave after the head.
const MAX_BLOB: usize = (u32::MAX - 1024) as usize;

/// Writes rows as OML text or binary.
#[derive(Clone, Copy, Debug)]
pub struct Encoder {
    content: Content,
    dialect: Dialect,
}

/// What an encoding does not carry of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A string goes shortened: OML's packets hold 254 bytes of it, its lines no NUL.
    pub cut: bool,
    /// A number goes as none, or as zero: OML's packets hold about 1e-39 to 1e38 and no infinity, its lines nothing subnormal.
    pub out_of_range: bool,
    /// A number goes rounded: OML's packets hold 30 bits of it.
    pub rounded: bool,
}

impl Changes {
    /// Whether anything is read as it was not written.
    pub const fn any(self) -> bool {
        self.cut || self.out_of_range || self.rounded
    }

    fn note(&mut self, content: Content, value: &Value<'_>) {
        match (content, value) {
            (Content::Binary, Value::String(text)) => self.cut |= text.len() > binary::MAX_STRING,
            (Content::Text, Value::String(text)) => self.cut |= memchr::memchr(0, text).is_some(),
            (Content::Text, Value::Double(value)) => self.out_of_range |= value.is_subnormal(),
            (Content::Binary, &Value::Double(value)) => match packed(value) {
                Packed::Exact => {}
                Packed::Rounded => self.rounded = true,
                Packed::Lost => self.out_of_range = true,
            },
            _ => {}
        }
    }
}

/// Why a stream or a row cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Too many fields for a text row at a real server.
    #[error(
        "stream {0} has {1} fields; a text row at an oml2-server holds {SERVER_TEXT_FIELDS}: split the stream or send binary"
    )]
    Fields(String, usize),
    /// A definition too long for a real server.
    #[error(
        "the definition of stream {0} has {1} characters; an oml2-server keeps {SERVER_SCHEMA_TEXT}: shorten names or split it"
    )]
    Schema(String, usize),
    /// A packet names streams 0 to 255.
    #[error(
        "stream {0} has index {1}; binary rows can name {LAST_BINARY_STREAM} streams: send text or have fewer"
    )]
    Index(String, u32),
    /// The values are not those of the schema.
    #[error("stream {stream} has {expected} fields, the row has {found} values or one of another type")]
    Values {
        /// Name of the stream.
        stream: String,
        /// Fields of the schema.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A vector or blob too long for a packet.
    #[error("a value of stream {0} is too long for a packet (vectors: {MAX_VECTOR} elements)")]
    TooLong(String),
}

impl Encoder {
    /// An encoder of `content`.
    pub const fn new(content: Content) -> Self {
        Self { content, dialect: Dialect::Oml }
    }

    /// Packets for the frames of the native protocol: doubles exact, strings of any length.
    pub const fn native() -> Self {
        Self { content: Content::Binary, dialect: Dialect::Native }
    }

    /// Whether rows of `schema` can be sent to a real server.
    ///
    /// # Errors
    /// A limit of OML.md section 16 is passed.
    pub fn check_schema(&self, schema: &Schema) -> Result<(), EncodeError> {
        let name = || schema.name.clone();
        if self.dialect == Dialect::Native {
            return Ok(());
        }
        if self.content == Content::Binary && schema.index > LAST_BINARY_STREAM {
            return Err(EncodeError::Index(name(), schema.index));
        }
        if self.content == Content::Text && schema.fields.len() > SERVER_TEXT_FIELDS {
            return Err(EncodeError::Fields(name(), schema.fields.len()));
        }
        match schema.to_string().len() {
            length if length > SERVER_SCHEMA_TEXT => Err(EncodeError::Schema(name(), length)),
            _ => Ok(()),
        }
    }

    /// Appends one row; `timestamp` in seconds since the start time of the header.
    ///
    /// # Errors
    /// The values do not fit the schema or the encoding; nothing is appended then.
    pub fn write_row<'v, I>(
        &self,
        out: &mut Vec<u8>,
        schema: &Schema,
        seq: i64,
        timestamp: f64,
        values: I,
    ) -> Result<(), EncodeError>
    where
        I: ExactSizeIterator<Item = Value<'v>> + Clone,
    {
        self.check_values(schema, values.clone())?;
        let index = schema.index;
        match (self.content, self.dialect) {
            (Content::Text, _) => text::write(out, index, seq, timestamp, values),
            (Content::Binary, Dialect::Oml) if index > LAST_BINARY_STREAM => {
                return Err(EncodeError::Index(schema.name.clone(), index));
            }
            (Content::Binary, dialect) => binary::write(out, dialect, index, seq, timestamp, values),
        }
        Ok(())
    }

    /// What a row of these values loses; nothing in the native protocol.
    pub fn changes(&self, values: &[Value<'_>]) -> Changes {
        let mut changes = Changes::default();
        if self.dialect == Dialect::Oml {
            values.iter().for_each(|value| changes.note(self.content, value));
        }
        changes
    }

    fn check_values<'v>(
        &self,
        schema: &Schema,
        mut values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<(), EncodeError> {
        let found = values.len();
        let mut fields = schema.fields.iter();
        let mut fits = |value: &Value<'_>| fields.next().map(|field| field.field_type) == value.field_type();
        let binary = self.content == Content::Binary;
        let mut long = false;
        let same = found == schema.fields.len()
            && values.all(|value| {
                long |= binary && is_too_long(&value);
                fits(&value)
            });
        match (same, long) {
            (true, false) => Ok(()),
            (true, true) => Err(EncodeError::TooLong(schema.name.clone())),
            (false, _) => {
                Err(EncodeError::Values { stream: schema.name.clone(), expected: schema.fields.len(), found })
            }
        }
    }
}

fn is_too_long(value: &Value<'_>) -> bool {
    match value {
        Value::Vector(vector) => vector.len() > MAX_VECTOR,
        Value::Blob(bytes) | Value::String(bytes) => bytes.len() > MAX_BLOB,
        _ => false,
    }
}
