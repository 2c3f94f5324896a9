//! Names of schemas, tables and columns, and the statements that define them.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use trialwise_streams::protocol::{ElementType, FieldType, Schema};

use crate::catalog::columns;

/// Longest name that PostgreSQL keeps, in bytes.
const LONGEST: usize = 63;
/// Columns of a table at most.
const MAX_COLUMNS: usize = 1600;
/// Bytes of a row without what can be stored apart, at most.
const WIDEST: usize = 8160;
/// Columns that every table has in PostgreSQL.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

const OWN_COLUMNS: &str = "oml_tuple_id BIGSERIAL PRIMARY KEY, oml_sender_id INT4, oml_seq INT8, oml_ts_client FLOAT8, oml_ts_server FLOAT8";

/// A name as PostgreSQL takes it: one that is too long is cut, and a digest of it keeps it apart from others.
pub(super) fn fit(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let digest = Sha256::digest(name.as_bytes());
    let mut short = format!("{}~", &name[..30]);
    for byte in &digest[..16] {
        let _ = write!(short, "{byte:02x}"); // writing to a String cannot fail
    }
    short
}

/// The schema of a domain; PostgreSQL's own are left alone. No domain has a `~` in its name.
pub(super) fn schema_name(domain: &str) -> String {
    let own = domain.starts_with("pg_") || domain == "information_schema";
    if own { fit(&format!("~{domain}")) } else { fit(domain) }
}

/// A table in a schema, quoted. Neither has a quote in its name.
pub(super) fn table(schema: &str, name: &str) -> String {
    format!("\"{schema}\".\"{}\"", fit(name))
}

/// The names of the index and the sequence that PostgreSQL makes with a table.
pub(super) fn companions(name: &str) -> [String; 2] {
    let name = fit(name);
    let cut = |suffix: &str| format!("{}{suffix}", &name[..name.len().min(LONGEST - suffix.len())]);
    [cut("_pkey"), cut("_oml_tuple_id_seq")]
}

fn column_type(field_type: FieldType) -> String {
    let name = match field_type {
        FieldType::Int32 => "INT4",
        FieldType::UInt32 | FieldType::Int64 => "INT8",
        FieldType::UInt64 | FieldType::Guid => "NUMERIC(20)",
        FieldType::Double => "FLOAT8",
        FieldType::String => "TEXT",
        FieldType::Blob => "BYTEA",
        FieldType::Bool => "BOOLEAN",
        FieldType::Vector(element) => {
            return match element {
                ElementType::Int32 => "INT4[]",
                ElementType::UInt32 | ElementType::Int64 => "INT8[]",
                ElementType::UInt64 => "NUMERIC(20)[]",
                ElementType::Double => "FLOAT8[]",
                ElementType::Bool => "BOOLEAN[]",
            }
            .to_owned();
        }
    };
    name.to_owned()
}

/// Bytes that a value takes in a row at least, when the longest are stored apart, and their alignment.
const fn width(field_type: FieldType) -> (usize, usize) {
    match field_type {
        FieldType::Bool => (1, 1),
        FieldType::Int32 => (4, 4),
        FieldType::UInt32 | FieldType::Int64 | FieldType::Double => (8, 8),
        _ => (18, 1),
    }
}

/// Whether PostgreSQL can hold such a table and every row of it.
pub(super) fn fits(schema: &Schema) -> bool {
    let count = schema.fields.len() + 5;
    let head = 24 + count.div_ceil(8) + 8 + 5 * 8;
    let width = schema.fields.iter().fold(head, |sum, field| {
        let (width, alignment) = width(field.field_type);
        sum.next_multiple_of(alignment) + width
    });
    count <= MAX_COLUMNS && width <= WIDEST
}

fn column_names(schema: &Schema) -> Vec<String> {
    columns(&schema.fields, &SYSTEM_COLUMNS).iter().map(|name| fit(name)).collect()
}

/// The statement that makes a stream's table.
pub(super) fn create(place: &str, schema: &Schema) -> String {
    let mut sql = format!("CREATE TABLE {place} ({OWN_COLUMNS}");
    for (name, field) in column_names(schema).iter().zip(&schema.fields) {
        let _ = write!(sql, ", \"{name}\" {}", column_type(field.field_type));
    }
    sql + ")"
}

/// The statement that takes rows for a stream's table.
pub(super) fn copy(place: &str, schema: &Schema) -> String {
    let mut sql = format!("COPY {place} (oml_sender_id, oml_seq, oml_ts_client, oml_ts_server");
    for name in column_names(schema) {
        let _ = write!(sql, ", \"{name}\"");
    }
    sql + ") FROM STDIN BINARY"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_postgresql_keeps_or_cuts_stay_apart() {
        assert_eq!(schema_name("exp-1"), "exp-1");
        assert_eq!(schema_name("pg_catalog"), "~pg_catalog");
        let (one, other) = ("a".repeat(100), "a".repeat(101));
        assert_eq!(schema_name(&one).len(), 63);
        assert_ne!(schema_name(&one), schema_name(&other));
        let schema: Schema = "1 t ctid:int32 xmin:uint64".parse().unwrap();
        assert!(create("p", &schema).ends_with(", \"ctid_2\" INT4, \"xmin_2\" NUMERIC(20))"));
    }

    #[test]
    fn tables_whose_rows_fit_no_page_are_refused() {
        let wide = |fields: usize, kind: &str| -> Schema {
            let fields: String = (0..fields).map(|index| format!(" f{index}:{kind}")).collect();
            format!("1 t{fields}").parse().unwrap()
        };
        assert!(fits(&wide(1595, "int32")) && !fits(&wide(1596, "int32")));
        assert!(fits(&wide(980, "double")) && !fits(&wide(1020, "double")));
    }
}
