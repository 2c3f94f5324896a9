//! Counting pairs out of order.

/// How many pairs stand in strictly descending order, by merging sorted runs: O(n log n).
pub fn inversions(values: &[f64]) -> u64 {
    let mut values = values.to_vec();
    let mut merged = Vec::with_capacity(values.len());
    let mut total = 0;
    let mut width = 1;
    while width < values.len() {
        merged.clear();
        for run in values.chunks(2 * width) {
            total += merge(run.split_at(width.min(run.len())), &mut merged);
        }
        std::mem::swap(&mut values, &mut merged);
        width *= 2;
    }
    total
}

fn merge((left, right): (&[f64], &[f64]), merged: &mut Vec<f64>) -> u64 {
    let (mut taken, mut total) = (0, 0);
    for value in right {
        while taken < left.len() && left[taken] <= *value {
            merged.push(left[taken]);
            taken += 1;
        }
        total += (left.len() - taken) as u64;
        merged.push(*value);
    }
    merged.extend_from_slice(&left[taken..]);
    total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn inversions_agree_with_counting_every_pair(values in prop::collection::vec(-9_i8..9, 0..70)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let pairs = (0..values.len()).flat_map(|first| (0..first).map(move |before| (before, first)));
            let naive = pairs.filter(|(before, first)| values[*before] > values[*first]).count();
            prop_assert_eq!(inversions(&values), naive as u64);
        }
    }
}
