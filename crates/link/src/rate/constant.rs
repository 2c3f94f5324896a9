//! A bottleneck of constant rate.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::element::{Drops, Stage};
use crate::packet::{MAX_BYTES, bounded};
use crate::packet::{Packet, Tally};
use crate::queue::{Queue, Waiting};
use crate::rate::register::{DeclaredRate, LENGTH, Server};
use crate::trace::{Trace, TraceError};

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;

/// A queue served at a constant rate, one packet after the other, never idle while one waits.
///
/// The n-th departure of a busy period that starts at s is at s + (bits of the n packets) / rate, rounded up
/// to a picosecond once, not n times. The packet being sent does not count against the queue's limit.
#[derive(Debug)]
pub struct ConstantRate<P, Q> {
    bits_per_second: u64,
    overhead: Bytes,
    queue: Q,
    sending: Option<Sending<P>>,
}

#[derive(Debug)]
struct Sending<P> {
    packet: P,
    end: Instant,
}

/// An instant between two picoseconds: `whole` + `part` / rate.
#[derive(Clone, Copy, Debug)]
struct Instant {
    whole: Time,
    part: u64,
}

impl Instant {
    const fn at(time: Time) -> Self {
        Self { whole: time, part: 0 }
    }

    fn rounded_up(self) -> Time {
        Time::from_picoseconds(self.whole.picoseconds().saturating_add(u64::from(self.part > 0)))
    }

    fn after_sending(self, size: Bytes, bits_per_second: u64) -> Self {
        let (quotient, part) = divide(size, bits_per_second, self.part);
        let whole = self.whole.picoseconds().saturating_add(quotient);
        Self { whole: Time::from_picoseconds(whole), part }
    }
}

/// (bits · 10¹² + carry) divided by the rate: quotient in picoseconds and remainder.
fn divide(size: Bytes, bits_per_second: u64, carry: u64) -> (u64, u64) {
    let work = u128::from(size.get()) * 8 * PICOSECONDS_PER_SECOND + u128::from(carry);
    // Division of 64-bit numbers is several times faster, and full-sized packets fit.
    match u64::try_from(work) {
        Ok(work) => (work / bits_per_second, work % bits_per_second),
        Err(_) => {
            let rate = u128::from(bits_per_second);
            (u64::try_from(work / rate).unwrap_or(u64::MAX), (work % rate) as u64)
        }
    }
}

impl<P: Packet, Q: Queue<P>> ConstantRate<P, Q> {
    /// A bottleneck of `rate` that adds `overhead` to each packet (zero for the IP rate, at most 4 GiB); at rate zero
    /// nothing ever leaves.
    pub fn new(rate: Rate, overhead: Bytes, queue: Q) -> Self {
        Self {
            bits_per_second: rate.bits_per_second(),
            overhead: overhead.min(MAX_BYTES),
            queue,
            sending: None,
        }
    }

    fn start_next(&mut self, start: Instant, drops: &mut Drops<P>) {
        if self.bits_per_second == 0 {
            return;
        }
        let next = self.queue.dequeue(start.rounded_up(), drops);
        self.sending = next.map(|Waiting { packet, size, .. }| Sending {
            packet,
            end: start.after_sending(size, self.bits_per_second),
        });
    }
}

impl<P: Packet, Q: Queue<P>> Stage<P> for ConstantRate<P, Q> {
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>) {
        let size = packet.size() + self.overhead;
        self.queue.enqueue(Waiting { packet, size, arrival: now }, drops);
        if self.sending.is_none() {
            self.start_next(Instant::at(now), drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        let Sending { packet, end } = self.sending.take_if(|sending| sending.end.rounded_up() <= now)?;
        self.start_next(end, drops);
        Some((end.rounded_up(), packet))
    }

    fn next_event(&self) -> Option<Time> {
        self.sending.as_ref().map(|sending| sending.end.rounded_up())
    }

    fn held(&self) -> Tally {
        held(self.queue.backlog(), self.overhead, self.sending.as_ref().map(|sending| &sending.packet))
    }

    fn marked(&self) -> u64 {
        self.queue.marked()
    }
}

/// What waits, without overhead, and what is being sent.
pub(super) fn held<P: Packet>(mut backlog: Tally, overhead: Bytes, sending: Option<&P>) -> Tally {
    backlog.bytes -= Bytes::new(overhead.get() * backlog.packets);
    if let Some(packet) = sending {
        backlog.add(packet.size());
    }
    backlog
}

/// `12Mbit/s` or `12Mbit/s,overhead=38`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantRateSpec {
    pub(crate) rate: Rate,
    /// What each packet takes beyond its size.
    pub(crate) overhead: Bytes,
}

impl Declared for ConstantRateSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "A constant rate.",
        head: Some(Key { name: "rate", takes: Takes::Rate, words: "The rate." }),
        keys: &[Key {
            name: "overhead",
            takes: Takes::Size,
            words: "Bytes added to each packet; default 0.",
        }],
        example: "12Mbit/s",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let overhead = written.size("overhead")?;
        let overhead = bounded(written, "overhead", overhead, "added to a packet; write 38")?;
        let rate = written.needed(written.rate(HEAD)?, "a rate")?;
        Ok(Self { rate, overhead: overhead.unwrap_or_default() })
    }
}

impl DeclaredRate for ConstantRateSpec {
    fn mean(&self) -> Rate {
        self.rate
    }

    fn trace(&self, length: Option<Duration>, _seed: Seed) -> Result<Trace, TraceError> {
        Trace::constant(self.rate, length.unwrap_or(LENGTH))
    }

    fn server(&self, _seed: Seed) -> Result<Server, TraceError> {
        Ok(Server::Constant(*self))
    }
}

impl ConstantRateSpec {
    pub(super) fn serve<P: Packet>(self, queue: Box<dyn Queue<P>>) -> Box<dyn Stage<P>> {
        Box::new(ConstantRate::new(self.rate, self.overhead, queue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{DropTail, Limit};

    #[derive(Clone)]
    struct Full;

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    #[test]
    fn a_moment_beyond_all_times_is_the_last_one() {
        let beyond = Instant::at(Time::ZERO).after_sending(Bytes::new(3_111_111_112_618), 11);
        assert_eq!(beyond.rounded_up(), Time::MAX);
    }

    #[test]
    fn an_overhead_beyond_all_sums_is_refused_and_the_law_bounds_it() {
        use crate::RateSpec;
        for overhead in ["4294967296", "3888888888888888888", "18446744073709551615"] {
            let refused = format!("11bit/s,overhead={overhead}").parse::<RateSpec>().unwrap_err().to_string();
            assert!(refused.contains("bytes are not added to a packet"), "{refused}");
        }
        assert!("11bit/s,overhead=4294967295".parse::<RateSpec>().is_ok());
        let queue = DropTail::new(Limit::NONE);
        let mut link = ConstantRate::new(Rate::from_megabits_per_second(12), Bytes::new(u64::MAX), queue);
        let mut drops = Drops::default();
        (0..4).for_each(|_| link.push(Time::ZERO, Full, &mut drops));
        assert_eq!(link.held(), Tally { packets: 4, bytes: Bytes::new(6000) });
    }
}
