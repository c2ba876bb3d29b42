//! The same tables as Parquet.

mod common;

use std::fs::File;
use std::path::Path;

use common::{gpu_row, now, run};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use wattspan_core::{Cell, DatasetSink, Table};
use wattspan_dataset::{JsonDataset, ResultRow, SpanRow, TableRow, TraceRow, columns};

fn rows(path: &Path) -> (Vec<String>, Vec<Row>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    let names = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    (names, reader.get_row_iter(None).unwrap().map(Result::unwrap).collect())
}

/// Where a column stands in its table.
fn at(table: Table, name: &str) -> usize {
    columns(table).iter().position(|column| column.name == name).unwrap()
}

#[test]
fn parquet_holds_the_same_rows_with_the_same_columns() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path()).parquet(true);
    now(sink.create(&run("p"))).unwrap();
    let mut result = ResultRow::default();
    result.task_id = Some("é".into());
    result.success = Some(true);
    result.energy_j = Some(12.5);
    result.evaluation_date = Some("2026-01-01T00:00:10.403957Z".parse().unwrap());
    result.tools_used = vec!["get_weather".into()];
    now(sink.write(Table::Results, &[result.into_row(), ResultRow::default().into_row()])).unwrap();
    // More than one batch, the first GPU's power unknown at every second moment.
    for second in 0..5_000 {
        let mut row = gpu_row("p", 0, second);
        row.gpu_power_watts = (second % 2 == 1).then_some(300.5);
        now(sink.write(Table::Metrics, &[row.into_row()])).unwrap();
    }
    let mut span = SpanRow::default();
    span.trace_id = "t".into();
    span.attributes.push("a.b", Cell::Int(1));
    span.start_time = 1_767_225_600_020_000_001;
    now(sink.write(Table::Traces, &[TraceRow::from_spans("p", "t", vec![span]).into_row()])).unwrap();
    let folder = now(sink.finish(&Cell::Null)).unwrap();
    let folder = Path::new(&folder);

    let (names, results) = rows(&folder.join("results.parquet"));
    let expected: Vec<&str> = ResultRow::COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(names, expected);
    assert_eq!(results[0].get_string(at(Table::Results, "task_id")).unwrap(), "é");
    assert_eq!(results[0].get_double(at(Table::Results, "energy_j")).unwrap(), 12.5);
    assert!(results[0].get_bool(at(Table::Results, "success")).unwrap());
    let date = results[0].get_timestamp_micros(at(Table::Results, "evaluation_date")).unwrap();
    assert_eq!(date, 1_767_225_610_403_957);
    // Absent, and not 0.
    assert!(results[1].get_double(at(Table::Results, "energy_j")).is_err());
    let tools = results[0].get_list(at(Table::Results, "tools_used")).unwrap();
    assert_eq!(tools.len(), 1);

    let (_, metrics) = rows(&folder.join("metrics.parquet"));
    assert_eq!(metrics.len(), 5_000);
    let power = at(Table::Metrics, "gpu_power_watts");
    assert_eq!(metrics.iter().filter_map(|row| row.get_double(power).ok()).sum::<f64>(), 2_500.0 * 300.5);
    assert_eq!(metrics[4_999].get_string(at(Table::Metrics, "gpu_id")).unwrap(), "0");

    let (_, traces) = rows(&folder.join("traces.parquet"));
    let text = traces[0].get_list(at(Table::Traces, "spans")).unwrap().to_owned();
    let shown = format!("{text:?}");
    assert!(shown.contains(r#"{\"a.b\":1}"#) && shown.contains("1767225600020000001"), "{shown}");

    let (_, leaderboard) = rows(&folder.join("leaderboard.parquet"));
    assert_eq!(leaderboard.len(), 1);
    assert_eq!(leaderboard[0].get_long(at(Table::Leaderboard, "total_tests")).unwrap(), 2);
}

#[test]
fn empty_tables_have_their_schema() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path()).parquet(true);
    now(sink.create(&run("p"))).unwrap();
    let folder = now(sink.finish(&Cell::Null)).unwrap();
    let (names, rows) = rows(&Path::new(&folder).join("metrics.parquet"));
    assert_eq!((names.len(), rows.len()), (columns(Table::Metrics).len(), 0));
}

#[test]
fn rows_that_have_no_place_are_refused_and_the_journal_stays() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path()).parquet(true);
    now(sink.create(&run("p"))).unwrap();
    let row = wattspan_core::Row(vec![("run_id".into(), Cell::Int(7))]);
    now(sink.write(Table::Metrics, &[row])).unwrap();
    let error = now(sink.finish(&Cell::Null)).unwrap_err().to_string();
    assert!(error.contains("metrics.parquet") && error.contains("what was there before is kept"), "{error}");
    assert!(sink.folder().unwrap().join("journal.ndjson").exists());
    now(sink.parquet(false).finish(&Cell::Null)).unwrap();
}
