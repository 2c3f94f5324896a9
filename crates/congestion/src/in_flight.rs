//! What a controller keeps of packets that are in flight.

use std::collections::VecDeque;

/// Something of each packet by its number, from when it leaves until it is reported.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<T> {
    /// The number of the first.
    base: u64,
    packets: VecDeque<Option<T>>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { base: 0, packets: VecDeque::new() }
    }
}

impl<T> InFlight<T> {
    /// A packet leaves. Where numbers do not follow each other, nothing is known of those before.
    pub(crate) fn push(&mut self, number: u64, kept: T) {
        if self.base.checked_add(self.packets.len() as u64) != Some(number) {
            self.packets.clear();
            self.base = number;
        }
        self.packets.push_back(Some(kept));
    }

    /// Takes a packet that is reported; none of one that never left or was taken before.
    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        let kept = self.packets.get_mut(place)?.take();
        while self.packets.front().is_some_and(Option::is_none) {
            self.packets.pop_front();
            self.base = self.base.saturating_add(1);
        }
        kept
    }

    /// The number of the packet that leaves next.
    pub(crate) fn next_number(&self) -> u64 {
        self.base.saturating_add(self.packets.len() as u64)
    }

    /// Nothing is in flight any more.
    pub(crate) fn clear(&mut self) {
        self.base = self.next_number();
        self.packets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_taken_once() {
        let mut packets = InFlight::default();
        (5..9).for_each(|number| packets.push(number, number * 10));
        assert_eq!(
            [6, 6, 4, 9, u64::MAX].map(|number| packets.take(number)),
            [Some(60), None, None, None, None]
        );
        assert_eq!((packets.take(5), packets.next_number(), packets.packets.len()), (Some(50), 9, 2));
        packets.clear();
        assert_eq!((packets.take(7), packets.next_number()), (None, 9));
    }

    #[test]
    fn numbers_that_do_not_follow_begin_anew() {
        let mut packets = InFlight::default();
        for number in [0, 1, 7, u64::MAX, 3] {
            packets.push(number, number);
        }
        assert_eq!(
            [0, 1, 7, u64::MAX, 3].map(|number| packets.take(number)),
            [None, None, None, None, Some(3)]
        );
    }
}
