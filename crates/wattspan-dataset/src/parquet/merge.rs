//! Columns of two tables under one schema.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_json::ReaderBuilder;
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

/// A table that somebody else may have written, under our schema: our columns first, in our order and with our types, and
/// then theirs as they are. What describes the file as a whole goes, since it describes the columns that it had.
pub(super) fn conform(theirs: &RecordBatch, ours: &Schema) -> Result<RecordBatch, String> {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for field in ours.fields() {
        let found = theirs.schema_ref().index_of(field.name()).ok();
        let column = match found {
            Some(index) => {
                let target = union(field.data_type(), theirs.column(index).data_type());
                convert(field.name(), theirs.column(index), &target)
                    .map_err(|reason| format!("column {}: {reason}", field.name()))?
            }
            None => new_null_array(field.data_type(), theirs.num_rows()),
        };
        let is_nullable = field.is_nullable() || column.null_count() > 0;
        fields.push(Field::new(field.name(), column.data_type().clone(), is_nullable));
        columns.push(column);
    }
    for (field, column) in theirs.schema_ref().fields().iter().zip(theirs.columns()) {
        if ours.index_of(field.name()).is_err() {
            fields.push(field.as_ref().clone());
            columns.push(Arc::clone(column));
        }
    }
    batch(fields, columns, theirs.num_rows())
}

/// Our own rows, as JSON, one a line, below a table that conforms; what is not ours is absent in them.
pub(super) fn append(
    old: &RecordBatch,
    ours: &Schema,
    new: &[u8],
    count: usize,
) -> Result<RecordBatch, String> {
    // Types are those of the table; anything may be absent until it is known what is.
    let is_ours = |field: &&Arc<Field>| ours.index_of(field.name()).is_ok();
    let known = old.schema_ref().fields().iter().filter(is_ours);
    let loose = known.map(|field| field.as_ref().clone().with_nullable(true)).collect::<Fields>();
    let new = decode(new, &Schema::new(loose), count)?;
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (index, field) in old.schema_ref().fields().iter().enumerate() {
        let below = new.column_by_name(field.name()).cloned();
        let below = below.unwrap_or_else(|| new_null_array(field.data_type(), count));
        let column = arrow_select::concat::concat(&[old.column(index), &below]).map_err(text)?;
        let is_nullable = field.is_nullable() || column.null_count() > 0;
        fields.push(field.as_ref().clone().with_nullable(is_nullable));
        columns.push(column);
    }
    batch(fields, columns, old.num_rows() + count)
}

/// Rows as JSON, one a line, absent cells as `null`.
pub(super) fn encode(batch: &RecordBatch) -> Result<Vec<u8>, String> {
    let mut json = Vec::new();
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut json);
    writer.write(batch).and_then(|()| writer.finish()).map_err(text)?;
    drop(writer);
    Ok(json)
}

fn decode(json: &[u8], schema: &Schema, count: usize) -> Result<RecordBatch, String> {
    let mut decoder = ReaderBuilder::new(Arc::new(schema.clone()))
        .with_batch_size(count.max(1))
        // Versions and the like, which some write as numbers.
        .with_coerce_primitive(true)
        .build_decoder()
        .map_err(text)?;
    decoder.decode(json).map_err(text)?;
    let batch = decoder.flush().map_err(text)?;
    let batch = batch.unwrap_or_else(|| RecordBatch::new_empty(Arc::new(schema.clone())));
    if batch.num_rows() == count { Ok(batch) } else { Err("rows were lost on the way".to_owned()) }
}

/// Our type, and what only theirs has of a struct.
fn union(ours: &DataType, theirs: &DataType) -> DataType {
    match (ours, theirs) {
        (DataType::Struct(ours), DataType::Struct(theirs)) => {
            let known = ours.iter().map(|field| {
                let found = theirs.iter().find(|other| other.name() == field.name());
                let kind = found.map(|found| union(field.data_type(), found.data_type()));
                let is_nullable = field.is_nullable() || found.is_none_or(|found| found.is_nullable());
                Field::new(field.name(), kind.unwrap_or_else(|| field.data_type().clone()), is_nullable)
            });
            let others = theirs.iter().filter(|field| ours.find(field.name()).is_none());
            let others = others.map(|field| field.as_ref().clone().with_nullable(true));
            DataType::Struct(known.chain(others).collect())
        }
        (DataType::List(ours), DataType::List(theirs) | DataType::LargeList(theirs)) => {
            let is_nullable = ours.is_nullable() || theirs.is_nullable();
            let item = union(ours.data_type(), theirs.data_type());
            DataType::List(Arc::new(Field::new(ours.name(), item, is_nullable)))
        }
        _ => ours.clone(),
    }
}

/// A column with another type, by way of JSON, where all types meet.
fn convert(name: &str, column: &ArrayRef, target: &DataType) -> Result<ArrayRef, String> {
    if column.data_type() == target {
        return Ok(Arc::clone(column));
    }
    if *target == DataType::Int64 && has_fractions(column) {
        return Err("its numbers are not whole".to_owned());
    }
    let source = Field::new(name, column.data_type().clone(), true);
    let source = batch(vec![source], vec![Arc::clone(column)], column.len())?;
    let target = Schema::new(vec![Field::new(name, target.clone(), true)]);
    let converted = decode(&encode(&source)?, &target, column.len())?;
    Ok(Arc::clone(converted.column(0)))
}

/// pandas makes a column of whole numbers that has gaps one of floats; others would be cut off.
fn has_fractions(column: &ArrayRef) -> bool {
    let is_fraction = |value: f64| value.is_finite() && value.fract() != 0.0;
    let of_doubles = column.as_primitive_opt::<Float64Type>();
    let of_floats = column.as_primitive_opt::<Float32Type>();
    of_doubles.is_some_and(|values| values.iter().flatten().any(is_fraction))
        || of_floats.is_some_and(|values| values.iter().flatten().any(|value| is_fraction(value.into())))
}

fn batch(fields: Vec<Field>, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, String> {
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(text)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: ArrowError) -> String {
    error.to_string()
}
