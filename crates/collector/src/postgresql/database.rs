//! One domain's schema. What is to be committed waits in memory, as COPY takes it, and goes in one transaction.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::SinkExt;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Transaction};
use trialwise_streams::protocol::{Field, Row, Schema, Value};

use super::encode::{END, HEAD, begin_row, write_null, write_value};
use super::gaps;
use super::names::{companions, copy, create, fit, fits, schema_name, table};
use super::server::Server;
use crate::catalog::{Catalog, Found, table_metadata};
use crate::counters::{Counting, count};
use crate::status::{Gap, Streams};
use crate::store::{Damaged, Database, Origin, StoreError, Stored, TableId};
use crate::values::{is_text_without_nul, metadata_texts, replaced, replacements};

/// Bytes that COPY is given at a time.
const PIECE: usize = 1 << 20;
/// Another transaction may hold a domain for so long; then it is put off.
const LOCKED: &str = "SET LOCAL lock_timeout = '1s'";

/// An open domain.
pub(crate) struct PostgreSqlDatabase {
    server: Arc<Mutex<Server>>,
    counting: Arc<Counting>,
    catalog: Catalog,
    connections: Vec<(u64, Vec<u8>)>,
    gaps: Streams<i64>,
    /// The position in the database.
    position: u64,
    batch: Batch,
}

/// What the next commit brings.
struct Batch {
    schema: String,
    spool: String,
    senders: Vec<(String, i64)>,
    tables: Vec<Schema>,
    /// How many of them the database has.
    made: usize,
    /// The data of a COPY for each table; empty where there is no row.
    rows: Vec<Vec<u8>>,
    kept: BTreeMap<u64, Option<Vec<u8>>>,
    damaged: Vec<(i64, i64, String, i64, Option<i64>)>,
    gaps: gaps::Waiting,
    replaced: u64,
}

impl PostgreSqlDatabase {
    /// Opens or makes the schema of a domain for rows from the spool of that name.
    pub(super) fn open(
        server: &Arc<Mutex<Server>>,
        domain: &str,
        spool: &str,
        counting: Arc<Counting>,
    ) -> Result<Self, StoreError> {
        let catalog = Catalog::new();
        let batch = Batch {
            schema: schema_name(domain),
            spool: spool.to_owned(),
            senders: Vec::new(),
            made: 0,
            tables: Vec::new(),
            rows: Vec::new(),
            kept: BTreeMap::new(),
            damaged: Vec::new(),
            gaps: gaps::Waiting::new(),
            replaced: 0,
        };
        let server = Arc::clone(server);
        let (connections, gaps) = (Vec::new(), Streams::new());
        let mut database = Self { server, counting, catalog, connections, gaps, position: 0, batch };
        let server = Arc::clone(&database.server);
        lock(&server).run(async |client| database.read(client).await)?;
        Ok(database)
    }

    /// Makes what is missing and learns what is there.
    async fn read(&mut self, client: &mut Client) -> Result<(), StoreError> {
        let transaction = client.transaction().await?;
        let schema = self.batch.schema.clone();
        make_schema(&transaction, &schema, &self.catalog.tables).await?;
        let sql = format!(
            "INSERT INTO {} VALUES ($1, 0) ON CONFLICT DO NOTHING",
            table(&schema, "_trialwise_spool")
        );
        transaction.execute(&sql, &[&self.batch.spool]).await?;
        self.read_catalog(&transaction).await?;
        let sql = format!("SELECT position FROM {} WHERE spool = $1", table(&schema, "_trialwise_spool"));
        let position: i64 = transaction.query_one(&sql, &[&self.batch.spool]).await?.try_get(0)?;
        self.position = position.cast_unsigned();
        let sql = format!(
            "SELECT id, state FROM {} WHERE spool = $1 ORDER BY id",
            table(&schema, "_trialwise_connections")
        );
        for row in transaction.query(&sql, &[&self.batch.spool]).await? {
            self.connections.push((row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get(1)?));
        }
        self.gaps = gaps::read(&transaction, &schema, &self.batch.spool).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn read_catalog(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let schema = &self.batch.schema;
        let sql = format!("SELECT name, id FROM {} ORDER BY id", table(schema, "_senders"));
        for row in transaction.query(&sql, &[]).await? {
            self.catalog.add_sender(row.try_get(0)?, row.try_get::<_, i32>(1)?.into());
        }
        let sql = "SELECT relname::text FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)";
        let present = transaction.query(sql, &[schema]).await?;
        let present = present.iter().map(|row| row.try_get(0)).collect::<Result<HashSet<String>, _>>()?;
        let metadata = table(schema, "_experiment_metadata");
        let sql = format!("SELECT key, value FROM {metadata} WHERE subject IS NULL ORDER BY oml_tuple_id");
        let own = transaction.query(&sql, &[]).await?;
        for row in &own {
            let (key, value): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            if key == "start_time" {
                self.catalog.base = self.catalog.base.or(value.parse().ok());
            } else if let (true, Ok(known)) = (key.starts_with("table_"), value.parse::<Schema>())
                && present.contains(&fit(&known.name))
            {
                self.catalog.add_table(known);
            }
        }
        let sql = format!(
            "SELECT oml_sender_id, oml_seq, oml_ts_client, subject, key, value FROM {metadata} WHERE subject IS NOT NULL"
        );
        for row in transaction.query(&sql, &[]).await? {
            let (sender, seq, time): (i32, i64, f64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let text = |index| row.try_get::<_, &str>(index).map(str::as_bytes);
            self.catalog.note_metadata(sender.into(), seq, time, [text(3)?, text(4)?, text(5)?]);
        }
        present.iter().for_each(|name| self.catalog.reserve(name));
        self.batch.tables.clone_from(&self.catalog.tables);
        self.batch.made = self.batch.tables.len();
        self.batch.rows.resize_with(self.batch.made, Vec::new);
        if own.is_empty() {
            let (key, value) = table_metadata(&Schema::metadata());
            self.write_own_metadata(&key, &value);
        }
        Ok(())
    }

    fn write_own_metadata(&mut self, key: &str, value: &str) {
        let out = begin(&mut self.batch.rows[Catalog::METADATA.0]);
        begin_row(7, out);
        (0..5).for_each(|_| write_null(out));
        write_value(Value::from(key), out);
        write_value(Value::from(value), out);
    }

    /// Keeps the bytes of the strings that were replaced.
    fn keep_bytes(
        &mut self,
        id: TableId,
        origin: Origin,
        row: &Row<'_>,
        fields: impl Iterator<Item = usize>,
    ) {
        let name = &self.batch.tables[id.0].name;
        let out = begin(&mut self.batch.rows[Catalog::BYTES.0]);
        for field in fields {
            let (Some(Value::String(bytes)), Some(named)) = (row.get(field), row.schema.fields.get(field))
            else {
                continue;
            };
            let values = [Value::from(name.as_str()), Value::from(named.name.as_str()), Value::Blob(bytes)];
            write_row(origin, row.seq, values.into_iter(), out);
            self.batch.replaced += 1;
        }
    }
}

fn lock(server: &Mutex<Server>) -> MutexGuard<'_, Server> {
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The data of a COPY, begun.
fn begin(rows: &mut Vec<u8>) -> &mut Vec<u8> {
    if rows.is_empty() {
        rows.extend_from_slice(HEAD);
    }
    rows
}

fn write_row<'a>(
    origin: Origin,
    seq: i64,
    values: impl ExactSizeIterator<Item = Value<'a>>,
    out: &mut Vec<u8>,
) {
    begin_row(4 + values.len(), out);
    write_value(Value::Int32(i32::try_from(origin.sender).unwrap_or(i32::MAX)), out);
    write_value(Value::Int64(seq), out);
    write_value(Value::Double(origin.client_time), out);
    write_value(Value::Double(origin.server_time), out);
    values.for_each(|value| write_value(value, out));
}

/// Makes the schema and its own tables unless they are there.
async fn make_schema(transaction: &Transaction<'_>, schema: &str, own: &[Schema]) -> Result<(), StoreError> {
    let sql = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if transaction.query_opt(sql, &[&schema]).await?.is_none() {
        let made = transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await;
        made.map_err(|error| without_right(error, schema))?;
    }
    let present = |name: &str| table(schema, name);
    let mut sql = format!(
        "SET LOCAL client_min_messages = warning;
         CREATE TABLE IF NOT EXISTS {} (name TEXT PRIMARY KEY, id INT4 UNIQUE);
         CREATE TABLE IF NOT EXISTS {} (spool TEXT PRIMARY KEY, position INT8);
         CREATE TABLE IF NOT EXISTS {} (spool TEXT, id INT8, state BYTEA, PRIMARY KEY (spool, id));
         CREATE TABLE IF NOT EXISTS {} (oml_sender_id INT4, stream INT8, kind TEXT, rows INT8, last_seq INT8,
             PRIMARY KEY (oml_sender_id, stream, kind));",
        present("_senders"),
        present("_trialwise_spool"),
        present("_trialwise_connections"),
        present("_trialwise_damaged")
    );
    sql += &gaps::create(schema);
    for own in own {
        sql += &create(&format!("IF NOT EXISTS {}", present(&own.name)), own);
        sql += ";";
    }
    transaction.batch_execute(&sql).await.map_err(|error| without_right(error, schema))
}

/// Says what would help where the user may not make something.
fn without_right(error: tokio_postgres::Error, schema: &str) -> StoreError {
    let refused = error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
    let StoreError(text) = StoreError::from(error);
    let advice = if refused {
        format!(
            "; grant it (GRANT CREATE ON DATABASE …), or have it made: CREATE SCHEMA \"{schema}\" AUTHORIZATION the collector's user"
        )
    } else {
        String::new()
    };
    StoreError(format!("{text}{advice}"))
}

impl Batch {
    /// One transaction with everything, from position `from` of the spool to `to`.
    async fn bring(&mut self, client: &mut Client, from: u64, to: u64) -> Result<(), StoreError> {
        let transaction = client.transaction().await?;
        transaction.batch_execute(LOCKED).await?;
        self.hold_position(&transaction, from).await?;
        for schema in &self.tables[self.made..] {
            transaction.batch_execute(&create(&table(&self.schema, &schema.name), schema)).await?;
        }
        self.write_senders(&transaction).await?;
        for (schema, rows) in self.tables.iter().zip(&mut self.rows).filter(|(_, rows)| !rows.is_empty()) {
            let sql = copy(&table(&self.schema, &schema.name), schema);
            copy_rows(&transaction, &sql, std::mem::take(rows)).await?;
        }
        self.write_connections(&transaction).await?;
        self.write_damaged(&transaction).await?;
        gaps::write(&transaction, &self.schema, &self.spool, &self.gaps).await?;
        let sql =
            format!("UPDATE {} SET position = $2 WHERE spool = $1", table(&self.schema, "_trialwise_spool"));
        transaction.execute(&sql, &[&self.spool, &to.cast_signed()]).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Takes the lock on the position before anything else. The transaction of a connection that was lost may still go
    /// on at the server: it holds the lock, and when it has committed, the position is another.
    async fn hold_position(&self, transaction: &Transaction<'_>, from: u64) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT position FROM {} WHERE spool = $1 FOR UPDATE",
            table(&self.schema, "_trialwise_spool")
        );
        let row = transaction.query_opt(&sql, &[&self.spool]).await?;
        let found = row.map(|row| row.try_get::<_, i64>(0)).transpose()?;
        if found.map(i64::cast_unsigned) == Some(from) {
            return Ok(());
        }
        Err(StoreError(format!("schema {:?} has changed since it was opened", self.schema)))
    }

    async fn write_senders(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let sql = format!("INSERT INTO {} VALUES ($1, $2)", table(&self.schema, "_senders"));
        for (name, id) in &self.senders {
            transaction.execute(&sql, &[name, &i32::try_from(*id)?]).await?;
        }
        Ok(())
    }

    async fn write_connections(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let place = table(&self.schema, "_trialwise_connections");
        let ids: Vec<i64> = self.kept.keys().map(|id| id.cast_signed()).collect();
        let sql = format!("DELETE FROM {place} WHERE spool = $1 AND id = ANY($2)");
        transaction.execute(&sql, &[&self.spool, &ids]).await?;
        let live = self.kept.iter().filter_map(|(id, state)| Some((id.cast_signed(), state.as_deref()?)));
        let (ids, states): (Vec<i64>, Vec<&[u8]>) = live.unzip();
        let sql = format!("INSERT INTO {place} SELECT $1, * FROM unnest($2::int8[], $3::bytea[])");
        transaction.execute(&sql, &[&self.spool, &ids, &states]).await?;
        Ok(())
    }

    async fn write_damaged(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let sql = format!(
            "INSERT INTO {} AS known VALUES ($1, $2, $3, $4, $5) ON CONFLICT (oml_sender_id, stream, kind) DO UPDATE \
             SET rows = known.rows + excluded.rows, last_seq = coalesce(excluded.last_seq, known.last_seq)",
            table(&self.schema, "_trialwise_damaged")
        );
        for (sender, stream, kind, rows, last_seq) in &self.damaged {
            transaction.execute(&sql, &[&i32::try_from(*sender)?, stream, kind, rows, last_seq]).await?;
        }
        Ok(())
    }
}

async fn copy_rows(transaction: &Transaction<'_>, sql: &str, mut rows: Vec<u8>) -> Result<(), StoreError> {
    rows.extend_from_slice(END);
    let mut sink = pin!(transaction.copy_in::<_, Bytes>(sql).await?);
    let mut rows = Bytes::from(rows);
    while !rows.is_empty() {
        sink.send(rows.split_to(rows.len().min(PIECE))).await?;
    }
    sink.finish().await?;
    Ok(())
}

impl Database for PostgreSqlDatabase {
    fn position(&self) -> Result<u64, StoreError> {
        Ok(self.position)
    }

    fn connections(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(self.connections.clone())
    }

    fn gaps(&self) -> Result<Streams<i64>, StoreError> {
        Ok(self.gaps.clone())
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn sender(&mut self, name: &str) -> Result<i64, StoreError> {
        let name = name.replace('\0', "\u{fffd}");
        Ok(match self.catalog.sender(&name) {
            Found::Known(id) => id,
            Found::New(id) => {
                self.batch.senders.push((name, id));
                id
            }
        })
    }

    fn base(&mut self, start_time: Option<i64>, arrival: i64) -> Result<i64, StoreError> {
        if let Some(base) = self.catalog.base {
            return Ok(base);
        }
        let base = start_time.unwrap_or(arrival);
        self.catalog.base = Some(base);
        self.write_own_metadata("start_time", &base.to_string());
        Ok(base)
    }

    fn table(&mut self, schema: &Schema) -> Result<Option<TableId>, StoreError> {
        if !fits(schema) {
            return Ok(None);
        }
        Ok(Some(match self.catalog.table(schema) {
            Found::Known(id) => id,
            Found::New(id) => {
                let named = self.catalog.tables[id.0].clone();
                companions(&named.name).iter().for_each(|name| self.catalog.reserve(name));
                let (key, value) = table_metadata(&named);
                self.batch.tables.push(named);
                self.batch.rows.push(Vec::new());
                self.write_own_metadata(&key, &value);
                id
            }
        }))
    }

    fn fields(&self, table: TableId) -> &[Field] {
        &self.catalog.tables[table.0].fields
    }

    fn insert(&mut self, id: TableId, origin: Origin, row: &Row<'_>) -> Result<(), StoreError> {
        let texts = replacements(row, is_text_without_nul);
        let out = begin(&mut self.batch.rows[id.0]);
        if texts.is_empty() {
            write_row(origin, row.seq, row.values(), out);
        } else {
            write_row(origin, row.seq, replaced(row, &texts), out);
            self.keep_bytes(id, origin, row, texts.into_keys());
        }
        Ok(())
    }

    fn insert_metadata(&mut self, id: TableId, origin: Origin, row: &Row<'_>) -> Result<Stored, StoreError> {
        let texts = replacements(row, is_text_without_nul);
        let present = metadata_texts(replaced(row, &texts));
        if !self.catalog.note_metadata(origin.sender, row.seq, origin.client_time, present) {
            return Ok(Stored::Repeated);
        }
        self.insert(id, origin, row).map(|()| Stored::New)
    }

    fn keep_connection(&mut self, id: u64, state: Option<&[u8]>) -> Result<(), StoreError> {
        self.batch.kept.insert(id, state.map(<[u8]>::to_vec));
        Ok(())
    }

    fn keep_gap(&mut self, sender: i64, stream: &str, gap: &Gap) -> Result<(), StoreError> {
        self.batch.gaps.insert((sender, stream.to_owned()), gap.clone());
        Ok(())
    }

    fn add_damaged(&mut self, damaged: Damaged<'_>) -> Result<(), StoreError> {
        let Damaged { sender, stream, kind, rows, last_seq } = damaged;
        self.batch.damaged.push((sender, stream, kind.to_owned(), rows.cast_signed(), last_seq));
        Ok(())
    }

    fn commit(&mut self, position: u64) -> Result<(), StoreError> {
        let (from, batch) = (self.position, &mut self.batch);
        lock(&self.server).run(async |client| batch.bring(client, from, position).await)?;
        self.position = position;
        batch.made = batch.tables.len();
        batch.senders.clear();
        batch.kept.clear();
        batch.damaged.clear();
        batch.gaps.clear();
        count(&self.counting.replaced, std::mem::take(&mut batch.replaced));
        Ok(())
    }
}
