//! Sequence numbers left out, by sender and stream. They are kept with the rows, so that a gap over a restart of the collector
//! is a gap.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Watched;

/// What is known of the sequence numbers of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    /// The start of the client that `last` is about.
    pub(crate) start: Option<i64>,
    /// The last number that came.
    pub(crate) last: i64,
    /// How many were left out, by clients before too.
    pub(crate) missing: u64,
}

impl Gap {
    /// How many were left out, for databases that have no unsigned numbers.
    pub(crate) fn missing_signed(&self) -> i64 {
        i64::try_from(self.missing).unwrap_or(i64::MAX)
    }
}

/// Every stream of every sender by its name; senders have numbers or names.
pub(crate) type Streams<S> = BTreeMap<S, BTreeMap<String, Gap>>;

/// The gaps of a domain.
#[derive(Debug)]
pub(crate) struct Gaps<S> {
    known: Streams<S>,
    changed: BTreeSet<(S, String)>,
}

impl<S: Ord + Clone> Gaps<S> {
    /// Goes on with what was kept.
    pub(crate) const fn new(known: Streams<S>) -> Self {
        Self { known, changed: BTreeSet::new() }
    }

    pub(crate) const fn known(&self) -> &Streams<S> {
        &self.known
    }

    /// Adds what was seen of a connection of a sender, and tells it how many are missing in all. Between two connections of a
    /// client a gap is one too; another client begins anew.
    pub(crate) fn add(&mut self, sender: &S, watched: &mut Watched) {
        let streams = self.known.entry(sender.clone()).or_default();
        for seen in &watched.streams {
            let Some((first, last)) = seen.span else { continue };
            let begin = first.saturating_sub(1);
            let new = Gap { start: watched.start, last: begin, missing: 0 };
            let gap = streams.entry(seen.name.clone()).or_insert(new);
            if gap.start != watched.start {
                (gap.start, gap.last) = (watched.start, begin);
            }
            let between = begin.saturating_sub(gap.last).max(0).cast_unsigned();
            gap.missing = gap.missing.saturating_add(seen.missing).saturating_add(between);
            gap.last = gap.last.max(last);
            self.changed.insert((sender.clone(), seen.name.clone()));
        }
        watched.missing = streams.values().fold(0, |sum, gap| sum.saturating_add(gap.missing));
    }

    /// What has changed since the last look.
    pub(crate) fn take_changed(&mut self) -> impl Iterator<Item = (S, String, &Gap)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().filter_map(|(sender, stream)| {
            let gap = self.known.get(&sender)?.get(&stream)?;
            Some((sender, stream, gap))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::watched::Seen;
    use super::*;

    fn add(gaps: &mut Gaps<i64>, start: i64, name: &str, span: (i64, i64), missing: u64) -> u64 {
        let mut watched = Watched { start: Some(start), ..Watched::default() };
        watched.streams.push(Seen::of(name, span, missing));
        gaps.add(&7, &mut watched);
        watched.missing
    }

    #[test]
    fn gaps_are_counted_inside_and_between_connections_of_one_client() {
        let mut gaps = Gaps::new(BTreeMap::new());
        assert_eq!(add(&mut gaps, 1, "m", (1, 10), 2), 2);
        assert_eq!(add(&mut gaps, 1, "m", (15, 20), 0), 6);
        assert_eq!(add(&mut gaps, 1, "other", (7, 7), 0), 6, "what came before the first is not known");
        assert_eq!(add(&mut gaps, 2, "m", (1, 5), 0), 6, "another client begins anew");
        assert_eq!(add(&mut gaps, 2, "m", (3, 4), 0), 6, "not forward");
        assert_eq!(add(&mut gaps, 2, "m", (8, 8), 0), 8);
    }

    #[test]
    fn what_was_kept_goes_on() {
        let mut gaps = Gaps::new(BTreeMap::new());
        add(&mut gaps, 1, "m", (1, 10), 2);
        assert_eq!(gaps.take_changed().count(), 1);
        assert_eq!(gaps.take_changed().count(), 0);
        let mut again = Gaps::new(gaps.known().clone());
        assert_eq!(add(&mut again, 1, "m", (13, 13), 0), 4);
        let changed: Vec<_> =
            again.take_changed().map(|(sender, stream, gap)| (sender, stream, gap.last)).collect();
        assert_eq!(changed, [(7, "m".to_owned(), 13)]);
    }

    #[test]
    fn numbers_at_the_ends_are_counted_without_overflow() {
        let mut gaps = Gaps::new(BTreeMap::new());
        for start in 0..4 {
            add(&mut gaps, start, "m", (i64::MIN, i64::MIN), 0);
            add(&mut gaps, start, "m", (i64::MAX, i64::MAX), u64::MAX / 2);
        }
        assert_eq!(add(&mut gaps, 5, "m", (1, 1), 0), u64::MAX);
    }
}
