//! The thread that brings records to disk: one write and one `fdatasync` for whatever came meanwhile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{Progress, Shared, segment};
use crate::reason::{is_full, reason};

/// A sync begins so long after the last one at the earliest, unless much waits.
const PAUSE: Duration = Duration::from_millis(4);
/// What is much.
const MUCH: usize = 1 << 20;
/// A full disk is tried again after so long.
const FULL: Duration = Duration::from_millis(300);

pub(super) struct Writer {
    shared: Arc<Shared>,
    folder: PathBuf,
    file: File,
    /// Where the present segment begins.
    start: u64,
    /// The position of the next byte.
    position: u64,
    batch: Vec<u8>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, folder: PathBuf, file: File, position: u64) -> Self {
        Self { shared, folder, file, start: position, position, batch: Vec::new() }
    }

    pub(super) fn run(mut self) {
        let mut synced = Instant::now();
        while let Some(cuts) = self.take(synced) {
            synced = Instant::now();
            if let Err(error) = self.bring_to_disk(&cuts) {
                return self.fail(&error);
            }
            self.tell();
        }
    }

    /// Waits for records and takes them; nothing when the spool is closed and all is written.
    fn take(&mut self, synced: Instant) -> Option<Vec<u64>> {
        let mut state = self.shared.lock();
        loop {
            let pause = PAUSE.saturating_sub(synced.elapsed());
            let due = pause.is_zero() || state.pending.len() >= MUCH || state.closing;
            if !state.pending.is_empty() && due {
                break;
            }
            if state.closing {
                return None;
            }
            let pause = if state.pending.is_empty() { Duration::from_secs(60) } else { pause };
            let waited = self.shared.work.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.batch.clear();
        std::mem::swap(&mut self.batch, &mut state.pending);
        state.writing = self.batch.len();
        Some(state.cuts.drain(..).collect())
    }

    fn bring_to_disk(&mut self, cuts: &[u64]) -> io::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let mut rest = batch.as_slice();
        for &cut in cuts {
            let (before, after) = rest.split_at((cut - self.position) as usize);
            self.write(before)?;
            self.file.sync_data()?;
            self.file = self.persist(|| segment::create(&self.folder, cut))?;
            (self.start, rest) = (cut, after);
        }
        self.write(rest)?;
        self.batch = batch;
        self.file.sync_data()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let place = self.position - self.start;
        self.persist(|| self.file.write_all_at(bytes, place))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn tell(&self) {
        let durable = self.position;
        let mut state = self.shared.lock();
        (state.durable, state.writing) = (durable, 0);
        drop(state);
        self.shared.more.notify_all();
        self.shared.room.notify_waiters();
        self.shared.progress.send_modify(|progress| progress.durable = durable);
    }

    /// Repeats what a full disk refuses until there is room (meanwhile the clients wait) or the spool is closed.
    fn persist<T>(&self, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match attempt() {
                Err(error) if is_full(&error) && !self.shared.lock().closing => {
                    self.wait_for(Some(format!("spool {}: {}", self.folder.display(), reason(&error))));
                    std::thread::sleep(FULL);
                }
                other => {
                    self.wait_for(None);
                    return other;
                }
            }
        }
    }

    /// Says what it waits for, where that is new.
    fn wait_for(&self, what: Option<String>) {
        self.shared.progress.send_if_modified(|progress| {
            let is_new = progress.waits != what;
            progress.waits = what;
            is_new
        });
    }

    /// After a failed sync nobody knows what is on disk: nothing is acknowledged any more, a restart reads what is there.
    fn fail(&self, error: &io::Error) {
        let failure = Some(format!("spool {}: {}", self.folder.display(), reason(error)));
        self.shared.progress.send_modify(|progress: &mut Progress| progress.failure = failure);
    }
}
