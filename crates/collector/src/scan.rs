//! Reading the spool in order, over its segments.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::counters::{Counting, count};
use crate::spool::segment::{self, Next, SegmentReader};

/// Where the loader is in the spool.
pub(crate) struct Scan {
    folder: PathBuf,
    position: u64,
    reader: Option<SegmentReader>,
    counting: Arc<Counting>,
}

impl Scan {
    /// Begins where the last note says, or at the start.
    pub(crate) fn open(folder: &Path, counting: Arc<Counting>) -> io::Result<Self> {
        let first = segment::list(folder)?.first().copied().unwrap_or(0);
        let position = read_note(folder).unwrap_or(0).max(first);
        Ok(Self { folder: folder.to_owned(), position, reader: None, counting })
    }

    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// Goes back to a record.
    pub(crate) fn go_to(&mut self, position: u64) {
        if position < self.position {
            (self.position, self.reader) = (position, None);
        }
    }

    /// Notes where to begin another time. The note may be lost or old: the databases know better.
    pub(crate) fn note(&self, position: u64) -> io::Result<()> {
        let new = self.folder.join("loaded.new");
        std::fs::write(&new, position.to_string())?;
        std::fs::rename(new, self.folder.join("loaded"))
    }

    /// The next record that ends at or before `limit`. Where there is none, though more is on disk, [`Self::leave`] follows.
    pub(crate) fn next(&mut self, limit: u64) -> io::Result<Next<'_>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                let starts = segment::list(&self.folder)?;
                let start = starts.into_iter().rev().find(|&start| start <= self.position);
                let Some(start) = start else { return Ok(Next::Damaged) };
                none.insert(SegmentReader::open(&self.folder, start, self.position)?)
            }
        };
        let next = reader.next(limit)?;
        if let Next::Record(_, end) = next {
            self.position = end;
        }
        Ok(next)
    }

    /// Leaves a segment at its end, or where it is damaged: what is damaged is counted and passed over.
    pub(crate) fn leave(&mut self, limit: u64) -> io::Result<()> {
        let left = self.reader.take().map(|reader| reader.start());
        let starts = segment::list(&self.folder)?;
        // A segment is followed by the one that begins at its end.
        if starts.contains(&self.position) && left != Some(self.position) {
            return Ok(());
        }
        let following = starts.into_iter().find(|&start| start > self.position);
        let to = following.unwrap_or(limit).min(limit);
        count(&self.counting.spool_damage, to - self.position);
        self.position = to;
        Ok(())
    }
}

fn read_note(folder: &Path) -> Option<u64> {
    std::fs::read_to_string(folder.join("loaded")).ok()?.parse().ok()
}
