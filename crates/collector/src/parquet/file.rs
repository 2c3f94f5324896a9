//! Part files: a table's last part is written again with what came since, earlier ones are left alone.

use std::fs::File;
use std::path::Path;

use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};

use super::columns::{Column, Columns, Values, byte_arrays};
use super::layout::Layout;
use crate::store::StoreError;

/// How large a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// Writes a part with the rows of `tail`, where there is one, and `new` to the file `to`, and brings it to disk.
///
/// Row groups at the end of the tail with no more rows than what follows them are made one with it, the others copied as they
/// are: so a row is encoded again at most once for each doubling, and the groups' sizes fall.
pub(super) fn write_part(
    layout: &Layout,
    tail: Option<&Path>,
    mut new: Columns,
    to: &Path,
) -> Result<Size, StoreError> {
    let file = File::create(to)?;
    let mut writer =
        SerializedFileWriter::new(file.try_clone()?, layout.schema.clone(), layout.properties.clone())?;
    let mut rows = new.rows as u64;
    if let Some(tail) = tail {
        let source = File::open(tail)?;
        let reader = SerializedFileReader::new(source.try_clone()?)?;
        let kept = if is_older(layout, &reader) { 0 } else { groups_to_keep(&reader, new.rows) };
        for index in 0..kept {
            copy_group(&source, &reader, index, writer.next_row_group()?)?;
        }
        if kept < reader.num_row_groups() {
            let mut merged = read_groups(layout, &reader, kept)?;
            merged.append(new);
            new = merged;
        }
        rows +=
            reader.metadata().row_groups().iter().map(|group| group.num_rows().cast_unsigned()).sum::<u64>();
    }
    if new.rows > 0 {
        write_group(new, writer.next_row_group()?)?;
    }
    writer.close()?;
    file.sync_all()?;
    Ok(Size { rows, bytes: file.metadata()?.len() })
}

/// Whether a collector wrote the part whose columns could not be empty.
fn is_older(layout: &Layout, reader: &SerializedFileReader<File>) -> bool {
    reader.metadata().file_metadata().schema() != &*layout.schema
}

/// The rows of a part.
pub(super) fn read_part(layout: &Layout, path: &Path) -> Result<Columns, StoreError> {
    Ok(read_groups(layout, &SerializedFileReader::new(File::open(path)?)?, 0)?)
}

/// How many groups at the front have more rows than everything behind them.
fn groups_to_keep(reader: &SerializedFileReader<File>, new: usize) -> usize {
    let groups = reader.metadata().row_groups();
    let (mut kept, mut rows) = (groups.len(), new as u64);
    while kept > 0 && groups[kept - 1].num_rows().cast_unsigned() <= rows {
        kept -= 1;
        rows += groups[kept].num_rows().cast_unsigned();
    }
    kept
}

fn copy_group(
    source: &File,
    reader: &SerializedFileReader<File>,
    index: usize,
    mut writer: SerializedRowGroupWriter<'_, File>,
) -> Result<(), ParquetError> {
    let group = reader.metadata().row_group(index);
    for column in group.columns() {
        let result = ColumnCloseResult {
            bytes_written: column.compressed_size().cast_unsigned(),
            rows_written: group.num_rows().cast_unsigned(),
            metadata: column.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        writer.append_column(source, result)?;
    }
    writer.close().map(drop)
}

fn write_group(columns: Columns, mut writer: SerializedRowGroupWriter<'_, File>) -> Result<(), ParquetError> {
    for column in columns.columns {
        let Some(mut place) = writer.next_column()? else { break };
        write_column(column, &mut place)?;
        place.close()?;
    }
    writer.close().map(drop)
}

fn write_column(column: Column, place: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
    let (definitions, repetitions) = (column.definitions.as_deref(), column.repetitions.as_deref());
    let written = match column.values {
        Values::Int32(values) => place.typed::<Int32Type>().write_batch(&values, definitions, repetitions),
        Values::Int64(values) => place.typed::<Int64Type>().write_batch(&values, definitions, repetitions),
        Values::Double(values) => place.typed::<DoubleType>().write_batch(&values, definitions, repetitions),
        Values::Bool(values) => place.typed::<BoolType>().write_batch(&values, definitions, repetitions),
        Values::Bytes(bytes, ends) => {
            let values = byte_arrays(bytes, &ends);
            place.typed::<ByteArrayType>().write_batch(&values, definitions, repetitions)
        }
    };
    written.map(drop)
}

/// The rows of the groups from `first` on.
fn read_groups(
    layout: &Layout,
    reader: &SerializedFileReader<File>,
    first: usize,
) -> Result<Columns, ParquetError> {
    let mut all = Columns::new(layout);
    for index in first..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        all.append(read_group(layout, group.as_ref())?);
    }
    Ok(all)
}

fn read_group(layout: &Layout, group: &dyn RowGroupReader) -> Result<Columns, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut columns = Columns { rows, ..Columns::new(layout) };
    for (index, column) in columns.columns.iter_mut().enumerate() {
        let written = group.metadata().column(index).column_descr();
        let physical = written.physical_type();
        let optional = i16::from(column.definitions.is_some()) + i16::from(column.repetitions.is_some());
        let older = written.max_def_level() < optional;
        read_column(group.get_column_reader(index)?, physical, rows, column)?;
        if older {
            column.raise_definitions(rows);
        }
    }
    Ok(columns)
}

fn read_column(
    reader: ColumnReader,
    physical: PhysicalType,
    rows: usize,
    into: &mut Column,
) -> Result<(), ParquetError> {
    let (definitions, repetitions) = (&mut into.definitions, &mut into.repetitions);
    match (&mut into.values, physical) {
        (Values::Int32(values), PhysicalType::INT32) => {
            read_values(get_typed_column_reader::<Int32Type>(reader), rows, definitions, repetitions, values)
        }
        (Values::Int64(values), PhysicalType::INT64) => {
            read_values(get_typed_column_reader::<Int64Type>(reader), rows, definitions, repetitions, values)
        }
        (Values::Double(values), PhysicalType::DOUBLE) => {
            read_values(get_typed_column_reader::<DoubleType>(reader), rows, definitions, repetitions, values)
        }
        (Values::Bool(values), PhysicalType::BOOLEAN) => {
            read_values(get_typed_column_reader::<BoolType>(reader), rows, definitions, repetitions, values)
        }
        (Values::Bytes(bytes, ends), PhysicalType::BYTE_ARRAY) => {
            let mut arrays: Vec<ByteArray> = Vec::new();
            let reader = get_typed_column_reader::<ByteArrayType>(reader);
            read_values(reader, rows, definitions, repetitions, &mut arrays)?;
            for array in arrays {
                bytes.extend_from_slice(array.data());
                ends.push(bytes.len());
            }
            Ok(())
        }
        (_, other) => {
            Err(ParquetError::General(format!("a column of type {other} was not written by a collector")))
        }
    }
}

fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    definitions: &mut Option<Vec<i16>>,
    repetitions: &mut Option<Vec<i16>>,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let mut left = rows;
    while left > 0 {
        let (read, ..) = reader.read_records(left, definitions.as_mut(), repetitions.as_mut(), values)?;
        if read == 0 {
            return Err(ParquetError::EOF(format!("{left} rows are missing in a column")));
        }
        left -= read;
    }
    Ok(())
}
