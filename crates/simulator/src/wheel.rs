//! A wheel of short sorted lists, one for each narrow span of the near future (R. Brown, "Calendar queues: a
//! fast O(1) priority queue implementation for the simulation event set problem", CACM 31(10), 1988, with a
//! bitmap in place of its search).
//!
//! It takes what falls into its turn and finds room in a short list, and refuses the rest: so its cost is
//! bounded whatever the times are, and a heap beside it takes what it refuses.

/// Slots of a turn: what two levels of 64 bits can tell apart.
const SLOTS: usize = 64 * 64;
/// A longer list refuses what belongs behind these.
const LONGEST_WALK: usize = 16;
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
    heads: Vec<u32>,
    /// One bit for each slot that holds something, and one for each word of them.
    occupied: [u64; 64],
    summary: u64,
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
            heads: vec![NONE; SLOTS],
            occupied: [0; 64],
            summary: 0,
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
        let (mut previous, mut next) = (NONE, self.heads[slot]);
        let mut steps = 0;
        while next != NONE && self.nodes[next as usize].value < value {
            if steps == LONGEST_WALK {
                return false;
            }
            steps += 1;
            (previous, next) = (next, self.nodes[next as usize].next);
        }
        let node = self.take(Node { value, next });
        if previous == NONE {
            self.heads[slot] = node;
            self.occupied[slot / 64] |= 1 << (slot % 64);
            self.summary |= 1 << (slot / 64);
        } else {
            self.nodes[previous as usize].next = node;
        }
        true
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
        if self.summary == 0 {
            return None;
        }
        let start = self.start as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.occupied[word] >> bit;
        if rest != 0 {
            return Some(start + rest.trailing_zeros() as usize);
        }
        // The words behind this one come first, and its own lower bits last.
        let turned = (word + 1) % 64;
        let ahead = self.summary.rotate_right(turned as u32).trailing_zeros() as usize;
        let word = (turned + ahead) % 64;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
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
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            if self.occupied[slot / 64] == 0 {
                self.summary &= !(1 << (slot / 64));
            }
        }
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

    #[test]
    fn values_of_a_turn_come_out_in_order_also_where_it_passes_the_last_slot() {
        let mut wheel = Wheel::new(4);
        wheel.advance(4 * 4090);
        let last = 4 * (4090 + 4096) - 1;
        for value in [last, 4 * 4096 + 1, 4 * 4090, 4 * 4096, 4 * 4095, 4 * 4096 + 3] {
            assert!(wheel.insert(value, value));
        }
        let sorted = [4 * 4090, 4 * 4095, 4 * 4096, 4 * 4096 + 1, 4 * 4096 + 3, last];
        assert_eq!((drain(&mut wheel).as_slice(), wheel.first()), (sorted.as_slice(), None));
    }

    #[test]
    fn what_is_past_or_beyond_the_turn_or_behind_a_long_list_is_refused() {
        let mut wheel = Wheel::new(16);
        wheel.advance(160);
        assert!(!wheel.insert(159, 159) && !wheel.insert(160 + 16 * 4096, 160 + 16 * 4096));
        assert!((0..LONGEST_WALK).all(|_| wheel.insert(160, 1)));
        assert!(wheel.insert(160, 2) && !wheel.insert(160, 3) && wheel.insert(160, 0));
        assert!(wheel.insert(160 + 16 * 4095, 3));
    }
}
