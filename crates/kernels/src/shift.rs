//! Order statistics of the differences between the values of two samples, without building all of them.

/// Up to so many differences are kept, and more where the samples themselves are larger.
const FEW: u64 = 4_000;
/// A part of each sample that stands for all of it has so many values, at least and at most.
const SKETCH: (usize, usize) = (24, 512);
/// Samples of so many values together are looked at by every `STEP`th value first.
const LARGE: usize = 1 << 19;
const STEP: usize = 16;

/// The differences `first - second` of the given ranks (from 1), of samples in ascending order.
///
/// None for an empty sample, and where a rank is 0 or beyond the pairs. Takes O(n + m) time for each rank that is far from the others.
#[must_use]
pub fn differences_at(first: &[f64], second: &[f64], ranks: &[u64]) -> Option<Vec<f64>> {
    let pairs = (first.len() as u64).checked_mul(second.len() as u64)?;
    if pairs == 0 || ranks.iter().any(|rank| !(1..=pairs).contains(rank)) {
        return None;
    }
    let search = Search { first, second, pairs, sketch: sketch(first, second) };
    let guessed = search.between(ranks);
    let mut last: Option<Found> = None;
    let mut found = Vec::with_capacity(ranks.len());
    for (place, rank) in ranks.iter().enumerate() {
        let mut bracket = last
            .take()
            .filter(|bracket| bracket.holds(*rank))
            .or_else(|| search.inside(guessed.get(place)?).filter(|bracket| bracket.holds(*rank)))
            .unwrap_or_else(|| search.bracket(*rank));
        found.push(bracket.nth(*rank));
        last = Some(bracket);
    }
    Some(found)
}

/// How many differences are not above `bound`.
///
/// A difference counts if `second >= first - bound`, as these are rounded.
fn count_up_to(first: &[f64], second: &[f64], bound: f64) -> u64 {
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

/// The differences between some values of each sample, in ascending order: a first guess of where a rank lies.
fn sketch(first: &[f64], second: &[f64]) -> Vec<f64> {
    let size = ((first.len() + second.len()) / 4).isqrt().clamp(SKETCH.0, SKETCH.1);
    let (some, others) = (thinned(first, size), thinned(second, size));
    let mut made: Vec<f64> =
        some.iter().flat_map(|value| others.iter().map(move |other| value - other)).collect();
    made.sort_unstable_by(f64::total_cmp);
    made
}

/// Every so many'th value.
fn thinned(ordered: &[f64], size: usize) -> Vec<f64> {
    let step = ordered.len().div_ceil(size);
    ordered.iter().skip(step / 2).step_by(step).copied().collect()
}

struct Search<'samples> {
    first: &'samples [f64],
    second: &'samples [f64],
    pairs: u64,
    sketch: Vec<f64>,
}

/// Some differences that follow each other: those of the ranks after `below`, up to `upto`.
struct Found {
    below: u64,
    upto: u64,
    differences: Vec<f64>,
}

/// A range of values, open below, and how many differences lie up to its ends.
struct Bracket {
    low: f64,
    high: f64,
    below: u64,
    upto: u64,
}

impl Found {
    fn holds(&self, rank: u64) -> bool {
        (self.below + 1..=self.upto).contains(&rank)
    }

    /// All are equal where only one is kept.
    fn nth(&mut self, rank: u64) -> f64 {
        let place = usize::try_from(rank - self.below - 1).unwrap_or(usize::MAX);
        let place = place.min(self.differences.len() - 1);
        *self.differences.select_nth_unstable_by(place, f64::total_cmp).1
    }
}

impl Search<'_> {
    /// Narrows a bracket of values around a rank, by guesses, interpolation and bisection, until few differences lie in it.
    fn bracket(&self, rank: u64) -> Found {
        let (low, high) = (
            self.first[0] - self.second[self.second.len() - 1],
            self.first[self.first.len() - 1] - self.second[0],
        );
        if low == high {
            return Found { below: 0, upto: self.pairs, differences: vec![low] };
        }
        // The bracket is open below, so it begins well below: rounding must not exclude the smallest difference.
        let mut bracket = Bracket { low: low - (high - low), high, below: 0, upto: self.pairs };
        let most = self.most();
        let mut guesses = self.guesses(rank).into_iter();
        let mut turn = 0;
        while bracket.upto - bracket.below > most {
            let middle = guesses.next().unwrap_or_else(|| {
                turn += 1;
                if turn % 3 == 0 { bracket.middle() } else { bracket.interpolated(rank, most) }
            });
            let middle =
                if bracket.low < middle && middle < bracket.high { middle } else { bracket.middle() };
            if !(bracket.low < middle && middle < bracket.high) {
                let differences = self.any_within(bracket.low, bracket.high).into_iter().collect();
                return Found { below: bracket.below, upto: bracket.upto, differences };
            }
            let count = count_up_to(self.first, self.second, middle);
            if count >= rank {
                (bracket.high, bracket.upto) = (middle, count);
            } else {
                (bracket.low, bracket.below) = (middle, count);
            }
        }
        self.within(bracket.low, bracket.high, u64::MAX).expect("any number may be kept")
    }

    /// Differences that are kept, at most.
    fn most(&self) -> u64 {
        FEW.max((self.first.len() + self.second.len()) as u64 / 8)
    }

    /// For each rank two values that it lies between, most probably: the differences around its share among every `STEP`th value of
    /// large samples. None for others.
    ///
    /// Of samples whose errors of a share are independent by the value, the share errs by less than the room that is left, `most` in
    /// all: by about 1 / n^1.5 for n values that are left. Whether it does is counted in any case.
    fn between(&self, ranks: &[u64]) -> Vec<[f64; 2]> {
        let Search { first, second, .. } = self;
        if first.len().min(second.len()) < LARGE / 2 {
            return Vec::new();
        }
        let (some, others) = (thinned(first, first.len() / STEP), thinned(second, second.len() / STEP));
        let pairs = some.len() as f64 * others.len() as f64;
        let room = self.most() as f64 / 3.0;
        let guessed = ranks.iter().flat_map(|rank| {
            [-room, room].map(|beside| {
                let share = (*rank as f64 + beside) / self.pairs as f64;
                ((share * pairs) as u64).clamp(1, pairs as u64)
            })
        });
        let found = differences_at(&some, &others, &guessed.collect::<Vec<_>>()).unwrap_or_default();
        found.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
    }

    /// The differences between two values; None if they are too many.
    fn inside(&self, [low, high]: &[f64; 2]) -> Option<Found> {
        self.within(*low, *high, self.most())
    }

    /// A difference above `low` that is not above `high`.
    fn any_within(&self, low: f64, high: f64) -> Option<f64> {
        let mut begin = 0;
        self.first.iter().find_map(|value| {
            begin += self.second[begin..].iter().take_while(|other| **other < value - high).count();
            self.second.get(begin).filter(|other| **other < value - low).map(|other| value - other)
        })
    }

    /// The differences above `low` that are not above `high`, told apart as they are counted; None if they are more than `most`.
    fn within(&self, low: f64, high: f64, most: u64) -> Option<Found> {
        let Search { first, second, pairs, .. } = self;
        let (mut begin, mut end) = (0, 0);
        let (mut below, mut beyond, mut differences) = (0, 0, Vec::new());
        for value in *first {
            begin += second[begin..].iter().take_while(|other| **other < value - high).count();
            end = end.max(begin);
            end += second[end..].iter().take_while(|other| **other < value - low).count();
            below += (second.len() - end) as u64;
            beyond += begin as u64;
            if (differences.len() + end - begin) as u64 > most {
                return None;
            }
            differences.extend(second[begin..end].iter().map(|other| value - other));
        }
        Some(Found { below, upto: pairs - beyond, differences })
    }

    /// Two values that a rank probably lies between.
    fn guesses(&self, rank: u64) -> [f64; 2] {
        let size = self.sketch.len();
        let share = (rank - 1) as f64 / self.pairs as f64;
        let place = (share * size as f64) as usize;
        let apart = size.isqrt() / 16 + 1;
        [place.saturating_sub(apart), (place + apart).min(size - 1)].map(|place| self.sketch[place])
    }
}

impl Bracket {
    fn middle(&self) -> f64 {
        self.low + (self.high - self.low) / 2.0
    }

    /// A value just beyond the rank, on the side with more differences, so that the next bracket is small.
    fn interpolated(&self, rank: u64, most: u64) -> f64 {
        let (under, over) = ((rank - self.below) as f64, (self.upto - rank) as f64);
        let beyond = most as f64 / 3.0;
        let aim = under + if over > under { beyond } else { -beyond };
        self.low + (self.high - self.low) * aim / (self.upto - self.below) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(first: &[f64], second: &[f64]) -> Vec<f64> {
        let mut made: Vec<f64> =
            first.iter().flat_map(|value| second.iter().map(move |other| value - other)).collect();
        made.sort_unstable_by(f64::total_cmp);
        made
    }

    fn sample(count: usize, step: u64, modulus: u64) -> Vec<f64> {
        let mut made: Vec<f64> =
            (0..count as u64).map(|place| (place * step % modulus) as f64 / 8.0).collect();
        made.sort_unstable_by(f64::total_cmp);
        made
    }

    #[test]
    fn differences_are_those_of_all_pairs() {
        for modulus in [3, 101, 1_000_003] {
            for (m, n) in [(1, 1), (1, 9000), (3000, 2), (90, 70), (700, 900)] {
                let (first, second) = (sample(m, 7919, modulus), sample(n, 104_729, modulus));
                let expected = every(&first, &second);
                let pairs = expected.len() as u64;
                let ranks: Vec<u64> = (0..=20).map(|part| 1 + (pairs - 1) * part / 20).collect();
                let found = differences_at(&first, &second, &ranks).expect("ranks of pairs");
                for (rank, value) in ranks.iter().zip(found) {
                    assert_eq!(value, expected[*rank as usize - 1], "{rank} of {m} and {n} by {modulus}");
                }
            }
        }
    }

    #[test]
    fn differences_of_large_samples_have_their_ranks() {
        for modulus in [3, (1 << 40) - 87] {
            let (first, second) =
                (sample(300_000, 7919 * 104_729, modulus), sample(270_000, 104_729 * 1_299_709, modulus));
            let pairs = first.len() as u64 * second.len() as u64;
            let ranks = [pairs / 2, pairs / 2 + 1, pairs / 2 - 50_000_000, pairs];
            let found = differences_at(&first, &second, &ranks).expect("ranks of pairs");
            for (rank, value) in ranks.iter().zip(found) {
                // All of them are whole eighths.
                assert!(count_up_to(&first, &second, value) >= *rank, "{rank} by {modulus}");
                assert!(count_up_to(&first, &second, value - 0.125) < *rank, "{rank} by {modulus}");
            }
        }
    }

    #[test]
    fn there_is_none_beyond_the_pairs() {
        assert_eq!(differences_at(&[1.0], &[2.0], &[0]), None);
        assert_eq!(differences_at(&[1.0], &[2.0], &[2]), None);
        assert_eq!(differences_at(&[], &[2.0], &[1]), None);
    }
}
