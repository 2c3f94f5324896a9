//! Values on their way from C to an inject, without memory of their own.

use std::mem::MaybeUninit;
use std::slice;

use streams::protocol::Value;

/// Fields of a sample that lie on the stack; a wider sample takes memory.
const MANY: usize = 64;

/// Calls `act` with `count` values, each made by `value`; `None` when one cannot be made.
#[inline]
pub(crate) fn with_values<'a, T>(
    count: usize,
    value: impl Fn(usize) -> Option<Value<'a>>,
    act: impl FnOnce(&[Value<'a>]) -> T,
) -> Option<T> {
    if count > MANY {
        let values: Option<Vec<_>> = (0..count).map(value).collect();
        return values.map(|values| act(&values));
    }
    let mut places = [const { MaybeUninit::<Value<'a>>::uninit() }; MANY];
    for (index, place) in places[..count].iter_mut().enumerate() {
        place.write(value(index)?);
    }
    // SAFETY: the first `count` places were just written.
    Some(act(unsafe { slice::from_raw_parts(places.as_ptr().cast(), count) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_values_arrives_in_order() {
        for count in [0, 1, 8, MANY, MANY + 1, 300] {
            let check = |values: &[Value<'_>]| {
                values.len() == count
                    && values.iter().enumerate().all(|(at, value)| *value == Value::UInt64(at as u64))
            };
            assert_eq!(with_values(count, |at| Some(Value::UInt64(at as u64)), check), Some(true));
            assert_eq!(with_values(count + 1, |at| (at < count).then_some(Value::Bool(true)), |_| ()), None);
        }
    }
}
