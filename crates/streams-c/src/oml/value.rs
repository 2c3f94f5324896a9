//! `OmlValueU` and `OmlValueT`, as `oml2/omlc.h` lays them out.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::slice;

use streams::protocol::{ElementType, FieldType, Value, Vector};

/// Memory of a string, a blob or a vector.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pointer: *const c_void,
    length: usize,
    size: usize,
    is_const: c_int,
    owner: u32,
    elements: usize,
}

/// A value; which member holds it is said by the field.
#[repr(C)]
pub(crate) union OmlValueU {
    double: f64,
    long: c_long,
    int32: i32,
    uint32: u32,
    int64: i64,
    uint64: u64,
    boolean: u8,
    memory: Memory,
}

/// How a field's value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// OML's deprecated `long`, sent as int32.
    Long,
    Field(FieldType),
}

/// `OML_STRING_VALUE`.
pub(super) const STRING: c_int = 3;
/// Most elements of a vector (OML.md section 12).
const MAX_ELEMENTS: usize = 65535;

impl Kind {
    /// The kind that an `OmlValueT` names.
    pub(super) const fn new(number: c_int) -> Option<Self> {
        Some(Self::Field(match number {
            0 => FieldType::Double,
            1 => return Some(Self::Long),
            STRING => FieldType::String,
            4 => FieldType::Int32,
            5 => FieldType::UInt32,
            6 => FieldType::Int64,
            7 => FieldType::UInt64,
            8 => FieldType::Blob,
            9 => FieldType::Guid,
            10 => FieldType::Bool,
            11 => FieldType::Vector(ElementType::Double),
            12 => FieldType::Vector(ElementType::Int32),
            13 => FieldType::Vector(ElementType::UInt32),
            14 => FieldType::Vector(ElementType::Int64),
            15 => FieldType::Vector(ElementType::UInt64),
            16 => FieldType::Vector(ElementType::Bool),
            _ => return None,
        }))
    }

    pub(super) const fn field_type(self) -> FieldType {
        match self {
            Self::Long => FieldType::Int32,
            Self::Field(field_type) => field_type,
        }
    }

    /// The bits of a number, a guid or a bool; 0 for what has none.
    ///
    /// # Safety
    /// `value` was last set as this kind.
    #[inline]
    pub(super) unsafe fn word(self, value: &OmlValueU) -> u64 {
        let Self::Field(field_type) = self else {
            // SAFETY: as the caller promises, here and below.
            return u64::from(clamp(unsafe { value.long }).cast_unsigned());
        };
        // SAFETY: as above; the bits of a double are those of an integer of its size.
        unsafe {
            match field_type {
                FieldType::Int32 | FieldType::UInt32 => u64::from(value.uint32),
                FieldType::Int64 | FieldType::UInt64 | FieldType::Guid | FieldType::Double => value.uint64,
                FieldType::Bool => u64::from(value.boolean != 0),
                FieldType::String | FieldType::Blob | FieldType::Vector(_) => 0,
            }
        }
    }

    /// Whether the value does not fit in what is sent of it: a long beyond 32 bits.
    ///
    /// # Safety
    /// As [`Self::read`].
    #[inline]
    pub(super) unsafe fn clamps(self, value: &OmlValueU) -> bool {
        // SAFETY: as the caller promises.
        self == Self::Long && i32::try_from(unsafe { value.long }).is_err()
    }

    /// The value; `None` for a vector that is too long or holds what its type does not.
    ///
    /// # Safety
    /// `value` was last set as this kind, and the memory that it leads to lives and does not change.
    #[inline]
    pub(super) unsafe fn read(self, value: &OmlValueU) -> Option<Value<'_>> {
        let Self::Field(field_type) = self else {
            // SAFETY: as the caller promises, here and below.
            return Some(Value::Int32(clamp(unsafe { value.long })));
        };
        // SAFETY: as above.
        unsafe {
            Some(match field_type {
                FieldType::Double => Value::Double(value.double),
                FieldType::Int32 => Value::Int32(value.int32),
                FieldType::UInt32 => Value::UInt32(value.uint32),
                FieldType::Int64 => Value::Int64(value.int64),
                FieldType::UInt64 => Value::UInt64(value.uint64),
                FieldType::Guid => Value::Guid(value.uint64),
                FieldType::Bool => Value::Bool(value.boolean != 0),
                FieldType::String => Value::String(read_string(value)),
                FieldType::Blob => Value::Blob(elements(value.memory.pointer, value.memory.length)),
                FieldType::Vector(element) => return read_vector(element, &value.memory),
            })
        }
    }
}

/// `long` as OML sends it.
fn clamp(value: c_long) -> i32 {
    value.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Up to the NUL: programs also set the pointer alone.
///
/// # Safety
/// As [`Kind::read`] of a string.
pub(super) unsafe fn read_string(value: &OmlValueU) -> &[u8] {
    // SAFETY: as the caller promises.
    unsafe {
        let pointer = value.memory.pointer.cast::<c_char>();
        if pointer.is_null() { &[] } else { CStr::from_ptr(pointer).to_bytes() }
    }
}

/// # Safety
/// As [`Kind::read`] of a vector of such elements.
unsafe fn read_vector(element: ElementType, memory: &Memory) -> Option<Value<'_>> {
    let (pointer, count) = (memory.pointer, memory.elements);
    if count > MAX_ELEMENTS || !pointer.cast::<u64>().is_aligned() {
        return None;
    }
    // SAFETY: as the caller promises; aligned for the largest element; bools are looked at as bytes first.
    Some(Value::Vector(unsafe {
        match element {
            ElementType::Int32 => Vector::Int32(elements(pointer, count)),
            ElementType::UInt32 => Vector::UInt32(elements(pointer, count)),
            ElementType::Int64 => Vector::Int64(elements(pointer, count)),
            ElementType::UInt64 => Vector::UInt64(elements(pointer, count)),
            ElementType::Double => Vector::Double(elements(pointer, count)),
            ElementType::Bool => {
                let bytes: &[u8] = elements(pointer, count);
                if bytes.iter().any(|&byte| byte > 1) {
                    return None;
                }
                Vector::Bool(elements(pointer, count))
            }
        }
    }))
}

/// # Safety
/// `pointer` is null or leads to `count` valid elements, aligned, that live and do not change.
unsafe fn elements<'a, T>(pointer: *const c_void, count: usize) -> &'a [T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(pointer.cast(), count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_stop_at_the_bounds_of_int32() {
        assert_eq!([clamp(5), clamp(1 << 40), clamp(-1 << 40)], [5, i32::MAX, i32::MIN]);
    }

    #[test]
    fn a_value_is_as_large_as_the_header_says() {
        assert_eq!(size_of::<OmlValueU>(), 4 * size_of::<usize>() + 8);
    }
}
