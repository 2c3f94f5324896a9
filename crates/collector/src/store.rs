//! What the loader asks of a store: of one that takes records as they are ([`Store`]), and of one that has tables
//! ([`Databases`], which [`super::tables`] makes a [`Store`]).

use std::fmt;
use std::time::Duration;

use trialwise_streams::protocol::{Field, Row, Schema};

use crate::counters::Counting;
use crate::reason::reason;
use crate::spool::record::Record;
use crate::status::{Gap, Streams};

/// Why something could not be stored now. It stays in the spool and is tried again.
#[derive(Debug)]
pub(crate) struct StoreError(pub(crate) String);

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<E: std::error::Error + 'static> From<E> for StoreError {
    fn from(error: E) -> Self {
        Self(reason(&error))
    }
}

/// Where the records of all domains go.
pub(crate) trait Store: Send + 'static {
    /// Takes the records of one domain.
    type Domain: Domain;

    /// Opens a domain for the records from `begin` on (there are no others that it lacks); connections that began before
    /// `epoch` are over.
    fn open(&mut self, name: &str, begin: u64, epoch: u64) -> Result<Self::Domain, StoreError>;
}

/// One domain, open. After an error it is dropped, and opened again later for everything that was not committed.
pub(crate) trait Domain {
    /// Everything before is loaded, committed or not.
    fn position(&self) -> u64;

    /// The first record that is loaded but not committed; nothing when all are.
    fn uncommitted(&self) -> Option<u64>;

    /// Loads the record that stands from `begin` to `end`.
    fn load(&mut self, record: &Record<'_>, begin: u64, end: u64) -> Result<(), StoreError>;

    /// Ends every connection that began before `position`, where a collector started.
    fn end_before(&mut self, position: u64) -> Result<(), StoreError>;

    /// Makes everything loaded last, together with the position behind it, and adds to `counting` what it was. A store may
    /// put that off for some seconds unless it is `urgent`.
    fn commit(&mut self, counting: &Counting, urgent: bool) -> Result<(), StoreError>;

    /// Whether nothing went on for so long, so that it may be closed.
    fn is_idle_for(&self, time: Duration) -> bool;

    /// Does what is due between records.
    fn tend(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes ready to be closed; false when that has to wait.
    fn rest(&mut self) -> bool {
        true
    }
}

/// Names a table of an open database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableId(pub(crate) usize);

/// What is said of a row besides its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The sender's number in `_senders`.
    pub(crate) sender: i64,
    /// The row's time stamp, in seconds after the domain's start.
    pub(crate) client_time: f64,
    /// When it arrived, likewise.
    pub(crate) server_time: f64,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// It is there now.
    New,
    /// It was there.
    Repeated,
}

/// How many rows were damaged in one way, or stored without some of their values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damaged<'a> {
    /// The sender's number.
    pub(crate) sender: i64,
    /// The stream, −1 where it could not be read.
    pub(crate) stream: i64,
    /// The kind's name.
    pub(crate) kind: &'a str,
    /// How many.
    pub(crate) rows: u64,
    /// The sequence number of the last, where one could be read.
    pub(crate) last_seq: Option<i64>,
}

/// A store with OML's tables, a database for each domain.
pub(crate) trait Databases: Send + 'static {
    /// One domain's.
    type Database: Database;

    /// Opens or makes the database of a domain.
    fn open(&mut self, domain: &str) -> Result<Self::Database, StoreError>;
}

/// An open database. Nothing of what it is told lasts before [`Self::commit`], then all of it.
pub(crate) trait Database {
    /// The position of the spool that the last commit gave.
    fn position(&self) -> Result<u64, StoreError>;

    /// The states of connections that were kept, by their numbers.
    fn connections(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError>;

    /// The gaps of senders, by their numbers, that were kept for the spool.
    fn gaps(&self) -> Result<Streams<i64>, StoreError>;

    /// Begins a transaction unless there is one.
    fn begin(&mut self) -> Result<(), StoreError>;

    /// The number of a sender, its first or the one that it has.
    fn sender(&mut self, name: &str) -> Result<i64, StoreError>;

    /// The start of the domain's time (UNIX seconds), set by the first client that says one.
    fn base(&mut self, start_time: Option<i64>, arrival: i64) -> Result<i64, StoreError>;

    /// The table of a stream: one of its name and fields (in any order), else a new one, numbered when the name is taken (OML.md section
    /// 8; but without end at 9). Nothing when the store cannot have such a table.
    fn table(&mut self, schema: &Schema) -> Result<Option<TableId>, StoreError>;

    /// The fields of a table, in the order of its columns.
    fn fields(&self, table: TableId) -> &[Field];

    /// Adds a row to a table, whose values are in the order of its columns.
    fn insert(&mut self, table: TableId, origin: Origin, row: &Row<'_>) -> Result<(), StoreError>;

    /// Adds a row of stream 0 unless the very same is there: OML's clients repeat them after a reconnect.
    fn insert_metadata(
        &mut self,
        table: TableId,
        origin: Origin,
        row: &Row<'_>,
    ) -> Result<Stored, StoreError>;

    /// Keeps the state of a connection, or forgets it.
    fn keep_connection(&mut self, id: u64, state: Option<&[u8]>) -> Result<(), StoreError>;

    /// Keeps the gaps of a stream of a sender.
    fn keep_gap(&mut self, sender: i64, stream: &str, gap: &Gap) -> Result<(), StoreError>;

    /// Adds to the counts of damaged rows.
    fn add_damaged(&mut self, damaged: Damaged<'_>) -> Result<(), StoreError>;

    /// Whether a commit is worth its price now; `quiet` when no connection lives.
    fn is_due(&self, _quiet: bool) -> bool {
        true
    }

    /// Does what is due between transactions.
    fn tend(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Leaves everything where others find it, before it is closed; false when that has to wait.
    fn rest(&mut self) -> bool {
        true
    }

    /// Makes everything since the last commit last, with the spool's position behind it.
    fn commit(&mut self, position: u64) -> Result<(), StoreError>;
}
