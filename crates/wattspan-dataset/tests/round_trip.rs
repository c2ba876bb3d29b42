//! Rows that were written are read back the same; what is absent or no number is null.

mod common;

use common::{json, now, run};
use proptest::prelude::*;
use wattspan_core::{Cell, DatasetSink, Table};
use wattspan_dataset::{Attributes, JsonDataset, JsonRun, MetricRow, ResultRow, SpanRow, TableRow, TraceRow};

fn number() -> impl Strategy<Value = Option<f64>> {
    proptest::option::of(proptest::num::f64::ANY)
}

/// What JSON can hold of a number.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let leaf = prop_oneof![
        Just(Cell::Null),
        any::<bool>().prop_map(Cell::Bool),
        any::<i64>().prop_map(Cell::Int),
        (-1e300_f64..1e300).prop_map(Cell::Float),
        any::<String>().prop_map(|text| Cell::Text(text.into())),
    ];
    let cell =
        leaf.prop_recursive(2, 8, 4, |inner| proptest::collection::vec(inner, 0..4).prop_map(Cell::List));
    proptest::collection::btree_map(any::<String>(), cell, 0..4)
        .prop_map(|values| Attributes(values.into_iter().map(|(name, cell)| (name.into(), cell)).collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_back_as_they_were(
        task in any::<String>(),
        texts in proptest::collection::vec(any::<String>(), 0..3),
        response in proptest::option::of(any::<String>()),
        numbers in [number(), number(), number()],
        tokens in proptest::option::of(0_u64..=i64::MAX as u64),
        attributes in attributes(),
        nanos in any::<u32>(),
    ) {
        let mut result = ResultRow::default();
        result.task_id = Some(task.clone());
        result.tools_used.clone_from(&texts);
        result.response.clone_from(&response);
        [result.energy_j, result.execution_time_ms, result.cost_usd] = numbers;
        result.total_tokens = tokens;
        let time = std::time::UNIX_EPOCH + std::time::Duration::new(u64::from(nanos), nanos % 1_000_000_000);
        result.evaluation_date = Some(time.into());
        let mut metric = MetricRow::default();
        metric.device_name.clone_from(&task);
        [metric.gpu_power_watts, metric.energy_j, metric.power_cost_usd] = numbers;
        let mut span = SpanRow::default();
        span.attributes = attributes;
        span.name.clone_from(&task);
        span.start_time = u64::from(nanos);
        let mut trace = TraceRow::default();
        trace.trace_id.clone_from(&task);
        trace.spans = vec![span];

        let base = tempfile::tempdir().unwrap();
        let mut sink = JsonDataset::new(base.path());
        now(sink.create(&run("p"))).unwrap();
        now(sink.write(Table::Results, &[result.clone().into_row()])).unwrap();
        now(sink.write(Table::Metrics, &[metric.clone().into_row()])).unwrap();
        now(sink.write(Table::Traces, &[trace.clone().into_row()])).unwrap();
        let read = JsonRun::open(now(sink.finish(&Cell::Null)).unwrap());

        [result.energy_j, result.execution_time_ms, result.cost_usd] = numbers.map(finite);
        [metric.gpu_power_watts, metric.energy_j, metric.power_cost_usd] = numbers.map(finite);
        prop_assert_eq!(read.results().unwrap(), vec![result]);
        prop_assert_eq!(read.metrics().unwrap(), vec![metric]);
        prop_assert_eq!(read.traces().unwrap(), vec![trace]);
    }
}

#[test]
fn what_is_absent_or_no_number_is_null_and_its_key_is_there() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path());
    now(sink.create(&run("n"))).unwrap();
    let mut row = MetricRow::default();
    row.gpu_power_watts = Some(f64::INFINITY);
    row.energy_j = Some(f64::NAN);
    now(sink.write(Table::Metrics, &[row.into_row()])).unwrap();
    let folder = std::path::PathBuf::from(now(sink.finish(&Cell::Null)).unwrap());
    let metrics = json(folder.join("metrics.json"));
    let row = metrics["rows"][0].as_object().unwrap();
    assert_eq!(row.len(), MetricRow::COLUMNS.len());
    for name in ["gpu_power_watts", "energy_j", "gpu_id", "co2_emissions_gco2e", "power_cost_usd"] {
        assert!(row[name].is_null(), "{name}");
    }
}

#[test]
fn a_row_has_the_cells_that_its_schema_names_in_its_order() {
    fn check<R: TableRow + Default>() {
        let names: Vec<String> =
            R::default().into_row().0.into_iter().map(|(name, _)| name.into_owned()).collect();
        let columns: Vec<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names, columns);
        assert_eq!(wattspan_dataset::columns(R::TABLE), R::COLUMNS);
        // A default row has nulls where the schema allows them, and nowhere else.
        for (column, (_, cell)) in R::COLUMNS.iter().zip(R::default().into_row().0) {
            assert_eq!(column.nullable, cell == Cell::Null, "{}", column.name);
        }
    }
    check::<ResultRow>();
    check::<TraceRow>();
    check::<MetricRow>();
    check::<wattspan_dataset::LeaderboardRow>();
}
