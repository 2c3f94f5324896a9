//! Order statistics of short slices.

/// The `rank`-th smallest (from 0) and the one after it, if there is one. The slice is rearranged.
pub(crate) fn neighbours(values: &mut [f64], rank: usize) -> (f64, Option<f64>) {
    let (_, lower, above) = values.select_nth_unstable_by(rank, f64::total_cmp);
    (*lower, above.iter().copied().reduce(f64::min))
}

/// The smallest of the numbers, if there are any.
pub(crate) fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

/// The place of a quantile among `count` sorted numbers: rank from 0 and weight of the next number (Hyndman and
/// Fan's type 7, computed as NumPy does so that the results agree to the last bit).
pub(crate) fn place(count: usize, fraction: f64) -> (usize, f64) {
    let place = (count - 1) as f64 * fraction;
    let rank = (place.floor() as usize).min(count - 1);
    (rank, place - place.floor())
}

/// What lies at `weight` between two neighbours, rounded as NumPy rounds it.
pub(crate) fn interpolate(lower: f64, upper: f64, weight: f64) -> f64 {
    let difference = upper - lower;
    if difference.is_infinite() {
        // Only opposite numbers near the largest get here; NumPy overflows.
        return lower * (1.0 - weight) + upper * weight;
    }
    if weight >= 0.5 { upper - difference * (1.0 - weight) } else { lower + difference * weight }
}
