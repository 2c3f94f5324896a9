//! SQLite: one file for each domain, with OML's tables (OML.md section 8).
//!
//! Values are as OML stores them, but exact: unsigned numbers keep their sign, and what is beyond 2^63 − 1 stands as the text
//! `0x` and 16 hexadecimal digits (greater than every number, and in order). NaN is NULL, as SQLite has no NaN;
//! infinities are infinities; a guid of 0 is NULL. Tables of our own begin with `_trialwise_`.

mod database;
mod statement;
mod table;
mod text;

use std::io;
use std::path::PathBuf;

use crate::store::{Databases, StoreError};
use database::SqliteDatabase;

/// A folder of databases.
pub(crate) struct Sqlite {
    folder: PathBuf,
    spool: String,
}

impl Sqlite {
    /// Makes the folder where there is none; rows come from the spool of that name.
    pub(crate) fn new(folder: PathBuf, spool: &str) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder, spool: spool.to_owned() })
    }
}

impl Databases for Sqlite {
    type Database = SqliteDatabase;

    fn open(&mut self, domain: &str) -> Result<SqliteDatabase, StoreError> {
        Ok(SqliteDatabase::open(&self.folder.join(format!("{domain}.sq3")), &self.spool)?)
    }
}
