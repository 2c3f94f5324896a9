//! Which class a port serves next.

use crate::buffer::CLASSES;
use crate::settings::Scheduling;

/// The class to serve among those whose bit is set in `ready`; `last` is the one that was served last.
#[inline]
pub(crate) fn choose_class(scheduling: Scheduling, ready: u8, last: u8) -> Option<usize> {
    if ready == 0 {
        return None;
    }
    match scheduling {
        Scheduling::RoundRobin => {
            let start = u32::from(last + 1) % CLASSES as u32;
            Some(((ready.rotate_right(start).trailing_zeros() + start) % CLASSES as u32) as usize)
        }
        Scheduling::Strict => Some(ready.ilog2() as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
