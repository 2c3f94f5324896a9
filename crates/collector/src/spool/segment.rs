//! Segments: files named by the position of their first record.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::record::{self, Found, HEAD, Record};

const ENDING: &str = "spool";
/// Bytes read at a time.
const PIECE: usize = 1 << 20;

pub(crate) fn path_of(folder: &Path, start: u64) -> PathBuf {
    folder.join(format!("{start:020}.{ENDING}"))
}

/// The first positions of all segments, in order.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let start: Option<u64> =
            name.to_str().and_then(|name| name.strip_suffix(ENDING)?.strip_suffix('.')?.parse().ok());
        starts.extend(start);
    }
    starts.sort_unstable();
    Ok(starts)
}

/// Makes an empty segment that survives a power cut.
pub(crate) fn create(folder: &Path, start: u64) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).open(path_of(folder, start))?;
    sync_folder(folder)?;
    Ok(file)
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// What came of asking for a record.
pub(crate) enum Next<'a> {
    /// A record, and the position behind it.
    Record(Record<'a>, u64),
    /// The segment ends here.
    End,
    /// What stands here is no record.
    Damaged,
}

/// Reads one segment from front to back.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    file: File,
    start: u64,
    /// Where `buffer[taken]` stands.
    position: u64,
    buffer: Vec<u8>,
    taken: usize,
}

impl SegmentReader {
    /// Opens the segment that begins at `start`, to read from `position`.
    pub(crate) fn open(folder: &Path, start: u64, position: u64) -> io::Result<Self> {
        let file = File::open(path_of(folder, start))?;
        Ok(Self { file, start, position, buffer: Vec::new(), taken: 0 })
    }

    /// The position at which the segment begins.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// The next record that ends at or before `limit`.
    pub(crate) fn next(&mut self, limit: u64) -> io::Result<Next<'_>> {
        if !self.fill_record(limit)? {
            let torn = self.buffer.len() > self.taken;
            return Ok(if torn { Next::Damaged } else { Next::End });
        }
        let found = Record::read(self.position, &self.buffer[self.taken..]);
        let Found::Record(record, length) = found else { return Ok(Next::Damaged) };
        self.taken += length;
        self.position += length as u64;
        Ok(Next::Record(record, self.position))
    }

    /// Brings the next record to the buffer; false when it is not all there, or what stands there is none.
    fn fill_record(&mut self, limit: u64) -> io::Result<bool> {
        if self.buffer.len() - self.taken < HEAD && !self.fill(HEAD, limit)? {
            return Ok(false);
        }
        let Some(length) = record::length(&self.buffer[self.taken..]) else { return Ok(false) };
        Ok(self.buffer.len() - self.taken >= length || self.fill(length, limit)?)
    }

    /// Whether the buffer could be brought to `needed` bytes.
    fn fill(&mut self, needed: usize, limit: u64) -> io::Result<bool> {
        self.buffer.drain(..std::mem::take(&mut self.taken));
        while self.buffer.len() < needed {
            let held = self.buffer.len();
            let left = usize::try_from(limit.saturating_sub(self.position)).unwrap_or(usize::MAX);
            let wanted = needed.max(PIECE).min(left).saturating_sub(held);
            self.buffer.resize(held + wanted, 0);
            let place = self.position - self.start + held as u64;
            let read = self.file.read_at(&mut self.buffer[held..], place)?;
            self.buffer.truncate(held + read);
            if read == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
