//! Order statistics of the slopes between all pairs of points, in memory that does not grow with their number.

use crate::buckets::{BUCKETS, SAMPLE, Splitters};

/// Up to this many points all slopes are kept.
const KEEP_ALL: usize = 1500;

/// The slopes of the given ranks (from 0) among the slopes between all pairs of points with different `x`.
///
/// Points are finite, `x` and `y` of equal length. Slopes too steep for a double are infinite. None where a rank is not below
/// the number of such pairs. Takes O(n²) time.
pub fn slope_order_statistics(x: &[f64], y: &[f64], ranks: &[usize]) -> Option<Vec<f64>> {
    if x.len() <= KEEP_ALL {
        let mut slopes = Vec::with_capacity(x.len() * x.len() / 2);
        (0..x.len()).for_each(|last| extend_with_slopes(x, y, last, &mut slopes));
        return ranks.iter().map(|rank| nth(&mut slopes, *rank)).collect();
    }
    select_in_buckets(x, y, ranks)
}

fn nth(slopes: &mut [f64], rank: usize) -> Option<f64> {
    (rank < slopes.len()).then(|| *slopes.select_nth_unstable_by(rank, f64::total_cmp).1)
}

/// The slopes from the point at `last` to every point before it.
fn extend_with_slopes(x: &[f64], y: &[f64], last: usize, slopes: &mut Vec<f64>) {
    let pairs = x[..last].iter().zip(&y[..last]);
    slopes.extend(
        pairs.filter(|(before, _)| **before != x[last]).map(|(left, low)| (y[last] - low) / (x[last] - left)),
    );
}

/// Two passes over all pairs: count the slopes in each bucket, then keep those of the buckets that hold a rank.
fn select_in_buckets(x: &[f64], y: &[f64], ranks: &[usize]) -> Option<Vec<f64>> {
    let splitters = Splitters::new(sample(x, y));
    let mut counts = [0_usize; BUCKETS];
    for_each_slope(x, y, &splitters, |bucket, _| counts[bucket] += 1);
    let places: Vec<(usize, usize)> =
        ranks.iter().map(|rank| locate(&counts, *rank)).collect::<Option<_>>()?;
    let mut kept: Vec<Option<Vec<f64>>> = (0..BUCKETS)
        .map(|bucket| {
            let wanted = bucket % 2 == 0 && places.iter().any(|(place, _)| *place == bucket);
            wanted.then(|| Vec::with_capacity(counts[bucket]))
        })
        .collect();
    for_each_slope(x, y, &splitters, |bucket, slope| {
        if let Some(slopes) = &mut kept[bucket] {
            slopes.push(slope);
        }
    });
    let found = |(bucket, rank): &(usize, usize)| match (&mut kept[*bucket], splitters.value(*bucket)) {
        (Some(slopes), _) => nth(slopes, *rank),
        (None, value) => Some(value.unwrap_or(f64::INFINITY)),
    };
    places.iter().map(found).collect()
}

fn locate(counts: &[usize; BUCKETS], rank: usize) -> Option<(usize, usize)> {
    let mut within = rank;
    for (bucket, count) in counts.iter().enumerate() {
        if within < *count {
            return Some((bucket, within));
        }
        within -= count;
    }
    None
}

fn for_each_slope(x: &[f64], y: &[f64], splitters: &Splitters, mut each: impl FnMut(usize, f64)) {
    let mut slopes = Vec::with_capacity(x.len());
    let mut buckets = vec![0; x.len()];
    for last in 1..x.len() {
        slopes.clear();
        extend_with_slopes(x, y, last, &mut slopes);
        splitters.classify(&slopes, &mut buckets[..slopes.len()]);
        for (slope, bucket) in slopes.iter().zip(&buckets) {
            each(usize::from(*bucket) & (BUCKETS - 1), *slope);
        }
    }
}

/// Finite slopes of pairs that are spread over the triangle of all pairs.
fn sample(x: &[f64], y: &[f64]) -> Vec<f64> {
    let count = x.len();
    let scaled = |bits: u64| ((u128::from(bits) * count as u128) >> 64) as usize;
    let golden = 0x9e37_79b9_7f4a_7c15_u64;
    let plastic = 0xc13f_a9a9_02a6_328f_u64;
    (1..=4 * SAMPLE as u64)
        .map(|draw| (scaled(draw.wrapping_mul(golden)), scaled(draw.wrapping_mul(plastic))))
        .filter(|(one, other)| x[*one] != x[*other])
        .map(|(one, other)| (y[one] - y[other]) / (x[one] - x[other]))
        .filter(|slope| slope.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_agree_with_keeping_all_slopes() {
        let count = KEEP_ALL + 200;
        let x: Vec<f64> = (0..count).map(|index| (index / 2) as f64).collect();
        let y: Vec<f64> = (0..count).map(|index| ((index * 7919) % 101) as f64 / 8.0).collect();
        let mut slopes = Vec::new();
        (0..count).for_each(|last| extend_with_slopes(&x, &y, last, &mut slopes));
        let ranks = [0, 1000, slopes.len() / 2, slopes.len() - 1];
        let expected = ranks.iter().map(|rank| nth(&mut slopes, *rank)).collect();
        assert_eq!(slope_order_statistics(&x, &y, &ranks), expected);
        assert_eq!(slope_order_statistics(&x, &y, &[slopes.len()]), None);
    }

    #[test]
    fn there_is_no_slope_beyond_the_last() {
        let (x, y) = ([0.0, 1.0, 1.0], [0.0, 2.0, 3.0]);
        assert_eq!(slope_order_statistics(&x, &y, &[0, 1]), Some(vec![2.0, 3.0]));
        assert_eq!(slope_order_statistics(&x, &y, &[2]), None);
        assert_eq!(slope_order_statistics(&[], &[], &[0]), None);
    }
}
