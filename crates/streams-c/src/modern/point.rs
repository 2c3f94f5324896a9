//! Measurement points: `tw_inject` and its relatives.

use std::ffi::{c_char, c_int};
use std::time::{Duration, UNIX_EPOCH};

use streams::client::{InjectError, Point};
use streams::protocol::{FieldType, Value};

use super::error::{Outcome, TwError, argument, tell};
use super::value::{TwValue, field_type};
use crate::text::text;
use crate::values::with_values;

/// `tw_point`.
pub(crate) struct TwPoint {
    point: Point,
}

/// `tw_field`.
#[repr(C)]
pub(crate) struct TwField {
    name: *const c_char,
    kind: c_int,
}

/// Fields by name.
pub(super) type Fields = Vec<(String, FieldType)>;

/// # Safety
/// `fields` holds `count` fields, or is null.
pub(super) unsafe fn read_fields(fields: *const TwField, count: usize) -> Result<Fields, (TwError, String)> {
    if fields.is_null() && count > 0 {
        return Err(argument("no fields"));
    }
    let read = |index: usize| {
        // SAFETY: `index` is below `count`.
        let (name, kind) = unsafe { (text((*fields.add(index)).name), (*fields.add(index)).kind) };
        let name = name.ok_or_else(|| argument(&format!("field {index} has no name")))?;
        let field_type = field_type(kind);
        let field_type =
            field_type.ok_or_else(|| argument(&format!("field {name:?}: {kind} is no tw_type")))?;
        Ok((name.into_owned(), field_type))
    };
    (0..count).map(read).collect()
}

impl TwPoint {
    pub(super) const fn new(point: Point) -> Self {
        Self { point }
    }

    pub(super) const fn point(&self) -> &Point {
        &self.point
    }
}

/// Injects values that `value` makes; one that cannot be made spoils the sample, which the inject counts.
#[inline]
fn inject<'a>(
    point: Option<&Point>,
    count: usize,
    value: impl Fn(usize) -> Option<Value<'a>>,
    inject: impl Fn(&Point, &[Value<'_>]) -> Result<(), InjectError>,
) -> TwError {
    let Some(point) = point else { return tell(null()) };
    let injected = with_values(count, value, |values| inject(point, values));
    match injected.unwrap_or_else(|| point.inject(&[]).and(Err(InjectError::Values))) {
        Ok(()) => TwError::Ok,
        Err(error) => error.into(),
    }
}

#[cold]
fn null() -> Outcome {
    Err(argument("the point or the values are NULL"))
}

/// The point, if there is one and there are values where some are promised.
///
/// # Safety
/// `point` is null or from `tw_declare`, its session not freed.
#[inline]
unsafe fn checked<'a, T>(point: *const TwPoint, values: *const T, count: usize) -> Option<&'a Point> {
    // SAFETY: as the caller promises.
    unsafe { point.as_ref() }.filter(|_| count == 0 || !values.is_null()).map(TwPoint::point)
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_inject(point: *const TwPoint, values: *const TwValue, count: usize) -> TwError {
    // SAFETY: the caller's promises; an index is below `count`.
    unsafe {
        inject(
            checked(point, values, count),
            count,
            |at| (*values.add(at)).read(),
            |point, values| point.inject(values),
        )
    }
}

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_inject_at(
    point: *const TwPoint,
    nanoseconds: u64,
    values: *const TwValue,
    count: usize,
) -> TwError {
    let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    // SAFETY: the caller's promises; an index is below `count`.
    unsafe {
        inject(
            checked(point, values, count),
            count,
            |at| (*values.add(at)).read(),
            |point, values| point.inject_at(time, values),
        )
    }
}

macro_rules! inject_one_type {
    ($name:ident, $type:ty, $value:expr) => {
        /// See `trialwise/streams.h`.
        ///
        /// # Safety
        /// As the header says.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(point: *const TwPoint, values: *const $type, count: usize) -> TwError {
            // SAFETY: the caller's promises; an index is below `count`.
            unsafe {
                inject(
                    checked(point, values, count),
                    count,
                    |at| Some($value(*values.add(at))),
                    |point, values| point.inject(values),
                )
            }
        }
    };
}
inject_one_type!(tw_inject_int32, i32, Value::Int32);
inject_one_type!(tw_inject_uint32, u32, Value::UInt32);
inject_one_type!(tw_inject_int64, i64, Value::Int64);
inject_one_type!(tw_inject_uint64, u64, Value::UInt64);
inject_one_type!(tw_inject_double, f64, Value::Double);

/// See `trialwise/streams.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn tw_dropped(point: *const TwPoint) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { point.as_ref() }.map_or(0, |point| point.point.dropped())
}
