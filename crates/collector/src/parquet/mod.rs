//! Parquet: a folder for each domain, in it one for each table, in it parts (`docs/reference/collector-stores.md`).

mod columns;
mod database;
mod file;
mod layout;
mod manifest;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::counters::Counting;
use crate::store::{Databases, StoreError};
use database::ParquetDatabase;

/// A folder of domains.
pub(crate) struct Parquet {
    folder: PathBuf,
    spool: String,
    counting: Arc<Counting>,
}

impl Parquet {
    /// Makes the folder where there is none; rows come from the spool of that name.
    pub(crate) fn new(folder: PathBuf, spool: &str, counting: Arc<Counting>) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder, spool: spool.to_owned(), counting })
    }
}

impl Databases for Parquet {
    type Database = ParquetDatabase;

    fn open(&mut self, domain: &str) -> Result<ParquetDatabase, StoreError> {
        ParquetDatabase::open(self.folder.join(domain), &self.spool, Arc::clone(&self.counting))
    }
}
