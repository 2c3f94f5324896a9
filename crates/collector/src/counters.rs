//! What a collector counts.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Serialize, Serializer};
use trialwise_streams::protocol::DamageKind;

use crate::clock::now_micros;
use crate::status::{Senders, Trouble};

/// Why a connection was closed for what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A header that cannot be.
    Header,
    /// A token, a session or a protocol that may not write to the domain.
    Access,
    /// Frames of the native protocol that make no sense.
    Frame,
    /// A handshake of TLS that failed.
    Tls,
    /// A request over HTTP that is not served, or not to this peer.
    Http,
    /// No header within half a minute, or none yet when others wanted to come in.
    Late,
    /// No place for another client, with too many waiting already.
    Full,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Header, Self::Access, Self::Frame, Self::Tls, Self::Http, Self::Late, Self::Full];
}

/// Counters of a running collector.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) refused: [AtomicU64; Refusal::ALL.len()],
    pub(crate) bytes: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) unstorable: AtomicU64,
    pub(crate) suspensions: AtomicU64,
    pub(crate) spool_damage: AtomicU64,
    pub(crate) replaced: AtomicU64,
    pub(crate) nulled: AtomicU64,
    pub(crate) damaged: [AtomicU64; DamageKind::ALL.len()],
    pub(crate) senders: Arc<Senders>,
    /// Why a domain was put off last.
    store_error: Mutex<Option<Trouble>>,
    /// Why domains are put off now.
    troubles: Mutex<BTreeMap<String, String>>,
}

/// What was counted since the collector started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Rows stored with NULL for values that their fields' types cannot hold.
    pub nulled: u64,
    /// Bytes that wait in the spool for the loader.
    pub backlog: u64,
    #[serde(serialize_with = "damaged_by_name")]
    damaged: [u64; DamageKind::ALL.len()],
    #[serde(serialize_with = "refused_by_name")]
    refused_for: [u64; Refusal::ALL.len()],
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

    /// Connections refused for this.
    pub const fn refused_for(&self, reason: Refusal) -> u64 {
        self.refused_for[reason as usize]
    }

    /// Damaged rows by the name of the reason; without reasons that did not occur.
    pub fn damaged_by_reason(&self) -> BTreeMap<String, u64> {
        named(&DamageKind::ALL, &self.damaged)
    }

    /// Refused connections by the name of the reason; without reasons that did not occur.
    pub fn refused_by_reason(&self) -> BTreeMap<String, u64> {
        named(&Refusal::ALL, &self.refused_for)
    }
}

fn named<T: std::fmt::Debug>(names: &[T], counts: &[u64]) -> BTreeMap<String, u64> {
    let both = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    both.map(|(name, &count)| (format!("{name:?}").to_lowercase(), count)).collect()
}

fn damaged_by_name<S: Serializer>(
    counts: &[u64; DamageKind::ALL.len()],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    named(&DamageKind::ALL, counts).serialize(serializer)
}

fn refused_by_name<S: Serializer>(
    counts: &[u64; Refusal::ALL.len()],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    named(&Refusal::ALL, counts).serialize(serializer)
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Counting {
    pub(crate) fn refuse(&self, reason: Refusal) {
        count(&self.refused[reason as usize], 1);
    }

    /// Notes that a domain could not be stored, and is put off.
    pub(crate) fn suspend(&self, domain: &str, reason: &impl Display) {
        count(&self.suspensions, 1);
        self.tell_trouble(domain, reason);
    }

    /// Notes why a domain is put off, also when it is again.
    pub(crate) fn tell_trouble(&self, domain: &str, reason: &impl Display) {
        let trouble = Trouble { time: now_micros() as f64 / 1e6, text: format!("{domain}: {reason}") };
        *self.store_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.insert(domain.to_owned(), reason.to_string());
    }

    /// What was told last.
    pub(crate) fn store_error(&self) -> Option<Trouble> {
        self.store_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let refused_for = self.refused.each_ref().map(get);
        Counters {
            connections: get(&self.connections),
            open: get(&self.open),
            refused: refused_for.iter().sum(),
            bytes: get(&self.bytes),
            rows: get(&self.rows),
            repeated: get(&self.repeated),
            unstorable: get(&self.unstorable),
            suspensions: get(&self.suspensions),
            spool_damage: get(&self.spool_damage),
            replaced: get(&self.replaced),
            nulled: get(&self.nulled),
            backlog,
            damaged: self.damaged.each_ref().map(get),
            refused_for,
        }
    }
}
