//! Which class a port serves next.

use crate::settings::{CLASSES, Scheduling, Weights};

/// The class to serve among those whose bit is set in `ready`; `last` is the one that was served last. By weights there is more
/// to know ([`Deficits`]); without it all have the same.
#[inline]
pub(crate) fn choose_class(scheduling: Scheduling, ready: u8, last: u8) -> Option<usize> {
    if ready == 0 {
        return None;
    }
    match scheduling {
        Scheduling::RoundRobin | Scheduling::Weighted(_) => {
            let start = u32::from(last + 1) % CLASSES as u32;
            Some(((ready.rotate_right(start).trailing_zeros() + start) % CLASSES as u32) as usize)
        }
        Scheduling::Strict => Some(ready.ilog2() as usize),
    }
}

/// Bytes that each class may still send in its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deficits([u64; CLASSES]);

impl Deficits {
    pub(crate) const NONE: Self = Self([0; CLASSES]);

    /// The class to serve among those in `ready`: the `last` one while its deficit lasts, else the next, each of which gets
    /// `unit` bytes for its weight when its turn comes. `head` is the size of the first packet of a class.
    pub(crate) fn choose(
        &mut self,
        weights: Weights,
        unit: u64,
        ready: u8,
        last: u8,
        head: impl Fn(usize) -> u64,
    ) -> Option<usize> {
        let mut class = usize::from(last);
        if ready & 1 << class != 0 && head(class) <= self.0[class] {
            return Some(class);
        }
        loop {
            class = choose_class(Scheduling::RoundRobin, ready, class as u8)?;
            self.0[class] += weights.of(class) * unit;
            if head(class) <= self.0[class] {
                return Some(class);
            }
        }
    }

    /// A packet of `size` has left a class, whose turn ends where no other waits.
    pub(crate) fn spend(&mut self, class: usize, size: u64, is_empty: bool) {
        self.0[class] = if is_empty { 0 } else { self.0[class].saturating_sub(size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of figure 2 of Shreedhar and Varghese, with a quantum of 500: the first queue sends its 200 and keeps 300,
    /// of which it sends 750 in the next round.
    #[test]
    fn deficits_are_those_of_the_paper() {
        let queues: [&[u64]; 3] = [&[200, 750, 20], &[500, 500], &[600, 100, 400]];
        let (mut deficits, mut places, mut last, mut sent) = (Deficits::NONE, [0; 3], 0, Vec::new());
        loop {
            let waits = |class: usize| places[class - 1] < queues[class - 1].len();
            let ready = (1..=3).filter(|class| waits(*class)).fold(0, |ready, class| ready | 1 << class);
            let head = |class: usize| queues[class - 1][places[class - 1]];
            let Some(class) = deficits.choose(Weights::EQUAL, 500, ready, last, head) else { break };
            let size = head(class);
            places[class - 1] += 1;
            deficits.spend(class, size, places[class - 1] == queues[class - 1].len());
            last = class as u8;
            sent.push((class, size));
        }
        let round = [(1, 200), (2, 500), (1, 750), (1, 20), (2, 500), (3, 600), (3, 100), (3, 400)];
        assert_eq!(sent, round);
    }

    #[test]
    fn classes_take_turns_or_the_highest_goes_first() {
        let ready = 1 << 2 | 1 << 3 | 1 << 6;
        let turns = [2, 3, 6].map(|last| choose_class(Scheduling::RoundRobin, ready, last));
        assert_eq!(turns, [Some(3), Some(6), Some(2)]);
        let strict = [2, 3, 6].map(|last| choose_class(Scheduling::Strict, ready, last));
        assert_eq!(strict, [Some(6); 3]);
        assert_eq!(choose_class(Scheduling::Strict, 0, 3), None);
    }
}
