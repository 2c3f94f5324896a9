//! The manifest of a domain: what its parts are, how far of the spool they hold, and what must go on after a crash.
//!
//! A commit writes every new part beside its place, brings it to disk, and then replaces the manifest by one that names these
//! parts: from then on they are committed. Then each is renamed to its place; what a crash leaves of that is done at the
//! next opening.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::status::Streams;
use crate::store::StoreError;

const NAME: &str = ".manifest.json";
const VERSION: u32 = 1;
/// What a part's name ends with until it is committed.
const NEW: &str = ".new";

/// The manifest, as it stands in its file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    version: u32,
    /// The start of the domain's time: UNIX seconds.
    pub(super) start_time: Option<i64>,
    /// By number, from 1.
    pub(super) senders: Vec<String>,
    pub(super) tables: Vec<TableEntry>,
    pub(super) damaged: Vec<DamagedEntry>,
    /// By the name of the spool.
    pub(super) spools: BTreeMap<String, SpoolEntry>,
    /// Parts that are committed, but perhaps not at their place: folder and name.
    pub(super) pending: Vec<(String, String)>,
}

/// One table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableEntry {
    pub(super) schema: String,
    /// The number of the part that grows.
    pub(super) part: u64,
    /// The rows in it.
    pub(super) rows: u64,
    /// Whether there is a part at all: a table without rows has one too, so that readers find its columns.
    pub(super) made: bool,
}

/// Damaged rows of one kind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DamagedEntry {
    pub(super) sender: i64,
    pub(super) stream: i64,
    pub(super) kind: String,
    pub(super) rows: u64,
    pub(super) last_seq: Option<i64>,
}

/// How far a spool is loaded.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SpoolEntry {
    pub(super) position: u64,
    /// The states of live connections, in base64.
    pub(super) connections: BTreeMap<u64, String>,
    /// Sequence numbers left out, by sender and stream.
    #[serde(default)]
    pub(super) gaps: Streams<i64>,
}

/// The name of a table's part.
pub(super) fn part_name(number: u64) -> String {
    format!("part-{number:06}.parquet")
}

/// Where a part is written before it is committed.
pub(super) fn new_path(folder: &Path, table: &str, part: &str) -> PathBuf {
    folder.join(table).join(format!(".{part}{NEW}"))
}

impl Manifest {
    /// Reads the manifest of a domain's folder and brings everything to the state that it names; nothing in a new folder.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, StoreError> {
        let text = match fs::read(folder.join(NAME)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                remove_uncommitted(folder, &[])?;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut manifest: Self = serde_json::from_slice(&text)?;
        if manifest.version != VERSION {
            return Err(StoreError(format!(
                "{} is of version {}, this collector writes {VERSION}; use the collector that wrote it, or another folder",
                folder.join(NAME).display(),
                manifest.version
            )));
        }
        remove_uncommitted(folder, &manifest.pending)?;
        manifest.place_pending(folder)?;
        // Written anew: after a failed sync nobody knows whether the file just read is on disk.
        manifest.save(folder)?;
        Ok(Some(manifest))
    }

    /// Replaces the file: the moment of a commit.
    pub(super) fn save(&mut self, folder: &Path) -> Result<(), StoreError> {
        self.version = VERSION;
        let new = folder.join(format!("{NAME}{NEW}"));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(new, folder.join(NAME))?;
        sync_folder(folder)?;
        Ok(())
    }

    /// Brings committed parts to their places, where readers find them.
    pub(super) fn place_pending(&mut self, folder: &Path) -> io::Result<()> {
        for (table, part) in &self.pending {
            match fs::rename(new_path(folder, table, part), folder.join(table).join(part)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => sync_folder(&folder.join(table))?, // what is not there was renamed before
            }
        }
        self.pending.clear();
        Ok(())
    }
}

/// Removes parts that were written but not committed.
fn remove_uncommitted(folder: &Path, pending: &[(String, String)]) -> io::Result<()> {
    for table in fs::read_dir(folder)? {
        let table = table?;
        if !table.file_type()?.is_dir() {
            continue;
        }
        for part in fs::read_dir(table.path())? {
            let part = part?;
            let committed = pending.iter().any(|(table, name)| new_path(folder, table, name) == part.path());
            if !committed && part.file_name().to_string_lossy().ends_with(NEW) {
                fs::remove_file(part.path())?;
            }
        }
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
