//! Duplication: packets that arrive twice.

use trialwise_units::element::{Arguments, Declared, ElementError, Form, HEAD, Key, Takes};
use trialwise_units::{Duration, ParseQuantityError, Seed, Time, elements};

use crate::delay::{Delay, ReorderingDelay};
use crate::element::{Drops, Stage};
use crate::packet::{Packet, Tally};
use crate::random::Random;
use crate::range::range;

/// Copies each packet with the same probability. The packet goes on at once, its copy a random time later.
#[derive(Debug)]
pub struct Duplication<P> {
    probability: f64,
    after: (Duration, Duration),
    random: Random,
    copies: ReorderingDelay<P>,
}

impl<P: Packet> Duplication<P> {
    /// Copies that follow after a time between these two.
    pub fn new(probability: f64, after: (Duration, Duration), seed: Seed) -> Self {
        let copies = ReorderingDelay::new(Delay::fixed(Duration::ZERO));
        Self { probability, after, random: Random::new(seed), copies }
    }

    /// Decides on a packet that passes at `now`, and keeps the copy that it makes; the same once more, for who counts it.
    pub(crate) fn copy_of(&mut self, now: Time, packet: &mut P) -> Option<P> {
        if !self.random.chance(self.probability) {
            return None;
        }
        let (least, most) = self.after;
        let more = Duration::from_seconds((most - least).as_seconds() * self.random.uniform());
        let copy = packet.copy();
        self.copies.hold(now + least + more, copy.clone());
        Some(copy)
    }

    /// The next copy that is due.
    pub(crate) fn pop(&mut self, now: Time, drops: &mut Drops<P>) -> Option<(Time, P)> {
        self.copies.pop(now, drops)
    }

    pub(crate) fn next_event(&self) -> Option<Time> {
        self.copies.next_event()
    }

    pub(crate) fn held(&self) -> Tally {
        self.copies.held()
    }
}

/// `0.1%,after=0ms..5ms`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuplicatedSpec {
    pub(crate) probability: f64,
    pub(crate) after: (Duration, Duration),
}

elements! {
    /// Duplication as written.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum DuplicateSpec of "duplicate", duplicate! {
        Duplicated(DuplicatedSpec),
    }
}

impl Declared for DuplicatedSpec {
    const FORMS: &'static [Form] = &[Form {
        name: "",
        words: "Deliver a copy of each packet independently of the others. Copies are counted apart.",
        head: Some(Key { name: "share", takes: Takes::Share, words: "Share of packets copied." }),
        keys: &[Key {
            name: "after",
            takes: Takes::Other("a time, or two such as 0ms..5ms"),
            words: "How much later than the packet its copy goes on, uniform between two times; default 0ms.",
        }],
        example: "0.1%,after=0ms..5ms",
    }];

    fn read(written: &Arguments<'_>) -> Result<Self, ElementError> {
        let probability = written.needed(written.share(HEAD)?, "a share")?;
        let after = written.with("after", read_after)?.unwrap_or((Duration::ZERO, Duration::ZERO));
        Ok(Self { probability, after })
    }
}

/// Reads `5ms`, `1ms..5ms` or `0..5ms`.
fn read_after(text: &str) -> Result<(Duration, Duration), String> {
    match text.trim().strip_prefix("0..") {
        Some(most) => range(&format!("0ms..{most}")),
        None if text.contains("..") => range(text),
        None => text.parse().map(|time| (time, time)).map_err(|error: ParseQuantityError| error.to_string()),
    }
}

impl DuplicateSpec {
    pub(crate) fn build<P: Packet>(&self, seed: Seed) -> Duplication<P> {
        duplicate!(self, spec => Duplication::new(spec.probability, spec.after, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Bytes;

    #[derive(Clone)]
    struct Full;

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    /// How much later each copy is, in microseconds, of so many packets.
    fn waits(text: &str, count: u64) -> Vec<u64> {
        let mut stage: Duplication<Full> = text.parse::<DuplicateSpec>().unwrap().build(Seed::new(1));
        let (mut waits, mut drops) = (Vec::new(), Drops::default());
        for number in 0..count {
            let now = Time::from_milliseconds(1000 * number);
            if stage.copy_of(now, &mut Full).is_some() {
                let (time, _) = stage.pop(Time::MAX, &mut drops).unwrap();
                waits.push((time - now).microseconds());
            }
        }
        assert_eq!(stage.held(), Tally::default());
        waits
    }

    #[test]
    fn the_share_copied_is_the_probability_and_copies_follow_uniformly() {
        let waits = waits("2%,after=1ms..5ms", 200_000);
        // 4000 of 200000, five standard errors of 62.6.
        assert!(waits.len().abs_diff(4_000) < 313, "{}", waits.len());
        assert!(waits.iter().all(|wait| (1_000..=5_000).contains(wait)));
        // The mean of 1 to 5 ms is 3 ms, five standard errors of 18.3 us.
        let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
        assert!((mean - 3_000.0).abs() < 92.0, "{mean}");
    }

    #[test]
    fn times_are_one_or_two() {
        assert_eq!(waits("100%", 3), [0; 3]);
        assert_eq!(waits("100%,after=2ms", 3), [2_000; 3]);
        assert!(waits("100%,after=0..5ms", 100).iter().all(|wait| *wait <= 5_000));
        let message = |text: &str| text.parse::<DuplicateSpec>().unwrap_err().to_string();
        assert!(message("1%,after=5ms..1ms").contains("exchange them"));
        assert!(message("1%,after=soon").contains("after"));
        assert!(message("").contains("needs a share"));
    }
}
