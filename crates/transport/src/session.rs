//! What both kinds of sender have in common around their loops.

use trialwise_protocol::report::{Ending, Subject, Summary, Totals};
use trialwise_units::{Duration, Time};

use crate::error::Error;
use crate::report::Report;
use crate::settings::SendSettings;

/// Instants at equal distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    interval: Duration,
    next: Time,
}

impl Ticks {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, next: Time::ZERO }
    }

    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Whether one has come; those that were missed are left out.
    pub(crate) fn is_due(&mut self, now: Time) -> bool {
        let is_due = self.next <= now;
        if is_due {
            let missed = (now - self.next).picoseconds() / self.interval.picoseconds();
            self.next += self.interval * (missed + 1);
        }
        is_due
    }
}

/// Writes the summary, whatever the result was, and hands that on.
pub(crate) fn finish(
    report: Report,
    settings: &SendSettings,
    protocol: &'static str,
    totals: &Totals,
    result: Result<Ending, Error>,
) -> Result<(), Error> {
    let clock = report.clock();
    let end = clock.now();
    let subject = Subject { protocol, congestion: &settings.congestion, load: &settings.load_text };
    let span = clock.nanoseconds(Time::ZERO)..clock.nanoseconds(end);
    let ended = *result.as_ref().unwrap_or(&Ending::Error);
    let summary = Summary::new(subject, span, ended, totals, report.completed);
    let written = report.finish(&summary);
    result?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_come_at_their_times_and_are_not_made_up_for() {
        let at = Time::from_milliseconds;
        let mut ticks = Ticks::new(Duration::from_milliseconds(10));
        let due: Vec<u64> =
            [0, 3, 10, 12, 45, 49, 50].into_iter().filter(|now| ticks.is_due(at(*now))).collect();
        assert_eq!(due, [0, 10, 45, 50]);
    }
}
