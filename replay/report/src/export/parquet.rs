//! Apache Parquet, behind the feature `parquet`, because its crates make up a noticeable part of
//! a build from scratch.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{ColumnType, ExportError, ExportValue, Head, Rows};

/// Rows in one row group.
const ROW_GROUP: usize = 10_000;

/// Writes rows as a Parquet file and returns how many there are.
pub(super) fn write(
    head: &Head,
    rows: &Rows<'_>,
    to: impl Write + Send,
) -> Result<usize, ExportError> {
    let mut columns = Vec::new();
    for (name, form) in head {
        let (physical, logical) = match form {
            ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Whole => (Physical::INT64, None),
            ColumnType::Real => (Physical::DOUBLE, None),
            ColumnType::Truth => (Physical::BOOLEAN, None),
        };
        let column = Type::primitive_type_builder(name, physical)
            // Any column may lack a value, so all are nullable.
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        columns.push(Arc::new(column));
    }
    let schema = Type::group_type_builder("attempt")
        .with_fields(columns)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("fillrate {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
    let mut pending: Vec<Vec<ExportValue>> = head.iter().map(|_| Vec::new()).collect();
    let rows = rows(&mut |row| {
        for (value, values) in row.into_iter().zip(&mut pending) {
            values.push(value);
        }
        // A group is written column by column, so its rows are kept until it is full.
        if pending[0].len() == ROW_GROUP {
            let group = file.next_row_group()?;
            write_group(group, &mut pending)?;
        }
        Ok(())
    })?;
    if !pending[0].is_empty() {
        let group = file.next_row_group()?;
        write_group(group, &mut pending)?;
    }
    file.close()?;
    Ok(rows)
}

/// Writes the pending rows as one row group, column by column, and empties them.
fn write_group<W: Write + Send>(
    mut group: SerializedRowGroupWriter<'_, W>,
    pending: &mut [Vec<ExportValue>],
) -> Result<(), ParquetError> {
    for values in pending {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        // One definition level for each row; only present values are stored.
        let mut there = Vec::with_capacity(values.len());
        let (mut texts, mut wholes, mut reals, mut truths) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut form = ColumnType::Text;
        for value in values.drain(..) {
            let is_there = match value {
                ExportValue::Text(value) => {
                    form = ColumnType::Text;
                    let text = value.map(|text| ByteArray::from(text.into_bytes()));
                    push(&mut texts, text)
                }
                ExportValue::Whole(value) => {
                    form = ColumnType::Whole;
                    push(&mut wholes, value)
                }
                ExportValue::Real(value) => {
                    form = ColumnType::Real;
                    push(&mut reals, value)
                }
                ExportValue::Truth(value) => {
                    form = ColumnType::Truth;
                    push(&mut truths, value)
                }
            };
            there.push(i16::from(is_there));
        }
        let levels = Some(there.as_slice());
        match form {
            ColumnType::Text => column
                .typed::<ByteArrayType>()
                .write_batch(&texts, levels, None),
            ColumnType::Whole => column
                .typed::<Int64Type>()
                .write_batch(&wholes, levels, None),
            ColumnType::Real => column
                .typed::<DoubleType>()
                .write_batch(&reals, levels, None),
            ColumnType::Truth => column
                .typed::<BoolType>()
                .write_batch(&truths, levels, None),
        }?;
        column.close()?;
    }
    group.close()?;
    Ok(())
}

/// Adds a value if it is present, and returns whether it is.
fn push<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    values.extend(value);
    is_there
}
