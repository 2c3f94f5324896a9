//! Sets of numbers that come mostly in order.

use std::collections::VecDeque;
use std::ops::Range;

/// A set of numbers as ascending ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; how many numbers of it are new.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        match self.ranges.back_mut() {
            Some(last) if last.end == range.start => {
                last.end = range.end;
                range.end - range.start
            }
            Some(last) if last.end > range.start => self.merge(range),
            _ => {
                let new = range.end - range.start;
                self.ranges.push_back(range);
                new
            }
        }
    }

    fn merge(&mut self, mut range: Range<u64>) -> u64 {
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let after = self.ranges.partition_point(|known| known.start <= range.end);
        let touched: u64 = self.ranges.range(first..after).map(|known| known.end - known.start).sum();
        if first < after {
            range.start = range.start.min(self.ranges[first].start);
            range.end = range.end.max(self.ranges[after - 1].end);
        }
        let new = range.end - range.start - touched;
        self.ranges.drain(first..after);
        self.ranges.insert(first, range);
        new
    }

    /// Every number below this one is there.
    pub(crate) fn prefix(&self) -> u64 {
        self.ranges.front().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// The part of `range` before the first number that is there, or nothing where its first one is.
    pub(crate) fn gap_in(&self, range: Range<u64>) -> Range<u64> {
        let next = self.ranges.partition_point(|known| known.end <= range.start);
        match self.ranges.get(next) {
            Some(known) => range.start..range.end.min(known.start.max(range.start)),
            None => range,
        }
    }

    /// The first number from `number` on that is not there.
    pub(crate) fn next_absent(&self, number: u64) -> u64 {
        let next = self.ranges.partition_point(|known| known.end <= number);
        self.ranges.get(next).filter(|known| known.start <= number).map_or(number, |known| known.end)
    }

    /// Whether this number is there.
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.next_absent(number) > number
    }

    /// Forgets the ranges that end before this number.
    pub(crate) fn forget_below(&mut self, number: u64) {
        let count = self.ranges.partition_point(|known| known.end <= number);
        self.ranges.drain(..count);
    }

    /// Forgets the lowest ranges beyond so many.
    pub(crate) fn keep(&mut self, count: usize) {
        self.ranges.drain(..self.ranges.len().saturating_sub(count));
    }

    /// The ranges, highest first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().rev().cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_is_the_set(ranges in prop::collection::vec((0_u64..60, 0_u64..9), 1..40), asked in 0_u64..60) {
            let (mut set, mut reference) = (RangeSet::default(), BTreeSet::new());
            for (start, length) in ranges {
                let before = reference.len();
                reference.extend(start..start + length);
                prop_assert_eq!(set.insert(start..start + length), (reference.len() - before) as u64);
            }
            let members: BTreeSet<u64> = set.descending().flatten().collect();
            prop_assert_eq!(&members, &reference);
            prop_assert!(set.descending().zip(set.descending().skip(1)).all(|(high, low)| low.end < high.start));
            let absent = |from: u64| (from..).find(|number| !reference.contains(number)).unwrap();
            prop_assert_eq!(set.prefix(), absent(0));
            prop_assert_eq!(set.next_absent(asked), absent(asked));
            let gap = (asked..asked + 7).take_while(|number| !reference.contains(number)).count() as u64;
            prop_assert_eq!(set.gap_in(asked..asked + 7), asked..asked + gap);
        }
    }
}
