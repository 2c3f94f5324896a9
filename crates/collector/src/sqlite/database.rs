//! The database of one domain.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Error, ErrorCode, OptionalExtension, params};
use trialwise_streams::protocol::{Field, METADATA_NAME, Row, Schema, Value};

use super::statement::Statement;
use super::table::{self, Table};
use crate::catalog::{are_same, table_name};
use crate::status::{Gap, Streams};
use crate::store::{Damaged, Database, Origin, StoreError, Stored, TableId};

/// Pages of the write-ahead log after which it is moved to the database.
const CHECKPOINT: u32 = 4000;
/// What is committed stays in the log alone for so long.
const IN_THE_LOG: Duration = Duration::from_millis(500);
/// Another process may hold the database for so long (milliseconds); then it is put off, so that the others need not wait.
const BUSY: u32 = 250;

const OWN_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS _trialwise_spool (spool TEXT PRIMARY KEY, position INTEGER);
    CREATE TABLE IF NOT EXISTS _trialwise_connections (spool TEXT, id INTEGER, state BLOB, PRIMARY KEY (spool, id));
    CREATE TABLE IF NOT EXISTS _trialwise_damaged (oml_sender_id INTEGER, stream INTEGER, kind TEXT, rows INTEGER,
        last_seq INTEGER, PRIMARY KEY (oml_sender_id, stream, kind));
    CREATE TABLE IF NOT EXISTS _trialwise_gaps (spool TEXT, oml_sender_id INTEGER, stream TEXT, start_time INTEGER,
        last_seq INTEGER, missing INTEGER, PRIMARY KEY (spool, oml_sender_id, stream));
    CREATE INDEX IF NOT EXISTS _trialwise_metadata ON _experiment_metadata (oml_sender_id, oml_seq);";

/// An open database.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    // Statements go before their connection.
    known_metadata: Statement,
    tables: Vec<Table>,
    connection: Connection,
    path: PathBuf,
    /// By name in lower case; nothing where a name is taken by no table of ours.
    names: HashMap<String, Option<usize>>,
    /// The start of the domain's time: UNIX seconds.
    base: Option<i64>,
    spool: String,
    scratch: String,
    in_transaction: bool,
    /// What was committed is in the write-ahead log alone, perhaps.
    logged: bool,
    /// When the log was last moved to the file.
    moved: Instant,
}

impl SqliteDatabase {
    /// Opens or makes the database for rows from the spool of that name.
    pub(crate) fn open(path: &Path, spool: &str) -> Result<Self, Error> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_millis(BUSY.into()))?;
        connection.execute_batch(&format!(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16000; PRAGMA wal_autocheckpoint={CHECKPOINT};"
        ))?;
        connection.execute_batch("BEGIN IMMEDIATE;")?;
        let mut names = read_names(&connection)?;
        if !names.contains_key(METADATA_NAME) {
            create_first(&connection)?;
            names.insert(METADATA_NAME.to_owned(), None);
        }
        connection.execute_batch(OWN_TABLES)?;
        connection.execute_batch("COMMIT;")?;
        let known = "SELECT 1 FROM _experiment_metadata WHERE oml_sender_id = ? AND oml_seq = ? AND oml_ts_client = ? \
                     AND subject = ? AND key = ? AND value = ?;";
        // SAFETY: the struct drops its statements before its connection.
        let known_metadata = unsafe { Statement::prepare(&connection, known)? };
        let mut database = Self {
            known_metadata,
            tables: Vec::new(),
            connection,
            path: path.to_owned(),
            names,
            base: None,
            spool: spool.to_owned(),
            scratch: String::new(),
            in_transaction: false,
            logged: true,
            moved: Instant::now(),
        };
        database.read_tables()?;
        Ok(database)
    }

    /// Learns what the server-made metadata says.
    fn read_tables(&mut self) -> Result<(), Error> {
        for (key, value) in self.read_own_metadata()? {
            if key == "start_time" {
                self.base = self.base.or(value.parse().ok());
            } else if let (Some(name), Ok(schema)) = (key.strip_prefix("table_"), value.parse::<Schema>()) {
                let key = name.to_ascii_lowercase();
                if self.names.contains_key(&key) {
                    self.names.insert(key, Some(self.tables.len()));
                    self.tables.push(Table { name: name.to_owned(), fields: schema.fields, insert: None });
                }
            }
        }
        Ok(())
    }

    fn read_own_metadata(&self) -> Result<Vec<(String, String)>, Error> {
        let sql = "SELECT key, value FROM _experiment_metadata WHERE subject IS NULL ORDER BY oml_tuple_id";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    fn write_own_metadata(&self, key: &str, value: &str) -> Result<(), Error> {
        let sql = "INSERT INTO _experiment_metadata (key, value) VALUES (?, ?)";
        self.connection.execute(sql, [key, value])?;
        Ok(())
    }

    /// Moves the log to the file as far as no reader holds it; whether all of it.
    fn move_log(&self) -> Result<bool, Error> {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        self.connection.query_row(sql, [], |row| Ok(row.get::<_, i64>(1)? == row.get::<_, i64>(2)?))
    }

    /// Goes back to a rollback journal, which leaves nothing beside the file; false while others use it.
    fn leave_log(&self) -> Result<bool, Error> {
        let mode = self.connection.query_row("PRAGMA journal_mode=DELETE", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) => Ok(mode == "delete"),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn holds(&self, index: usize, name: &str, schema: &Schema) -> bool {
        self.tables[index].name == name && are_same(&self.tables[index].fields, &schema.fields)
    }

    fn create_table(&mut self, schema: &Schema, name: String) -> Result<TableId, Error> {
        self.connection.execute_batch(&table::create(&name, &schema.fields))?;
        let named = Schema { name, ..schema.clone() };
        self.write_own_metadata(&format!("table_{}", named.name), &named.to_string())?;
        let index = self.tables.len();
        self.names.insert(named.name.to_ascii_lowercase(), Some(index));
        self.tables.push(Table { name: named.name, fields: named.fields, insert: None });
        Ok(TableId(index))
    }
}

impl Database for SqliteDatabase {
    fn position(&self) -> Result<u64, StoreError> {
        let sql = "SELECT position FROM _trialwise_spool WHERE spool = ?";
        let found: Option<i64> =
            self.connection.query_row(sql, [&self.spool], |row| row.get(0)).optional()?;
        Ok(found.map_or(0, i64::cast_unsigned))
    }

    fn connections(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let sql = "SELECT id, state FROM _trialwise_connections WHERE spool = ? ORDER BY id";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement
            .query_map([&self.spool], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))?;
        Ok(rows.collect::<Result<_, Error>>()?)
    }

    fn gaps(&self) -> Result<Streams<i64>, StoreError> {
        let sql = "SELECT oml_sender_id, stream, start_time, last_seq, missing FROM _trialwise_gaps WHERE spool = ?";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([&self.spool])?;
        let mut gaps = Streams::<i64>::new();
        while let Some(row) = rows.next()? {
            let missing = row.get::<_, i64>(4)?.cast_unsigned();
            let gap = Gap { start: row.get(2)?, last: row.get(3)?, missing };
            gaps.entry(row.get(0)?).or_default().insert(row.get(1)?, gap);
        }
        Ok(gaps)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if !self.in_transaction {
            self.connection.execute_batch("BEGIN IMMEDIATE;")?;
            self.in_transaction = true;
        }
        Ok(())
    }

    fn sender(&mut self, name: &str) -> Result<i64, StoreError> {
        let known =
            self.connection.query_row("SELECT id FROM _senders WHERE name = ?", [name], |row| row.get(0));
        if let Some(id) = known.optional()? {
            return Ok(id);
        }
        let sql = "INSERT INTO _senders SELECT ?, coalesce(max(id), 0) + 1 FROM _senders RETURNING id";
        Ok(self.connection.query_row(sql, [name], |row| row.get(0))?)
    }

    fn base(&mut self, start_time: Option<i64>, arrival: i64) -> Result<i64, StoreError> {
        if let Some(base) = self.base {
            return Ok(base);
        }
        let base = start_time.unwrap_or(arrival);
        self.write_own_metadata("start_time", &base.to_string())?;
        self.base = Some(base);
        Ok(base)
    }

    fn table(&mut self, schema: &Schema) -> Result<Option<TableId>, StoreError> {
        if !table::fits(schema) {
            return Ok(None);
        }
        for number in 1_u64.. {
            let name = table_name(&schema.name, number);
            match self.names.get(&name.to_ascii_lowercase()) {
                None => return Ok(Some(self.create_table(schema, name)?)),
                Some(&Some(index)) if self.holds(index, &name, schema) => return Ok(Some(TableId(index))),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    fn fields(&self, table: TableId) -> &[Field] {
        &self.tables[table.0].fields
    }

    fn insert(&mut self, table: TableId, origin: Origin, row: &Row<'_>) -> Result<(), StoreError> {
        let table = &mut self.tables[table.0];
        let statement = match &mut table.insert {
            Some(statement) => statement,
            none => {
                let sql = table::insert(&table.name, &table.fields);
                // SAFETY: the struct drops its tables before its connection.
                none.insert(unsafe { Statement::prepare(&self.connection, &sql)? })
            }
        };
        table::bind(statement, origin, row, &mut self.scratch);
        statement.execute()?;
        Ok(())
    }

    fn insert_metadata(
        &mut self,
        table: TableId,
        origin: Origin,
        row: &Row<'_>,
    ) -> Result<Stored, StoreError> {
        let known = &mut self.known_metadata;
        known.bind_integer(1, origin.sender);
        known.bind_integer(2, row.seq);
        known.bind_double(3, origin.client_time);
        for (index, value) in (4..).zip(row.values()) {
            if let Value::String(text) = value {
                known.bind_text(index, text);
            }
        }
        if known.execute()? {
            return Ok(Stored::Repeated);
        }
        self.insert(table, origin, row).map(|()| Stored::New)
    }

    fn keep_connection(&mut self, id: u64, state: Option<&[u8]>) -> Result<(), StoreError> {
        let id = id.cast_signed();
        match state {
            Some(state) => {
                let sql = "INSERT INTO _trialwise_connections VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state";
                self.connection.prepare_cached(sql)?.execute(params![self.spool, id, state])?;
            }
            None => {
                let sql = "DELETE FROM _trialwise_connections WHERE spool = ? AND id = ?";
                self.connection.prepare_cached(sql)?.execute(params![self.spool, id])?;
            }
        }
        Ok(())
    }

    fn keep_gap(&mut self, sender: i64, stream: &str, gap: &Gap) -> Result<(), StoreError> {
        let sql = "INSERT INTO _trialwise_gaps VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
                   start_time = excluded.start_time, last_seq = excluded.last_seq, missing = excluded.missing";
        let values = params![self.spool, sender, stream, gap.start, gap.last, gap.missing_signed()];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn add_damaged(&mut self, damaged: Damaged<'_>) -> Result<(), StoreError> {
        let sql = "INSERT INTO _trialwise_damaged VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
                   rows = rows + excluded.rows, last_seq = coalesce(excluded.last_seq, last_seq)";
        let Damaged { sender, stream, kind, rows, last_seq } = damaged;
        let rows = rows.cast_signed();
        self.connection.prepare_cached(sql)?.execute(params![sender, stream, kind, rows, last_seq])?;
        Ok(())
    }

    fn commit(&mut self, position: u64) -> Result<(), StoreError> {
        if !self.path.exists() {
            return Err(Error::InvalidPath(self.path.clone()).into()); // what is written to a deleted file is lost
        }
        self.begin()?;
        let sql = "INSERT INTO _trialwise_spool VALUES (?, ?) ON CONFLICT DO UPDATE SET position = excluded.position";
        self.connection.prepare_cached(sql)?.execute(params![self.spool, position.cast_signed()])?;
        self.connection.execute_batch("COMMIT;")?;
        (self.in_transaction, self.logged) = (false, true);
        self.tend()
    }

    /// People copy the file alone: what is committed comes into it soon.
    fn tend(&mut self) -> Result<(), StoreError> {
        if self.logged && !self.in_transaction && self.moved.elapsed() >= IN_THE_LOG {
            self.moved = Instant::now();
            self.logged = !self.move_log()?;
        }
        Ok(())
    }

    /// Others may read a file with a write-ahead log only where they may write beside it.
    fn rest(&mut self) -> bool {
        !self.in_transaction && self.leave_log().unwrap_or(true) // a file that is gone or damaged is left
    }
}

impl Drop for SqliteDatabase {
    fn drop(&mut self) {
        self.rest();
    }
}

/// Every name that the database has, in lower case.
fn read_names(connection: &Connection) -> Result<HashMap<String, Option<usize>>, Error> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_master")?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut names: HashMap<_, _> =
        names.map(|name| Ok((name?.to_ascii_lowercase(), None))).collect::<Result<_, Error>>()?;
    names.entry("_senders".to_owned()).or_insert(None);
    Ok(names)
}

/// What the real server puts in a new database.
fn create_first(connection: &Connection) -> Result<(), Error> {
    let metadata = Schema::metadata();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS _senders (name TEXT PRIMARY KEY, id INTEGER UNIQUE);")?;
    connection.execute_batch(&table::create(METADATA_NAME, &metadata.fields))?;
    let sql = "INSERT INTO _experiment_metadata (key, value) VALUES (?, ?)";
    connection.execute(sql, [&format!("table_{METADATA_NAME}"), &metadata.to_string()])?;
    Ok(())
}
