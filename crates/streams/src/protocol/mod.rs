//! OML's wire protocol, versions 1 to 5, both directions, without input or output.
//!
//! A stream is a [`Header`] of text lines, a blank line, then rows in text or binary. [`Decoder`] takes bytes as
//! they come and gives rows that borrow from them; [`Encoder`] writes the same rows.

mod binary;
mod decoder;
mod encoder;
mod header;
mod number;
mod row;
mod schema;
mod streams;
mod text;
mod types;
mod value;

pub(crate) use binary::Dialect;
pub use decoder::{Advance, Counters, Decoder, Event, Limits, StreamDecoder};
pub use encoder::{Changes, EncodeError, Encoder};
pub use header::{Content, Header, HeaderError, is_domain};
pub use row::{Damage, DamageKind, Row};
pub(crate) use row::{Slot, Span};
pub use schema::{Field, METADATA_NAME, Schema, SchemaError, is_name};
pub use types::{ElementType, FieldType, UnknownType};
pub use value::{Element, Value, Vector};
