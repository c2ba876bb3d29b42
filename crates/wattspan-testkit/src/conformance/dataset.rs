//! The duties of a dataset.

use wattspan_core::{Cell, DatasetSink, Row, RunId, Table};

/// Writes a small run to a sink, with everything that may be repeated done twice: creating it, rows, finishing it.
/// Whether it is stored once is for the caller to look up, in the place that the sink answers.
///
/// # Panics
/// When the sink refuses something, or does not say where the run is.
pub async fn dataset_sink(sink: &mut dyn DatasetSink, run: &RunId) -> String {
    let create = sink.create(run).await;
    assert!(create.is_ok(), "a run could not be created: {create:?}");
    let again = sink.create(run).await;
    assert!(again.is_ok(), "a run that is there could not be found again: {again:?}");
    for table in Table::ALL {
        for rows in [vec![], rows(run, 0..2), rows(run, 2..3), rows(run, 0..3)] {
            let written = sink.write(table, &rows).await;
            assert!(written.is_ok(), "{} rows of {} were refused: {written:?}", rows.len(), table.as_str());
        }
    }
    let metadata =
        Cell::Map(vec![("run_id".into(), Cell::Text(run.to_string().into())), ("note".into(), Cell::Null)]);
    let place = sink.finish(&metadata).await;
    let again = sink.finish(&metadata).await;
    match (place, again) {
        (Ok(place), Ok(_)) => {
            assert!(!place.is_empty(), "the sink does not say where the run is");
            place
        }
        (first, second) => panic!("a run could not be finished: {first:?}, {second:?}"),
    }
}

/// Rows with every kind of cell.
fn rows(run: &RunId, range: std::ops::Range<i64>) -> Vec<Row> {
    let row = |index: i64| {
        Row(vec![
            ("run_id".into(), Cell::Text(run.to_string().into())),
            ("index".into(), Cell::Int(index)),
            ("energy_joules".into(), Cell::Float(0.5)),
            ("absent".into(), Cell::Null),
            ("ok".into(), Cell::Bool(true)),
            ("list".into(), Cell::List(vec![Cell::Int(1), Cell::Null])),
            ("map".into(), Cell::Map(vec![("é".into(), Cell::Text("\"\n".into()))])),
        ])
    };
    range.map(row).collect()
}
