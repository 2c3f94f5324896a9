//! Schemas: the name and the typed fields of a stream.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use super::types::{FieldType, UnknownType};

/// The name of stream 0, which carries metadata and late definitions.
pub const METADATA_NAME: &str = "_experiment_metadata";

/// Longest name of a stream or field that is taken, in bytes.
const MAX_NAME: usize = 255;

/// One named, typed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// `[A-Za-z_][A-Za-z0-9_]*`.
    pub name: String,
    /// What it holds.
    pub field_type: FieldType,
}

/// A stream's definition, written `<index> <name> <field>:<type> …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The number of the stream on its connection; 0 is metadata.
    pub index: u32,
    /// `[A-Za-z_][A-Za-z0-9_]*`.
    pub name: String,
    /// In the order of the values.
    pub fields: Vec<Field>,
}

/// Why a schema cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// No index, or not a number below 2^32.
    #[error("a schema starts with a stream index, a number below 2^32, not {0:?}")]
    Index(String),
    /// A name of a stream or field.
    #[error("{0:?} is no name; letters, digits and _ make one, a digit cannot be first, 255 bytes at most")]
    Name(String),
    /// No colon in a field.
    #[error("field {0:?} has no type; write name:type")]
    NoType(String),
    /// A type's name.
    #[error(transparent)]
    Type(#[from] UnknownType),
    /// A name twice.
    #[error("field {0:?} occurs twice in stream {1:?}; rename one")]
    Twice(String, String),
}

/// Enough of a text to recognise it in a message, whatever its length.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether `text` may name a stream or a field.
pub fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl Schema {
    /// A schema with checked names.
    ///
    /// # Errors
    /// A name that is none, or one field name twice.
    pub fn new(index: u32, name: &str, fields: Vec<Field>) -> Result<Self, SchemaError> {
        let bad = std::iter::once(name).chain(fields.iter().map(|field| field.name.as_str()));
        if let Some(bad) = bad.into_iter().find(|name| !is_name(name)) {
            return Err(SchemaError::Name(excerpt(bad)));
        }
        let mut names = HashSet::with_capacity(fields.len());
        if let Some(twice) = fields.iter().find(|field| !names.insert(field.name.as_str())) {
            return Err(SchemaError::Twice(twice.name.clone(), name.to_owned()));
        }
        Ok(Self { index, name: name.to_owned(), fields })
    }

    /// Stream 0 as every client defines it (OML.md section 3).
    pub fn metadata() -> Self {
        let field = |name: &str| Field { name: name.to_owned(), field_type: FieldType::String };
        Self {
            index: 0,
            name: METADATA_NAME.to_owned(),
            fields: vec![field("subject"), field("key"), field("value")],
        }
    }

    /// Whether this is stream 0 with its three strings, whose rows may define streams.
    pub fn is_metadata(&self) -> bool {
        self.index == 0
            && self.name == METADATA_NAME
            && self.fields.len() == 3
            && self.fields.iter().all(|field| field.field_type == FieldType::String)
    }
}

fn parse_field(text: &str) -> Result<Field, SchemaError> {
    let (name, type_name) = text.split_once(':').ok_or_else(|| SchemaError::NoType(excerpt(text)))?;
    Ok(Field { name: name.to_owned(), field_type: type_name.parse()? })
}

impl FromStr for Schema {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Self, SchemaError> {
        let mut words = text.split_ascii_whitespace();
        let index = words.next().unwrap_or_default();
        let number = index.parse().ok().filter(|_| index.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.ok_or_else(|| SchemaError::Index(excerpt(index)))?;
        let name = words.next().unwrap_or_default();
        Self::new(number, name, words.map(parse_field).collect::<Result<_, _>>()?)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.index, self.name)?;
        self.fields.iter().try_for_each(|field| write!(formatter, " {}:{}", field.name, field.field_type))
    }
}
