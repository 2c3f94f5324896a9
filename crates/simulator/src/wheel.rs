//! A wheel of short sorted lists, one for each narrow span of the near future (R. Brown, "Calendar queues: a
//! fast O(1) priority queue implementation for the simulation event set problem", CACM 31(10), 1988, with
//! bitmaps in place of its search).
//!
//! It takes what falls into its turn and finds room in a short list, and refuses the rest: so its cost is
//! bounded whatever the times are, and a heap beside it takes what it refuses.

/// Slots of a turn. Many narrow ones measure best: a list that has to be walked costs more than a bitmap does.
const SLOTS: usize = 1 << 14;
/// Words of 64 slots, and groups of 64 words.
const WORDS: usize = SLOTS / 64;
const GROUPS: usize = WORDS / 64;
/// A longer list refuses what belongs behind these.
const MAX_WALK: usize = 16;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    value: T,
    next: u32,
}

/// Values in order, each at a time; a greater value has no earlier time.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    /// A slot spans `2^shift` units of time.
    shift: u32,
    /// The span at which the turn begins.
    start: u64,
    heads: Box<[u32; SLOTS]>,
    /// One bit for each slot that holds something, and one for each word of them.
    occupied: [u64; WORDS],
    summary: [u64; GROUPS],
    nodes: Vec<Node<T>>,
    free: u32,
}

/// A place on the wheel that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(usize);

impl<T: Copy + Ord> Wheel<T> {
    /// An empty wheel whose slots span `width` units of time, rounded down to a power of two.
    pub(crate) fn new(width: u64) -> Self {
        Self {
            shift: width.max(1).ilog2(),
            start: 0,
            heads: Box::new([NONE; SLOTS]),
            occupied: [0; WORDS],
            summary: [0; GROUPS],
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// Takes `value` in, unless its time lies outside the turn or its list is long.
    #[inline]
    pub(crate) fn insert(&mut self, time: u64, value: T) -> bool {
        let span = time >> self.shift;
        // What is past wraps to far away.
        if span.wrapping_sub(self.start) >= SLOTS as u64 {
            return false;
        }
        let slot = span as usize % SLOTS;
        let first = self.heads[slot];
        if first != NONE {
            if self.nodes[first as usize].value < value {
                return self.insert_behind(first, value);
            }
        } else {
            let word = slot / 64;
            self.occupied[word] |= 1 << (slot % 64);
            self.summary[word / 64] |= 1 << (word % 64);
        }
        self.heads[slot] = self.take(Node { value, next: first });
        true
    }

    /// The same in a list whose first value comes before.
    fn insert_behind(&mut self, first: u32, value: T) -> bool {
        let mut previous = first;
        for _ in 0..MAX_WALK {
            let next = self.nodes[previous as usize].next;
            if next == NONE || value < self.nodes[next as usize].value {
                self.nodes[previous as usize].next = self.take(Node { value, next });
                return true;
            }
            previous = next;
        }
        false
    }

    #[inline]
    fn take(&mut self, node: Node<T>) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let place = self.free;
        self.free = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }

    /// The least value.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Slot, T)> {
        let slot = self.first_slot()?;
        Some((Slot(slot), self.nodes[self.heads[slot] as usize].value))
    }

    /// The occupied slot that comes first from the start of the turn on.
    #[inline]
    fn first_slot(&self) -> Option<usize> {
        let start = self.start as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.occupied[word] >> bit;
        if rest != 0 {
            return Some(start + rest.trailing_zeros() as usize);
        }
        // The words behind this one come first, and its own lower bits last.
        let (group, behind) = (word / 64, !1 << (word % 64));
        let rest = self.summary[group] & behind;
        if rest != 0 {
            return Some(self.first_in(group, rest));
        }
        let later = (group + 1..GROUPS).chain(0..=group).find(|group| self.summary[*group] != 0)?;
        Some(self.first_in(later, self.summary[later]))
    }

    /// The first occupied slot of the first of these words of a group.
    #[inline]
    fn first_in(&self, group: usize, words: u64) -> usize {
        let word = group * 64 + words.trailing_zeros() as usize;
        word * 64 + self.occupied[word].trailing_zeros() as usize
    }

    /// Takes the first value of a slot out.
    #[inline]
    pub(crate) fn remove_first(&mut self, slot: Slot) {
        let Slot(slot) = slot;
        let place = self.heads[slot];
        let next = self.nodes[place as usize].next;
        self.nodes[place as usize].next = self.free;
        self.free = place;
        self.heads[slot] = next;
        if next == NONE {
            let word = slot / 64;
            self.occupied[word] &= !(1 << (slot % 64));
            if self.occupied[word] == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
    }

    /// Lets the turn begin at any `time`. Nothing is left.
    pub(crate) const fn restart(&mut self, time: u64) {
        self.start = time >> self.shift;
    }

    /// Lets the turn begin at `time`, before which nothing is left.
    #[inline]
    pub(crate) fn advance(&mut self, time: u64) {
        self.start = self.start.max(time >> self.shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(wheel: &mut Wheel<u64>) -> Vec<u64> {
        std::iter::from_fn(|| {
            let (slot, value) = wheel.first()?;
            wheel.remove_first(slot);
            wheel.advance(value);
            Some(value)
        })
        .collect()
    }

    const TURN: u64 = SLOTS as u64;

    #[test]
    fn values_of_a_turn_come_out_in_order_also_where_it_passes_the_last_slot() {
        let mut wheel = Wheel::new(4);
        wheel.advance(4 * (TURN - 6));
        let last = 4 * (TURN - 6 + TURN) - 1;
        for value in [last, 4 * TURN + 1, 4 * (TURN - 6), 4 * TURN, 4 * (TURN - 1), 4 * TURN + 3] {
            assert!(wheel.insert(value, value));
        }
        let sorted = [4 * (TURN - 6), 4 * (TURN - 1), 4 * TURN, 4 * TURN + 1, 4 * TURN + 3, last];
        assert_eq!((drain(&mut wheel).as_slice(), wheel.first()), (sorted.as_slice(), None));
    }

    #[test]
    fn the_first_is_found_wherever_the_turn_begins_and_however_far_it_is() {
        for start in (0..TURN).step_by(61) {
            for far in [0, 1, 63, 64, 65, 4000, 4096, 4160, 9000, TURN - 65, TURN - 64, TURN - 1] {
                let mut wheel = Wheel::new(1);
                wheel.advance(start);
                assert!(wheel.insert(start + far, start + far));
                assert_eq!(drain(&mut wheel), [start + far]);
                assert_eq!(wheel.first(), None);
            }
        }
    }

    #[test]
    fn what_is_past_or_beyond_the_turn_or_behind_a_long_list_is_refused() {
        let mut wheel = Wheel::new(16);
        wheel.advance(160);
        assert!(!wheel.insert(159, 159) && !wheel.insert(160 + 16 * TURN, 160 + 16 * TURN));
        assert!((0..MAX_WALK).all(|_| wheel.insert(160, 1)));
        assert!(wheel.insert(160, 2) && !wheel.insert(160, 3) && wheel.insert(160, 0));
        assert!(wheel.insert(160 + 16 * (TURN - 1), 3));
    }
}
