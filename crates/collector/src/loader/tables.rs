//! Stores with tables: one domain while it is loaded, its database, its live connections, what was counted since the last
//! commit.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use trialwise_streams::protocol::{Damage, DamageKind, Limits, Row, Schema, Value};

use crate::catalog::order_of;
use crate::connection::{Connection, Place, Sink, Target};
use crate::counters::{Counting, count};
use crate::spool::record::{Body, Record};
use crate::status::{Gaps, Watched};
use crate::store::{Damaged, Database, Databases, Domain, Origin, Store, StoreError, Stored};

/// Keys of metadata about the experiment that only a header may say (OML.md section 6).
const HEADER_KEYS: [&[u8]; 7] =
    [b"protocol", b"domain", b"experiment-id", b"start-time", b"sender-id", b"app-name", b"content"];

/// A store whose domains have a database each.
pub(crate) struct Tables<S> {
    databases: S,
    limits: Limits,
}

/// A domain with an open database.
pub(crate) struct TableDomain<D> {
    connections: HashMap<u64, Connection>,
    rows: Rows<D>,
    gaps: Gaps<i64>,
    /// Everything before is loaded (but perhaps not committed).
    position: u64,
    /// The first record since the last commit.
    uncommitted: Option<u64>,
    /// When the last record came.
    touched: Instant,
    ended: Vec<u64>,
    limits: Limits,
}

/// The half of a domain that takes rows.
struct Rows<D> {
    database: D,
    base: f64,
    /// When the present record arrived, in seconds of the domain.
    now: f64,
    counts: Counts,
}

/// What is not as it should be with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    /// It is not stored.
    Damaged(DamageKind),
    /// It is stored, with NULL for values that their fields cannot hold.
    Nulled,
}

impl Wrong {
    /// As `_trialwise_damaged` has it.
    fn name(self) -> String {
        match self {
            Self::Damaged(kind) => format!("{kind:?}"),
            Self::Nulled => "Nulled".to_owned(),
        }
    }
}

/// Counted since the last commit.
#[derive(Default)]
struct Counts {
    rows: u64,
    repeated: u64,
    unstorable: u64,
    nulled: u64,
    /// By sender, stream and the name of what was wrong.
    damaged: BTreeMap<(i64, i64, Wrong), (u64, Option<i64>)>,
    watched: Vec<Watched>,
}

impl<S> Tables<S> {
    pub(crate) const fn new(databases: S, limits: Limits) -> Self {
        Self { databases, limits }
    }
}

impl<S: Databases> Store for Tables<S> {
    type Domain = TableDomain<S::Database>;

    fn open(&mut self, name: &str, begin: u64, epoch: u64) -> Result<Self::Domain, StoreError> {
        TableDomain::open(self.databases.open(name)?, begin, epoch, self.limits)
    }
}

impl<D: Database> TableDomain<D> {
    fn open(database: D, begin: u64, epoch: u64, limits: Limits) -> Result<Self, StoreError> {
        let position = database.position()?;
        let kept = database.connections()?;
        let gaps = Gaps::new(database.gaps()?);
        let rows = Rows { database, base: 0.0, now: 0.0, counts: Counts::default() };
        let mut domain = Self {
            connections: HashMap::new(),
            rows,
            gaps,
            position,
            uncommitted: None,
            touched: Instant::now(),
            ended: Vec::new(),
            limits,
        };
        for (id, state) in kept {
            domain.restore(id, &state, begin)?;
        }
        domain.end_those_before(epoch, begin)?;
        Ok(domain)
    }

    /// Notes that the record at `begin` changes something.
    fn touch(&mut self, begin: u64) -> Result<(), StoreError> {
        self.uncommitted.get_or_insert(begin);
        self.touched = Instant::now();
        self.rows.database.begin()
    }

    fn restore(&mut self, id: u64, state: &[u8], begin: u64) -> Result<(), StoreError> {
        self.touch(begin)?;
        match Connection::restore(state, self.limits) {
            Some(mut connection) => {
                let sender = connection.place.sender;
                self.settle(&mut connection, Some(sender), 0)?;
                self.connections.insert(id, connection);
            }
            None => self.ended.push(id), // of another version of this program
        }
        Ok(())
    }

    fn connect(&mut self, id: u64, connection: Option<Connection>, time: u64) -> Result<(), StoreError> {
        // The server has read this header: only another program's spool can fail here.
        let Some(mut connection) = connection else { return Ok(()) };
        self.settle(&mut connection, None, time)?;
        self.connections.insert(id, connection);
        Ok(())
    }

    /// Finds sender, time and tables of a connection.
    fn settle(
        &mut self,
        connection: &mut Connection,
        sender: Option<i64>,
        time: u64,
    ) -> Result<(), StoreError> {
        let header = connection.header().clone();
        let database = &mut self.rows.database;
        let base = database.base(header.start_time, (time / 1_000_000).cast_signed())?;
        self.rows.base = base as f64;
        let place = &mut connection.place;
        place.sender = sender.map_or_else(|| database.sender(&header.sender_id), Ok)?;
        place.offset = header.start_time.map_or(0.0, |start| start.saturating_sub(base) as f64);
        if header.protocol >= 4 {
            place.tables.insert(0, find_target(database, &Schema::metadata())?);
        }
        for schema in &header.schemas {
            let target = find_target(database, schema)?;
            place.tables.insert(schema.index, target);
        }
        Ok(())
    }

    fn take(&mut self, id: u64, bytes: &[u8]) -> Result<(), StoreError> {
        match self.connections.get_mut(&id) {
            Some(connection) => connection.take(bytes, &mut self.rows),
            None => {
                self.rows.counts.unstorable += 1; // its database was taken away meanwhile
                Ok(())
            }
        }
    }

    fn end(&mut self, id: u64) -> Result<(), StoreError> {
        if let Some(mut connection) = self.connections.remove(&id) {
            connection.finish(&mut self.rows)?;
            self.rows.counts.watch(&mut connection.place, &mut self.gaps);
            self.ended.push(id);
        }
        Ok(())
    }

    fn end_those_before(&mut self, position: u64, begin: u64) -> Result<(), StoreError> {
        let old: Vec<_> = self.connections.keys().copied().filter(|&id| id < position).collect();
        if !old.is_empty() {
            self.touch(begin)?;
        }
        old.into_iter().try_for_each(|id| self.end(id))
    }

    /// Tells the database what is to last besides rows.
    fn keep(&mut self) -> Result<(), StoreError> {
        let database = &mut self.rows.database;
        for id in self.ended.drain(..) {
            database.keep_connection(id, None)?;
        }
        for (&id, connection) in self.connections.iter_mut().filter(|(_, connection)| connection.changed) {
            database.keep_connection(id, Some(&connection.state()))?;
            connection.changed = false;
            self.rows.counts.watch(&mut connection.place, &mut self.gaps);
        }
        for (sender, stream, gap) in self.gaps.take_changed() {
            database.keep_gap(sender, &stream, gap)?;
        }
        for (&(sender, stream, wrong), &(rows, last_seq)) in &self.rows.counts.damaged {
            database.add_damaged(Damaged { sender, stream, kind: &wrong.name(), rows, last_seq })?;
        }
        Ok(())
    }
}

impl<D: Database> Domain for TableDomain<D> {
    fn position(&self) -> u64 {
        self.position
    }

    fn uncommitted(&self) -> Option<u64> {
        self.uncommitted
    }

    fn load(&mut self, record: &Record<'_>, begin: u64, end: u64) -> Result<(), StoreError> {
        self.touch(begin)?;
        self.rows.now = record.time as f64 / 1e6;
        match record.body {
            Body::BeginOml(header) => {
                self.connect(begin, Connection::oml(header, self.limits), record.time)?;
            }
            Body::BeginNative(header) => {
                self.connect(begin, Connection::native(header, self.limits), record.time)?;
            }
            Body::Bytes(bytes) => self.take(record.connection, bytes)?,
            Body::Frame { rows, .. } => self.take(record.connection, rows)?,
            Body::End => self.end(record.connection)?,
            Body::Bye(_) | Body::Restart | Body::Sessions(_) => {}
        }
        self.position = end;
        Ok(())
    }

    fn end_before(&mut self, position: u64) -> Result<(), StoreError> {
        self.end_those_before(position, position)
    }

    fn commit(&mut self, counting: &Counting, urgent: bool) -> Result<(), StoreError> {
        let quiet = self.connections.is_empty();
        if self.uncommitted.is_none() || !(urgent || self.rows.database.is_due(quiet)) {
            return Ok(());
        }
        self.keep()?;
        self.rows.database.commit(self.position)?;
        self.uncommitted = None;
        std::mem::take(&mut self.rows.counts).add_to(counting);
        Ok(())
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        self.connections.is_empty() && self.uncommitted.is_none() && self.touched.elapsed() > time
    }

    fn tend(&mut self) -> Result<(), StoreError> {
        if self.uncommitted.is_none() { self.rows.database.tend() } else { Ok(()) }
    }

    fn rest(&mut self) -> bool {
        let rests = self.rows.database.rest();
        if !rests {
            self.touched = Instant::now();
        }
        rests
    }
}

impl Counts {
    /// Takes what was seen of a connection.
    fn watch(&mut self, place: &mut Place, gaps: &mut Gaps<i64>) {
        let mut watched = place.watched.take();
        gaps.add(&place.sender, &mut watched);
        self.watched.push(watched);
    }

    fn add_to(self, counting: &Counting) {
        self.watched.iter().for_each(|watched| counting.senders.add(watched));
        count(&counting.rows, self.rows);
        count(&counting.repeated, self.repeated);
        count(&counting.unstorable, self.unstorable);
        count(&counting.nulled, self.nulled);
        for ((_, _, wrong), (rows, _)) in self.damaged {
            if let Wrong::Damaged(kind) = wrong {
                count(&counting.damaged[kind as usize], rows);
            }
        }
    }

    /// Notes what is wrong with a row.
    fn note(&mut self, sender: i64, stream: i64, wrong: Wrong, seq: Option<i64>) {
        let entry = self.damaged.entry((sender, stream, wrong)).or_default();
        *entry = (entry.0 + 1, seq.or(entry.1));
    }
}

impl<D: Database> Sink for Rows<D> {
    type Error = StoreError;

    fn row(&mut self, place: &mut Place, row: &Row<'_>) -> Result<(), StoreError> {
        place.watched.row(row, self.now);
        if let Some(schema) = row.defines {
            let target = find_target(&mut self.database, schema)?;
            place.tables.insert(schema.index, target);
            return Ok(());
        }
        let Some(Some(Target { table, order })) = place.tables.get(&row.schema.index) else {
            self.counts.unstorable += 1;
            return Ok(());
        };
        let (table, placed) = (*table, order.as_ref().map_or(*row, |order| row.reordered(order)));
        let client_time = row.timestamp + place.offset;
        let origin = Origin { sender: place.sender, client_time, server_time: self.now - self.base };
        if !row.schema.is_metadata() {
            self.database.insert(table, origin, &placed)?;
        } else if is_for_header(row) {
            return Ok(());
        } else if self.database.insert_metadata(table, origin, row)? == Stored::Repeated {
            self.counts.repeated += 1;
            return Ok(());
        }
        self.counts.rows += 1;
        place.watched.stored();
        if row.nulls > 0 {
            self.counts.nulled += 1;
            place.watched.nulled();
            self.counts.note(place.sender, row.schema.index.into(), Wrong::Nulled, Some(row.seq));
        }
        Ok(())
    }

    fn damage(&mut self, place: &mut Place, damage: Damage) {
        place.watched.damage();
        let stream = damage.stream.map_or(-1, i64::from);
        self.counts.note(place.sender, stream, Wrong::Damaged(damage.kind), damage.seq);
    }
}

/// The table of a stream, and how its rows fill it; nothing when the store cannot have such a table.
fn find_target(database: &mut impl Database, schema: &Schema) -> Result<Option<Target>, StoreError> {
    let Some(table) = database.table(schema)? else { return Ok(None) };
    let fields = database.fields(table);
    let order = if fields == schema.fields { None } else { order_of(fields, &schema.fields) };
    Ok(Some(Target { table, order }))
}

/// Whether a row of stream 0 says what only a header may.
fn is_for_header(row: &Row<'_>) -> bool {
    let text = |index| match row.get(index) {
        Some(Value::String(text)) => text,
        _ => b"",
    };
    text(0) == b"." && HEADER_KEYS.contains(&text(1))
}
