//! Means of many small parts of a sample.

/// The mean of each part of `values`, which lie between two of the `bounds`; the sum of each is the double nearest to the exact one
/// (Shewchuk 1997, "Adaptive precision floating-point arithmetic", section 2).
///
/// NaN for a part without values, with one that is not finite, and where the sum exceeds the range of doubles. None unless the bounds
/// ascend within the values.
#[must_use]
pub fn part_means(values: &[f64], bounds: &[usize]) -> Option<Vec<f64>> {
    let mut terms = Vec::new();
    bounds
        .windows(2)
        .map(|pair| {
            let part = values.get(pair[0]..pair[1])?;
            Some(exact_sum(part, &mut terms) / part.len() as f64)
        })
        .collect()
}

/// The nearest double to a sum; NaN unless all values, and what they come to on the way, are finite. `terms` is room to work in.
fn exact_sum(values: &[f64], terms: &mut Vec<f64>) -> f64 {
    terms.clear();
    for value in values {
        add(*value, terms);
    }
    if terms.iter().all(|term| term.is_finite()) { rounded(terms) } else { f64::NAN }
}

/// Adds a value to a sum of terms that do not overlap, in ascending order of their sizes.
fn add(value: f64, terms: &mut Vec<f64>) {
    let (mut carried, mut kept) = (value, 0);
    for place in 0..terms.len() {
        let (sum, error) = two_sum(carried, terms[place]);
        if error != 0.0 {
            terms[kept] = error;
            kept += 1;
        }
        carried = sum;
    }
    terms.truncate(kept);
    terms.push(carried);
}

/// The rounded sum, and what it lacks (Knuth's).
fn two_sum(first: f64, second: f64) -> (f64, f64) {
    let sum = first + second;
    let virtual_second = sum - first;
    let virtual_first = sum - virtual_second;
    (sum, (first - virtual_first) + (second - virtual_second))
}

/// The sum of terms that do not overlap: rounded once, to even where it lies in the middle.
fn rounded(terms: &[f64]) -> f64 {
    let mut rest = terms.iter().rev().copied();
    let Some(mut sum) = rest.next() else { return f64::NAN };
    while let Some(term) = rest.next() {
        let (nearest, error) = two_sum(sum, term);
        sum = nearest;
        if error != 0.0 {
            // Half a unit that was rounded to even goes the other way if what remains points there.
            let twice = error * 2.0;
            let other = sum + twice;
            let is_half = other - sum == twice;
            let points = rest.find(|term| *term != 0.0).is_some_and(|next| (next > 0.0) == (error > 0.0));
            return if is_half && points { other } else { sum };
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        exact_sum(values, &mut Vec::new())
    }

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(sum(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e100, 1.0, -1e100, 1e-30]), 1.0);
        // Between 2^53 and the next double, 2^53 + 2, lies half a unit: it goes up only with what is added to it.
        let edge = (1_u64 << 53) as f64;
        assert_eq!(sum(&[edge, 1.0]), edge);
        assert_eq!(sum(&[edge, 1.0, 1e-300]), edge + 2.0);
        assert_eq!(sum(&[-edge, -1.0, -1e-300]), -edge - 2.0);
        assert_eq!(sum(&[edge + 2.0, 1.0, -1e-300]), edge + 2.0);
    }

    #[test]
    fn parts_lie_between_their_bounds() {
        let found = part_means(&[1.0, 2.0, 4.0, f64::INFINITY, f64::MAX, f64::MAX], &[0, 2, 2, 3, 4, 6]);
        let found = found.expect("the bounds ascend");
        assert_eq!([found[0], found[2]], [1.5, 4.0]);
        assert!(found[1].is_nan() && found[3].is_nan() && found[4].is_nan());
        assert!(part_means(&[1.0], &[1, 0]).is_none());
        assert!(part_means(&[1.0], &[0, 2]).is_none());
    }
}
