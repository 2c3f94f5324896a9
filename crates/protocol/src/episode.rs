//! Episodes of loss, and losses that turn out to be none.

use std::collections::BTreeMap;
use std::ops::Range;

use trialwise_units::Time;

/// So many packets deemed lost are remembered, in case they arrive after all.
const REMEMBERED: usize = 1024;

/// A packet that is deemed lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) payload: Range<u64>,
    pub(crate) sent: Time,
}

#[derive(Clone, Debug)]
struct Declared {
    lost: Lost,
    episode: u64,
}

/// What the loss of packets comes to: one episode for all that was sent before the first loss was known (RFC 9002, section
/// 7.3.2).
#[derive(Clone, Debug, Default)]
pub(crate) struct Episodes {
    /// The first number sent after the present episode began.
    recover: u64,
    episode: u64,
    /// Packets deemed lost in the present episode that have not arrived after all.
    missing: u64,
    declared: BTreeMap<u64, Declared>,
}

impl Episodes {
    /// Whether a packet was sent before the present episode began.
    pub(crate) const fn is_in_recovery(&self, number: u64) -> bool {
        number < self.recover
    }

    /// A packet is deemed lost; whether that opens an episode.
    pub(crate) fn on_lost(&mut self, number: u64, lost: Lost, next_number: u64) -> bool {
        let is_new = number >= self.recover;
        if is_new {
            self.begin(next_number);
        }
        self.missing += 1;
        self.declared.insert(number, Declared { lost, episode: self.episode });
        if self.declared.len() > REMEMBERED {
            self.declared.pop_first();
        }
        is_new
    }

    /// A new episode begins whatever was lost: a time-out.
    pub(crate) fn begin(&mut self, next_number: u64) {
        self.recover = next_number;
        self.episode += 1;
        self.missing = 0;
    }

    /// A packet of these numbers that was deemed lost and arrived after all, with its number.
    pub(crate) fn take_arrived(&mut self, numbers: &Range<u64>) -> Option<(u64, Lost, Outcome)> {
        if self.declared.is_empty() {
            return None;
        }
        let number = *self.declared.range(numbers.clone()).next()?.0;
        let declared = self.declared.remove(&number)?;
        let outcome = self.settle(declared.episode);
        Some((number, declared.lost, outcome))
    }

    fn settle(&mut self, episode: u64) -> Outcome {
        if episode != self.episode || self.missing == 0 {
            return Outcome::Older;
        }
        self.missing -= 1;
        if self.missing > 0 {
            return Outcome::Partly;
        }
        self.recover = 0;
        Outcome::Spurious
    }
}

/// What the late arrival of a packet says about its episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is over anyway.
    Older,
    /// Other packets of it are still missing.
    Partly,
    /// All its packets have arrived: there was none.
    Spurious,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(payload: Range<u64>) -> Lost {
        Lost { payload, sent: Time::ZERO }
    }

    #[test]
    fn one_window_is_one_episode() {
        let mut episodes = Episodes::default();
        assert!(episodes.on_lost(3, lost(300..400), 10));
        assert!(!episodes.on_lost(5, lost(500..600), 12));
        assert!(episodes.is_in_recovery(9) && !episodes.is_in_recovery(10));
        assert!(episodes.on_lost(10, lost(700..800), 14));
    }

    #[test]
    fn an_episode_is_spurious_when_all_its_packets_have_arrived() {
        let mut episodes = Episodes::default();
        episodes.on_lost(3, lost(300..400), 10);
        episodes.on_lost(5, lost(500..600), 10);
        assert_eq!(episodes.take_arrived(&(0..4)), Some((3, lost(300..400), Outcome::Partly)));
        assert_eq!(episodes.take_arrived(&(0..4)), None);
        assert_eq!(episodes.take_arrived(&(4..9)), Some((5, lost(500..600), Outcome::Spurious)));
        assert!(!episodes.is_in_recovery(9));
    }

    #[test]
    fn what_arrives_of_an_older_episode_undoes_nothing() {
        let mut episodes = Episodes::default();
        episodes.on_lost(3, lost(300..400), 10);
        episodes.on_lost(10, lost(700..800), 20);
        assert_eq!(episodes.take_arrived(&(3..4)).unwrap().2, Outcome::Older);
        assert!(episodes.is_in_recovery(19));
    }
}
