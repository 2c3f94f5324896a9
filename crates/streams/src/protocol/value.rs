//! Values: what a field holds, borrowed from where it lies.

use super::types::{ElementType, FieldType};

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Signed, 32 bits.
    Int32(i32),
    /// Unsigned, 32 bits.
    UInt32(u32),
    /// Signed, 64 bits.
    Int64(i64),
    /// Unsigned, 64 bits.
    UInt64(u64),
    /// IEEE 754 binary64.
    Double(f64),
    /// Bytes, by custom UTF-8 (the protocol does not promise it).
    String(&'a [u8]),
    /// Any bytes.
    Blob(&'a [u8]),
    /// A 64-bit identifier.
    Guid(u64),
    /// True or false.
    Bool(bool),
    /// Numbers of one type.
    Vector(Vector<'a>),
    /// Nothing: what was sent is no value of the field's type. A decoder gives it; an encoder refuses it.
    Null,
}

/// A vector, as a program holds it or packed as on the wire.
#[derive(Clone, Copy, Debug)]
pub enum Vector<'a> {
    /// Signed, 32 bits.
    Int32(&'a [i32]),
    /// Unsigned, 32 bits.
    UInt32(&'a [u32]),
    /// Signed, 64 bits.
    Int64(&'a [i64]),
    /// Unsigned, 64 bits.
    UInt64(&'a [u64]),
    /// IEEE 754 binary64.
    Double(&'a [f64]),
    /// True or false.
    Bool(&'a [bool]),
    /// Big-endian elements one after another; a bool is one byte, 0C (true) or 0B (false).
    Packed(ElementType, &'a [u8]),
}

/// A false element of a packed vector of bool.
pub(crate) const PACKED_FALSE: u8 = 0x0b;
/// A true element of a packed vector of bool.
pub(crate) const PACKED_TRUE: u8 = 0x0c;

/// One element of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// Signed, 32 bits.
    Int32(i32),
    /// Unsigned, 32 bits.
    UInt32(u32),
    /// Signed, 64 bits.
    Int64(i64),
    /// Unsigned, 64 bits.
    UInt64(u64),
    /// IEEE 754 binary64.
    Double(f64),
    /// True or false.
    Bool(bool),
}

impl Value<'_> {
    /// The type of field that holds this value; none for [`Self::Null`].
    pub const fn field_type(&self) -> Option<FieldType> {
        Some(match self {
            Self::Null => return None,
            Self::Int32(_) => FieldType::Int32,
            Self::UInt32(_) => FieldType::UInt32,
            Self::Int64(_) => FieldType::Int64,
            Self::UInt64(_) => FieldType::UInt64,
            Self::Double(_) => FieldType::Double,
            Self::String(_) => FieldType::String,
            Self::Blob(_) => FieldType::Blob,
            Self::Guid(_) => FieldType::Guid,
            Self::Bool(_) => FieldType::Bool,
            Self::Vector(vector) => FieldType::Vector(vector.element_type()),
        })
    }

    /// The number nearest to this value, if it is numeric.
    #[expect(clippy::cast_precision_loss, reason = "filters compute in double, as OML's do")]
    pub const fn to_f64(&self) -> Option<f64> {
        Some(match *self {
            Self::Int32(value) => value as f64,
            Self::UInt32(value) => value as f64,
            Self::Int64(value) => value as f64,
            Self::UInt64(value) => value as f64,
            Self::Double(value) => value,
            _ => return None,
        })
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(text.as_bytes())
    }
}

impl<'a> Vector<'a> {
    /// The type of the elements.
    pub const fn element_type(&self) -> ElementType {
        match self {
            Self::Int32(_) => ElementType::Int32,
            Self::UInt32(_) => ElementType::UInt32,
            Self::Int64(_) => ElementType::Int64,
            Self::UInt64(_) => ElementType::UInt64,
            Self::Double(_) => ElementType::Double,
            Self::Bool(_) => ElementType::Bool,
            Self::Packed(element, _) => *element,
        }
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        match self {
            Self::Int32(values) => values.len(),
            Self::UInt32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::UInt64(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Packed(element, bytes) => bytes.len() / element.width(),
        }
    }

    /// Whether there is no element.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<Element> {
        Some(match self {
            Self::Int32(values) => Element::Int32(*values.get(index)?),
            Self::UInt32(values) => Element::UInt32(*values.get(index)?),
            Self::Int64(values) => Element::Int64(*values.get(index)?),
            Self::UInt64(values) => Element::UInt64(*values.get(index)?),
            Self::Double(values) => Element::Double(*values.get(index)?),
            Self::Bool(values) => Element::Bool(*values.get(index)?),
            Self::Packed(element, bytes) => {
                let start = index.checked_mul(element.width())?;
                unpack(*element, bytes.get(start..start + element.width())?)
            }
        })
    }

    /// The elements in order.
    pub fn iter(self) -> impl Iterator<Item = Element> + 'a {
        (0..self.len()).filter_map(move |index| self.get(index))
    }

    /// Appends the packed form.
    pub fn pack(self, out: &mut Vec<u8>) {
        match self {
            Self::Packed(_, bytes) => out.extend_from_slice(bytes),
            _ => self.iter().for_each(|element| element.pack(out)),
        }
    }
}

/// Equal when the elements are (a packed vector equals the slice that it came from).
impl PartialEq for Vector<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.element_type() == other.element_type() && self.iter().eq(other.iter())
    }
}

impl Element {
    /// The packed form in the low bytes of a word.
    pub(crate) const fn packed_bits(self) -> u64 {
        match self {
            Self::Int32(value) => value.cast_unsigned() as u64,
            Self::UInt32(value) => value as u64,
            Self::Int64(value) => value.cast_unsigned(),
            Self::UInt64(value) => value,
            Self::Double(value) => value.to_bits(),
            Self::Bool(value) => (if value { PACKED_TRUE } else { PACKED_FALSE }) as u64,
        }
    }

    /// The type.
    pub const fn element_type(self) -> ElementType {
        match self {
            Self::Int32(_) => ElementType::Int32,
            Self::UInt32(_) => ElementType::UInt32,
            Self::Int64(_) => ElementType::Int64,
            Self::UInt64(_) => ElementType::UInt64,
            Self::Double(_) => ElementType::Double,
            Self::Bool(_) => ElementType::Bool,
        }
    }

    /// Appends the packed form.
    pub fn pack(self, out: &mut Vec<u8>) {
        let bytes = self.packed_bits().to_be_bytes();
        out.extend_from_slice(&bytes[8 - self.element_type().width()..]);
    }
}

/// Reads one packed element; `bytes` has the width of the type.
fn unpack(element: ElementType, bytes: &[u8]) -> Element {
    let word = bytes.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    match element {
        ElementType::Int32 => Element::Int32((word as u32).cast_signed()),
        ElementType::UInt32 => Element::UInt32(word as u32),
        ElementType::Int64 => Element::Int64(word.cast_signed()),
        ElementType::UInt64 => Element::UInt64(word),
        ElementType::Double => Element::Double(f64::from_bits(word)),
        ElementType::Bool => Element::Bool(word == u64::from(PACKED_TRUE)),
    }
}
