//! How cellular radio links let packets go: uplink grants, and retransmissions of the link itself (HARQ).

use std::collections::VecDeque;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Bytes, Duration, Seed, Time, elements};

use crate::delay::{Delay, OrderedDelay};
use crate::element::{Drops, Stage};
use crate::packet::{Packet, Tally};

/// Packets wait for a slot in which their sender may ask, then for the grant, and leave together as far as it goes; what is left asks
/// in the next slot.
#[derive(Debug)]
pub(crate) struct Grants<P> {
    spec: GrantsSpec,
    start: Time,
    line: VecDeque<P>,
    /// When what waits may go.
    grant: Option<Time>,
    /// How many at the front go, and since when.
    released: usize,
    release: Time,
    held: Tally,
}

impl<P: Packet> Grants<P> {
    fn new(spec: GrantsSpec, start: Time) -> Self {
        Self {
            spec,
            start,
            line: VecDeque::new(),
            grant: None,
            released: 0,
            release: Time::ZERO,
            held: Tally::default(),
        }
    }

    fn ask(&mut self, now: Time) {
        let period = self.spec.every.picoseconds();
        let slots = now.since(self.start).picoseconds().div_ceil(period);
        self.grant = Some(self.start + self.spec.every * slots + self.spec.delay);
    }

    /// Lets go what the grant of this instant is enough for, one packet at least.
    fn release_at(&mut self, grant: Time) {
        let most = self.spec.bytes.map_or(u64::MAX, Bytes::get);
        let mut bytes = 0_u64;
        let fits = |packet: &&P| {
            bytes = bytes.saturating_add(packet.size().get());
            bytes <= most
        };
        self.released = self.line.iter().take_while(fits).count().max(1);
        self.release = grant;
        self.grant = None;
    }
}

impl<P: Packet> Stage<P> for Grants<P> {
    fn push(&mut self, now: Time, packet: P, _drops: &mut Drops<P>) {
        self.held.add(packet.size());
        self.line.push_back(packet);
        if self.grant.is_none() && self.released == 0 {
            self.ask(now);
        }
    }

    fn pop(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<(Time, P)> {
        if self.released == 0 {
            let grant = self.grant.filter(|grant| *grant <= now)?;
            self.release_at(grant);
        }
        let packet = self.line.pop_front()?;
        self.released -= 1;
        self.held.remove(packet.size());
        if self.released == 0 && !self.line.is_empty() {
            self.ask(self.release);
        }
        Some((self.release, packet))
    }

    fn next_event(&self) -> Option<Time> {
        if self.released > 0 { Some(self.release) } else { self.grant }
    }

    fn held(&self) -> Tally {
        self.held
    }

    fn minimum_delay(&self) -> Duration {
        self.spec.delay
    }
}

/// `grants:every=5ms,delay=4ms,bytes=10kB`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantsSpec {
    every: Duration,
    delay: Duration,
    bytes: Option<Bytes>,
}

/// `harq:10%,step=8ms,tries=4`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarqSpec {
    share: f64,
    step: Duration,
    tries: u32,
}

elements! {
    /// What a radio link adds, as written.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum RadioSpec of "radio", radio! {
        Grants(GrantsSpec),
        Harq(HarqSpec),
    }
}

impl Declared for GrantsSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "grants",
        words: "Uplink grants of LTE and 5G: packets wait for a slot to ask in, then for the grant, and leave together.",
        head: None,
        keys: &[
            Key {
                name: "every",
                takes: Takes::Span,
                words: "Time between slots in which to ask; default 5 ms.",
            },
            Key { name: "delay", takes: Takes::Time, words: "Time from asking to the grant; default 4 ms." },
            Key {
                name: "bytes",
                takes: Takes::Amount,
                words: "Bytes of a grant, at least one packet; default what is there.",
            },
        ],
        example: "grants:every=5ms,delay=4ms",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        Ok(Self {
            every: written.span("every")?.unwrap_or(Duration::from_milliseconds(5)),
            delay: written.time("delay")?.unwrap_or(Duration::from_milliseconds(4)),
            bytes: written.amount("bytes")?.map(|bytes| Bytes::new(bytes.get())),
        })
    }
}

impl Declared for HarqSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "harq",
        words: "Retransmissions of a radio link (HARQ): some packets come a step later, or several, and all stay in order.",
        head: Some(Key {
            name: "share",
            takes: Takes::Share,
            words: "Share of packets sent once more, and of these again; below 100 %.",
        }),
        keys: &[
            Key { name: "step", takes: Takes::Span, words: "Delay of one retransmission; default 8 ms." },
            Key {
                name: "tries",
                takes: Takes::Count,
                words: "Maximum number of retransmissions; default 4.",
            },
        ],
        example: "harq:10%,step=8ms",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let share = written.needed(written.share(HEAD)?, "a share")?;
        if share >= 1.0 {
            return Err(written.bad(HEAD, "every packet would be sent again and again; write less than 100%"));
        }
        let tries = written.count("tries")?.unwrap_or(4);
        Ok(Self {
            share,
            step: written.span("step")?.unwrap_or(Duration::from_milliseconds(8)),
            tries: u32::try_from(tries).map_err(|_| written.bad("tries", "write one like 4"))?,
        })
    }
}

impl GrantsSpec {
    fn build<P: Packet>(self, start: Time, _seed: Seed) -> Box<dyn Stage<P>> {
        Box::new(Grants::new(self, start))
    }
}

impl HarqSpec {
    fn build<P: Packet>(self, _start: Time, seed: Seed) -> Box<dyn Stage<P>> {
        Box::new(OrderedDelay::new(Delay::retransmitted(self.share, self.step, self.tries, seed)))
    }
}

impl RadioSpec {
    pub(crate) fn build<P: Packet>(self, start: Time, seed: Seed) -> Box<dyn Stage<P>> {
        radio!(self, spec => spec.build(start, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Full;

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    /// When packets that come at these instants leave, in milliseconds.
    fn departures(text: &str, arrivals: &[u64]) -> Vec<u64> {
        let mut stage = text.parse::<RadioSpec>().unwrap().build(Time::ZERO, Seed::new(1));
        let (mut left, mut drops) = (Vec::new(), Drops::default());
        for time in arrivals.iter().map(|time| Time::from_milliseconds(*time)) {
            left.extend(
                std::iter::from_fn(|| stage.pop(time, &mut drops)).map(|(time, _)| time.milliseconds()),
            );
            stage.push(time, Full, &mut drops);
        }
        let end = Time::from_milliseconds(1_000_000_000);
        left.extend(std::iter::from_fn(|| stage.pop(end, &mut drops)).map(|(time, _)| time.milliseconds()));
        assert_eq!((stage.held(), left.len()), (Tally::default(), arrivals.len()));
        left
    }

    #[test]
    fn packets_leave_with_the_grant_of_the_next_slot() {
        // The one of 1 ms asks at 5 ms, is granted at 9 ms, and takes those with it that came until then; the one of 10 ms asks at once.
        assert_eq!(departures("grants:every=5ms,delay=4ms", &[1, 2, 8, 10, 11]), [9, 9, 9, 14, 14]);
    }

    #[test]
    fn what_a_grant_is_too_small_for_asks_again() {
        let times = departures("grants:every=5ms,delay=4ms,bytes=3000", &[0, 0, 0, 0, 0]);
        // Granted at 4 ms; the rest asks in the slot of 5 ms, then of 10 ms.
        assert_eq!(times, [4, 4, 9, 9, 14]);
        assert_eq!(departures("grants:every=5ms,delay=4ms,bytes=1", &[0, 0]), [4, 9], "one packet at least");
    }

    #[test]
    fn retransmissions_come_in_steps_and_keep_the_order() {
        let arrivals: Vec<u64> = (0..20_000).map(|number| number * 100).collect();
        let times = departures("harq:10%,step=8ms,tries=2", &arrivals);
        let late: Vec<u64> = times.iter().zip(&arrivals).map(|(time, arrival)| time - arrival).collect();
        let count = |wanted| late.iter().filter(|late| **late == wanted).count();
        assert_eq!(count(0) + count(8) + count(16), 20_000);
        // 1800 and 200 of 20000: five standard errors of 40 and 14.
        assert!(count(8).abs_diff(1_800) < 203 && count(16).abs_diff(200) < 70, "{} {}", count(8), count(16));
        assert!(departures("harq:50%", &(0..1_000).collect::<Vec<_>>()).is_sorted());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let message = |text: &str| text.parse::<RadioSpec>().unwrap_err().to_string();
        assert!(message("harq:100%").contains("less than 100%"));
        assert!(message("harq").contains("needs a share"));
        assert!(message("grants:every=0s").contains("above 0"));
        assert!(message("grants:bytes=0B").contains("above zero"));
    }
}
