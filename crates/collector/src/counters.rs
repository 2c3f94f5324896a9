//! What a collector counts.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use trialwise_streams::protocol::DamageKind;

/// Counters of a running collector.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) unstorable: AtomicU64,
    pub(crate) suspensions: AtomicU64,
    pub(crate) spool_damage: AtomicU64,
    pub(crate) replaced: AtomicU64,
    pub(crate) damaged: [AtomicU64; DamageKind::ALL.len()],
    /// Why domains are put off.
    troubles: Mutex<BTreeMap<String, String>>,
}

/// What was counted since the collector started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted.
    pub connections: u64,
    /// Of them open now.
    pub open: u64,
    /// Connections closed for what they sent: a wrong header, a wrong token, a frame that makes no sense.
    pub refused: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Rows stored.
    pub rows: u64,
    /// Rows of stream 0 that were stored before (OML clients send them again after a reconnect).
    pub repeated: u64,
    /// Rows that no table of the store can hold.
    pub unstorable: u64,
    /// How often a database could not be written and was put off.
    pub suspensions: u64,
    /// Bytes of the spool that were damaged on disk and passed over.
    pub spool_damage: u64,
    /// Strings with bytes that the store's texts cannot hold, stored with replacements (the bytes beside them).
    pub replaced: u64,
    /// Bytes that wait in the spool for the loader.
    pub backlog: u64,
    damaged: [u64; DamageKind::ALL.len()],
}

impl Counters {
    /// Rows (or stretches between rows) damaged in this way.
    pub const fn damaged(&self, kind: DamageKind) -> u64 {
        self.damaged[kind as usize]
    }

    /// Rows damaged in any way.
    pub fn all_damaged(&self) -> u64 {
        self.damaged.iter().sum()
    }
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Counting {
    /// Notes why a domain is put off.
    pub(crate) fn tell_trouble(&self, domain: &str, reason: &impl Display) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.insert(domain.to_owned(), reason.to_string());
    }

    /// Notes that a domain is well again.
    pub(crate) fn end_trouble(&self, domain: &str) {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).remove(domain);
    }

    /// Why domains are put off now.
    pub(crate) fn troubles(&self) -> BTreeMap<String, String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn read(&self, backlog: u64) -> Counters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            connections: get(&self.connections),
            open: get(&self.open),
            refused: get(&self.refused),
            bytes: get(&self.bytes),
            rows: get(&self.rows),
            repeated: get(&self.repeated),
            unstorable: get(&self.unstorable),
            suspensions: get(&self.suspensions),
            spool_damage: get(&self.spool_damage),
            replaced: get(&self.replaced),
            backlog,
            damaged: self.damaged.each_ref().map(get),
        }
    }
}
