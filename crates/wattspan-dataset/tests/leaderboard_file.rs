//! A leaderboard that several programs write, and tables written as Parquet on their own.

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, NullArray, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use common::{gpu_row, now, run};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use wattspan_core::{Cell, DatasetSink, Row, Table};
use wattspan_dataset::{
    GpuSummary, HardwareDetail, JsonDataset, JsonRun, LeaderboardFile, LeaderboardRow, MetricRow,
    ParquetTable, ReadError, ReplayError, TableRow,
};

fn row(run: &str, notes: &str) -> LeaderboardRow {
    let mut row = LeaderboardRow::default();
    row.run_id = run.into();
    row.notes = Some(notes.to_owned());
    row.timestamp = Some("2026-01-01T00:00:10.403957Z".parse().unwrap());
    row.total_tests = 20;
    row.success_rate = Some(95.0);
    let mut gpu = GpuSummary::default();
    gpu.name = "é".into();
    gpu.energy_j = Some(0.1);
    row.gpus = vec![gpu];
    let mut detail = HardwareDetail::default();
    detail.logical_cores = Some(16);
    row.hardware_detail = Some(detail);
    row
}

fn batch(bytes: Vec<u8>) -> RecordBatch {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    batches.into_iter().next().unwrap()
}

fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_row_comes_back_as_it_was_and_the_schema_is_that_of_the_table() {
    let mut board = LeaderboardFile::new();
    assert!(board.is_empty() && board.rows().unwrap().is_empty());
    let rows = [row("a", "1"), row("b", "2"), row("a", "3")];
    board.put(rows.clone().map(TableRow::into_row)).unwrap();
    assert_eq!(board.run_ids(), ["a", "b"]);
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("leaderboard.parquet");
    board.write(&path).unwrap();
    assert_eq!(LeaderboardFile::read(&path).unwrap().rows().unwrap(), [rows[2].clone(), rows[1].clone()]);
    // The same columns as `ParquetTable` writes.
    let other = base.path().join("other.parquet");
    let mut table = ParquetTable::create(Table::Leaderboard, &other).unwrap();
    table.write(&[rows[2].clone().into_row(), rows[1].clone().into_row()]).unwrap();
    assert_eq!(table.finish().unwrap(), 2);
    let (one, two) = (batch(fs::read(&path).unwrap()), batch(fs::read(&other).unwrap()));
    assert_eq!(one.schema().fields(), two.schema().fields());
    assert_eq!(one, two);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 2);
}

#[test]
fn putting_a_run_again_replaces_its_row_only() {
    let mut board = LeaderboardFile::new();
    board.put([row("a", "1").into_row(), row("b", "1").into_row()]).unwrap();
    let mut board = LeaderboardFile::from_bytes(board.to_bytes().unwrap()).unwrap();
    board.put([row("a", "2").into_row()]).unwrap();
    let found: Vec<_> =
        board.rows().unwrap().into_iter().map(|row| (row.run_id, row.notes.unwrap())).collect();
    assert_eq!(found, [("b".into(), "1".into()), ("a".into(), "2".to_owned())]);
    let bytes = board.to_bytes().unwrap();
    board.put([row("a", "2").into_row()]).unwrap();
    assert_eq!(board.to_bytes().unwrap(), bytes);
}

#[test]
fn foreign_columns_stay_and_known_ones_get_our_types() {
    let text = |values: [Option<&str>; 2]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let labels: DictionaryArray<Int32Type> = vec![Some("x"), None].into_iter().collect();
    let detail = StructArray::from(vec![
        (Arc::new(Field::new("os", DataType::Utf8, true)), text([Some("Linux"), None])),
        (Arc::new(Field::new("rack", DataType::Utf8, true)), text([None, Some("7")])),
    ]);
    let bytes = file(vec![
        ("label", Arc::new(labels.clone())),
        ("run_id", text([Some("theirs"), None])),
        ("timestamp", text([Some("2026-12-01T21:46:38.403957"), Some("2026-12-01T21:46:38+01:00")])),
        ("success_rate", Arc::new(Int64Array::from(vec![Some(95), None]))),
        ("total_tests", Arc::new(Float64Array::from(vec![Some(20.0), Some(f64::NAN)]))),
        ("notes", Arc::new(NullArray::new(2))),
        ("suite_version", Arc::new(Int64Array::from(vec![Some(3), None]))),
        ("hardware_detail", Arc::new(detail)),
        ("when", Arc::new(TimestampMicrosecondArray::from(vec![1, 2]))),
    ]);
    let mut board = LeaderboardFile::from_bytes(bytes).unwrap();
    board.put([row("ours", "n").into_row()]).unwrap();
    let board = LeaderboardFile::from_bytes(board.to_bytes().unwrap()).unwrap();
    assert_eq!(board.run_ids(), ["theirs", "ours"]);
    let rows = board.rows().unwrap();
    assert_eq!(rows[2], row("ours", "n"));
    let time = |row: &LeaderboardRow| row.timestamp.unwrap().to_string();
    assert_eq!(time(&rows[0]), "2026-12-01T21:46:38.403957Z");
    assert_eq!(time(&rows[1]), "2026-12-01T20:46:38.000000Z");
    assert_eq!((rows[0].success_rate, rows[1].success_rate), (Some(95.0), None));
    assert_eq!((rows[0].total_tests, rows[0].suite_version.as_deref()), (20, Some("3")));
    assert_eq!(rows[0].hardware_detail.as_ref().unwrap().os.as_deref(), Some("Linux"));
    // Our columns first, then theirs, untouched.
    let written = batch(board.to_bytes().unwrap());
    let names: Vec<String> = written.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(
        names[..LeaderboardRow::COLUMNS.len()],
        LeaderboardRow::COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>()
    );
    assert_eq!(names[LeaderboardRow::COLUMNS.len()..], ["label", "when"]);
    let kept = written.column_by_name("label").unwrap().slice(0, 2);
    assert_eq!(arrow_json_text(&kept), arrow_json_text(&(Arc::new(labels) as ArrayRef)));
    assert_eq!(
        written.column_by_name("when").unwrap().data_type(),
        &DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, None)
    );
    assert!(written.column_by_name("when").unwrap().is_null(2));
    let detail = written.column_by_name("hardware_detail").unwrap();
    assert!(arrow_json_text(detail).contains(r#""rack":"7""#));
    assert!(written.column_by_name("total_tests").unwrap().is_null(1));
}

/// A column as text.
fn arrow_json_text(column: &ArrayRef) -> String {
    let batch = RecordBatch::try_from_iter([("c", Arc::clone(column))]).unwrap();
    let mut writer = arrow_json::ArrayWriter::new(Vec::new());
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    String::from_utf8(writer.into_inner()).unwrap()
}

#[test]
fn what_cannot_be_converted_is_told_with_its_column() {
    let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let cases: [(&str, ArrayRef); 4] = [
        ("timestamp", text("yesterday")),
        ("total_tests", text("many")),
        ("total_tests", Arc::new(Float64Array::from(vec![0.5]))),
        ("gpus", text("[]")),
    ];
    for (name, column) in cases {
        let error =
            LeaderboardFile::from_bytes(file(vec![("run_id", text("a")), (name, column)])).unwrap_err();
        assert!(error.to_string().contains(&format!("column {name}: ")), "{error}");
    }
    let error = LeaderboardFile::from_bytes(b"PAR1".to_vec()).unwrap_err();
    assert!(matches!(error, ReadError::Format { .. }), "{error}");
    let error = LeaderboardFile::read("/nowhere/leaderboard.parquet").unwrap_err();
    assert!(matches!(error, ReadError::Missing { .. }), "{error}");
}

#[test]
fn rows_without_a_run_or_of_other_types_change_nothing() {
    let mut board = LeaderboardFile::new();
    board.put([row("a", "1").into_row()]).unwrap();
    let before = board.rows().unwrap();
    let mut bad = row("a", "2").into_row();
    bad.0[17].1 = Cell::Text("x".into());
    assert_eq!(bad.0[17].0, "total_tests");
    for (rows, words) in [
        (vec![row("a", "2").into_row(), row("", "2").into_row()], "tells no run"),
        (vec![Row::default()], "tells no run"),
        (vec![row("b", "2").into_row(), bad], "write rows of this crate's types"),
    ] {
        let error = board.put(rows).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(board.rows().unwrap(), before);
    }
}

#[test]
fn tables_of_a_finished_run_are_what_the_sink_writes_beside_them() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path()).parquet(true);
    now(sink.create(&run("p"))).unwrap();
    let rows: Vec<Row> = (0..3).map(|second| gpu_row("p", 0, second).into_row()).collect();
    now(sink.write(Table::Metrics, &rows)).unwrap();
    let folder = now(sink.finish(&Cell::Null)).unwrap();
    let run = JsonRun::open(&folder);
    for (table, rows) in
        [(Table::Results, 0), (Table::Traces, 0), (Table::Metrics, 3), (Table::Leaderboard, 1)]
    {
        let path = base.path().join("copy.parquet");
        assert_eq!(run.write_parquet(table, &path).unwrap(), rows);
        let beside = Path::new(&folder).join(format!("{}.parquet", table.as_str()));
        assert_eq!(fs::read(&path).unwrap(), fs::read(beside).unwrap(), "{table:?}");
    }
    fs::write(Path::new(&folder).join("journal.ndjson"), "").unwrap();
    let error = run.write_parquet(Table::Metrics, base.path().join("x.parquet")).unwrap_err();
    assert!(matches!(error, ReplayError::Read(ReadError::Unfinished { .. })), "{error}");
}

#[test]
fn a_table_that_is_not_finished_leaves_what_was_there() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("metrics.parquet");
    let mut first = ParquetTable::create(Table::Metrics, &path).unwrap();
    first.write(&[MetricRow::default().into_row()]).unwrap();
    assert!(!path.exists());
    first.finish().unwrap();
    let before = fs::read(&path).unwrap();
    let mut second = ParquetTable::create(Table::Metrics, &path).unwrap();
    second.write(&[Row(vec![("run_id".into(), Cell::List(vec![]))])]).unwrap();
    second.finish().unwrap_err();
    drop(ParquetTable::create(Table::Metrics, &path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    let error = ParquetTable::create(Table::Metrics, base.path().join("no/where")).unwrap_err().to_string();
    assert!(error.contains("no/.where.part"), "{error}");
    assert!(File::open(&path).is_ok());
}
