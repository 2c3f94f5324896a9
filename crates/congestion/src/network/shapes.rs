//! Shapes of values after operators that only change these.

/// The place of an axis that may count from the end.
fn axis(written: i64, rank: usize) -> Result<usize, String> {
    let place = if written < 0 { written.checked_add_unsigned(rank as u64) } else { Some(written) };
    let place = place.and_then(|place| usize::try_from(place).ok()).filter(|place| *place < rank);
    place.ok_or_else(|| format!("there is no axis {written} among {rank}"))
}

/// Of `Reshape`: 0 for the length that was there, -1 for what is left.
pub(super) fn reshaped(shape: &[usize], wanted: &[i64]) -> Result<Vec<usize>, String> {
    let refused = || format!("{shape:?} cannot become {wanted:?}");
    let whole: usize = shape.iter().product();
    let mut known = Vec::new();
    for (place, length) in wanted.iter().enumerate() {
        known.push(match length {
            0 => *shape.get(place).ok_or_else(refused)?,
            -1 => 1,
            length => usize::try_from(*length).map_err(|_| refused())?,
        });
    }
    let product = known
        .iter()
        .try_fold(1_usize, |product, length| product.checked_mul(*length))
        .filter(|product| *product > 0);
    let left = product
        .filter(|product| whole.is_multiple_of(*product))
        .map(|product| whole / product)
        .ok_or_else(refused)?;
    match wanted.iter().position(|length| *length == -1) {
        Some(place) => known[place] = left,
        None if left == 1 => {}
        None => return Err(refused()),
    }
    Ok(known)
}

/// Of `Squeeze`: without these axes, or all, of length 1.
pub(super) fn squeezed(shape: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let Some(axes) = axes else { return Ok(shape.iter().copied().filter(|length| *length != 1).collect()) };
    let axes = axes.iter().map(|written| axis(*written, shape.len())).collect::<Result<Vec<_>, _>>()?;
    if let Some(place) = axes.iter().find(|place| shape[**place] != 1) {
        return Err(format!("axis {place} of {shape:?} is longer than 1"));
    }
    let kept = shape.iter().enumerate().filter(|(place, _)| !axes.contains(place));
    Ok(kept.map(|(_, length)| *length).collect())
}

/// Of `Unsqueeze`: with new axes of length 1 at these places.
pub(super) fn unsqueezed(shape: &[usize], axes: &[i64]) -> Result<Vec<usize>, String> {
    let rank = shape.len() + axes.len();
    let axes = axes.iter().map(|written| axis(*written, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut rest = shape.iter();
    let after: Vec<usize> = (0..rank)
        .filter_map(|place| if axes.contains(&place) { Some(1) } else { rest.next().copied() })
        .collect();
    if after.len() == rank { Ok(after) } else { Err("an axis is written twice".to_owned()) }
}

/// Of `Flatten`: the axes before this one as one, and the rest as another.
pub(super) fn flattened(shape: &[usize], written: i64) -> Result<Vec<usize>, String> {
    let is_end = usize::try_from(written) == Ok(shape.len());
    let place = if is_end { shape.len() } else { axis(written, shape.len())? };
    Ok(vec![shape[..place].iter().product(), shape[place..].iter().product()])
}

/// Of `Transpose`: the axes in this order, or the other way round. Values stay in their order where no two axes are longer than 1.
pub(super) fn transposed(shape: &[usize], order: Option<&[i64]>) -> Result<Vec<usize>, String> {
    if shape.iter().filter(|length| **length > 1).count() > 1 {
        return Err(format!("{shape:?} has more than one axis that is longer than 1"));
    }
    let Some(order) = order else { return Ok(shape.iter().rev().copied().collect()) };
    let places = order.iter().map(|written| axis(*written, shape.len())).collect::<Result<Vec<_>, _>>()?;
    let is_order = (0..shape.len()).all(|place| places.contains(&place)) && places.len() == shape.len();
    if !is_order {
        return Err(format!("{order:?} is no order of the axes of {shape:?}"));
    }
    Ok(places.into_iter().map(|place| shape[place]).collect())
}

/// Of `Gather` along an axis of length 1, with its only index.
pub(super) fn gathered(shape: &[usize], written: i64, index: &[i64]) -> Result<Vec<usize>, String> {
    let place = axis(written, shape.len())?;
    if shape[place] != 1 || !matches!(index, [0 | -1]) {
        return Err(format!(
            "only the whole of an axis of length 1 can be taken, not {index:?} of axis {place} of {shape:?}"
        ));
    }
    let mut after = shape.to_vec();
    after.remove(place);
    Ok(after)
}

/// Of two shapes side by side: the longer one of each axis.
pub(super) fn broadcast(left: &[usize], right: &[usize]) -> Vec<usize> {
    let rank = left.len().max(right.len());
    let length = |shape: &[usize], place: usize| {
        (place + shape.len()).checked_sub(rank).map_or(1, |place| shape[place])
    };
    (0..rank).map(|place| length(left, place).max(length(right, place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What NumPy says of the same.
    #[test]
    fn shapes_are_those_that_onnx_says() {
        assert_eq!(reshaped(&[1, 6], &[2, -1]), Ok(vec![2, 3]));
        assert_eq!(reshaped(&[1, 6], &[0, 6]), Ok(vec![1, 6]));
        assert!(reshaped(&[1, 6], &[4, -1]).is_err() && reshaped(&[6], &[5]).is_err());
        assert!(reshaped(&[6], &[i64::MAX, i64::MAX]).is_err() && reshaped(&[6], &[1, 0]).is_err());
        assert_eq!(squeezed(&[1, 6, 1], None), Ok(vec![6]));
        assert_eq!(squeezed(&[1, 6, 1], Some(&[-1])), Ok(vec![1, 6]));
        assert!(squeezed(&[1, 6], Some(&[1])).is_err() && squeezed(&[1], Some(&[i64::MIN])).is_err());
        assert_eq!(unsqueezed(&[6], &[0, -1]), Ok(vec![1, 6, 1]));
        assert!(unsqueezed(&[6], &[0, 0]).is_err());
        assert_eq!(flattened(&[1, 2, 3], 1), Ok(vec![1, 6]));
        assert_eq!(flattened(&[2, 3], 2), Ok(vec![6, 1]));
        assert_eq!(transposed(&[1, 6, 1], Some(&[1, 0, 2])), Ok(vec![6, 1, 1]));
        assert!(transposed(&[2, 3], None).is_err() && transposed(&[1, 6], Some(&[0, 0])).is_err());
        assert_eq!(gathered(&[1, 6], 0, &[-1]), Ok(vec![6]));
        assert!(gathered(&[2, 6], 0, &[0]).is_err());
        assert_eq!(broadcast(&[1, 6], &[6]), [1, 6]);
    }
}
