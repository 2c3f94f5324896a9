//! The types of fields and of the elements of vectors.

use std::fmt;
use std::str::FromStr;

use super::schema::excerpt;

/// The type of the elements of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Signed, 32 bits.
    Int32,
    /// Unsigned, 32 bits.
    UInt32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 64 bits.
    UInt64,
    /// IEEE 754 binary64.
    Double,
    /// True or false.
    Bool,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Signed, 32 bits.
    Int32,
    /// Unsigned, 32 bits.
    UInt32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 64 bits.
    UInt64,
    /// IEEE 754 binary64.
    Double,
    /// Bytes without NUL, by custom UTF-8.
    String,
    /// Any bytes.
    Blob,
    /// A 64-bit identifier, 0 = none.
    Guid,
    /// True or false.
    Bool,
    /// Any number of one element type.
    Vector(ElementType),
}

/// A type's name that no version of the protocol knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown type {0:?}; known: int32 uint32 int64 uint64 double string blob guid bool and [int32] [uint32] [int64] [uint64] [double] [bool]"
)]
pub struct UnknownType(pub String);

impl ElementType {
    /// Bytes of one element in the packed form (OML.md section 5).
    pub const fn width(self) -> usize {
        match self {
            Self::Int32 | Self::UInt32 => 4,
            Self::Int64 | Self::UInt64 | Self::Double => 8,
            Self::Bool => 1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Double => "double",
            Self::Bool => "bool",
        }
    }
}

impl FieldType {
    /// Whether the values are numbers that a filter can average (guid and bool are not).
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Int32 | Self::UInt32 | Self::Int64 | Self::UInt64 | Self::Double)
    }
}

impl FromStr for FieldType {
    type Err = UnknownType;

    /// Reads a name of any protocol version: `long`, `integer` and `int` are int32, `real` and `float` double.
    fn from_str(name: &str) -> Result<Self, UnknownType> {
        Ok(match name {
            "int32" | "int" | "integer" | "long" => Self::Int32,
            "uint32" => Self::UInt32,
            "int64" => Self::Int64,
            "uint64" => Self::UInt64,
            "double" | "real" | "float" => Self::Double,
            "string" => Self::String,
            "blob" => Self::Blob,
            "guid" => Self::Guid,
            "bool" | "boolean" => Self::Bool,
            "[int32]" => Self::Vector(ElementType::Int32),
            "[uint32]" => Self::Vector(ElementType::UInt32),
            "[int64]" => Self::Vector(ElementType::Int64),
            "[uint64]" => Self::Vector(ElementType::UInt64),
            "[double]" => Self::Vector(ElementType::Double),
            "[bool]" => Self::Vector(ElementType::Bool),
            _ => return Err(UnknownType(excerpt(name))),
        })
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Double => "double",
            Self::String => "string",
            Self::Blob => "blob",
            Self::Guid => "guid",
            Self::Bool => "bool",
            Self::Vector(element) => return write!(formatter, "[{}]", element.name()),
        })
    }
}
