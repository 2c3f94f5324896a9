//! What a domain has besides rows: senders, tables, the start of its time, metadata seen. For stores that write it all at once.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use trialwise_streams::protocol::{Field, METADATA_NAME, Schema};

use crate::store::TableId;

/// Columns that every table has (OML.md section 8); no field's column has such a name.
pub(crate) const OWN_COLUMNS: [&str; 5] =
    ["oml_tuple_id", "oml_sender_id", "oml_seq", "oml_ts_client", "oml_ts_server"];

/// The table of the bytes that a store's texts could not hold.
const BYTES: &str = "0 _trialwise_bytes table:string field:string bytes:blob";

/// Names of the columns: the fields', numbered where a name is taken already (or only differs in case).
pub(crate) fn columns(fields: &[Field], reserved: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = OWN_COLUMNS.iter().chain(reserved).map(ToString::to_string).collect();
    let mut name = |field: &Field| {
        let numbered = (2..).map(|number| format!("{}_{number}", field.name));
        let free = std::iter::once(field.name.clone()).chain(numbered);
        let mut free = free.filter(|name| taken.insert(name.to_ascii_lowercase()));
        free.next().unwrap_or_default()
    };
    fields.iter().map(&mut name).collect()
}

/// The name of a stream's table, the `number`-th to be tried. SQLite keeps `sqlite_` for itself, and we `_trialwise_`; names
/// are the same in every store.
pub(crate) fn table_name(stream: &str, number: u64) -> String {
    let lower = stream.to_ascii_lowercase();
    let kept = lower.starts_with("sqlite_") || lower.starts_with("_trialwise_");
    let name = if kept { format!("stream_{stream}") } else { stream.to_owned() };
    if number == 1 { name } else { format!("{name}_{number}") }
}

/// Whether two streams have the same fields, in whatever order: programs that choose the same filters differ in that.
pub(crate) fn are_same(one: &[Field], other: &[Field]) -> bool {
    one == other || order_of(one, other).is_some()
}

/// For each field of a table, the place of that field in a stream; nothing where a field is missing or of another type.
pub(crate) fn order_of(table: &[Field], stream: &[Field]) -> Option<Vec<usize>> {
    let places: HashMap<_, _> =
        stream.iter().zip(0..).map(|(field, place)| (field.name.as_str(), place)).collect();
    let find = |field: &Field| {
        let &place = places.get(field.name.as_str())?;
        let same: bool = stream[place].field_type == field.field_type;
        same.then_some(place)
    };
    if table.len() == stream.len() { table.iter().map(find).collect() } else { None }
}

/// The catalog of one domain, as committed and with what is to be committed.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// The start of the domain's time: UNIX seconds.
    pub(crate) base: Option<i64>,
    /// By their [`TableId`]; the name is the table's.
    pub(crate) tables: Vec<Schema>,
    ids: HashMap<String, i64>,
    last_sender: i64,
    names: HashMap<String, Option<usize>>,
    metadata: HashSet<u64>,
    hasher: RandomState,
}

/// What was asked for, and whether it was made for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    /// It was there.
    Known(T),
    /// It is new.
    New(T),
}

impl Catalog {
    /// The catalog of a new domain; it has the tables of metadata and of bytes.
    pub(crate) fn new() -> Self {
        let mut catalog = Self::default();
        catalog.names.insert("_senders".to_owned(), None);
        catalog.add_table(Schema::metadata());
        if let Ok(schema) = BYTES.parse() {
            catalog.add_table(schema);
        }
        catalog
    }

    /// The table of metadata.
    pub(crate) const METADATA: TableId = TableId(0);
    /// The table of bytes that texts could not hold: sender and number of the row, table, field, bytes.
    pub(crate) const BYTES: TableId = TableId(1);

    /// Learns a sender and its number.
    pub(crate) fn add_sender(&mut self, name: &str, id: i64) {
        self.ids.insert(name.to_owned(), id);
        self.last_sender = self.last_sender.max(id);
    }

    /// The number of a sender.
    pub(crate) fn sender(&mut self, name: &str) -> Found<i64> {
        if let Some(&id) = self.ids.get(name) {
            return Found::Known(id);
        }
        self.add_sender(name, self.last_sender + 1);
        Found::New(self.last_sender)
    }

    /// No stream's table gets this name.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.names.entry(name.to_ascii_lowercase()).or_insert(None);
    }

    /// Learns a table unless its name is taken.
    pub(crate) fn add_table(&mut self, schema: Schema) -> TableId {
        let index = self.tables.len();
        match self.names.entry(schema.name.to_ascii_lowercase()).or_insert(Some(index)) {
            Some(known) if *known != index => return TableId(*known),
            _ => self.tables.push(schema),
        }
        TableId(index)
    }

    /// The table of a stream: one of its name and fields, else a new one, numbered when the name is taken.
    pub(crate) fn table(&mut self, schema: &Schema) -> Found<TableId> {
        let mut number = 1;
        loop {
            let name = table_name(&schema.name, number);
            match self.names.get(&name.to_ascii_lowercase()) {
                None => return Found::New(self.add_table(Schema { name, ..schema.clone() })),
                Some(&Some(index))
                    if self.tables[index].name == name
                        && are_same(&self.tables[index].fields, &schema.fields) =>
                {
                    return Found::Known(TableId(index));
                }
                Some(_) => number += 1,
            }
        }
    }

    /// Notes a row of metadata; false when the very same was noted.
    pub(crate) fn note_metadata(&mut self, sender: i64, seq: i64, time: f64, texts: [&[u8]; 3]) -> bool {
        self.metadata.insert(self.hasher.hash_one((sender, seq, time.to_bits(), texts)))
    }
}

/// The metadata row that records a table: its key and value.
pub(crate) fn table_metadata(schema: &Schema) -> (String, String) {
    (format!("table_{}", schema.name), schema.to_string())
}

/// Whether a table is the one of metadata, whose columns may be empty.
pub(crate) fn is_metadata(schema: &Schema) -> bool {
    schema.name == METADATA_NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_differ_in_case_alone_are_numbered() {
        let fields: Schema = "1 t a:int32 A:int32 a_2:int32 OML_seq:int32 ctid:int32".parse().unwrap();
        let names = columns(&fields.fields, &["ctid"]);
        assert_eq!(names, ["a", "A_2", "a_2_2", "OML_seq_2", "ctid_2"]);
    }

    #[test]
    fn fields_in_another_order_are_the_same_table() {
        let mut catalog = Catalog::new();
        let streams = ["1 a x:int32 y:double", "1 a y:double x:int32", "1 a x:double y:int32", "1 a x:int32"];
        let tables = streams.map(|text| match catalog.table(&text.parse::<Schema>().unwrap()) {
            Found::Known(id) | Found::New(id) => catalog.tables[id.0].name.clone(),
        });
        assert_eq!(tables, ["a", "a", "a_2", "a_3"]);
        let fields = |text: &str| text.parse::<Schema>().unwrap().fields;
        assert_eq!(order_of(&fields(streams[0]), &fields(streams[1])), Some(vec![1, 0]));
    }

    #[test]
    fn the_same_stream_finds_its_table_and_another_one_gets_a_number() {
        let mut catalog = Catalog::new();
        let (one, other): (Schema, Schema) = ("1 a n:int32".parse().unwrap(), "9 a n:int64".parse().unwrap());
        let Found::New(first) = catalog.table(&one) else { panic!() };
        assert_eq!(catalog.table(&Schema { index: 5, ..one }), Found::Known(first));
        let Found::New(second) = catalog.table(&other) else { panic!() };
        assert_eq!(catalog.tables[second.0].name, "a_2");
        assert_eq!(catalog.table(&Schema::metadata()), Found::Known(Catalog::METADATA));
        let taken: Schema = "2 _senders n:int32".parse().unwrap();
        let Found::New(third) = catalog.table(&taken) else { panic!() };
        assert_eq!(catalog.tables[third.0].name, "_senders_2");
    }

    #[test]
    fn metadata_is_known_by_all_of_it() {
        let mut catalog = Catalog::new();
        assert!(catalog.note_metadata(1, 1, 0.5, [b"a", b"b", b"c"]));
        assert!(!catalog.note_metadata(1, 1, 0.5, [b"a", b"b", b"c"]));
        assert!(catalog.note_metadata(1, 1, 0.5, [b"a", b"bc", b""]));
        assert!(catalog.note_metadata(2, 1, 0.5, [b"a", b"b", b"c"]));
    }
}
