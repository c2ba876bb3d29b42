//! SMOLTRACE's five files against ours: every key of theirs stands in ours, with a type of theirs.

mod common;

use std::path::{Path, PathBuf};

use common::{gpu_row, json, key_paths, now, run};
use serde_json::Value;
use wattspan_core::{DatasetSink, Table};
use wattspan_dataset::{
    Attributes, EventRow, GpuMemory, HardwareDetail, JsonDataset, LeaderboardRow, Metadata, MetricRow,
    ResultRow, SpanRow, TableRow, TraceRow,
};

fn text(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

/// A time of theirs, which has no zone: it was recorded in UTC.
fn time(value: &Value, key: &str) -> wattspan_dataset::Timestamp {
    format!("{}Z", value[key].as_str().unwrap()).parse().unwrap()
}

fn theirs(name: &str) -> Value {
    json(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/smoltrace").join(name))
}

/// Their results as rows of ours, energy and the like left out.
fn results() -> Vec<ResultRow> {
    let from = |row: &Value| {
        let mut result = ResultRow::default();
        result.model = text(row, "model");
        result.evaluation_date = Some(time(row, "evaluation_date"));
        result.task_id = text(row, "task_id");
        result.test_case_uid = text(row, "test_case_uid");
        result.agent_type = text(row, "agent_type");
        result.difficulty = text(row, "difficulty");
        result.prompt = text(row, "prompt");
        result.success = row["success"].as_bool();
        result.pass_at_1_passed = row["pass_at_1_passed"].as_bool();
        result.tool_called = row["tool_called"].as_bool();
        result.correct_tool = row["correct_tool"].as_bool();
        result.final_answer_called = row["final_answer_called"].as_bool();
        result.response_correct = row["response_correct"].as_bool();
        result.tools_used = vec!["get_weather".to_owned()];
        result.steps = row["steps"].as_i64();
        result.response = text(row, "response");
        result.error = text(row, "error");
        result.stop_reason = text(row, "stop_reason");
        result.timed_out = row["timed_out"].as_bool();
        result.run_id = text(row, "run_id").unwrap();
        result
    };
    theirs("results.json").as_array().unwrap().iter().map(from).collect()
}

/// Their spans, put together by our rules.
fn traces() -> Vec<TraceRow> {
    let attributes = |value: &Value| serde_json::from_value::<Attributes>(value.clone()).unwrap();
    let span = |span: &Value| {
        let mut row = SpanRow::default();
        row.trace_id = text(span, "trace_id").unwrap();
        row.span_id = text(span, "span_id").unwrap();
        row.parent_span_id = text(span, "parent_span_id");
        row.name = text(span, "name").unwrap();
        row.start_time = span["start_time"].as_u64().unwrap();
        row.end_time = span["end_time"].as_u64().unwrap();
        row.duration_ms = span["duration_ms"].as_f64().unwrap();
        row.attributes = attributes(&span["attributes"]);
        row.events = serde_json::from_value::<Vec<EventRow>>(span["events"].clone()).unwrap();
        row.status.code = text(&span["status"], "code").unwrap();
        row.status.description = text(&span["status"], "description");
        row.kind = text(span, "kind").unwrap();
        row.resource.attributes = attributes(&span["resource"]["attributes"]);
        row
    };
    let trace = |trace: &Value| {
        let spans = trace["spans"].as_array().unwrap().iter().map(span).collect();
        TraceRow::from_spans("golden-run-0001", trace["trace_id"].as_str().unwrap(), spans)
    };
    theirs("traces.json").as_array().unwrap().iter().map(trace).collect()
}

/// Their two GPUs at their two moments. Grams and cost come in at the second.
fn metrics() -> Vec<MetricRow> {
    let row = |(index, second): (usize, u64)| {
        let mut row = gpu_row("golden-run-0001", index, second);
        row.gpu_utilization_percent = Some(97.5);
        row.gpu_memory_used_mib = Some(30_720.25);
        row.gpu_memory_total_mib = Some(40_960.0);
        row.gpu_temperature_celsius = Some(55.0);
        row.co2_emissions_gco2e = (second == 20).then_some([0.036, 0.108][index]);
        row.power_cost_usd = (second == 20).then_some(9e-6);
        row
    };
    [(0, 10), (1, 10), (0, 20), (1, 20)].into_iter().map(row).collect()
}

fn hardware() -> HardwareDetail {
    let mut gpu = GpuMemory::default();
    gpu.name = "NVIDIA A100-SXM4-40GB".into();
    gpu.memory_gb = Some(40.0);
    let mut hardware = HardwareDetail::default();
    hardware.cpu_model = Some("golden-cpu".to_owned());
    hardware.logical_cores = Some(8);
    hardware.memory_gb = Some(32.0);
    hardware.os = Some("Linux".to_owned());
    hardware.gpus = vec![gpu.clone(), gpu];
    hardware
}

fn leaderboard(results: &[ResultRow], traces: &[TraceRow], metrics: &[MetricRow]) -> LeaderboardRow {
    let given = theirs("leaderboard_row.json");
    let mut row = LeaderboardRow::default();
    row.run_id = "golden-run-0001".into();
    row.model = text(&given, "model");
    row.agent_type = text(&given, "agent_type");
    row.provider = text(&given, "provider");
    row.timestamp = Some(time(&given, "timestamp"));
    row.submitted_by = text(&given, "submitted_by");
    row.use_case = text(&given, "use_case");
    row.team = text(&given, "team");
    row.purpose = text(&given, "purpose");
    row.suite_version = text(&given, "suite_version");
    row.hardware = text(&given, "hardware");
    row.hardware_detail = Some(hardware());
    row.hardware_scope = text(&given, "hardware_scope");
    row.results_dataset = text(&given, "results_dataset");
    row.traces_dataset = text(&given, "traces_dataset");
    row.metrics_dataset = text(&given, "metrics_dataset");
    row.dataset_used = text(&given, "dataset_used");
    row.pass_rule = text(&given, "pass_rule");
    row.pass_attempts = given["pass_attempts"].as_u64();
    row.run_status = text(&given, "run_status");
    row.run_stop_reason = text(&given, "run_stop_reason");
    row.planned_tests = given["planned_tests"].as_u64();
    row.task_timeout_s = given["task_timeout_s"].as_f64();
    row.request_timeout_s = given["request_timeout_s"].as_f64();
    row.notes = text(&given, "notes");
    let mut aggregate = wattspan_dataset::RunAggregate::new();
    for result in results {
        aggregate.result(result);
    }
    for trace in traces {
        aggregate.trace(trace);
    }
    for metric in metrics {
        aggregate.metric(metric);
    }
    aggregate.fill(&mut row);
    row
}

fn written() -> (tempfile::TempDir, PathBuf) {
    let base = tempfile::tempdir().unwrap();
    let (mut results, traces, metrics) = (results(), traces(), metrics());
    for (result, trace) in results.iter_mut().zip(&traces) {
        result.trace_id = Some(trace.trace_id.clone());
        result.span_id.clone_from(&trace.root_span_id);
        result.execution_time_ms = trace.total_duration_ms;
        result.total_tokens = trace.total_tokens;
        result.input_tokens = trace.total_prompt_tokens;
        result.output_tokens = trace.total_completion_tokens;
        result.cost_usd = trace.total_cost_usd;
        result.co2_emissions_g = Some(0.072);
    }
    let row = leaderboard(&results, &traces, &metrics);
    let mut metadata = Metadata::default();
    metadata.model.clone_from(&row.model);
    metadata.agent_type.clone_from(&row.agent_type);
    metadata.dataset_used.clone_from(&row.dataset_used);
    metadata.timestamp = row.timestamp;
    metadata.hardware.clone_from(&row.hardware);
    metadata.hardware_detail = Some(hardware());
    metadata.hardware_scope.clone_from(&row.hardware_scope);
    let mut sink = JsonDataset::new(base.path());
    now(sink.create(&run("golden-run-0001"))).unwrap();
    let rows = |rows: Vec<_>| rows;
    now(sink.write(Table::Results, &rows(results.into_iter().map(TableRow::into_row).collect()))).unwrap();
    now(sink.write(Table::Traces, &rows(traces.into_iter().map(TableRow::into_row).collect()))).unwrap();
    now(sink.write(Table::Metrics, &rows(metrics.into_iter().map(TableRow::into_row).collect()))).unwrap();
    now(sink.write(Table::Leaderboard, &[row.into_row()])).unwrap();
    let folder = now(sink.finish(&metadata.into_cell())).unwrap();
    (base, folder.into())
}

/// Keys that mean something else here or nothing, with the reason in `docs/datasets.md`.
fn differs(path: &str) -> bool {
    // Durations of calls are histograms of the OpenTelemetry exporters, not of this file.
    path.contains(".histogram")
        // Kept once, in the traces table.
        || path.ends_with(".enhanced_trace_info")
}

#[track_caller]
fn check(name: &str) {
    let (_base, folder) = written();
    let (ours, theirs) = (key_paths(&json(folder.join(name))), key_paths(&theirs(name)));
    for (path, types) in theirs.iter().filter(|(path, _)| !differs(path)) {
        let found = ours.get(path).unwrap_or_else(|| panic!("{name}: {path} is not in ours"));
        // `null` beside a value is how an absent figure looks; a column that is always null would have no type.
        let has_value =
            found.iter().any(|kind| types.contains(kind) && (*kind != "null" || types.len() == 1));
        let only_theirs = found.iter().all(|kind| types.contains(kind) || *kind == "null");
        let is_integer_slot = path.ends_with(".asInt");
        assert!((has_value || is_integer_slot) && only_theirs, "{name}: {path}: {found:?}, theirs {types:?}");
    }
}

#[test]
fn results_have_their_keys_and_types() {
    check("results.json");
}

#[test]
fn traces_have_their_keys_and_types() {
    check("traces.json");
}

#[test]
fn metrics_have_their_keys_and_types() {
    check("metrics.json");
}

#[test]
fn the_leaderboard_row_has_their_keys_and_types() {
    check("leaderboard_row.json");
}

#[test]
fn metadata_has_their_keys_and_types() {
    check("metadata.json");
}

#[test]
fn what_they_count_twice_is_counted_once() {
    let (_base, folder) = written();
    let results = json(folder.join("results.json"));
    // The tool agent's call used 120 tokens in 400 ms, the code agent's 240 in 430 ms.
    let figures = |row: &Value| (row["total_tokens"].as_u64(), row["execution_time_ms"].as_f64());
    assert_eq!(figures(&results[0]), (Some(120), Some(400.0)));
    assert_eq!(figures(&results[1]), (Some(240), Some(430.0)));
    let row = json(folder.join("leaderboard_row.json"));
    assert_eq!(row["total_tokens"], 360);
    // Two GPUs emitted 0.036 and 0.108 g: together 0.144, not the larger one.
    assert!((row["co2_emissions_g"].as_f64().unwrap() - 0.144).abs() < 1e-12);
    assert_eq!(row["gpu_memory_max_mib"], 2.0 * 30_720.25);
    let metrics = json(folder.join("metrics.json"));
    // One of two cases succeeded, also where both have one task id.
    assert_eq!(metrics["aggregates"][0]["data_points"][0]["value"]["value"], 1);
    assert_eq!(metrics["rows"].as_array().unwrap().len(), 4);
    assert_eq!(metrics["rows"][0]["co2_emissions_gco2e"], Value::Null);
    assert_eq!(json(folder.join("metadata.json"))["num_metrics"], 4);
    let sum = &metrics["resourceMetrics"][1]["scopeMetrics"][0]["metrics"][5];
    assert_eq!(
        (&sum["name"], sum["sum"]["dataPoints"].as_array().unwrap().len()),
        (&"gen_ai.co2.emissions".into(), 2)
    );
}

#[test]
fn what_they_count_right_is_the_same() {
    let (_base, folder) = written();
    let (ours, theirs) = (json(folder.join("leaderboard_row.json")), theirs("leaderboard_row.json"));
    for key in [
        "total_tests",
        "successful_tests",
        "failed_tests",
        "success_rate",
        "pass_at_1",
        "evaluated_prompts",
        "passed_prompts",
        "avg_steps",
        "planned_tests",
        "completed_tests",
        "interrupted_tests",
        "timed_out_tests",
        "max_steps_tests",
        "errored_tests",
        "hardware_detail",
    ] {
        assert_eq!(ours[key], theirs[key], "{key}");
    }
    // Cost is not doubled in this recording: two calls of 27 and 54 micro-dollars.
    assert!((ours["total_cost_usd"].as_f64().unwrap() - 8.1e-5).abs() < 1e-12);
}
