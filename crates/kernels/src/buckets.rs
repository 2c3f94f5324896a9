//! Sorting numbers into buckets by splitters drawn from them: the classifier of super-scalar sample sort
//! (Sanders and Winkel, ESA 2004), with a bucket of its own for each value that is a splitter, so that ties
//! never pile up in a bucket that has to be searched.

/// Leaves of the search tree.
const LEAVES: usize = 256;
const LEVELS: u32 = LEAVES.trailing_zeros();
/// Numbers classified side by side, so that their walks down the tree overlap.
const LANES: usize = 16;
/// Draws for each splitter.
const OVERSAMPLING: usize = 8;

/// Buckets in all: one below each splitter, one for each splitter, one above the last.
pub(crate) const BUCKETS: usize = 2 * LEAVES;
/// Numbers that [`Splitters::new`] wants to choose from.
pub(crate) const SAMPLE: usize = OVERSAMPLING * LEAVES;

/// Distinct splitters in ascending order, and the same as a search tree.
pub(crate) struct Splitters {
    sorted: [f64; LEAVES],
    tree: [f64; LEAVES],
}

impl Splitters {
    /// Splitters at even ranks of a sample of finite numbers.
    pub(crate) fn new(mut sample: Vec<f64>) -> Self {
        sample.sort_unstable_by(f64::total_cmp);
        let mut chosen: Vec<f64> =
            (1..LEAVES).filter_map(|rank| sample.get(rank * sample.len() / LEAVES)).copied().collect();
        chosen.dedup();
        let mut sorted = [f64::INFINITY; LEAVES];
        sorted[..chosen.len()].copy_from_slice(&chosen);
        let mut tree = [f64::INFINITY; LEAVES];
        fill(&mut tree, 1, &sorted[..LEAVES - 1]);
        Self { sorted, tree }
    }

    /// Writes the bucket of each number: even buckets lie between splitters, odd ones hold one value each.
    pub(crate) fn classify(&self, values: &[f64], buckets: &mut [u16]) {
        let (whole, rest) = values.as_chunks::<LANES>();
        let (whole_buckets, rest_buckets) = buckets.as_chunks_mut::<LANES>();
        for (lanes, out) in whole.iter().zip(whole_buckets) {
            *out = self.classify_lanes(lanes);
        }
        for (value, out) in rest.iter().zip(rest_buckets) {
            *out = self.classify_lanes(&[*value])[0];
        }
    }

    /// The value of an odd bucket.
    pub(crate) fn value(&self, bucket: usize) -> Option<f64> {
        (bucket % 2 == 1).then(|| self.sorted[bucket / 2])
    }

    #[inline(always)]
    fn classify_lanes<const N: usize>(&self, values: &[f64; N]) -> [u16; N] {
        let mut node = [1_usize; N];
        for _ in 0..LEVELS {
            for lane in 0..N {
                node[lane] =
                    2 * node[lane] + usize::from(self.tree[node[lane] & (LEAVES - 1)] < values[lane]);
            }
        }
        let mut bucket = [0; N];
        for lane in 0..N {
            let below = node[lane] & (LEAVES - 1);
            bucket[lane] = (2 * below) as u16 + u16::from(self.sorted[below] == values[lane]);
        }
        bucket
    }
}

/// Lays sorted splitters out as an implicit binary tree: children of `node` are `2 node` and `2 node + 1`.
fn fill(tree: &mut [f64; LEAVES], node: usize, sorted: &[f64]) {
    if node < LEAVES {
        let middle = sorted.len() / 2;
        tree[node] = sorted[middle];
        fill(tree, 2 * node, &sorted[..middle]);
        fill(tree, 2 * node + 1, &sorted[middle + 1..]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bucket_is_twice_the_splitters_below_and_one_more_on_a_splitter(
            sample in prop::collection::vec(-20_i8..20, 1..2000),
            values in prop::collection::vec(-25_i8..25, 0..50),
        ) {
            let splitters = Splitters::new(sample.into_iter().map(f64::from).collect());
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut buckets = vec![0; values.len()];
            splitters.classify(&values, &mut buckets);
            for (value, bucket) in values.iter().zip(buckets) {
                let below = splitters.sorted.iter().filter(|splitter| *splitter < value).count();
                let equal = splitters.sorted.contains(value);
                prop_assert_eq!(usize::from(bucket), 2 * below + usize::from(equal));
            }
        }
    }
}
