//! What an earlier run left: where it ends, and which sessions go on.

use std::fs::File;
use std::io;
use std::path::Path;

use super::record::Body;
use super::segment::{self, Next, SegmentReader};
use super::sessions::Sessions;

/// What is in a spool.
pub(super) struct Recovered {
    /// The position of the first record.
    pub(super) start: u64,
    /// The position behind the last good record.
    pub(super) end: u64,
    /// How far each session was received.
    pub(super) sessions: Sessions,
}

/// Reads the last segment and cuts what a crash left torn at its end. Only the last can be torn: a segment is begun
/// when the one before is on disk.
pub(super) fn recover(folder: &Path) -> io::Result<Recovered> {
    let mut starts = segment::list(folder)?;
    let first = starts.first().copied().unwrap_or(0);
    while let Some(start) = starts.pop() {
        let path = segment::path_of(folder, start);
        if let Some((end, sessions)) = scan(folder, start)? {
            let file = File::options().write(true).open(&path)?;
            file.set_len(end - start)?;
            file.sync_all()?;
            return Ok(Recovered { start: first, end, sessions });
        }
        // Begun, but nothing of it was brought to disk: so nothing of it was acknowledged.
        std::fs::remove_file(&path)?;
        segment::sync_folder(folder)?;
        if starts.is_empty() {
            return Ok(Recovered { start, end: start, sessions: Sessions::default() });
        }
    }
    Ok(Recovered { start: 0, end: 0, sessions: Sessions::default() })
}

/// The end of a segment's good records, and the sessions then; nothing when it does not begin with sessions.
fn scan(folder: &Path, start: u64) -> io::Result<Option<(u64, Sessions)>> {
    let mut reader = SegmentReader::open(folder, start, start)?;
    let Next::Record(first, mut end) = reader.next(u64::MAX)? else { return Ok(None) };
    let Body::Sessions(packed) = first.body else { return Ok(None) };
    let Some(mut sessions) = Sessions::unpack(packed) else { return Ok(None) };
    while let Next::Record(record, behind) = reader.next(u64::MAX)? {
        match record.body {
            Body::Frame { session, number, .. } => sessions.note(session, number, record.time, record.domain),
            Body::Bye(session) => sessions.remove(&session),
            _ => {}
        }
        end = behind;
    }
    Ok(Some((end, sessions)))
}
