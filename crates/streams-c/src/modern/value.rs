//! `tw_value` and `tw_type`, as `trialwise/streams.h` lays them out.

use std::ffi::{c_int, c_void};
use std::slice;

use streams::protocol::{ElementType, FieldType, Value, Vector};

/// `tw_value`.
#[repr(C)]
pub(crate) struct TwValue {
    /// A `tw_type`; a number that is none must not be undefined behaviour.
    kind: c_int,
    held: Held,
}

#[repr(C)]
union Held {
    int32: i32,
    uint32: u32,
    int64: i64,
    uint64: u64,
    number: f64,
    boolean: u8,
    memory: Memory,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Memory {
    start: *const c_void,
    count: usize,
}

/// The type that a `tw_type` names.
pub(super) const fn field_type(kind: c_int) -> Option<FieldType> {
    Some(match kind {
        1 => FieldType::Int32,
        2 => FieldType::UInt32,
        3 => FieldType::Int64,
        4 => FieldType::UInt64,
        5 => FieldType::Double,
        6 => FieldType::Bool,
        7 => FieldType::Guid,
        8 => FieldType::String,
        9 => FieldType::Blob,
        10 => FieldType::Vector(ElementType::Int32),
        11 => FieldType::Vector(ElementType::UInt32),
        12 => FieldType::Vector(ElementType::Int64),
        13 => FieldType::Vector(ElementType::UInt64),
        14 => FieldType::Vector(ElementType::Double),
        15 => FieldType::Vector(ElementType::Bool),
        _ => return None,
    })
}

impl TwValue {
    /// The value; `None` if its type is none, or its elements are not aligned or not bools.
    ///
    /// # Safety
    /// Made by the functions of the header, from memory that lives and does not change.
    #[inline]
    pub(super) unsafe fn read(&self) -> Option<Value<'_>> {
        let held = &self.held;
        // SAFETY: the type says which member was set.
        unsafe {
            Some(match field_type(self.kind)? {
                FieldType::Int32 => Value::Int32(held.int32),
                FieldType::UInt32 => Value::UInt32(held.uint32),
                FieldType::Int64 => Value::Int64(held.int64),
                FieldType::UInt64 => Value::UInt64(held.uint64),
                FieldType::Double => Value::Double(held.number),
                FieldType::Bool => Value::Bool(held.boolean != 0),
                FieldType::Guid => Value::Guid(held.uint64),
                FieldType::String => Value::String(held.memory.elements()?),
                FieldType::Blob => Value::Blob(held.memory.elements()?),
                FieldType::Vector(element) => Value::Vector(held.memory.vector(element)?),
            })
        }
    }
}

impl Memory {
    /// # Safety
    /// As [`TwValue::read`], of elements of this type.
    unsafe fn elements<'a, T>(self) -> Option<&'a [T]> {
        let start = self.start.cast::<T>();
        if start.is_null() || self.count == 0 {
            return Some(&[]);
        }
        // SAFETY: as the caller promises.
        start.is_aligned().then(|| unsafe { slice::from_raw_parts(start, self.count) })
    }

    /// # Safety
    /// As [`TwValue::read`], of elements of this type.
    unsafe fn vector<'a>(self, element: ElementType) -> Option<Vector<'a>> {
        // SAFETY: as the caller promises; bools are looked at as bytes first.
        unsafe {
            Some(match element {
                ElementType::Int32 => Vector::Int32(self.elements()?),
                ElementType::UInt32 => Vector::UInt32(self.elements()?),
                ElementType::Int64 => Vector::Int64(self.elements()?),
                ElementType::UInt64 => Vector::UInt64(self.elements()?),
                ElementType::Double => Vector::Double(self.elements()?),
                ElementType::Bool if self.elements::<u8>()?.iter().any(|&byte| byte > 1) => return None,
                ElementType::Bool => Vector::Bool(self.elements()?),
            })
        }
    }
}
