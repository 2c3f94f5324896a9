//! Counting differences between the values of two samples.

/// How many differences `first - second` are not above `bound`, of samples in ascending order: O(n + m).
///
/// A difference counts if `second >= first - bound`, as these are rounded.
pub fn differences_up_to(first: &[f64], second: &[f64], bound: f64) -> u64 {
    let mut passed = 0;
    first
        .iter()
        .map(|value| {
            let least = value - bound;
            passed += second[passed..].iter().take_while(|other| **other < least).count();
            (second.len() - passed) as u64
        })
        .sum()
}
