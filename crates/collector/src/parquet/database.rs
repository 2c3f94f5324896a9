//! One domain's folder of tables.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use trialwise_streams::protocol::{Field, Row, Schema, Value};

use super::columns::Columns;
use super::file::{read_part, write_part};
use super::layout::{Kind, Layout};
use super::manifest::{DamagedEntry, Manifest, SpoolEntry, TableEntry, new_path, part_name};
use crate::catalog::{Catalog, Found, table_metadata};
use crate::counters::{Counting, count};
use crate::spool::lock_file;
use crate::status::{Gap, Streams};
use crate::store::{Damaged, Database, Origin, StoreError, Stored, TableId};
use crate::values::{has_text, is_utf8, metadata_texts, replaced, replacements};

/// Rows are committed when the oldest has waited for so long while connections live.
const AGE: Duration = Duration::from_secs(5);
/// Without connections, a commit follows the last one after so long at the earliest.
const QUIET: Duration = Duration::from_secs(1);
/// A part grows to so many rows,
const PART_ROWS: u64 = 1 << 20;
/// or so many bytes.
const PART_BYTES: u64 = 64 << 20;

const SENDERS: &str = "_senders";
const DAMAGED: &str = "_trialwise_damaged";

/// An open domain.
pub(crate) struct ParquetDatabase {
    folder: PathBuf,
    spool: String,
    counting: Arc<Counting>,
    manifest: Manifest,
    catalog: Catalog,
    /// By [`TableId`].
    tables: Vec<Table>,
    /// When the first row since the last commit came.
    since: Option<Instant>,
    committed: Option<Instant>,
    new_senders: bool,
    new_damage: bool,
    replaced: u64,
    _lock: File,
}

/// A table and its rows that are not committed.
struct Table {
    layout: Layout,
    has_text: bool,
    waiting: Columns,
}

impl Table {
    fn new(schema: &Schema) -> Result<Self, StoreError> {
        let layout = Layout::of(schema)?;
        Ok(Self { waiting: Columns::new(&layout), has_text: has_text(schema), layout })
    }
}

fn own(origin: Origin, seq: i64) -> [Value<'static>; 4] {
    [
        Value::Int32(i32::try_from(origin.sender).unwrap_or(i32::MAX)),
        Value::Int64(seq),
        Value::Double(origin.client_time),
        Value::Double(origin.server_time),
    ]
}

impl ParquetDatabase {
    /// Opens or makes the folder of a domain for rows from the spool of that name.
    pub(super) fn open(folder: PathBuf, spool: &str, counting: Arc<Counting>) -> Result<Self, StoreError> {
        fs::create_dir_all(&folder)?;
        let lock = lock_file(&folder.join(".lock"), Duration::ZERO)?;
        let lock = lock.ok_or_else(|| {
            StoreError(format!(
                "{} is in use by another collector; a Parquet domain has one at a time",
                folder.display()
            ))
        })?;
        let manifest = Manifest::open(&folder)?;
        let is_new = manifest.is_none();
        let mut database = Self {
            folder,
            spool: spool.to_owned(),
            counting,
            manifest: manifest.unwrap_or_default(),
            catalog: Catalog::new(),
            tables: Vec::new(),
            since: None,
            committed: None,
            new_senders: false,
            new_damage: false,
            replaced: 0,
            _lock: lock,
        };
        if is_new {
            database.begin_anew()?;
        } else {
            database.read()?;
        }
        Ok(database)
    }

    fn begin_anew(&mut self) -> Result<(), StoreError> {
        for schema in self.catalog.tables.clone() {
            self.add_table(&schema)?;
        }
        let (key, value) = table_metadata(&Schema::metadata());
        self.write_own_metadata(&key, &value);
        Ok(())
    }

    /// Learns what the manifest and the metadata say.
    fn read(&mut self) -> Result<(), StoreError> {
        self.catalog.base = self.manifest.start_time;
        for (id, sender) in (1..).zip(&self.manifest.senders) {
            self.catalog.add_sender(sender, id);
        }
        for entry in &self.manifest.tables {
            let schema: Schema = entry.schema.parse()?;
            self.catalog.add_table(schema.clone());
            self.tables.push(Table::new(&schema)?);
        }
        let metadata = Catalog::METADATA.0;
        for part in 1..=self.manifest.tables[metadata].part {
            let path = self.part_path(Catalog::METADATA, part);
            if path.exists() {
                let columns = read_part(&self.tables[metadata].layout, &path)?;
                for (sender, seq, time, texts) in columns.metadata() {
                    self.catalog.note_metadata(sender, seq, time, texts);
                }
            }
        }
        Ok(())
    }

    fn add_table(&mut self, schema: &Schema) -> Result<(), StoreError> {
        self.tables.push(Table::new(schema)?);
        self.manifest.tables.push(TableEntry { schema: schema.to_string(), part: 1, rows: 0, made: false });
        Ok(())
    }

    fn part_path(&self, table: TableId, part: u64) -> PathBuf {
        self.folder.join(&self.catalog.tables[table.0].name).join(part_name(part))
    }

    fn write_own_metadata(&mut self, key: &str, value: &str) {
        let texts = [Some(Value::from(key)), Some(Value::from(value))];
        let waiting = &mut self.tables[Catalog::METADATA.0].waiting;
        waiting.push_some(std::iter::repeat_n(None, 5).chain(texts));
    }

    /// Keeps the bytes of the strings that were replaced.
    fn keep_bytes(
        &mut self,
        table: TableId,
        origin: Origin,
        row: &Row<'_>,
        fields: impl Iterator<Item = usize>,
    ) {
        let name = &self.catalog.tables[table.0].name;
        for field in fields {
            let (Some(Value::String(bytes)), Some(named)) = (row.get(field), row.schema.fields.get(field))
            else {
                continue;
            };
            let values = [Value::from(name.as_str()), Value::from(named.name.as_str()), Value::Blob(bytes)];
            self.tables[Catalog::BYTES.0].waiting.push(own(origin, row.seq).into_iter().chain(values));
            self.replaced += 1;
        }
    }

    fn spool(&mut self) -> &mut SpoolEntry {
        self.manifest.spools.entry(self.spool.clone()).or_default()
    }

    /// Writes what waits beside its place, and notes in the manifest what is to be.
    fn write_new(&mut self) -> Result<(), StoreError> {
        for index in 0..self.tables.len() {
            self.write_table(TableId(index))?;
        }
        if std::mem::take(&mut self.new_senders) {
            self.write_whole(SENDERS, &[("name", Kind::Text), ("id", Kind::Int64)], senders)?;
        }
        if std::mem::take(&mut self.new_damage) {
            let columns = [
                ("oml_sender_id", Kind::Int32),
                ("stream", Kind::Int64),
                ("kind", Kind::Text),
                ("rows", Kind::Int64),
            ];
            self.write_whole(DAMAGED, &columns, damaged)?;
        }
        Ok(())
    }

    fn write_table(&mut self, id: TableId) -> Result<(), StoreError> {
        let Table { layout, waiting, .. } = &mut self.tables[id.0];
        let (name, entry) = (&self.catalog.tables[id.0].name, &mut self.manifest.tables[id.0]);
        if waiting.rows == 0 && (entry.made || id == Catalog::BYTES) {
            return Ok(());
        }
        let columns = std::mem::replace(waiting, Columns::new(layout));
        let part = part_name(entry.part);
        let present = self.folder.join(name).join(&part);
        let tail = (entry.rows > 0 && present.exists()).then_some(present.as_path());
        let new = prepare(&self.folder, name, &part)?;
        let size = write_part(layout, tail, columns, &new)?;
        self.manifest.pending.push((name.clone(), part));
        (entry.rows, entry.made) = (size.rows, true);
        if size.rows >= PART_ROWS || size.bytes >= PART_BYTES {
            (entry.part, entry.rows) = (entry.part + 1, 0);
        }
        Ok(())
    }

    /// Writes a small table all over.
    fn write_whole(
        &mut self,
        name: &str,
        columns: &[(&str, Kind)],
        fill: impl FnOnce(&Manifest, &mut Columns),
    ) -> Result<(), StoreError> {
        let layout = Layout::plain(columns)?;
        let mut rows = Columns::new(&layout);
        fill(&self.manifest, &mut rows);
        let part = part_name(1);
        write_part(&layout, None, rows, &prepare(&self.folder, name, &part)?)?;
        self.manifest.pending.push((name.to_owned(), part));
        Ok(())
    }
}

/// The path of a new part; its folder is made.
fn prepare(folder: &Path, table: &str, part: &str) -> Result<PathBuf, StoreError> {
    let inside = folder.join(table);
    if !inside.exists() {
        fs::create_dir(&inside)?;
        File::open(folder)?.sync_all()?;
    }
    Ok(new_path(folder, table, part))
}

fn senders(manifest: &Manifest, rows: &mut Columns) {
    for (id, name) in (1..).zip(&manifest.senders) {
        rows.push([Value::from(name.as_str()), Value::Int64(id)].into_iter());
    }
}

fn damaged(manifest: &Manifest, rows: &mut Columns) {
    for entry in &manifest.damaged {
        let sender = i32::try_from(entry.sender).unwrap_or(i32::MAX);
        let (kind, count) = (Value::from(entry.kind.as_str()), Value::Int64(entry.rows.cast_signed()));
        rows.push([Value::Int32(sender), Value::Int64(entry.stream), kind, count].into_iter());
    }
}

impl Database for ParquetDatabase {
    fn position(&self) -> Result<u64, StoreError> {
        Ok(self.manifest.spools.get(&self.spool).map_or(0, |spool| spool.position))
    }

    fn connections(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let Some(spool) = self.manifest.spools.get(&self.spool) else { return Ok(Vec::new()) };
        spool.connections.iter().map(|(&id, state)| Ok((id, BASE64.decode(state)?))).collect()
    }

    fn gaps(&self) -> Result<Streams<i64>, StoreError> {
        Ok(self.manifest.spools.get(&self.spool).map(|spool| spool.gaps.clone()).unwrap_or_default())
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if self.since.is_none() {
            self.since = Some(Instant::now());
        }
        Ok(())
    }

    fn sender(&mut self, name: &str) -> Result<i64, StoreError> {
        Ok(match self.catalog.sender(name) {
            Found::Known(id) => id,
            Found::New(id) => {
                self.manifest.senders.push(name.to_owned());
                self.new_senders = true;
                id
            }
        })
    }

    fn base(&mut self, start_time: Option<i64>, arrival: i64) -> Result<i64, StoreError> {
        if let Some(base) = self.catalog.base {
            return Ok(base);
        }
        let base = start_time.unwrap_or(arrival);
        (self.catalog.base, self.manifest.start_time) = (Some(base), Some(base));
        self.write_own_metadata("start_time", &base.to_string());
        Ok(base)
    }

    fn table(&mut self, schema: &Schema) -> Result<Option<TableId>, StoreError> {
        Ok(Some(match self.catalog.table(schema) {
            Found::Known(id) => id,
            Found::New(id) => {
                let named = self.catalog.tables[id.0].clone();
                self.add_table(&named)?;
                let (key, value) = table_metadata(&named);
                self.write_own_metadata(&key, &value);
                id
            }
        }))
    }

    fn fields(&self, table: TableId) -> &[Field] {
        &self.catalog.tables[table.0].fields
    }

    fn insert(&mut self, table: TableId, origin: Origin, row: &Row<'_>) -> Result<(), StoreError> {
        let Table { waiting, has_text, .. } = &mut self.tables[table.0];
        let own = own(origin, row.seq).into_iter();
        if *has_text {
            let texts = replacements(row, is_utf8);
            if !texts.is_empty() {
                waiting.push(own.chain(replaced(row, &texts)));
                self.keep_bytes(table, origin, row, texts.into_keys());
                return Ok(());
            }
        }
        waiting.push(own.chain(row.values()));
        Ok(())
    }

    fn insert_metadata(
        &mut self,
        table: TableId,
        origin: Origin,
        row: &Row<'_>,
    ) -> Result<Stored, StoreError> {
        let texts = replacements(row, is_utf8);
        let present = metadata_texts(replaced(row, &texts));
        if !self.catalog.note_metadata(origin.sender, row.seq, origin.client_time, present) {
            return Ok(Stored::Repeated);
        }
        self.insert(table, origin, row).map(|()| Stored::New)
    }

    fn keep_connection(&mut self, id: u64, state: Option<&[u8]>) -> Result<(), StoreError> {
        let connections = &mut self.spool().connections;
        match state {
            Some(state) => drop(connections.insert(id, BASE64.encode(state))),
            None => drop(connections.remove(&id)),
        }
        Ok(())
    }

    fn keep_gap(&mut self, sender: i64, stream: &str, gap: &Gap) -> Result<(), StoreError> {
        self.spool().gaps.entry(sender).or_default().insert(stream.to_owned(), gap.clone());
        Ok(())
    }

    fn add_damaged(&mut self, damaged: Damaged<'_>) -> Result<(), StoreError> {
        let Damaged { sender, stream, kind, rows, last_seq } = damaged;
        self.new_damage = true;
        let same = |entry: &&mut DamagedEntry| {
            (entry.sender, entry.stream, entry.kind.as_str()) == (sender, stream, kind)
        };
        if let Some(entry) = self.manifest.damaged.iter_mut().find(same) {
            entry.rows += rows;
            entry.last_seq = last_seq.or(entry.last_seq);
        } else {
            let kind = kind.to_owned();
            self.manifest.damaged.push(DamagedEntry { sender, stream, kind, rows, last_seq });
        }
        Ok(())
    }

    fn is_due(&self, quiet: bool) -> bool {
        let old = self.since.is_none_or(|since| since.elapsed() >= AGE);
        old || quiet && self.committed.is_none_or(|committed| committed.elapsed() >= QUIET)
    }

    fn commit(&mut self, position: u64) -> Result<(), StoreError> {
        self.write_new()?;
        self.spool().position = position;
        self.manifest.save(&self.folder)?;
        self.manifest.place_pending(&self.folder)?;
        (self.since, self.committed) = (None, Some(Instant::now()));
        count(&self.counting.replaced, std::mem::take(&mut self.replaced));
        Ok(())
    }
}
