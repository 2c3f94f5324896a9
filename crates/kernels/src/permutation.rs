//! Permutation distributions of statistics of a series: every order of a short one, seeded shuffles of a longer one.

use crate::random::SplitMix64;

/// Which orders of a series are looked at.
#[derive(Clone, Copy, Debug)]
pub enum Draws {
    /// All of them.
    Every,
    /// This many shuffles, the same ones for the same seed.
    Shuffles {
        /// How many.
        count: usize,
        /// Seed of the shuffles.
        seed: u64,
    },
}

/// In how many orders `|sum of products of neighbours + offset|` is at least `threshold`, and of how many.
pub fn lag_product_exceedances(values: &[f64], offset: f64, threshold: f64, draws: Draws) -> (u64, u64) {
    exceedances(values, draws, |order| {
        let sum: f64 = order.windows(2).map(|pair| pair[0] * pair[1]).sum();
        (sum + offset).abs() >= threshold
    })
}

/// In how many orders Kendall's score (ascending less descending pairs) is at least `threshold` from zero, and of
/// how many.
pub fn score_exceedances(values: &[f64], threshold: i64, draws: Draws) -> (u64, u64) {
    exceedances(values, draws, |order| score(order).abs() >= threshold)
}

fn score(order: &[f64]) -> i64 {
    let against = |(index, value): (usize, &f64)| -> i64 {
        order[..index].iter().map(|before| i64::from(before < value) - i64::from(before > value)).sum()
    };
    order.iter().enumerate().map(against).sum()
}

fn exceedances(values: &[f64], draws: Draws, exceeds: impl Fn(&[f64]) -> bool) -> (u64, u64) {
    let mut order = values.to_vec();
    match draws {
        Draws::Every => every(&mut order, &exceeds),
        Draws::Shuffles { count, seed } => {
            let mut random = SplitMix64::new(seed);
            let mut found = 0;
            for _ in 0..count {
                random.shuffle(&mut order);
                found += u64::from(exceeds(&order));
            }
            (found, count as u64)
        }
    }
}

/// Heap's algorithm (Heap, 1963), without recursion.
fn every(order: &mut [f64], exceeds: &impl Fn(&[f64]) -> bool) -> (u64, u64) {
    let mut swaps = vec![0; order.len()];
    let (mut found, mut total) = (u64::from(exceeds(order)), 1);
    let mut level = 1;
    while level < order.len() {
        if swaps[level] < level {
            order.swap(if level % 2 == 0 { 0 } else { swaps[level] }, level);
            found += u64::from(exceeds(order));
            total += 1;
            swaps[level] += 1;
            level = 1;
        } else {
            swaps[level] = 0;
            level += 1;
        }
    }
    (found, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_four_is_seen_once() {
        let (found, total) = score_exceedances(&[1.0, 2.0, 3.0, 4.0], 6, Draws::Every);
        assert_eq!((found, total), (2, 24));
        assert_eq!(score_exceedances(&[1.0, 2.0, 3.0, 4.0], 4, Draws::Every), (8, 24));
    }

    #[test]
    fn shuffles_come_near_the_whole_and_repeat_with_their_seed() {
        let values = [0.3, -1.2, 0.8, 2.0, -0.5, -1.4, 0.0];
        let (found, total) = lag_product_exceedances(&values, 1.2, 2.0, Draws::Every);
        let draws = Draws::Shuffles { count: 20_000, seed: 7 };
        let (drawn, count) = lag_product_exceedances(&values, 1.2, 2.0, draws);
        assert_eq!((total, count), (5040, 20_000));
        assert!((found as f64 / 5040.0 - drawn as f64 / 20_000.0).abs() < 0.015);
        assert_eq!((drawn, count), lag_product_exceedances(&values, 1.2, 2.0, draws));
    }
}
