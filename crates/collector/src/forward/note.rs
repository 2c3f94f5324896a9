//! What is kept of a domain that is forwarded: the position to which the other collector has it, and each live connection then.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::spool::segment::sync_folder;
use crate::status::Streams;

/// One domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) position: u64,
    /// Sequence numbers left out, by sender and stream.
    pub(super) gaps: Streams<String>,
    /// Connections and their states.
    pub(super) links: Vec<(u64, Vec<u8>)>,
}

const MAGIC: &[u8; 8] = b"twfwd\r\n\x02";
/// A note without gaps, of a collector before.
const OLD_MAGIC: &[u8; 8] = b"twfwd\r\n\x01";

/// The file of a domain; the names of domains are names of files.
pub(super) fn path_of(folder: &Path, domain: &str) -> PathBuf {
    folder.join(format!("{domain}.forward"))
}

impl Note {
    /// Reads a note; an empty one where there is none.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            bytes => bytes?,
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("{}: damaged", path.display()));
        Self::unpack(&bytes).ok_or_else(damaged)
    }

    /// Puts the note in place of the last; it survives a power cut.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&self.pack())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), sync_folder)
    }

    fn pack(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.position.to_le_bytes());
        // Strings for keys, and no value that refuses: this never fails.
        let gaps = serde_json::to_vec(&self.gaps).unwrap_or_default();
        bytes.extend_from_slice(&(gaps.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&gaps);
        for (id, state) in &self.links {
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
            bytes.extend_from_slice(state);
        }
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let (packed, checksum) = bytes.split_last_chunk()?;
        if crc32fast::hash(packed) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let old = packed.strip_prefix(OLD_MAGIC);
        let (position, mut rest) = old.or_else(|| packed.strip_prefix(MAGIC))?.split_first_chunk()?;
        let mut note = Self { position: u64::from_le_bytes(*position), ..Self::default() };
        if old.is_none() {
            let (gaps, after) = split_piece(rest)?;
            (note.gaps, rest) = (serde_json::from_slice(gaps).ok()?, after);
        }
        while !rest.is_empty() {
            let (id, after) = rest.split_first_chunk()?;
            let (state, after) = split_piece(after)?;
            note.links.push((u64::from_le_bytes(*id), state.to_vec()));
            rest = after;
        }
        Some(note)
    }
}

/// A piece with its length before it, and what follows.
fn split_piece(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Gap;

    #[test]
    fn a_note_is_read_back_and_no_damaged_one() {
        let gap = Gap { start: Some(1), last: 9, missing: 3 };
        let gaps = Streams::from([("s".to_owned(), [("m".to_owned(), gap)].into())]);
        let note = Note { position: 7, gaps, links: vec![(3, b"state".to_vec()), (9, Vec::new())] };
        let packed = note.pack();
        assert_eq!(Note::unpack(&packed), Some(note));
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 1;
            assert_eq!(Note::unpack(&damaged), None, "{at}");
        }
    }
    #[test]
    fn a_note_of_before_is_read() {
        let mut old =
            [OLD_MAGIC.as_slice(), &7_u64.to_le_bytes(), &3_u64.to_le_bytes(), &1_u64.to_le_bytes(), b"x"]
                .concat();
        old.extend_from_slice(&crc32fast::hash(&old).to_le_bytes());
        let expected = Note { position: 7, links: vec![(3, b"x".to_vec())], ..Note::default() };
        assert_eq!(Note::unpack(&old), Some(expected));
    }
}
