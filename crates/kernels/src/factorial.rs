//! Permutation distributions of the F statistics of a factorial design.
//!
//! A model of cell means is constant within cells, so that the sums over cells hold all that a statistic needs of an
//! arrangement, balanced or not.

use std::thread;

use crate::permutation::Draws;
use crate::random::SplitMix64;

/// So near below the observed statistic counts as equal to it: sums in another order differ by rounding.
const TIE: f64 = 1e-9;
/// A residual below this share of the whole is rounding.
const ROUNDING: f64 = 1e-13;
/// So many moved values are worth a thread.
const WORTH_A_THREAD: usize = 1 << 19;

/// Values of trials in cells, and the model that is fitted to them.
#[derive(Clone, Copy, Debug)]
pub struct Factorial<'a> {
    /// Cell after cell, for each trial one number for each column.
    pub values: &'a [f64],
    /// Numbers for each trial.
    pub columns: usize,
    /// Trials in each cell, at least one.
    pub sizes: &'a [usize],
    /// Directions between cells that the model leaves to the residual, one after the other: what a sum over a cell is
    /// multiplied by, so that the squares add up to a sum of squares.
    pub unfitted: &'a [f64],
    /// The terms that are tested.
    pub terms: &'a [Term<'a>],
}

/// A term of the model.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    /// Of the values that are permuted for it.
    pub column: usize,
    /// Its directions, as in `unfitted`.
    pub basis: &'a [f64],
}

/// For each term, in how many arrangements of the trials over the cells its F is at least the observed one, and of how many.
/// `Draws::Every` takes each distinct arrangement once, the observed one too. The result is the same for any number of threads.
///
/// The sizes must add up to the trials, the columns of terms exist, and a basis have one number for each cell and direction.
pub fn term_exceedances(design: Factorial<'_>, draws: Draws, threads: usize) -> (Vec<u64>, u64) {
    let mut counter = Counter::new(design);
    match draws {
        Draws::Every => {
            let total = counter.every();
            (counter.found, total)
        }
        Draws::Shuffles { count, seed } => {
            let trials: usize = design.sizes.iter().sum();
            let useful = 1 + trials.saturating_mul(count) / WORTH_A_THREAD;
            let threads = threads.clamp(1, useful);
            let part = |thread: usize| thread * count / threads..(thread + 1) * count / threads;
            let others = thread::scope(|scope| {
                let started: Vec<_> = (1..threads)
                    .map(|thread| {
                        scope.spawn(move || {
                            let mut counter = Counter::new(design);
                            counter.shuffled(part(thread), seed);
                            counter.found
                        })
                    })
                    .collect();
                counter.shuffled(part(0), seed);
                started
                    .into_iter()
                    .map(|thread| thread.join().expect("counting does not panic"))
                    .collect::<Vec<_>>()
            });
            let mut found = counter.found;
            for other in others {
                found.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
            }
            (found, count as u64)
        }
    }
}

/// Sum of squares of a term and of the residual.
#[derive(Clone, Copy)]
struct Squares {
    term: f64,
    residual: f64,
}

struct Counter<'a> {
    design: Factorial<'a>,
    /// Of each column, over all trials.
    whole: Vec<f64>,
    observed: Vec<Squares>,
    /// Cell after cell, one for each column.
    sums: Vec<f64>,
    found: Vec<u64>,
}

impl<'a> Counter<'a> {
    fn new(design: Factorial<'a>) -> Self {
        let mut whole = vec![0.0; design.columns];
        for row in design.values.chunks_exact(design.columns) {
            whole.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        let sums = vec![0.0; design.columns * design.sizes.len()];
        let mut counter =
            Self { design, whole, observed: Vec::new(), sums, found: vec![0; design.terms.len()] };
        let given: Vec<u32> = counter.identity();
        counter.add_up(&given);
        counter.observed = design.terms.iter().map(|term| counter.squares(term)).collect();
        counter
    }

    fn identity(&self) -> Vec<u32> {
        (0..).take(self.design.sizes.iter().sum()).collect()
    }

    /// Each shuffle starts from the given order, with a stream of its own.
    fn shuffled(&mut self, indices: std::ops::Range<usize>, seed: u64) {
        let given = self.identity();
        let mut order = given.clone();
        for index in indices {
            order.copy_from_slice(&given);
            SplitMix64::stream(seed, index as u64).shuffle(&mut order);
            self.add_up(&order);
            self.count();
        }
    }

    /// Every distinct arrangement of the cells' labels, in lexicographic order.
    fn every(&mut self) -> u64 {
        let sizes = self.design.sizes.iter().enumerate();
        let mut labels: Vec<usize> = sizes.flat_map(|(cell, size)| vec![cell; *size]).collect();
        let mut total = 0;
        loop {
            self.sums.fill(0.0);
            for (row, label) in self.design.values.chunks_exact(self.design.columns).zip(&labels) {
                let sums = &mut self.sums[label * self.design.columns..];
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            self.count();
            total += 1;
            if !next_arrangement(&mut labels) {
                return total;
            }
        }
    }

    fn add_up(&mut self, order: &[u32]) {
        match self.design.columns {
            1 => self.add_columns::<1>(order),
            2 => self.add_columns::<2>(order),
            3 => self.add_columns::<3>(order),
            _ => self.add_any(order),
        }
    }

    fn add_columns<const COLUMNS: usize>(&mut self, order: &[u32]) {
        let rows = self.design.values.as_chunks::<COLUMNS>().0;
        let mut rest = order;
        for (size, sums) in self.design.sizes.iter().zip(self.sums.as_chunks_mut::<COLUMNS>().0) {
            let (cell, others) = rest.split_at(*size);
            rest = others;
            *sums = [0.0; COLUMNS];
            for trial in cell {
                let row = &rows[*trial as usize];
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    fn add_any(&mut self, order: &[u32]) {
        let columns = self.design.columns;
        let mut rest = order;
        for (size, sums) in self.design.sizes.iter().zip(self.sums.chunks_exact_mut(columns)) {
            let (cell, others) = rest.split_at(*size);
            rest = others;
            sums.fill(0.0);
            for trial in cell {
                let row = &self.design.values[*trial as usize * columns..];
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    fn count(&mut self) {
        for (index, term) in self.design.terms.iter().enumerate() {
            let (now, observed) = (self.squares(term), self.observed[index]);
            let reached = now.term * observed.residual >= (1.0 - TIE) * observed.term * now.residual;
            self.found[index] += u64::from(reached);
        }
    }

    fn squares(&self, term: &Term<'_>) -> Squares {
        let (columns, whole) = (self.design.columns, self.whole[term.column]);
        let of_cells = || self.sums.iter().skip(term.column).step_by(columns);
        let between: f64 =
            of_cells().zip(self.design.sizes).map(|(sum, size)| sum * sum / *size as f64).sum();
        let along = |basis: &[f64]| -> f64 {
            let directions = basis.chunks_exact(self.design.sizes.len());
            directions
                .map(|one| one.iter().zip(of_cells()).map(|(part, sum)| part * sum).sum::<f64>().powi(2))
                .sum()
        };
        let residual = whole - between + along(self.design.unfitted);
        Squares { term: along(term.basis), residual: residual.max(ROUNDING * whole) }
    }
}

/// The next arrangement in lexicographic order (Knuth, 7.2.1.2, Algorithm L), or false after the last.
fn next_arrangement(labels: &mut [usize]) -> bool {
    let Some(rise) = labels.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let after = labels.iter().rposition(|label| *label > labels[rise]).expect("the next label is larger");
    labels.swap(rise, after);
    labels[rise + 1..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: f64 = 0.5;

    /// Two cells of two trials: the difference of means, whose square is its sum of squares.
    fn two_cells<'a>(values: &'a [f64], terms: &'a [Term<'a>]) -> Factorial<'a> {
        Factorial { values, columns: 1, sizes: &[2, 2], unfitted: &[], terms }
    }

    #[test]
    fn every_arrangement_is_seen_once_and_ties_count() {
        let terms = [Term { column: 0, basis: &[HALF, -HALF] }];
        // Of 6 splits of 1, 2, 3, 4 in two pairs only {1, 2} and {3, 4} are so far apart.
        let (found, total) = term_exceedances(two_cells(&[1.0, 2.0, 3.0, 4.0], &terms), Draws::Every, 1);
        assert_eq!((found, total), (vec![2], 6));
        let (found, _) = term_exceedances(two_cells(&[1.0, 3.0, 2.0, 4.0], &terms), Draws::Every, 1);
        assert_eq!(found, vec![4]);
    }

    #[test]
    fn shuffles_do_not_depend_on_threads_and_come_near_the_whole() {
        let terms = [Term { column: 0, basis: &[HALF, -HALF] }, Term { column: 1, basis: &[HALF, HALF] }];
        let values = [1.0, 0.5, 3.0, -0.5, 2.0, 1.5, 4.0, -2.0];
        let design = Factorial { values: &values, columns: 2, sizes: &[2, 2], unfitted: &[], terms: &terms };
        let draws = Draws::Shuffles { count: 300_000, seed: 3 };
        let one = term_exceedances(design, draws, 1);
        assert_eq!(one, term_exceedances(design, draws, 3));
        let (found, total) = term_exceedances(design, Draws::Every, 1);
        for (drawn, exact) in one.0.iter().zip(found) {
            assert!((*drawn as f64 / 300_000.0 - exact as f64 / total as f64).abs() < 0.005);
        }
    }

    #[test]
    fn any_number_of_columns_is_added_alike() {
        let column = [0.3, 1.2, 0.8, -2.0, -0.5, 1.4, 0.0];
        let sizes = [3, 4];
        let term = |column| Term { column, basis: &[0.4, -0.3] };
        let mut all = Vec::new();
        for columns in 1..=5 {
            let values: Vec<f64> = column.iter().flat_map(|value| vec![*value; columns]).collect();
            let terms: Vec<Term<'_>> = (0..columns).map(term).collect();
            let design = Factorial { values: &values, columns, sizes: &sizes, unfitted: &[], terms: &terms };
            all.extend(term_exceedances(design, Draws::Shuffles { count: 500, seed: 1 }, 2).0);
        }
        assert!(all.iter().all(|found| *found == all[0] && *found > 0 && *found < 500), "{all:?}");
    }

    #[test]
    fn what_the_model_leaves_out_is_residual() {
        let terms = [Term { column: 0, basis: &[HALF, -HALF, 0.0] }];
        let values = [1.0, 2.0, 3.0, 4.0, 9.0, 7.0];
        let third = 3f64.sqrt() / 6.0;
        let unfitted = [third, third, -2.0 * third];
        let with =
            Factorial { values: &values, columns: 1, sizes: &[2; 3], unfitted: &unfitted, terms: &terms };
        let without = Factorial { unfitted: &[], ..with };
        let squares = |design| Counter::new(design).observed[0];
        assert_eq!(squares(with).term, 4.0);
        let between = (3.0 + 7.0 - 2.0 * 16.0) * third;
        assert!((squares(with).residual - squares(without).residual - between * between).abs() < 1e-9);
    }
}
