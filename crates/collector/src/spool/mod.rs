//! The spool: an append-only, checksummed log in segments. What is appended is durable soon after, many records with one
//! `fdatasync`; the loader reads what is durable and gives it back for deletion.

pub(crate) mod record;
mod recovery;
pub(crate) mod segment;
mod sessions;
mod writer;

use std::collections::VecDeque;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use trialwise_streams::native::SessionId;

use crate::clock::now_micros;
use crate::reason::reason;
use record::{Body, Record};
pub(crate) use sessions::Session;
use sessions::Sessions;
use writer::Writer;

/// A segment is closed when it has so many bytes.
const SEGMENT: u64 = 64 << 20;
/// Appending waits while so many bytes wait for the disk.
const WAITING: usize = 16 << 20;
/// How long a lock is asked for: a program that this process is just starting holds a copy of one that was given back, until it
/// has become the program.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Another collector has it.
    #[error("spool {0:?} is in use by another collector; give this one a folder of its own")]
    InUse(PathBuf),
    /// A file of it.
    #[error("spool {path:?}: {}", reason(error))]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// The spool of one running collector.
#[derive(Debug)]
pub(crate) struct Spool {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    folder: PathBuf,
    id: String,
    /// Held while the collector lives.
    _lock: File,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// There is work for the writer.
    work: Condvar,
    /// There is room for more.
    room: Notify,
    progress: watch::Sender<Progress>,
    /// The loader waits here for more.
    more: Condvar,
}

/// How far the disk is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Everything before this position is on disk.
    pub(crate) durable: u64,
    /// Nothing will be durable any more, and why.
    pub(crate) failure: Option<String>,
    /// Why nothing is brought to disk at present, while it is tried again.
    pub(crate) waits: Option<String>,
}

#[derive(Debug)]
struct State {
    /// Records not yet given to the writer.
    pending: Vec<u8>,
    /// The position behind them.
    end: u64,
    /// Where the present segment began.
    segment: u64,
    /// Positions in `pending` at which a segment begins.
    cuts: VecDeque<u64>,
    sessions: Sessions,
    /// Everything before is in the database.
    loaded: u64,
    /// Most bytes that may wait for the loader.
    capacity: u64,
    /// Bytes that the writer has in hand.
    writing: usize,
    durable: u64,
    closing: bool,
}

impl Spool {
    /// Opens or makes the spool in `folder`; at most `capacity` bytes will wait for the loader.
    ///
    /// # Errors
    /// In use by another collector, or the files cannot be read or made.
    pub(crate) fn open(folder: &Path, capacity: u64) -> Result<Self, SpoolError> {
        let failed = |error| SpoolError::Io { path: folder.to_owned(), error };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = lock_file(&folder.join("lock"), LOCK_PATIENCE).map_err(failed)?;
        let lock = lock.ok_or_else(|| SpoolError::InUse(folder.to_owned()))?;
        let id = identify(&lock).map_err(failed)?;
        let found = recovery::recover(folder).map_err(failed)?;
        let file = segment::create(folder, found.end).map_err(failed)?;
        let state = State {
            pending: Vec::new(),
            end: found.end,
            segment: found.end,
            cuts: VecDeque::new(),
            sessions: found.sessions,
            loaded: found.start,
            capacity,
            writing: 0,
            durable: found.end,
            closing: false,
        };
        let progress = watch::Sender::new(Progress { durable: found.end, failure: None, waits: None });
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            room: Notify::new(),
            progress,
            more: Condvar::new(),
        });
        shared.begin();
        let writer = Writer::new(Arc::clone(&shared), folder.to_owned(), file, found.end);
        let thread = std::thread::Builder::new().name("collect-spool".to_owned());
        let thread = thread.spawn(move || writer.run()).map_err(failed)?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), folder: folder.to_owned(), id, _lock: lock })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Names this spool among all: positions of one mean nothing in another.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether there is room for another piece.
    pub(crate) fn has_room(&self) -> bool {
        self.shared.lock().has_room()
    }

    /// Waits until there is room for another piece.
    pub(crate) async fn room(&self) {
        loop {
            let notified = self.shared.room.notified();
            if self.shared.lock().has_room() {
                return;
            }
            notified.await;
        }
    }

    /// Appends the record that begins a connection, and names the connection.
    pub(crate) fn begin(&self, domain: &str, body: Body<'_>) -> u64 {
        let mut state = self.shared.lock();
        let connection = state.next_position();
        state.append(connection, domain, body);
        self.shared.work.notify_one();
        connection
    }

    /// Appends a record of a connection; returns the position behind it.
    pub(crate) fn append(&self, connection: u64, domain: &str, body: Body<'_>) -> u64 {
        let mut state = self.shared.lock();
        state.append(connection, domain, body);
        self.shared.work.notify_one();
        state.end
    }

    /// Appends a frame; nothing when another connection has taken over its session.
    pub(crate) fn append_frame(
        &self,
        connection: u64,
        session: SessionId,
        number: u64,
        rows: &[u8],
    ) -> Option<u64> {
        let mut state = self.shared.lock();
        let known = state.sessions.get_mut(&session).filter(|known| known.owner == connection)?;
        (known.received, known.time) = (number, now_micros());
        let domain = known.domain.clone();
        state.append(connection, &domain, Body::Frame { session, number, rows });
        self.shared.work.notify_one();
        Some(state.end)
    }

    /// What is known of a session.
    pub(crate) fn session(&self, session: &SessionId) -> Option<Session> {
        self.shared.lock().sessions.get(session).cloned()
    }

    /// Gives a session to a connection; an older one can add nothing any more. Returns the last number received.
    pub(crate) fn take_session(&self, id: SessionId, connection: u64, domain: &str, base: u64) -> u64 {
        let mut state = self.shared.lock();
        if let Some(session) = state.sessions.get_mut(&id) {
            session.owner = connection;
            // What the client has forgotten was acknowledged to it, here or elsewhere.
            session.received = session.received.max(base.saturating_sub(1));
            return session.received;
        }
        let received = base.saturating_sub(1);
        let session = Session { received, time: now_micros(), domain: domain.to_owned(), owner: connection };
        state.sessions.insert(id, session);
        received
    }

    /// Ends a session, unless another connection has taken it over.
    pub(crate) fn end_session(&self, connection: u64, domain: &str, session: SessionId) {
        let mut state = self.shared.lock();
        if state.sessions.get(&session).is_some_and(|known| known.owner == connection) {
            state.sessions.remove(&session);
            state.append(connection, domain, Body::Bye(session));
            self.shared.work.notify_one();
        }
    }

    /// How far the disk is, to be waited for.
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.progress.subscribe()
    }

    /// The position behind everything appended.
    pub(crate) fn end(&self) -> u64 {
        self.shared.lock().end
    }

    /// Waits until something behind `position` is durable, `patience` at most; returns how far the disk is.
    pub(crate) fn wait_beyond(&self, position: u64, patience: Duration) -> u64 {
        let state = self.shared.lock();
        let waited = self.shared.more.wait_timeout_while(state, patience, |state| state.durable <= position);
        waited.unwrap_or_else(PoisonError::into_inner).0.durable
    }

    /// Everything before `position` is in the database: whole segments of it go.
    pub(crate) fn release(&self, position: u64) -> io::Result<()> {
        self.shared.lock().loaded = position;
        self.shared.room.notify_waiters();
        let starts = segment::list(&self.folder)?;
        for pair in starts.windows(2).filter(|pair| pair[1] <= position) {
            std::fs::remove_file(segment::path_of(&self.folder, pair[0]))?;
        }
        Ok(())
    }

    /// Bytes that wait for the loader.
    pub(crate) fn backlog(&self) -> u64 {
        let state = self.shared.lock();
        state.end - state.loaded
    }

    /// Writes what waits and ends.
    pub(crate) fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join(); // a panic was told by the thread itself
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first records of a new segment of a new run.
    fn begin(&self) {
        let mut state = self.lock();
        let sessions = state.sessions.pack(now_micros());
        state.write(0, "", Body::Sessions(&sessions));
        state.write(0, "", Body::Restart);
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.pending.len() + self.writing < WAITING && self.end - self.loaded < self.capacity
    }

    /// Where the next record will stand; begins a segment when it is time.
    fn next_position(&mut self) -> u64 {
        if self.end - self.segment >= SEGMENT {
            self.cuts.push_back(self.end);
            self.segment = self.end;
            let sessions = self.sessions.pack(now_micros());
            self.write(0, "", Body::Sessions(&sessions));
        }
        self.end
    }

    fn append(&mut self, connection: u64, domain: &str, body: Body<'_>) {
        self.next_position();
        self.write(connection, domain, body);
    }

    fn write(&mut self, connection: u64, domain: &str, body: Body<'_>) {
        let before = self.pending.len();
        Record { connection, time: now_micros(), domain, body }.write(self.end, &mut self.pending);
        self.end += (self.pending.len() - before) as u64;
    }
}

/// The name in the lock file, made when there is none.
fn identify(mut lock: &File) -> io::Result<String> {
    let mut name = String::new();
    lock.read_to_string(&mut name)?;
    if name.is_empty() {
        name = format!("{:016x}{:016x}", now_micros(), RandomState::new().build_hasher().finish());
        lock.write_all(name.as_bytes())?;
        lock.sync_all()?;
    }
    Ok(name)
}

/// A file with its lock; nothing when another process keeps it for as long as `patience`.
pub(crate) fn lock_file(path: &Path, patience: Duration) -> io::Result<Option<File>> {
    let file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
    let deadline = Instant::now() + patience;
    while !try_lock(&file)? {
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(Some(file))
}

/// Whether the lock could be had at once.
fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: flock takes a descriptor, which `file` keeps open during the call, and touches no memory.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}
