//! A bottleneck whose rate changes in steps.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::element::{Drops, Stage};
use crate::packet::{Packet, Tally};
use crate::queue::{Queue, Waiting};
use crate::rate::constant::held;
use crate::rate::register::{DeclaredRate, Server};
use crate::series::{Series, within};
use crate::trace::{ByteConvention, MAXIMUM_OPPORTUNITIES, Trace, TraceError};

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;

/// A queue served at a rate that changes in steps, one packet after the other; a step changes it for the packet that is being sent,
/// too, and at rate zero that waits.
#[derive(Debug)]
pub(crate) struct Steps<P, Q> {
    series: Series<Rate>,
    start: Time,
    queue: Q,
    sending: Option<(Option<Time>, P)>,
}

impl<P: Packet, Q: Queue<P>> Steps<P, Q> {
    pub(crate) fn new(series: Series<Rate>, queue: Q, start: Time) -> Self {
        Self { series, start, queue, sending: None }
    }

    fn start_next(&mut self, now: Time, drops: &mut Drops<P>) {
        let next = self.queue.dequeue(now, drops);
        self.sending = next.map(|Waiting { packet, size, .. }| {
            let end = end_of(&self.series, now.since(self.start), size);
            (end.map(|end| self.start + end), packet)
        });
    }
}

/// When a packet of this size is sent that is begun at `begun`, rounded up to a picosecond once; nothing where it never is.
fn end_of(series: &Series<Rate>, begun: Duration, size: Bytes) -> Option<Duration> {
    let steps = series.steps();
    let mut work = u128::from(size.get()) * 8 * PICOSECONDS_PER_SECOND;
    let mut time = begun;
    if let Some(period) = series.period() {
        let whole: u128 = phases(series, period).map(|(rate, span)| capacity(rate, span)).sum();
        if whole == 0 {
            return None;
        }
        // Whole rounds, but for the last, at once.
        let rounds = u64::try_from(work.saturating_sub(1) / whole).unwrap_or(u64::MAX);
        work -= whole * u128::from(rounds);
        time += period * rounds;
    }
    loop {
        if time == Duration::MAX {
            return Some(time);
        }
        let place = series.period().map_or(time, |period| within(time, period));
        let index = steps.partition_point(|(start, _)| *start <= place).saturating_sub(1);
        let rate = steps[index].1;
        let next = steps.get(index + 1).map(|(start, _)| *start).into_iter().chain(series.period()).min();
        let left = next.map(|next| next - place);
        match left.map(|span| (span, capacity(rate, span))) {
            Some((span, done)) if done < work => {
                work -= done;
                time += span;
            }
            _ if rate == Rate::ZERO => return (work == 0).then_some(time),
            _ => {
                let takes = work.div_ceil(u128::from(rate.bits_per_second()));
                return Some(time + Duration::from_picoseconds(u64::try_from(takes).unwrap_or(u64::MAX)));
            }
        }
    }
}

/// The rates of one round, each with how long it holds.
fn phases(series: &Series<Rate>, period: Duration) -> impl Iterator<Item = (Rate, Duration)> {
    let steps = series.steps();
    (0..steps.len()).map(move |index| {
        // The first value also holds before its instant.
        let begin = if index == 0 { Duration::ZERO } else { steps[index].0 };
        let end = steps.get(index + 1).map_or(period, |(start, _)| *start);
        (steps[index].1, end.min(period) - begin.min(period))
    })
}

fn capacity(rate: Rate, span: Duration) -> u128 {
    u128::from(rate.bits_per_second()) * u128::from(span.picoseconds())
}

impl<P: Packet, Q: Queue<P>> Stage<P> for Steps<P, Q> {
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>) {
        let size = packet.size();
        self.queue.enqueue(Waiting { packet, size, arrival: now }, drops);
        if self.sending.is_none() {
            self.start_next(now, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        let end = self.next_event().filter(|end| *end <= now)?;
        let (_, packet) = self.sending.take()?;
        self.start_next(end, drops);
        Some((end, packet))
    }

    fn next_event(&self) -> Option<Time> {
        self.sending.as_ref().and_then(|(end, _)| *end)
    }

    fn held(&self) -> Tally {
        held(self.queue.backlog(), Bytes::ZERO, self.sending.as_ref().map(|(_, packet)| packet))
    }

    fn marked(&self) -> u64 {
        self.queue.marked()
    }
}

/// `series:FILE`
#[derive(Clone, Debug, PartialEq)]
pub struct StepsSpec {
    pub(crate) series: Series<Rate>,
}

impl Declared for StepsSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "series",
        words: "The rate that a recorded series gives, the last for ever.",
        head: Some(Key {
            name: "FILE",
            takes: Takes::File,
            words: "Lines of a millisecond and a rate, such as `0 12Mbit/s`.",
        }),
        keys: &[],
        example: "series:FILE.rates",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let series = written.file(HEAD, Series::parse_rates)?;
        if series.steps().iter().all(|(_, rate)| *rate == Rate::ZERO) {
            return Err(written.bad(HEAD, "at rate 0 nothing would ever pass; write one line with another"));
        }
        Ok(Self { series })
    }
}

impl DeclaredRate for StepsSpec {
    /// Over one round; of a series that does not begin again, up to its last step, or the rate of the only one.
    fn mean(&self) -> Rate {
        let last = self.series.steps()[self.series.steps().len() - 1];
        let period = self.series.period().unwrap_or(last.0);
        if period == Duration::ZERO {
            return last.1;
        }
        let work: u128 = phases(&self.series, period).map(|(rate, span)| capacity(rate, span)).sum();
        Rate::from_bits_per_second((work / u128::from(period.picoseconds())) as u64)
    }

    fn trace(&self, length: Option<Duration>, _seed: Seed) -> Result<Trace, TraceError> {
        let last = self.series.steps()[self.series.steps().len() - 1].0;
        let length = length.or(self.series.period()).unwrap_or(last);
        let (mut milliseconds, mut time) = (Vec::new(), Duration::ZERO);
        while let Some(end) = end_of(&self.series, time, ByteConvention::Documented.opportunity())
            && end <= length
            && milliseconds.len() <= MAXIMUM_OPPORTUNITIES
        {
            milliseconds.push(end.picoseconds().div_ceil(1_000_000_000));
            time = end;
        }
        Trace::new(milliseconds)
    }

    fn server(&self, _seed: Seed) -> Result<Server, TraceError> {
        Ok(Server::Steps(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(value: u64) -> Duration {
        Duration::from_milliseconds(value)
    }

    fn series(text: &str, period: Option<u64>) -> Series<Rate> {
        Series::parse_rates(text).unwrap().repeated(period.map(milliseconds))
    }

    fn end(series: &Series<Rate>, begun: u64, size: u64) -> Option<u64> {
        end_of(series, milliseconds(begun), Bytes::new(size)).map(Duration::microseconds)
    }

    #[test]
    fn a_packet_takes_the_rates_that_it_meets() {
        // 1500 bytes are 1 ms at 12 Mbit/s, and 2 ms at 6 Mbit/s.
        let falling = series("0 12Mbit/s\n10 6Mbit/s\n20 0bit/s\n30 12Mbit/s\n", None);
        assert_eq!(end(&falling, 0, 1500), Some(1_000));
        assert_eq!(end(&falling, 9, 3000), Some(12_000), "half of it before the step");
        assert_eq!(end(&falling, 19, 1500), Some(30_500), "the rest after the gap");
        assert_eq!(end(&falling, 25, 1500), Some(31_000));
        assert_eq!(end(&falling, 100, 1500), Some(101_000), "the last rate holds");
    }

    #[test]
    fn rounds_follow_each_other_and_a_large_packet_takes_many() {
        let wave = series("0 12Mbit/s\n10 0bit/s\n", Some(20));
        assert_eq!(end(&wave, 15, 1500), Some(21_000));
        // 10 ms of each 20 ms: 1500 packets take 150 rounds, the last one half of it.
        assert_eq!(end(&wave, 0, 1500 * 1500), Some(2_990_000));
        assert_eq!(end(&series("0 0bit/s\n", Some(20)), 0, 1500), None);
        assert_eq!(
            end_of(&wave, Duration::MAX - milliseconds(25), Bytes::new(1_500_000)),
            Some(Duration::MAX)
        );
        assert_eq!(end(&series("0 12Mbit/s\n5 0bit/s\n", None), 5, 1500), None);
    }

    #[test]
    fn the_mean_is_that_of_a_round() {
        let wave = StepsSpec { series: series("0 12Mbit/s\n10 0bit/s\n", Some(40)) };
        assert_eq!(wave.mean(), Rate::from_megabits_per_second(3));
        let trace = wave.trace(None, Seed::new(1)).unwrap();
        assert_eq!(trace.milliseconds(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
}
