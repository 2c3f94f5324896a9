//! When packets may leave.

use trialwise_units::{Duration, Time};

/// Departures by the clock of the rate, not by that of the wake-ups: lateness does not add up. What is not sent for lack of
/// window or data is not made up for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next: Time,
    is_interrupted: bool,
}

impl Pacer {
    /// When the next packet may leave.
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// A packet has left that takes `gap` at the present rate. Departures that were missed because the thread woke late are
    /// made up for, up to `most_late` of them.
    pub(crate) fn on_sent(&mut self, now: Time, gap: Duration, most_late: Duration) {
        let earliest = if self.is_interrupted { now } else { now - most_late };
        self.next = self.next.max(earliest) + gap;
        self.is_interrupted = false;
    }

    /// There was nothing that might be sent.
    pub(crate) fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// A packet may leave at once.
    pub(crate) fn restart(&mut self, now: Time) {
        *self = Self { next: now, is_interrupted: true };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_does_not_add_up_and_silence_is_not_made_up_for() {
        let (at, gap) = (Time::from_milliseconds, Duration::from_milliseconds(2));
        let most_late = Duration::from_milliseconds(100);
        let mut pacer = Pacer::default();
        pacer.on_sent(at(1), gap, most_late);
        pacer.on_sent(at(5), gap, most_late);
        assert_eq!(pacer.next(), at(4));
        pacer.on_sent(at(200), gap, most_late);
        assert_eq!(pacer.next(), at(102));
        pacer.interrupt();
        pacer.on_sent(at(200), gap, most_late);
        assert_eq!(pacer.next(), at(202));
        pacer.restart(at(90));
        assert_eq!(pacer.next(), at(90));
    }
}
