//! When packets may leave.

use trialwise_units::{Duration, Time};

/// At high rates the departures of so long a time leave together, so that the kernel handles them together, as that of Linux
/// lets up to a millisecond's worth of TCP leave together (`tcp_tso_autosize`).
pub(crate) const USUALLY_TOGETHER: Duration = Duration::from_microseconds(150);

/// Departures by the clock of the rate, not by that of the wake-ups: lateness does not add up. What is not sent for lack of
/// window or data is not made up for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next: Time,
    is_interrupted: bool,
    /// When departures that leave together last began.
    batch: Option<Time>,
    /// The departures of so long a time leave together; none for [`USUALLY_TOGETHER`].
    together: Option<Duration>,
}

impl Pacer {
    /// When the next packet may leave.
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Whether a packet may leave now, or together with one that has just left.
    pub(crate) fn is_open(&mut self, now: Time) -> bool {
        if self.next <= now {
            self.batch = Some(now);
        }
        self.batch == Some(now) && self.next < now + self.together.unwrap_or(USUALLY_TOGETHER)
    }

    /// A packet has left that takes `gap` at the present rate. Departures that were missed because the thread woke late are
    /// made up for, up to `most_late` of them.
    pub(crate) fn on_sent(&mut self, now: Time, gap: Duration, most_late: Duration) {
        let earliest = if self.is_interrupted { now } else { now - most_late };
        self.next = self.next.max(earliest) + gap;
        self.is_interrupted = false;
    }

    /// The departures of so long a time may leave together; none for the usual.
    pub(crate) fn set_together(&mut self, together: Option<Duration>) {
        self.together = together;
    }

    /// There was nothing that might be sent.
    pub(crate) fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// A packet may leave at once.
    pub(crate) fn restart(&mut self, now: Time) {
        *self = Self { next: now, is_interrupted: true, batch: None, together: self.together };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_close_to_each_other_leave_together() {
        let at = Time::from_nanoseconds;
        let mut pacer = Pacer::default();
        let mut leave = |now: Time, gap: u64| {
            let mut count = 0;
            while pacer.is_open(now) {
                pacer.on_sent(now, Duration::from_nanoseconds(gap), Duration::ZERO);
                count += 1;
            }
            count
        };
        assert_eq!(
            [leave(at(0), 10_000), leave(at(140_000), 10_000), leave(at(150_000), 10_000)],
            [15, 0, 15]
        );
        assert_eq!([leave(at(300_000), 1_000_000), leave(at(1_200_000), 1_000_000)], [1, 0]);
    }

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
