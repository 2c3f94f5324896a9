//! Percentiles of many overlapping windows of one array, without sorting or selecting in each.
//!
//! One pass sorts every number into a bucket and counts the buckets of each block between window edges. Prefix sums
//! over the blocks give each window's bucket counts, hence the bucket and the rank inside it; only the numbers of
//! those buckets are gathered, block by block, so that a window's share of a bucket is one short slice.

use crate::buckets::{BUCKETS, SAMPLE, Splitters};
use crate::order::{interpolate, neighbours, place, smallest};

/// A part of an array: from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Index of the first number.
    pub start: usize,
    /// Index after the last number.
    pub end: usize,
}

/// Below this many numbers in all windows together, selecting in each window is as fast.
const WORTH_BUCKETS: usize = 1 << 15;
/// With more windows their counts of buckets would take over 256 MiB.
const MAX_WINDOWS: usize = (1 << 26) / (2 * BUCKETS);

/// The quantile at `fraction` (0 to 1, type 7) of each window, equal to the last bit to what NumPy's `percentile`
/// computes window by window.
///
/// The numbers are finite, the windows not empty and inside the array.
///
/// # Panics
/// When a window is empty or reaches beyond the array.
pub fn window_percentiles(values: &[f64], windows: &[Window], fraction: f64) -> Vec<f64> {
    let total: usize = windows.iter().map(|window| window.end - window.start).sum();
    let is_small = total < WORTH_BUCKETS || total <= 2 * values.len();
    if is_small || windows.len() > MAX_WINDOWS || u32::try_from(values.len()).is_err() {
        return windows.iter().map(|window| select(&values[window.start..window.end], fraction)).collect();
    }
    if let Some(order) = order_of(values) {
        return windows
            .iter()
            .map(|window| order.quantile(&values[window.start..window.end], fraction))
            .collect();
    }
    let blocks = Blocks::new(values, windows);
    blocks.percentiles(values, windows, fraction)
}

/// The order of values that need no search.
enum Order {
    Ascending,
    Descending,
}

/// The order of the values, if they have one; found out at the first pair that breaks it.
fn order_of(values: &[f64]) -> Option<Order> {
    if values.is_sorted() {
        Some(Order::Ascending)
    } else {
        values.is_sorted_by(|before, after| before >= after).then_some(Order::Descending)
    }
}

impl Order {
    fn quantile(&self, values: &[f64], fraction: f64) -> f64 {
        let (rank, weight) = place(values.len(), fraction);
        let last = values.len() - 1;
        let (lower, upper) = match self {
            Self::Ascending => (rank, (rank + 1).min(last)),
            Self::Descending => (last - rank, (last - rank).saturating_sub(1)),
        };
        interpolate(values[lower], values[upper], weight)
    }
}

fn select(values: &[f64], fraction: f64) -> f64 {
    let (rank, weight) = place(values.len(), fraction);
    let (lower, upper) = neighbours(&mut values.to_vec(), rank);
    interpolate(lower, upper.unwrap_or(lower), weight)
}

/// The numbers in buckets, counted block by block.
struct Blocks {
    splitters: Splitters,
    /// Sorted edges of the blocks: every start and end of a window.
    edges: Vec<usize>,
    /// Bucket of each number.
    buckets: Vec<u16>,
    /// Numbers of each bucket before each edge: `before[edge * BUCKETS + bucket]`.
    before: Vec<u32>,
}

/// The two buckets that hold a window's two neighbours of the quantile, and where.
struct Target {
    first: usize,
    last: usize,
    lower: (usize, usize),
    upper: Option<usize>,
    weight: f64,
}

impl Blocks {
    fn new(values: &[f64], windows: &[Window]) -> Self {
        let splitters = Splitters::new(sample(values));
        let mut edges: Vec<usize> = windows.iter().flat_map(|window| [window.start, window.end]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut buckets = vec![0; values.len()];
        let mut before = vec![0; edges.len() * BUCKETS];
        let mut counts = [0_u32; BUCKETS];
        for (edge, pair) in edges.windows(2).enumerate() {
            let block = &mut buckets[pair[0]..pair[1]];
            splitters.classify(&values[pair[0]..pair[1]], block);
            for bucket in block {
                counts[usize::from(*bucket) & (BUCKETS - 1)] += 1;
            }
            before[(edge + 1) * BUCKETS..][..BUCKETS].copy_from_slice(&counts);
        }
        Self { splitters, edges, buckets, before }
    }

    fn percentiles(&self, values: &[f64], windows: &[Window], fraction: f64) -> Vec<f64> {
        let targets: Vec<Target> = windows.iter().map(|window| self.target(*window, fraction)).collect();
        let gathered = Gathered::new(self, values, &targets);
        let mut scratch = Vec::new();
        targets.iter().map(|target| gathered.quantile(self, target, &mut scratch)).collect()
    }

    fn edge(&self, index: usize) -> usize {
        self.edges.partition_point(|edge| *edge < index)
    }

    fn count(&self, first: usize, last: usize, bucket: usize) -> usize {
        (self.before[last * BUCKETS + bucket] - self.before[first * BUCKETS + bucket]) as usize
    }

    fn target(&self, window: Window, fraction: f64) -> Target {
        let (first, last) = (self.edge(window.start), self.edge(window.end));
        let (rank, weight) = place(window.end - window.start, fraction);
        let (mut bucket, mut below) = (0, 0);
        while below + self.count(first, last, bucket) <= rank {
            below += self.count(first, last, bucket);
            bucket += 1;
        }
        let upper = if below + self.count(first, last, bucket) > rank + 1 {
            Some(bucket)
        } else {
            (bucket + 1..BUCKETS).find(|next| self.count(first, last, *next) > 0)
        };
        Target { first, last, lower: (bucket, rank - below), upper, weight }
    }
}

/// Up to [`SAMPLE`] numbers at places that no period of the data can follow (golden-ratio steps).
fn sample(values: &[f64]) -> Vec<f64> {
    let step = 0x9e37_79b9_7f4a_7c15_u64;
    (0..SAMPLE as u64)
        .map(|draw| values[((u128::from(draw.wrapping_mul(step)) * values.len() as u128) >> 64) as usize])
        .collect()
}

/// The numbers of the buckets that are needed, bucket by bucket in the order of the array.
struct Gathered {
    numbers: Vec<f64>,
    /// Where each needed bucket begins in `numbers`.
    base: [usize; BUCKETS],
}

impl Gathered {
    fn new(blocks: &Blocks, values: &[f64], targets: &[Target]) -> Self {
        let mut needed = [false; BUCKETS];
        for target in targets {
            needed[target.lower.0] = true;
            target.upper.inspect(|bucket| needed[*bucket] = true);
        }
        let last = blocks.edges.len() - 1;
        let mut base = [0; BUCKETS];
        let mut size = 0;
        for bucket in (0..BUCKETS).step_by(2).filter(|bucket| needed[*bucket]) {
            base[bucket] = size;
            size += blocks.count(0, last, bucket);
        }
        (1..BUCKETS).step_by(2).for_each(|bucket| needed[bucket] = false);
        let mut numbers = vec![0.0; size];
        let mut next = base;
        let covered = blocks.edges[0]..blocks.edges[last];
        for (bucket, value) in blocks.buckets[covered.clone()].iter().zip(&values[covered]) {
            let bucket = usize::from(*bucket) & (BUCKETS - 1);
            if needed[bucket] {
                numbers[next[bucket]] = *value;
                next[bucket] += 1;
            }
        }
        Self { numbers, base }
    }

    fn part(&self, blocks: &Blocks, target: &Target, bucket: usize) -> &[f64] {
        let from = self.base[bucket] + blocks.before[target.first * BUCKETS + bucket] as usize;
        &self.numbers[from..from + blocks.count(target.first, target.last, bucket)]
    }

    fn quantile(&self, blocks: &Blocks, target: &Target, scratch: &mut Vec<f64>) -> f64 {
        let (bucket, rank) = target.lower;
        let (lower, within) = blocks.splitters.value(bucket).map_or_else(
            || {
                scratch.clear();
                scratch.extend_from_slice(self.part(blocks, target, bucket));
                neighbours(scratch, rank)
            },
            |value| (value, Some(value)),
        );
        let upper = match target.upper {
            None => lower,
            Some(same) if same == bucket => within.unwrap_or(lower),
            Some(next) => blocks
                .splitters
                .value(next)
                .or_else(|| smallest(self.part(blocks, target, next)))
                .unwrap_or(lower),
        };
        interpolate(lower, upper, target.weight)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(values: &[f64], windows: &[Window], fraction: f64) -> Vec<f64> {
        windows
            .iter()
            .map(|window| {
                let mut part = values[window.start..window.end].to_vec();
                part.sort_unstable_by(f64::total_cmp);
                let (rank, weight) = place(part.len(), fraction);
                interpolate(part[rank], part[(rank + 1).min(part.len() - 1)], weight)
            })
            .collect()
    }

    fn half_windows(count: usize) -> Vec<Window> {
        let length = count / 2;
        (0..100)
            .map(|index| Window { start: index * length / 100, end: index * length / 100 + length })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn windows_agree_with_sorting_each(
            shape in 0..6,
            seed in any::<u64>(),
            count in 700_usize..3000,
            fraction in 0.0..1.0,
        ) {
            let mut state = seed;
            let mut level = 0.0;
            let values: Vec<f64> = (0..count).map(|index| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
                level += unit - 0.5;
                match shape {
                    0 => unit,
                    1 => (unit * 5.0).floor(),
                    2 => level,
                    3 => index as f64 / 3.0,
                    4 => -(index as f64 / 7.0).floor(),
                    _ => (level * 2.0).round(),
                }
            }).collect();
            let windows = half_windows(count);
            prop_assert_eq!(window_percentiles(&values, &windows, fraction), naive(&values, &windows, fraction));
        }
    }

    #[test]
    fn a_window_of_one_value_is_that_value() {
        let values: Vec<f64> = (0..40_000).map(f64::from).collect();
        let mut windows = vec![Window { start: 0, end: 40_000 }; 3];
        windows.push(Window { start: 17, end: 18 });
        assert_eq!(window_percentiles(&values, &windows, 0.99)[3], 17.0);
    }
}
