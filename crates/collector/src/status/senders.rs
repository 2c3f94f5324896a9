//! Every sender: how much it sends, what of it is missing, how its clock differs from ours.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;

use super::Watched;
use super::rate::Rate;
use crate::clock::now_micros;

/// So many senders are remembered, connected or not; more are stored and not watched.
const MOST: usize = 20_000;
/// So many comparisons of clocks are kept for each.
const COMPARISONS: usize = 8;

/// One sender at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct SenderStatus {
    /// Its domain.
    pub domain: String,
    /// Its name.
    pub sender: String,
    /// What it spoke last: `oml` or `native`.
    pub protocol: &'static str,
    /// Connections open now.
    pub open: u64,
    /// Rows stored.
    pub rows: u64,
    /// Over the last ten seconds.
    pub rows_per_second: f64,
    /// Damaged rows and stretches.
    pub damaged: u64,
    /// Rows stored with NULL for values that their fields' types cannot hold.
    pub nulled: u64,
    /// Sequence numbers left out, streams together, also before the collector started.
    pub missing: u64,
    /// Samples and rows that the client says it has dropped.
    pub dropped: u64,
    /// When its last row was stored: seconds of UNIX time.
    pub last_row: Option<f64>,
    /// Its clock minus ours.
    pub clock: Option<Clock>,
}

/// What is known of a sender's clock. Offsets are the sender's clock minus the collector's, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Clock {
    /// From exchanged time stamps (native protocol): the one of the shortest round trip lately.
    Exchange {
        /// The estimate.
        offset: f64,
        /// The offset is no further from the estimate than this: half the round trip.
        error: f64,
    },
    /// From time stamps of rows against their arrival (OML's protocol, which asks nothing back): the sender's clock is not
    /// further behind ours than this; delays on the way and in the sender hide the rest.
    UpperBound {
        /// The sender's clock is behind by this at most (negative: it is ahead by this at least).
        behind_at_most: f64,
    },
}

/// All senders.
#[derive(Debug, Default)]
pub(crate) struct Senders(Mutex<BTreeMap<(String, String), Known>>);

#[derive(Debug, Default)]
struct Known {
    protocol: &'static str,
    open: u64,
    rows: Rate,
    damaged: u64,
    nulled: u64,
    missing: u64,
    losses: Losses,
    /// Start of the client that `losses` are about.
    start: Option<i64>,
    last_row: Option<u64>,
    least_lag: Option<f64>,
    /// Round trip and offset, seconds.
    comparisons: Vec<(f64, f64)>,
}

/// What clients say they have dropped; they say sums, and begin anew when they start.
#[derive(Debug, Default)]
struct Losses {
    before: u64,
    now: BTreeMap<String, u64>,
}

impl Losses {
    fn total(&self) -> u64 {
        let streams: u64 =
            self.now.iter().filter(|(name, _)| !name.is_empty()).map(|(_, dropped)| dropped).sum();
        self.before + streams.max(self.now.get("").copied().unwrap_or(0))
    }

    fn begin(&mut self) {
        self.before = self.total();
        self.now.clear();
    }
}

impl Known {
    fn add(&mut self, watched: &Watched, now: Instant) {
        self.rows.add(watched.rows, now);
        self.damaged += watched.damaged;
        self.nulled += watched.nulled;
        if watched.rows > 0 {
            self.last_row = Some(now_micros());
        }
        if watched.least_lag.is_finite() {
            self.least_lag =
                Some(self.least_lag.map_or(watched.least_lag, |least| least.min(watched.least_lag)));
        }
        if watched.start != self.start {
            self.start = watched.start;
            self.losses.begin();
        }
        self.missing = watched.missing;
        let dropped = watched.streams.iter().flat_map(|seen| seen.dropped.iter().cloned());
        self.losses.now.extend(dropped);
    }

    fn clock(&self) -> Option<Clock> {
        let best = self.comparisons.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((round_trip, offset)) => Some(Clock::Exchange { offset, error: round_trip / 2.0 }),
            None => self.least_lag.map(|lag| Clock::UpperBound { behind_at_most: lag }),
        }
    }

    fn status(&mut self, domain: &str, sender: &str, now: Instant) -> SenderStatus {
        SenderStatus {
            domain: domain.to_owned(),
            sender: sender.to_owned(),
            protocol: self.protocol,
            open: self.open,
            rows: self.rows.total(),
            rows_per_second: self.rows.per_second(now),
            damaged: self.damaged,
            nulled: self.nulled,
            missing: self.missing,
            dropped: self.losses.total(),
            last_row: self.last_row.map(|micros| micros as f64 / 1e6),
            clock: self.clock(),
        }
    }
}

/// A connection of a sender; when it is dropped, the connection is over.
#[derive(Debug)]
pub(crate) struct Guard {
    senders: Arc<Senders>,
    name: (String, String),
}

impl Guard {
    /// Notes an answer to a question about the time: asked and received by our clock, answered by the sender's (microseconds).
    pub(crate) fn compare_clocks(&self, asked: u64, answered: u64, received: u64) {
        let round_trip = received.saturating_sub(asked) as f64 / 1e6;
        let offset = (answered as f64 - (asked as f64 + received as f64) / 2.0) / 1e6;
        self.senders.with(&self.name, |known| {
            if known.comparisons.len() == COMPARISONS {
                known.comparisons.remove(0);
            }
            known.comparisons.push((round_trip, offset));
        });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.senders.with(&self.name, |known| known.open -= 1);
    }
}

impl Senders {
    /// Notes a connection.
    pub(crate) fn connected(self: &Arc<Self>, domain: &str, sender: &str, protocol: &'static str) -> Guard {
        let name = (domain.to_owned(), sender.to_owned());
        self.with(&name, |known| {
            known.open += 1;
            known.protocol = protocol;
        });
        Guard { senders: Arc::clone(self), name }
    }

    /// Adds what the loader saw of a connection and has made last.
    pub(crate) fn add(&self, watched: &Watched) {
        let name = (watched.domain.clone(), watched.sender.clone());
        self.with(&name, |known| known.add(watched, Instant::now()));
    }

    /// All, by domain and name.
    pub(crate) fn status(&self) -> Vec<SenderStatus> {
        let now = Instant::now();
        self.lock().iter_mut().map(|((domain, sender), known)| known.status(domain, sender, now)).collect()
    }

    fn with(&self, name: &(String, String), act: impl FnOnce(&mut Known)) {
        let mut senders = self.lock();
        if let Some(known) = senders.get_mut(name) {
            act(known);
        } else if make_room(&mut senders) {
            act(senders.entry(name.clone()).or_default());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets senders that are gone, the longest first, when there are too many; whether there is room.
fn make_room(senders: &mut BTreeMap<(String, String), Known>) -> bool {
    if senders.len() >= MOST {
        let mut gone: Vec<_> = senders.iter().filter(|(_, known)| known.open == 0).collect();
        gone.sort_by_key(|(_, known)| known.last_row);
        let gone: Vec<_> = gone.into_iter().take(MOST / 10).map(|(name, _)| name.clone()).collect();
        gone.iter().for_each(|name| drop(senders.remove(name)));
    }
    senders.len() < MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_taken_from_the_shortest_round_trip() {
        let senders = Arc::new(Senders::default());
        let guard = senders.connected("d", "s", "native");
        guard.compare_clocks(1_000_000, 6_000_500, 1_001_000);
        guard.compare_clocks(2_000_000, 9_000_000, 4_000_000);
        let [status] = &senders.status()[..] else { panic!() };
        assert_eq!(status.open, 1);
        assert_eq!(status.clock, Some(Clock::Exchange { offset: 5.0, error: 0.0005 }));
        drop(guard);
        assert_eq!(senders.status()[0].open, 0);
    }
}
