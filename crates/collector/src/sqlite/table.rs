//! Tables for streams: names, columns, values.

use std::ffi::c_int;
use std::fmt::Write;

use trialwise_streams::protocol::{Field, FieldType, Row, Schema, Value};

use super::statement::Statement;
use super::text::write_vector;
use crate::catalog::{OWN_COLUMNS, columns};
use crate::store::Origin;

/// Columns that every table has (OML.md section 8).
const OWN_DEFINITIONS: &str = "oml_tuple_id INTEGER PRIMARY KEY, oml_sender_id INTEGER, oml_seq INTEGER, oml_ts_client REAL, oml_ts_server REAL";
/// SQLite's own bound on columns (`SQLITE_MAX_COLUMN`).
const MAX_COLUMNS: usize = 2000;

/// One table of rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    /// Prepared for the first row.
    pub(super) insert: Option<Statement>,
}

/// Whether SQLite can hold such a table.
pub(super) fn fits(schema: &Schema) -> bool {
    schema.fields.len() + OWN_COLUMNS.len() <= MAX_COLUMNS
}

const fn column_type(field_type: FieldType) -> &'static str {
    match field_type {
        FieldType::Int32 | FieldType::Bool => "INTEGER",
        FieldType::UInt32 => "UNSIGNED INTEGER",
        FieldType::Int64 => "BIGINT",
        FieldType::UInt64 | FieldType::Guid => "UNSIGNED BIGINT",
        FieldType::Double => "REAL",
        FieldType::String | FieldType::Vector(_) => "TEXT",
        FieldType::Blob => "BLOB",
    }
}

/// The definition of a table.
pub(super) fn create(name: &str, fields: &[Field]) -> String {
    let mut sql = format!("CREATE TABLE \"{name}\" ({OWN_DEFINITIONS}");
    for (column, field) in columns(fields, &[]).iter().zip(fields) {
        let _ = write!(sql, ", \"{column}\" {}", column_type(field.field_type));
    }
    sql + ");"
}

/// The statement that adds a row; [`bind`] fills it.
pub(super) fn insert(name: &str, fields: &[Field]) -> String {
    let places = ",?".repeat(OWN_COLUMNS.len() - 2 + fields.len());
    let mut sql = format!("INSERT INTO \"{name}\" (oml_sender_id, oml_seq, oml_ts_client, oml_ts_server");
    for column in columns(fields, &[]) {
        let _ = write!(sql, ", \"{column}\"");
    }
    format!("{sql}) VALUES (?{places});")
}

/// Binds a row to the parameters of [`insert`].
pub(super) fn bind(statement: &mut Statement, origin: Origin, row: &Row<'_>, scratch: &mut String) {
    statement.bind_integer(1, origin.sender);
    statement.bind_integer(2, row.seq);
    statement.bind_double(3, origin.client_time);
    statement.bind_double(4, origin.server_time);
    for (index, value) in (5..).zip(row.values()) {
        bind_value(statement, index, value, scratch);
    }
}

fn bind_value(statement: &mut Statement, index: c_int, value: Value<'_>, scratch: &mut String) {
    match value {
        Value::Int32(value) => statement.bind_integer(index, value.into()),
        Value::UInt32(value) => statement.bind_integer(index, value.into()),
        Value::Int64(value) => statement.bind_integer(index, value),
        Value::Bool(value) => statement.bind_integer(index, value.into()),
        Value::Double(value) => statement.bind_double(index, value),
        Value::Guid(0) | Value::Null => statement.bind_null(index),
        Value::UInt64(value) | Value::Guid(value) => bind_unsigned(statement, index, value),
        Value::String(text) => statement.bind_text(index, text),
        Value::Blob(bytes) => statement.bind_blob(index, bytes),
        Value::Vector(vector) => {
            write_vector(vector, scratch);
            statement.bind_text(index, scratch.as_bytes());
        }
    }
}

/// SQLite would make a decimal text of such a column a rounded number; hexadecimal it leaves alone.
fn bind_unsigned(statement: &mut Statement, index: c_int, value: u64) {
    match i64::try_from(value) {
        Ok(value) => statement.bind_integer(index, value),
        Err(_) => statement.bind_text(index, format!("{value:#018x}").as_bytes()),
    }
}
