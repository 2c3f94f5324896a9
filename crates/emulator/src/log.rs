//! Writing the packet log, whose form is that of [`trialwise_link::log`].

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use trialwise_link::log::{CHUNK, RECORD, Record, header};

use crate::clock;

const CHUNKS: usize = 64;

/// Where records are written: a thread with a file, reached by a bounded channel.
pub struct PacketLog {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    filling: Vec<u8>,
    lost: u64,
}

impl PacketLog {
    /// Starts a log in a new file.
    ///
    /// # Errors
    /// When the file cannot be made or its header not be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::new(File::create(path)?)
    }

    /// Starts a log that is written to `output`.
    ///
    /// # Errors
    /// When the header cannot be written.
    pub fn new(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        output.write_all(&header(clock::nanoseconds(libc::CLOCK_REALTIME).cast_unsigned()))?;
        let (full, chunks) = sync_channel::<Vec<u8>>(CHUNKS);
        let (back, empty) = sync_channel(CHUNKS);
        for _ in 0..CHUNKS {
            let _ = back.try_send(Vec::with_capacity(CHUNK));
        }
        let writer = thread::Builder::new().name("packet-log".to_owned()).spawn(move || {
            while let Ok(mut chunk) = chunks.recv() {
                output.write_all(&chunk)?;
                chunk.clear();
                let _ = back.try_send(chunk);
            }
            output.flush()
        })?;
        Ok(Self { full, empty, writer, filling: Vec::with_capacity(CHUNK), lost: 0 })
    }

    /// Never waits: what the writer is too slow for is counted as lost.
    pub(crate) fn add(&mut self, record: &Record) {
        record.write(&mut self.filling);
        if self.filling.len() >= CHUNK {
            self.pass_on();
        }
    }

    /// Hands over what has gathered.
    pub(crate) fn pass_on(&mut self) {
        if self.filling.is_empty() {
            return;
        }
        let Ok(empty) = self.empty.try_recv() else { return self.lose() };
        match self.full.try_send(std::mem::replace(&mut self.filling, empty)) {
            Ok(()) => {}
            Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) => {
                self.filling = chunk;
                self.lose();
            }
        }
    }

    fn lose(&mut self) {
        self.lost += (self.filling.len() / RECORD) as u64;
        self.filling.clear();
    }

    /// Writes the rest; the number of records lost, and what went wrong in writing.
    pub(crate) fn finish(mut self) -> (u64, io::Result<()>) {
        // The thread of the emulator has nothing else to do now: wait for room.
        if let Err(error) = self.full.send(std::mem::take(&mut self.filling)) {
            self.lost += (error.0.len() / RECORD) as u64;
        }
        drop(self.full);
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the log's writer failed")));
        (self.lost, written)
    }
}
