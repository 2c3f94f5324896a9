//! Values on their way from C to an inject, without memory of their own.

use streams::protocol::Value;

/// Fields of an ordinary sample.
const FEW: usize = 8;
/// Fields of a wide one; a wider one yet takes memory.
const MANY: usize = 64;

/// Calls `act` with `count` values, each made by `value`; `None` when one cannot be made.
#[inline]
pub(crate) fn with_values<'a, T>(
    count: usize,
    value: impl Fn(usize) -> Option<Value<'a>>,
    act: impl FnOnce(&[Value<'a>]) -> T,
) -> Option<T> {
    if count <= FEW {
        fill(&mut [Value::Bool(false); FEW][..count], value).map(act)
    } else if count <= MANY {
        fill(&mut [Value::Bool(false); MANY][..count], value).map(act)
    } else {
        fill(&mut vec![Value::Bool(false); count], value).map(act)
    }
}

#[inline]
fn fill<'v, 'a>(
    values: &'v mut [Value<'a>],
    value: impl Fn(usize) -> Option<Value<'a>>,
) -> Option<&'v [Value<'a>]> {
    for (index, place) in values.iter_mut().enumerate() {
        *place = value(index)?;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_values_arrives_in_order() {
        for count in [0, 1, FEW, FEW + 1, MANY, MANY + 1, 300] {
            let check = |values: &[Value<'_>]| {
                values.len() == count
                    && values.iter().enumerate().all(|(at, value)| *value == Value::UInt64(at as u64))
            };
            assert_eq!(with_values(count, |at| Some(Value::UInt64(at as u64)), check), Some(true));
        }
        assert_eq!(with_values(3, |at| (at < 2).then_some(Value::Bool(true)), |_| ()), None);
    }
}
