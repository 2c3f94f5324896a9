//! The loader: reads the spool in order and brings each row to its domain's place in the store, exactly once.
//!
//! Each database holds the position of the spool that it is loaded to, changed in the same transaction as the rows. The
//! loader may so begin anywhere before: what a database has, it passes over. A database that cannot be written is
//! put off while the others go on; later the loader goes back for it.

mod tables;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::config::{self, Config, Stop, Stopping};
use crate::counters::Counting;
use crate::forward::Forwarder;
use crate::parquet::Parquet;
use crate::postgresql::PostgreSql;
use crate::scan::Scan;
use crate::spool::Spool;
use crate::spool::record::{Body, Record};
use crate::spool::segment::Next;
use crate::sqlite::Sqlite;
use crate::status::Forwarding;
use crate::store::{Databases, Domain, Store, StoreError};
use tables::Tables;

/// Bytes of the spool that go into one transaction, about.
const MUCH: u64 = 16 << 20;
/// Bytes of the spool that may wait for stores that put off a commit.
const HELD: u64 = 64 << 20;
/// A database without connections is closed after so long.
const IDLE: Duration = Duration::from_secs(2);
/// A database that could not be written is tried again after so long.
const PUT_OFF: Duration = Duration::from_secs(1);
/// A stop is noticed after so long.
const NOTICE: Duration = Duration::from_millis(50);

/// What the loader works on besides its store.
pub(crate) struct Source {
    pub(crate) spool: Arc<Spool>,
    pub(crate) counting: Arc<Counting>,
    pub(crate) stopping: Stopping,
    /// So many domains may be open at a time.
    pub(crate) domains: usize,
}

/// What empties the spool.
pub(crate) struct Behind {
    pub(crate) thread: JoinHandle<()>,
    /// To watch it by, where it brings everything to another collector.
    pub(crate) forwarding: Option<Arc<Forwarding>>,
}

/// Starts the thread that loads into the store that `config` names, or forwards.
///
/// # Errors
/// The store's folder cannot be made, the server refuses the collector, certificates or the spool cannot be read, or there
/// is no thread.
pub(crate) fn start(config: &Config, source: Source) -> Result<Behind, StoreError> {
    let thread = match &config.store {
        config::Store::Sqlite(folder) => {
            start_tables(Sqlite::new(folder.clone(), source.spool.id())?, config, source)
        }
        config::Store::Parquet(folder) => {
            let counting = Arc::clone(&source.counting);
            start_tables(Parquet::new(folder.clone(), source.spool.id(), counting)?, config, source)
        }
        config::Store::PostgreSql(url) => {
            let (counting, stopping) = (Arc::clone(&source.counting), Arc::clone(&source.stopping));
            let server = PostgreSql::new(url, source.spool.id(), counting, stopping)?;
            start_tables(server, config, source)
        }
        config::Store::Collector(upstream) => {
            let (spool, counting) = (Arc::clone(&source.spool), Arc::clone(&source.counting));
            let forwarder = Forwarder::new(upstream, config.limits, spool, counting)?;
            let forwarding = Some(forwarder.forwarding());
            let thread = spawn(&source.stopping, move |stop| forwarder.run(stop))?;
            return Ok(Behind { thread, forwarding });
        }
    };
    Ok(Behind { thread: thread?, forwarding: None })
}

fn start_tables<S: Databases>(
    databases: S,
    config: &Config,
    source: Source,
) -> Result<JoinHandle<()>, StoreError> {
    start_with(Tables::new(databases, config.limits), config.commit, source)
}

/// Starts the thread that loads into `store`.
fn start_with<S: Store>(store: S, commit: Duration, source: Source) -> Result<JoinHandle<()>, StoreError> {
    let stopping = Arc::clone(&source.stopping);
    let scan = Scan::open(source.spool.folder(), Arc::clone(&source.counting))?;
    // Domains stay in the thread that made them.
    Ok(spawn(&stopping, move |stop| Loader::new(store, scan, commit, source).run(stop))?)
}

/// Starts the thread behind the spool, which is given what to ask whether it is enough.
fn spawn(
    stopping: &Stopping,
    work: impl FnOnce(&dyn Fn() -> Stop) + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let stopping = Arc::clone(stopping);
    let stop = move || *stopping.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::Builder::new().name("collect-load".to_owned()).spawn(move || work(&stop))
}

enum Slot<D> {
    Ready(Box<D>),
    /// Could not be written: everything from `position` on is yet to be loaded.
    PutOff {
        position: u64,
        until: Instant,
    },
}

/// The loader of one collector.
struct Loader<S: Store> {
    spool: Arc<Spool>,
    scan: Scan,
    domains: Domains<S>,
    /// When the oldest row not yet committed was loaded.
    waiting_since: Option<Instant>,
    commit: Duration,
}

struct Domains<S: Store> {
    store: S,
    slots: HashMap<String, Slot<S::Domain>>,
    counting: Arc<Counting>,
    /// Where the last start of a collector stands in the spool.
    epoch: u64,
    /// Bytes loaded since the last commit.
    uncommitted: u64,
    /// So many domains may be open at a time.
    most: usize,
}

impl<S: Store> Loader<S> {
    fn new(store: S, scan: Scan, commit: Duration, source: Source) -> Self {
        let Source { counting, domains: most, .. } = source;
        let domains = Domains { store, slots: HashMap::new(), counting, epoch: 0, uncommitted: 0, most };
        Self { spool: source.spool, scan, domains, waiting_since: None, commit }
    }

    /// Loads until `stop` says that it is enough.
    fn run(mut self, stop: impl Fn() -> Stop) {
        loop {
            let late = match stop() {
                Stop::Never => false,
                Stop::By(_) if self.is_done() => break,
                Stop::By(deadline) => Instant::now() >= deadline,
            };
            if late {
                return self.commit(false); // what a store puts off stays in the spool
            }
            self.step();
        }
        self.commit(true);
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
            self.commit(false);
        }
        self.domains.tend();
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
    fn commit(&mut self, urgent: bool) {
        let position = self.scan.position();
        let urgent = urgent
            || self.domains.oldest_uncommitted().is_some_and(|oldest| position.saturating_sub(oldest) > HELD);
        let loaded = self.domains.commit(urgent).unwrap_or(u64::MAX).min(position);
        self.waiting_since = self.domains.oldest_uncommitted().map(|_| Instant::now());
        // What cannot be noted or deleted now will be the next time: it only costs room.
        let _ = self.scan.note(loaded).and_then(|()| self.spool.release(loaded));
    }
}

impl<S: Store> Domains<S> {
    fn load(&mut self, record: &Record<'_>, begin: u64, end: u64) {
        self.uncommitted += end - begin;
        if record.body == Body::Restart {
            self.epoch = self.epoch.max(begin);
            return self.each(begin, |domain| domain.end_before(begin));
        }
        if record.domain.is_empty() {
            return;
        }
        if !self.slots.contains_key(record.domain) {
            let slot = match self.open(record.domain, begin) {
                Ok(domain) => Slot::Ready(domain),
                Err(error) => put_off(&self.counting, record.domain, begin, &error),
            };
            self.slots.insert(record.domain.to_owned(), slot);
        }
        let Some(slot) = self.slots.get_mut(record.domain) else { return };
        if let Slot::Ready(domain) = slot
            && domain.position() < end
            && let Err(error) = domain.load(record, begin, end)
        {
            let from = domain.uncommitted().unwrap_or(begin);
            *slot = put_off(&self.counting, record.domain, from, &error);
        }
    }

    fn open(&mut self, domain: &str, begin: u64) -> Result<Box<S::Domain>, StoreError> {
        // Going back behind that start, the connections before it have records yet.
        let epoch = if self.epoch <= begin { self.epoch } else { 0 };
        let open = self.slots.values().filter(|slot| matches!(slot, Slot::Ready(_))).count();
        if open >= self.most {
            return Err(StoreError(format!(
                "{open} domains are open, as many as the limit of open files allows; raise it with ulimit -n, and start again"
            )));
        }
        self.store.open(domain, begin, epoch).map(Box::new)
    }

    fn is_full(&self) -> bool {
        self.uncommitted >= MUCH
    }

    /// Commits all; the position from which some have yet to be loaded or committed.
    fn commit(&mut self, urgent: bool) -> Option<u64> {
        self.uncommitted = 0;
        let counting = Arc::clone(&self.counting);
        self.each(u64::MAX, |domain| domain.commit(&counting, urgent));
        let left = self.slots.values().filter_map(|slot| match slot {
            Slot::PutOff { position, .. } => Some(*position),
            Slot::Ready(domain) => domain.uncommitted(),
        });
        left.min()
    }

    /// Lets domains do what is due, and closes those where nothing goes on.
    fn tend(&mut self) {
        self.each(u64::MAX, Domain::tend);
        self.slots.retain(|_, slot| match slot {
            Slot::Ready(domain) => !(domain.is_idle_for(IDLE) && domain.rest()),
            Slot::PutOff { .. } => true,
        });
    }

    /// The first record that a domain has loaded but not committed.
    fn oldest_uncommitted(&self) -> Option<u64> {
        let uncommitted = self.slots.values().filter_map(|slot| match slot {
            Slot::Ready(domain) => domain.uncommitted(),
            Slot::PutOff { .. } => None,
        });
        uncommitted.min()
    }

    /// Does something with every domain for the record at `begin`; puts off those where it fails.
    fn each(&mut self, begin: u64, mut act: impl FnMut(&mut S::Domain) -> Result<(), StoreError>) {
        for (name, slot) in &mut self.slots {
            if let Slot::Ready(domain) = slot
                && let Err(error) = act(domain)
            {
                let from = domain.uncommitted().unwrap_or_else(|| begin.min(domain.position()));
                *slot = put_off(&self.counting, name, from, &error);
            }
        }
    }

    /// Tries those again whose time has come; the position to go back to for them.
    fn take_up(&mut self) -> Option<u64> {
        let now = Instant::now();
        let due = |(name, slot): (&String, &Slot<S::Domain>)| match slot {
            Slot::PutOff { position, until } if *until <= now => Some((name.clone(), *position)),
            _ => None,
        };
        let due: Vec<_> = self.slots.iter().filter_map(due).collect();
        let mut back = None;
        for (name, position) in due {
            if let Err(error) = self.open(&name, position) {
                self.counting.tell_trouble(&name, &error);
                self.slots.insert(name, Slot::PutOff { position, until: now + PUT_OFF });
            } else {
                self.counting.end_trouble(&name);
                self.slots.remove(&name);
                back = Some(back.map_or(position, |earlier: u64| earlier.min(position)));
            }
        }
        back
    }
}

/// Counts and tells why a domain is put off.
fn put_off<D>(counting: &Counting, domain: &str, position: u64, error: &StoreError) -> Slot<D> {
    counting.suspend(domain, error);
    Slot::PutOff { position, until: Instant::now() + PUT_OFF }
}
