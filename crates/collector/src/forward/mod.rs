//! Forwarding: brings what is in the spool to another collector, exactly once, for nodes that are away for a while.
//!
//! Every connection that was received becomes a session of the native protocol, whose frames hold its bytes as they came,
//! cut between rows, under the sender's own header: what arrives is what a direct connection would have brought. A
//! frame's number is the position in the spool behind the record that completed its rows. So a restart that reads a part
//! of the spool again makes the same frames, and the other collector, which keeps the last number of each session with the
//! rows, passes over what it has. When it has everything up to a position, that is noted, and the spool before it goes.

mod domain;
mod domains;
mod framer;
mod note;
mod session;

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::LocalSet;
use trialwise_streams::protocol::Limits;
use trialwise_streams::tls::Trust;

use crate::config::{Access, Stop, Upstream as Settings};
use crate::counters::Counting;
use crate::scan::Scan;
use crate::spool::Spool;
use crate::spool::segment::Next;
use crate::status::Forwarding;
use domains::{Domains, Place};

/// Bytes of frames that may wait for acknowledgement.
const WINDOW: usize = 16 << 20;
/// Bytes of the spool between two notes, about, and the time between them.
const MUCH: u64 = 32 << 20;
const COMMIT: Duration = Duration::from_secs(1);
/// A stop is noticed after so long.
const NOTICE: Duration = Duration::from_millis(50);
/// Records read between two looks at the connections.
const BATCH: usize = 256;

/// Where the other collector is.
#[derive(Debug)]
pub(crate) struct Upstream {
    host: String,
    port: u16,
    trust: Option<Trust>,
}

/// What all sessions share.
struct Shared {
    upstream: Upstream,
    forwarding: Arc<Forwarding>,
    /// Bytes of frames that wait.
    window: Cell<usize>,
    /// Something was acknowledged or refused.
    changed: Notify,
}

/// Brings the spool of one collector to another.
pub(crate) struct Forwarder {
    upstream: Upstream,
    access: Access,
    limits: Limits,
    spool: Arc<Spool>,
    scan: Scan,
    counting: Arc<Counting>,
    forwarding: Arc<Forwarding>,
    runtime: Runtime,
}

impl Forwarder {
    /// # Errors
    /// Certificates or the spool cannot be read.
    pub(crate) fn new(
        settings: &Settings,
        limits: Limits,
        spool: Arc<Spool>,
        counting: Arc<Counting>,
    ) -> io::Result<Self> {
        let trust = settings.certificate.as_deref().map(Trust::read).transpose().map_err(io::Error::other)?;
        let to = format!("{}:{}", settings.host, settings.port);
        Ok(Self {
            upstream: Upstream { host: settings.host.clone(), port: settings.port, trust },
            access: settings.access.clone(),
            limits,
            scan: Scan::open(spool.folder(), Arc::clone(&counting))?,
            forwarding: Arc::new(Forwarding::new(to, spool.folder().join("paused"))),
            spool,
            counting,
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }

    /// What to watch it by.
    pub(crate) fn forwarding(&self) -> Arc<Forwarding> {
        Arc::clone(&self.forwarding)
    }

    /// Forwards until `stop` says that it is enough.
    pub(crate) fn run(self, stop: impl Fn() -> Stop) {
        let (runtime, work) = Work::new(self);
        LocalSet::new().block_on(&runtime, work.run(stop));
    }
}

/// A forwarder at work.
struct Work {
    spool: Arc<Spool>,
    scan: Scan,
    domains: Domains,
    shared: Rc<Shared>,
    /// Since when something is read and not noted, and how much.
    waiting_since: Option<Instant>,
    unnoted: u64,
}

impl Work {
    fn new(forwarder: Forwarder) -> (Runtime, Self) {
        let Forwarder { upstream, access, limits, spool, scan, counting, forwarding, runtime } = forwarder;
        let shared = Rc::new(Shared { upstream, forwarding, window: Cell::new(0), changed: Notify::new() });
        let domains = Domains::new(
            Place {
                access,
                limits,
                folder: spool.folder().to_owned(),
                spool: spool.id().to_owned(),
                shared: Rc::clone(&shared),
            },
            counting,
        );
        (runtime, Self { spool, scan, domains, shared, waiting_since: None, unnoted: 0 })
    }

    async fn run(mut self, stop: impl Fn() -> Stop) {
        let mut progress = self.spool.progress();
        loop {
            match stop() {
                Stop::By(_) if self.is_done() => return,
                Stop::By(deadline) if Instant::now() >= deadline => return,
                _ => {}
            }
            if self.step() {
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                _ = progress.changed() => {}
                () = self.shared.changed.notified() => {}
                () = tokio::time::sleep(NOTICE) => {}
            }
        }
    }

    fn is_done(&self) -> bool {
        self.waiting_since.is_none() && self.scan.position() >= self.durable()
    }

    fn durable(&self) -> u64 {
        self.spool.progress().borrow().durable
    }

    /// Does what can be done now; whether there may be more.
    fn step(&mut self) -> bool {
        self.domains.put_off_refused();
        if let Some(position) = self.domains.take_up() {
            self.scan.go_to(position);
        }
        let late = self.waiting_since.is_some_and(|since| since.elapsed() >= COMMIT);
        if late || self.unnoted >= MUCH {
            // Until everything that was read is there, nothing more is read.
            return self.domains.are_settled() && self.note();
        }
        self.read()
    }

    /// Reads some records; whether there were any.
    fn read(&mut self) -> bool {
        let (durable, before) = (self.durable(), self.scan.position());
        let paused = self.shared.forwarding.is_paused();
        for _ in 0..BATCH {
            if paused || self.shared.window.get() >= WINDOW || !self.pass_next(durable) {
                break;
            }
        }
        self.unnoted += self.scan.position() - before;
        self.scan.position() > before
    }

    /// Passes the next record on; false when there is none, or it cannot be read now.
    fn pass_next(&mut self, durable: u64) -> bool {
        let begin = self.scan.position();
        if begin >= durable {
            return false;
        }
        self.waiting_since.get_or_insert_with(Instant::now);
        let passed = match self.scan.next(durable) {
            Ok(Next::Record(record, end)) => self.domains.pass(&record, begin, end),
            Ok(Next::End | Next::Damaged) => self.scan.leave(durable),
            Err(error) => Err(error),
        };
        passed.map_err(|error| self.shared.forwarding.fail(&error)).is_ok()
    }

    /// Notes that everything read is there, and gives back the spool before; whether that could be done.
    fn note(&mut self) -> bool {
        let noted = self.domains.note().and_then(|refused| {
            let there = refused.unwrap_or(u64::MAX).min(self.scan.position());
            self.scan.note(there)?;
            self.spool.release(there)
        });
        match noted {
            Ok(()) => (self.waiting_since, self.unnoted) = (None, 0),
            Err(error) => {
                self.shared.forwarding.fail(&error);
                self.waiting_since = Some(Instant::now()); // a full disk, perhaps: again after a while
            }
        }
        true
    }
}
