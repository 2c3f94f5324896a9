//! Handovers: for a time, packets wait where they are, and go on afterwards.

use std::collections::VecDeque;

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Duration, Rate, Seed, Time, elements};

use crate::element::{Cause, Drops, Stage};
use crate::packet::{Packet, Tally};
use crate::random::Random;
use crate::series::Series;
use crate::spans::Spans;

/// Holds what arrives during its spans, in order, and lets it go at their end: at once, or one after the other at a rate.
///
/// This is what a cell does that forwards to the next one what it could not send any more (X2 and Xn forwarding of 3GPP TS 36.300
/// and TS 38.300). An outage, in contrast, drops.
#[derive(Debug)]
pub struct Handover<P> {
    spans: Spans,
    flush: Option<Rate>,
    lose: f64,
    step: Duration,
    most: u64,
    start: Time,
    random: Random,
    line: VecDeque<(Time, P)>,
    held: Tally,
}

/// How packets go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Going {
    /// At what rate after a span; none: at once.
    pub(crate) flush: Option<Rate>,
    /// The share lost of what arrives within a span.
    pub(crate) lose: f64,
    /// What the path is longer after the first span, the third, and so on.
    pub(crate) step: Duration,
    /// How many wait at most.
    pub(crate) most: u64,
}

impl Going {
    /// All at once, and none is lost.
    pub(crate) const AT_ONCE: Self = Self { flush: None, lose: 0.0, step: Duration::ZERO, most: 10_000 };
}

impl<P> Handover<P> {
    pub(crate) fn new(spans: Spans, going: Going, start: Time, seed: Seed) -> Self {
        let Going { flush, lose, step, most } = going;
        let random = Random::new(seed);
        Self { spans, flush, lose, step, most, start, random, line: VecDeque::new(), held: Tally::default() }
    }
}

impl<P: Packet> Stage<P> for Handover<P> {
    fn push(&mut self, now: Time, packet: P, drops: &mut Drops<P>) {
        let place = self.spans.at(now.since(self.start));
        if place.end.is_some() {
            if self.lose > 0.0 && self.random.chance(self.lose) {
                return drops.record(now, packet, Cause::Outage);
            }
            if self.line.len() as u64 >= self.most {
                return drops.record(now, packet, Cause::Overflow);
            }
        }
        let further = if place.begun % 2 == 1 { self.step } else { Duration::ZERO };
        let earliest = place.end.map_or(now, |end| self.start + end) + further;
        let last = self.line.back().map(|(last, _)| *last).filter(|last| *last > earliest);
        let waits = place.end.is_some() || last.is_some();
        let takes = self.flush.filter(|_| waits).map(|rate| rate.transmission_time(packet.size()));
        let release = last.unwrap_or(earliest) + takes.unwrap_or(Duration::ZERO);
        self.held.add(packet.size());
        self.line.push_back((release, packet));
    }

    fn pop(&mut self, now: Time, _drops: &mut Drops<P>) -> Option<(Time, P)> {
        self.next_event().filter(|release| *release <= now)?;
        let (release, packet) = self.line.pop_front()?;
        self.held.remove(packet.size());
        Some((release, packet))
    }

    fn next_event(&self) -> Option<Time> {
        self.line.front().map(|(release, _)| *release)
    }

    fn held(&self) -> Tally {
        self.held
    }
}

/// `every:60s,hold=50ms,flush=line,lose=0%,step=5ms` or `series:FILE`
#[derive(Clone, Debug, PartialEq)]
pub struct HandedOverSpec {
    pub(crate) spans: Spans,
    pub(crate) going: Going,
}

elements! {
    /// Handovers as written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum HandoverSpec of "handover", handover! {
        HandedOver(HandedOverSpec),
    }
}

const FLUSH: Key = Key {
    name: "flush",
    takes: Takes::Other("line or a rate above 0"),
    words: "Whether held packets leave at once (line) or one after the other at a rate; default line.",
};
const LOSE: Key = Key {
    name: "lose",
    takes: Takes::Share,
    words: "Share of the packets lost that arrive during a hold; default 0.",
};
const STEP: Key = Key {
    name: "step",
    takes: Takes::Time,
    words: "How much longer the path is from the first handover to the second, the third to the fourth, …; default 0.",
};
const PACKETS: Key =
    Key { name: "packets", takes: Takes::Count, words: "Maximum number of held packets; default 10000." };

impl Declared for HandedOverSpec {
    const FORMS: &'static [Form] = &[
        Form {
            name: "every",
            words: "Hold packets during periodic handovers, and let them go afterwards, in order.",
            head: Some(Key {
                name: "period",
                takes: Takes::Span,
                words: "Time from one handover to the next; the first comes after one period.",
            }),
            keys: &[
                Key {
                    name: "hold",
                    takes: Takes::Span,
                    words: "How long packets are held, less than the period; required.",
                },
                FLUSH,
                LOSE,
                STEP,
                PACKETS,
            ],
            example: "every:60s,hold=50ms",
        },
        Form {
            name: "series",
            words: "Hold packets during recorded handovers, and let them go afterwards, in order.",
            head: Some(Key {
                name: "FILE",
                takes: Takes::File,
                words: "Lines of the millisecond of a handover and how long it holds packets, such as `1500 50ms`.",
            }),
            keys: &[FLUSH, LOSE, STEP, PACKETS],
            example: "series:FILE.spans",
        },
    ];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let spans = if written.name() == "every" { read_periodic(written)? } else { read_listed(written)? };
        let flush = written.with("flush", read_flush)?.flatten();
        let going = Going {
            flush,
            lose: written.share("lose")?.unwrap_or(Going::AT_ONCE.lose),
            step: written.time("step")?.unwrap_or(Going::AT_ONCE.step),
            most: written.count("packets")?.unwrap_or(Going::AT_ONCE.most),
        };
        Ok(Self { spans, going })
    }
}

fn read_periodic(written: &Arguments<'_>) -> Result<Spans, ElementError> {
    let period = written.needed(written.span(HEAD)?, "a period")?;
    let length = written.needed(written.span("hold")?, "how long it holds packets")?;
    if length >= period {
        return Err(written.bad("hold", "the next handover would come before its end; hold packets for less"));
    }
    Ok(Spans::Every { period, length })
}

fn read_listed(written: &Arguments<'_>) -> Result<Spans, ElementError> {
    written.file(HEAD, |text| Series::parse_delays(text).and_then(|series| Spans::from_lengths(&series)))
}

fn read_flush(text: &str) -> Result<Option<Rate>, String> {
    match text {
        "line" => Ok(None),
        _ => match text.parse() {
            Ok(Rate::ZERO) => {
                Err("at rate 0 nothing would ever leave; write line, or one like 20Mbit/s".to_owned())
            }
            Ok(rate) => Ok(Some(rate)),
            Err(error) => Err(format!("{error}; or write line")),
        },
    }
}

impl HandoverSpec {
    pub(crate) fn build<P: Packet>(&self, start: Time, seed: Seed) -> Handover<P> {
        handover!(self, spec => Handover::new(spec.spans.clone(), spec.going, start, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Bytes;

    #[derive(Clone)]
    struct Numbered {
        number: u64,
    }

    impl Packet for Numbered {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    /// A packet in each millisecond through handovers as written: for each that arrives, its number and when; and the drops.
    fn run(text: &str, count: u64) -> (Vec<(u64, u64)>, Vec<Cause>) {
        let spec: HandoverSpec = text.parse().unwrap();
        let mut stage: Handover<Numbered> = spec.build(Time::ZERO, Seed::new(1));
        let (mut left, mut drops) = (Vec::new(), Drops::default());
        for number in 0..count {
            let now = Time::from_milliseconds(number);
            while let Some((time, packet)) = stage.pop(now, &mut drops) {
                left.push((packet.number, time.milliseconds()));
            }
            stage.push(now, Numbered { number }, &mut drops);
        }
        while let Some((time, packet)) = stage.pop(Time::from_milliseconds(100 * count), &mut drops) {
            left.push((packet.number, time.milliseconds()));
        }
        assert_eq!(stage.held(), Tally::default());
        (left, std::iter::from_fn(|| drops.take()).map(|dropped| dropped.cause).collect())
    }

    #[test]
    fn what_is_held_comes_out_at_the_end_whole_and_in_order() {
        let (left, drops) = run("every:100ms,hold=30ms", 1_000);
        assert!(drops.is_empty());
        assert_eq!(
            left.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            (0..1_000).collect::<Vec<_>>()
        );
        let late = left.iter().map(|(number, time)| time - number);
        assert_eq!(late.max(), Some(30), "the first of a hold waits for all of it");
        assert_eq!(left[100..130].iter().map(|(_, time)| *time).collect::<Vec<_>>(), [130; 30]);
        assert_eq!((left[99].1, left[130].1), (99, 130));
    }

    #[test]
    fn a_flush_at_a_rate_paces_what_waits_and_what_comes_meanwhile() {
        // 1500 bytes at 24 Mbit/s take half a millisecond: 30 that wait and one more in each millisecond are through after 30 ms.
        let (left, drops) = run("every:100ms,hold=30ms,flush=24Mbit/s", 200);
        assert!(drops.is_empty());
        let late: Vec<u64> = left.iter().map(|(number, time)| time - number).collect();
        assert_eq!((late[100], late[101], late[102]), (30, 30, 29));
        assert_eq!((late[99], late[158], late[162]), (0, 1, 0));
    }

    #[test]
    fn the_path_is_longer_after_each_other_handover() {
        let (left, _) = run("every:100ms,hold=10ms,step=5ms", 400);
        let late = |number: usize| left[number].1 - left[number].0;
        assert_eq!([late(50), late(150), late(250), late(350)], [0, 5, 0, 5]);
    }

    #[test]
    fn losses_and_limits_hold_within_handovers_only() {
        let (left, drops) = run("every:100ms,hold=30ms,lose=100%", 200);
        assert_eq!((left.len(), drops), (170, vec![Cause::Outage; 30]));
        let (left, drops) = run("every:100ms,hold=30ms,packets=10", 200);
        assert_eq!((left.len(), drops), (180, vec![Cause::Overflow; 20]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let message = |text: &str| text.parse::<HandoverSpec>().unwrap_err().to_string();
        assert!(message("every:60s").contains("needs how long it holds packets"));
        assert!(message("every:50ms,hold=50ms").contains("hold packets for less"));
        assert!(message("every:50ms,hold=5ms,flush=fast").ends_with("or write line"));
        assert!(message("every:50ms,hold=5ms,flush=0bit/s").contains("nothing would ever leave"));
        assert!(message("every:0s,hold=5ms").contains("it must be above 0"));
    }
}
