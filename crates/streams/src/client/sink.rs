//! Where bytes go: a connection or a file. Neither makes the writer wait where the system lets one choose.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::counters::Status;
use super::outbox::Outbox;
use crate::shown::reason;

/// Most bytes for one call of the system.
const PIECE: usize = 256 << 10;
/// A file that could not be written is tried again after so long.
const FILE_RETRY: Duration = Duration::from_millis(100);

/// Takes bytes out of an outbox.
pub(super) trait Sink: Send {
    /// Sends what can be sent; calls `begin` where the stream begins anew. Whether anything was sent.
    fn pump(
        &mut self,
        outbox: &mut Outbox,
        begin: &mut dyn FnMut(&mut Outbox),
        now: Instant,
        hurry: bool,
    ) -> bool;

    /// Ends the stream.
    fn finish(&mut self);
}

/// A TCP collector that never answers.
pub(super) struct TcpSink(Connection);

impl TcpSink {
    pub(super) const fn new(connection: Connection) -> Self {
        Self(connection)
    }
}

impl Sink for TcpSink {
    fn pump(
        &mut self,
        outbox: &mut Outbox,
        begin: &mut dyn FnMut(&mut Outbox),
        now: Instant,
        hurry: bool,
    ) -> bool {
        if self.0.poll(now, hurry) {
            begin(outbox);
        }
        self.0.discard_input(now);
        let mut sent = false;
        while !outbox.unsent().is_empty() {
            let piece = outbox.unsent();
            match self.0.write(&piece[..piece.len().min(PIECE)], now) {
                0 => break,
                taken => outbox.advance(taken),
            }
            sent = true;
        }
        sent
    }

    fn finish(&mut self) {
        self.0.shut_down();
    }
}

/// A file or standard output.
pub(super) struct FileSink {
    /// `None`: standard output.
    path: Option<PathBuf>,
    file: Option<File>,
    retry: Option<Instant>,
    status: Status,
}

impl FileSink {
    pub(super) const fn new(path: Option<PathBuf>, status: Status) -> Self {
        Self { path, file: None, retry: None, status }
    }

    fn retry_later(&mut self, now: Instant, why: &io::Error) {
        self.status.set_error(reason(why));
        self.retry = Some(now + FILE_RETRY);
    }

    /// Opens the file if that is still to do; whether it is open.
    fn open(&mut self, outbox: &mut Outbox, begin: &mut dyn FnMut(&mut Outbox), now: Instant) -> bool {
        if self.file.is_some() {
            return true;
        }
        match self.open_new() {
            Ok(file) => {
                self.file = Some(file);
                self.status.set_open();
                begin(outbox);
                true
            }
            Err(error) => {
                self.retry_later(now, &error);
                false
            }
        }
    }

    fn open_new(&self) -> io::Result<File> {
        match &self.path {
            Some(path) => File::options().append(true).create(true).open(path),
            None => Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?)),
        }
    }

    /// Writes one piece. What is not taken is written on from here when there is space again: no row is cut or doubled.
    fn write(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let piece = outbox.unsent();
        match file.write(&piece[..piece.len().min(PIECE)]) {
            Ok(0) => Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(taken) => {
                outbox.advance(taken);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Sink for FileSink {
    fn pump(
        &mut self,
        outbox: &mut Outbox,
        begin: &mut dyn FnMut(&mut Outbox),
        now: Instant,
        _hurry: bool,
    ) -> bool {
        if self.retry.is_some_and(|retry| now < retry) || !self.open(outbox, begin, now) {
            return false;
        }
        let mut sent = false;
        while !outbox.unsent().is_empty() {
            if let Err(error) = self.write(outbox) {
                self.retry_later(now, &error);
                return sent;
            }
            sent = true;
        }
        if self.retry.take().is_some() {
            self.status.clear_error();
        }
        sent
    }

    fn finish(&mut self) {
        self.file = None;
    }
}
