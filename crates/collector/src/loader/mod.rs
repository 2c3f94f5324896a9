//! The loader: reads the spool in order and brings each row to its domain's database, exactly once.
//!
//! Each database holds the position of the spool that it is loaded to, changed in the same transaction as the rows. The
//! loader may so begin anywhere before: what a database has, it passes over. A database that cannot be written is
//! put off while the others go on; later the loader goes back for it.

pub(crate) mod connection;
mod domain;
pub(crate) mod scan;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Error;
use trialwise_streams::protocol::Limits;

use crate::config::{Config, Store};
use crate::counters::Counting;
use crate::spool::Spool;
use crate::spool::record::{Body, Record};
use crate::spool::segment::Next;
use domain::Domain;
use scan::Scan;

/// Bytes of the spool that go into one transaction, about.
const MUCH: u64 = 16 << 20;
/// A database without connections is closed after so long.
const IDLE: Duration = Duration::from_secs(2);
/// A database that could not be written is tried again after so long.
const PUT_OFF: Duration = Duration::from_secs(1);
/// A stop is noticed after so long.
const NOTICE: Duration = Duration::from_millis(50);

/// When the loader ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Not yet.
    Never,
    /// When everything is loaded, or at a time.
    By(Instant),
}

enum Slot {
    Ready(Box<Domain>),
    /// Could not be written: everything from `position` on is yet to be loaded.
    PutOff {
        position: u64,
        until: Instant,
    },
}

/// The loader of one collector.
pub(crate) struct Loader {
    spool: Arc<Spool>,
    scan: Scan,
    domains: Domains,
    /// When the oldest row not yet committed was loaded.
    waiting_since: Option<Instant>,
    commit: Duration,
}

struct Domains {
    slots: HashMap<String, Slot>,
    folder: PathBuf,
    spool: String,
    limits: Limits,
    counting: Arc<Counting>,
    /// Where the last start of a collector stands in the spool.
    epoch: u64,
    /// Bytes loaded since the last commit.
    uncommitted: u64,
}

impl Loader {
    pub(crate) fn new(config: &Config, spool: Arc<Spool>, counting: Arc<Counting>) -> std::io::Result<Self> {
        let Store::Sqlite(folder) = &config.store else {
            return Err(std::io::Error::other("rows that are forwarded are not loaded"));
        };
        std::fs::create_dir_all(folder)?;
        let domains = Domains {
            slots: HashMap::new(),
            folder: folder.clone(),
            spool: spool.id().to_owned(),
            limits: config.limits,
            counting: Arc::clone(&counting),
            epoch: 0,
            uncommitted: 0,
        };
        let scan = Scan::open(spool.folder(), counting)?;
        Ok(Self { spool, scan, domains, waiting_since: None, commit: config.commit })
    }

    /// Loads until `stop` says that it is enough.
    pub(crate) fn run(mut self, stop: impl Fn() -> Stop) {
        loop {
            let late = match stop() {
                Stop::Never => false,
                Stop::By(_) if self.is_done() => break,
                Stop::By(deadline) => Instant::now() >= deadline,
            };
            if late {
                break;
            }
            self.step();
        }
        self.commit();
    }

    fn is_done(&self) -> bool {
        self.scan.position() >= self.spool.progress().borrow().durable
    }

    /// Loads what is there, for as long as a commit is not due; waits when nothing is.
    fn step(&mut self) {
        let wait = self
            .waiting_since
            .map_or(NOTICE, |since| self.commit.saturating_sub(since.elapsed()).min(NOTICE));
        let durable = self.spool.wait_beyond(self.scan.position(), wait);
        let due = Instant::now() + NOTICE;
        while self.load_next(durable) && Instant::now() < due && !self.domains.is_full() {}
        let since = self.waiting_since.is_some_and(|since| since.elapsed() >= self.commit);
        if since || self.domains.is_full() {
            self.commit();
        }
        if let Some(position) = self.domains.take_up() {
            self.scan.go_to(position);
        }
    }

    /// Loads the next record; false when there is none.
    fn load_next(&mut self, durable: u64) -> bool {
        let begin = self.scan.position();
        if begin >= durable {
            return false;
        }
        let loaded = match self.scan.next(durable) {
            Ok(Next::Record(record, end)) => {
                self.domains.load(&record, begin, end);
                self.waiting_since.get_or_insert_with(Instant::now);
                Ok(())
            }
            Ok(Next::End | Next::Damaged) => self.scan.leave(durable),
            Err(error) => Err(error),
        };
        if loaded.is_err() {
            std::thread::sleep(NOTICE); // the spool cannot be read now: later, perhaps
        }
        loaded.is_ok()
    }

    /// Commits every domain and gives back the spool before.
    fn commit(&mut self) {
        self.waiting_since = None;
        let loaded = self.domains.commit().unwrap_or(u64::MAX).min(self.scan.position());
        // What cannot be noted or deleted now will be the next time: it only costs room.
        let _ = self.scan.note(loaded).and_then(|()| self.spool.release(loaded));
    }
}

impl Domains {
    fn load(&mut self, record: &Record<'_>, begin: u64, end: u64) {
        self.uncommitted += end - begin;
        if record.body == Body::Restart {
            self.epoch = self.epoch.max(begin);
            return self.each(|domain| domain.end_before(begin));
        }
        if record.domain.is_empty() {
            return;
        }
        if !self.slots.contains_key(record.domain) {
            let slot = self
                .open(record.domain, begin)
                .map_or_else(|error| self.put_off(record.domain, &error, begin), Slot::Ready);
            self.slots.insert(record.domain.to_owned(), slot);
        }
        let Some(Slot::Ready(domain)) = self.slots.get_mut(record.domain) else { return };
        if domain.position < end
            && let Err(error) = domain.load(record, begin, end)
        {
            let slot = Slot::PutOff { position: domain.committed, until: Instant::now() + PUT_OFF };
            self.slots.insert(record.domain.to_owned(), slot);
            self.counting.suspend(record.domain, &error);
        }
    }

    fn open(&self, domain: &str, begin: u64) -> Result<Box<Domain>, Error> {
        let path = self.folder.join(format!("{domain}.sq3"));
        // Going back behind that start, the connections before it have records yet.
        let epoch = if self.epoch <= begin { self.epoch } else { 0 };
        Domain::open(path, &self.spool, begin, epoch, self.limits).map(Box::new)
    }

    fn put_off(&self, domain: &str, error: &Error, position: u64) -> Slot {
        self.counting.suspend(domain, error);
        Slot::PutOff { position, until: Instant::now() + PUT_OFF }
    }

    fn is_full(&self) -> bool {
        self.uncommitted >= MUCH
    }

    /// Commits all; the position from which some have yet to be loaded.
    fn commit(&mut self) -> Option<u64> {
        self.uncommitted = 0;
        let counting = Arc::clone(&self.counting);
        self.each(|domain| domain.commit(&counting));
        self.slots.retain(|_, slot| !matches!(slot, Slot::Ready(domain) if domain.is_idle_for(IDLE)));
        let put_off = self.slots.values().filter_map(|slot| match slot {
            Slot::PutOff { position, .. } => Some(*position),
            Slot::Ready(_) => None,
        });
        put_off.min()
    }

    /// Does something with every domain; puts off those where it fails.
    fn each(&mut self, mut act: impl FnMut(&mut Domain) -> Result<(), Error>) {
        for (name, slot) in &mut self.slots {
            if let Slot::Ready(domain) = slot
                && let Err(error) = act(domain)
            {
                self.counting.suspend(name, &error);
                *slot = Slot::PutOff { position: domain.committed, until: Instant::now() + PUT_OFF };
            }
        }
    }

    /// Tries those again whose time has come; the position to go back to for them.
    fn take_up(&mut self) -> Option<u64> {
        let now = Instant::now();
        let due = |(name, slot): (&String, &Slot)| match slot {
            Slot::PutOff { position, until } if *until <= now => Some((name.clone(), *position)),
            _ => None,
        };
        let due: Vec<_> = self.slots.iter().filter_map(due).collect();
        let mut back = None;
        for (name, position) in due {
            if self.open(&name, position).is_ok() {
                self.slots.remove(&name);
                back = Some(back.map_or(position, |earlier: u64| earlier.min(position)));
            } else {
                self.slots.insert(name, Slot::PutOff { position, until: now + PUT_OFF });
            }
        }
        back
    }
}
