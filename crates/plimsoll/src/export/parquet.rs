//! A record's trials and seconds as Parquet files, for DuckDB, pandas and their like.

use crate::failure::Failure;
use crate::record_file;
use parquet::basic::{LogicalType, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use plimsoll_record::{Column, Values, write_exported};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes `trials.parquet` and `seconds.parquet` into a folder. Each column may lack values.
///
/// # Errors
/// The record cannot be read, or the files not be written.
pub(super) fn files(file: &Path, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let record = record_file::open(file)?;
    let tables = [
        ("trials.parquet", record.trial_columns()?),
        ("seconds.parquet", record.second_columns()?),
    ];
    let mut files = Vec::new();
    for (name, columns) in tables {
        let bytes = encoded(&columns);
        let bytes =
            bytes.map_err(|e| Failure::Run(format!("{name} cannot be written as Parquet: {e}")))?;
        files.push((folder.join(name), bytes));
    }
    write_exported(folder, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn encoded(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let fields: Result<_, _> = columns
        .iter()
        .map(|column| field(column).map(Arc::new))
        .collect();
    let schema = Type::group_type_builder("record").with_fields(fields?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema.build()?), properties)?;
    let mut rows = writer.next_row_group()?;
    for column in columns {
        match &column.values {
            Values::Integers(all) => write::<Int64Type>(&mut rows, all)?,
            Values::Reals(all) => write::<DoubleType>(&mut rows, all)?,
            Values::Texts(all) => {
                let texts = all.iter().map(|text| text.as_deref().map(ByteArray::from));
                write::<ByteArrayType>(&mut rows, &texts.collect::<Vec<_>>())?;
            }
        }
    }
    rows.close()?;
    writer.close()?;
    Ok(bytes)
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match &column.values {
        Values::Integers(_) => (Physical::INT64, None),
        Values::Reals(_) => (Physical::DOUBLE, None),
        Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(parquet::basic::Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn write<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let Some(mut column) = rows.next_column()? else {
        return Err(ParquetError::General("a column too many".to_owned()));
    };
    // A value's level is 1, that of a missing one 0 (definition levels of the format).
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let there: Vec<T::T> = values.iter().flatten().cloned().collect();
    column
        .typed::<T>()
        .write_batch(&there, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn what_is_written_is_read_back() {
        let columns = [
            ("n", Values::Integers(vec![Some(1), None, Some(3)])),
            ("x", Values::Reals(vec![None, Some(2.5), None])),
            (
                "t",
                Values::Texts(vec![Some("a".to_owned()), None, Some("ü".to_owned())]),
            ),
        ];
        let columns = columns.map(|(name, values)| Column {
            name: name.to_owned(),
            values,
        });
        let bytes = bytes::Bytes::from(encoded(&columns).unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            rows,
            [
                r#"{n: 1, x: null, t: "a"}"#,
                r#"{n: null, x: 2.5, t: null}"#,
                r#"{n: 3, x: null, t: "ü"}"#
            ]
        );
    }
}
