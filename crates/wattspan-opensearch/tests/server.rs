//! End to end against a server that speaks OpenSearch's API.

mod common;

use common::{
    Folder, Osmem, SUFFIX, begun, export, leaderboard, metadata, metric, result, rows, run_id, trace,
};
use serde_json::{Value, json};
use wattspan_core::{Cell, DatasetSink as _, Row, RunId, SinkError, Table};
use wattspan_dataset::TableRow as _;
use wattspan_opensearch::{OpenSearchSink, Right, check, template_name};

#[tokio::test]
async fn a_run_exported_twice_is_stored_once() {
    let server = Osmem::start();
    let mut first = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    let place = export(&mut first).await.unwrap();
    assert_eq!(place, format!("{}/smoltrace-leaderboard/_doc/run-1", server.url));
    assert_eq!(server.counts(&first).await, [10, 10, 20, 1]);
    let indexes = first.indexes().unwrap().clone();
    assert_eq!(indexes.results, format!("smoltrace-results-{SUFFIX}"));
    let before = server.document("smoltrace-leaderboard", "run-1").await;

    // Another process, which does not know when the run began.
    let mut second = OpenSearchSink::new(server.options()).unwrap();
    export(&mut second).await.unwrap();
    assert_eq!(second.indexes(), Some(&indexes));
    assert_eq!(server.counts(&second).await, [10, 10, 20, 1]);
    assert_eq!(server.document("smoltrace-leaderboard", "run-1").await, before);
    assert_eq!(second.progress().stored, 10 + 10 + 20 + 2);
    assert_eq!((second.progress().refused, second.progress().waiting()), (0, 0));
}

#[tokio::test]
async fn what_is_stored_is_what_was_written() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    export(&mut sink).await.unwrap();
    let indexes = sink.indexes().unwrap().clone();

    let stored = server.document(&indexes.results, "run-1:1:tool:weather_4").await;
    assert_eq!(stored, serde_json::to_value(result(4).into_row()).unwrap());
    assert_eq!(stored["total_tokens"], json!(3_000_000_004_u64));
    assert_eq!(stored["error"], Value::Null);

    let stored = server.document(&indexes.traces, &format!("run-1:{:032x}", 1)).await;
    assert_eq!(stored["spans"][0]["start_time"], json!(1_796_161_598_000_000_001_u64));
    assert_eq!(stored["spans"][0]["attributes"]["x"], 1);
    assert_eq!(stored["spans"][0]["attributes"]["x.y"], "two");

    let stored =
        server.document(&indexes.metrics, "run-1:1796161599000000000:1796161598000000000:GPU-1").await;
    assert_eq!(stored["gpu_power_watts"], json!(63.0));
    assert_eq!(stored["power_cost_usd"], Value::Null);

    let stored = server.document("smoltrace-leaderboard", "run-1").await;
    for (field, index) in [
        ("results_index", &indexes.results),
        ("traces_index", &indexes.traces),
        ("metrics_index", &indexes.metrics),
    ] {
        assert_eq!(stored[field], index.as_str());
    }
    assert_eq!(stored["metadata"]["configuration"], json!({"x": 1, "x.y": null}));

    // Typed, so that the questions people have are answered.
    assert_eq!(server.hits(&indexes.results, json!({"term": {"task_id": "weather_4"}})).await, 1);
    assert_eq!(
        server.hits(&indexes.results, json!({"range": {"total_tokens": {"gte": 3_000_000_008_u64}}})).await,
        2
    );
    assert_eq!(
        server
            .hits(&indexes.results, json!({"range": {"evaluation_date": {"lt": "2026-12-01T21:46:40Z"}}}))
            .await,
        2
    );
    assert_eq!(server.hits(&indexes.results, json!({"match": {"prompt": "weather"}})).await, 10);
    let span = |query: Value| json!({"nested": {"path": "spans", "query": query}});
    assert_eq!(server.hits(&indexes.traces, span(json!({"term": {"spans.name": "chat"}}))).await, 10);
    assert_eq!(
        server
            .hits(
                &indexes.traces,
                span(json!({"range": {"spans.start_time": {"gt": 1_796_161_598_000_000_000_u64}}}))
            )
            .await,
        10
    );
    assert_eq!(
        server.hits("smoltrace-leaderboard", json!({"term": {"results_index": indexes.results}})).await,
        1
    );
}

#[tokio::test]
async fn case_opensearch_04_whole_numbers_do_not_fix_a_field_as_long() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    let watts = |index: u64, watts: f64| {
        let mut row = metric(index);
        row.power_watts = Some(watts);
        let mut row = row.into_row();
        // A column that no mapping knows: its first value fixes nothing.
        row.0.push(("watts".into(), if index == 0 { Cell::Int(100) } else { Cell::Float(watts) }));
        row
    };
    sink.write(Table::Metrics, &[watts(0, 100.0), watts(1, 99.5)]).await.unwrap();
    sink.finish(&Cell::Null).await.unwrap();
    let index = sink.indexes().unwrap().metrics.clone();
    assert_eq!(server.count(&index).await, 2);
    assert_eq!(server.hits(&index, json!({"range": {"power_watts": {"lt": 100}}})).await, 1);
    let (_, mapping) = server.ask("GET", &format!("/{index}/_mapping"), None).await;
    let fields = &mapping[&index]["mappings"]["properties"];
    assert_eq!(fields["power_watts"]["type"], "double");
    assert_eq!(fields["watts"], Value::Null);
}

#[tokio::test]
async fn a_poisoned_document_is_kept_in_a_file_and_the_rest_stored() {
    let server = Osmem::start();
    let folder = Folder::new();
    let mut sink =
        OpenSearchSink::new(server.options().refused_folder(folder.0.path())).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    let mut results = rows(result, 0..10);
    for (name, cell) in &mut results[3].0 {
        if name == "evaluation_date" {
            *cell = Cell::Text("not a time, and private".into());
        }
    }
    for _ in 0..2 {
        sink.create(&run_id()).await.unwrap();
        sink.write(Table::Results, &results).await.unwrap();
        sink.write(Table::Leaderboard, &[leaderboard().into_row()]).await.unwrap();
        let error = sink.finish(&metadata()).await.unwrap_err();
        let message = error.to_string();
        let SinkError::Refused { rows: 1, reason, kept_in, .. } = error else { panic!("{message}") };
        assert!(
            reason.starts_with("mapper_parsing_exception: failed to parse field [evaluation_date]"),
            "{reason}"
        );
        assert!(!message.contains("private"), "{message}");
        assert_eq!(kept_in, folder.refused().display().to_string());
        assert_eq!(server.counts(&sink).await, [9, 0, 0, 1]);
    }
    // Exported twice, kept once.
    let kept = std::fs::read_to_string(folder.refused()).unwrap();
    assert_eq!(kept.lines().count(), 1);
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(
        (&kept["status"], &kept["action"]["index"]["_id"]),
        (&json!(400), &json!("run-1:1:tool:weather_3"))
    );
    assert_eq!(kept["document"], serde_json::to_value(&results[3]).unwrap());
}

#[tokio::test]
async fn a_leaderboard_row_is_changed_and_not_replaced() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    export(&mut sink).await.unwrap();
    // People and other exports write into it, too.
    let note = json!({"doc": {"notes": "reviewed", "stars": 5, "run_stop_reason": "was interrupted"}});
    server.ask("POST", "/smoltrace-leaderboard/_update/run-1", Some(note)).await;
    let mut row = leaderboard();
    row.success_rate = Some(70.0);
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Leaderboard, &[row.into_row()]).await.unwrap();
    sink.finish(&metadata()).await.unwrap();
    let stored = server.document("smoltrace-leaderboard", "run-1").await;
    assert_eq!((&stored["notes"], &stored["stars"]), (&json!("reviewed"), &json!(5)));
    // What the run itself knows is as it says now.
    assert_eq!((&stored["success_rate"], &stored["run_stop_reason"]), (&json!(70.0), &Value::Null));
}

#[tokio::test]
async fn runs_of_one_second_have_indexes_of_their_own() {
    let server = Osmem::start();
    // SMOLTRACE's, or anybody's, of the same moment.
    server.ask("PUT", &format!("/smoltrace-results-{SUFFIX}"), Some(json!({}))).await;
    let mut names = Vec::new();
    for run in ["a", "b", "a", "b"] {
        let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
        sink.create(&RunId::new(run).unwrap()).await.unwrap();
        sink.write(Table::Results, &rows(result, 0..2)).await.unwrap();
        sink.finish(&Cell::Null).await.unwrap();
        names.push(sink.indexes().unwrap().results.clone());
    }
    let expected = ["smoltrace-results-20261201-214639", "smoltrace-results-20261201-214640"];
    assert_eq!(names, [expected, expected].concat());
    assert_eq!((server.count(expected[0]).await, server.count(expected[1]).await), (2, 2));
    assert_eq!(server.count(&format!("smoltrace-results-{SUFFIX}")).await, 0);
}

#[tokio::test]
async fn templates_are_brought_up_to_date_and_never_back() {
    let server = Osmem::start();
    let name = template_name("smoltrace", Table::Metrics);
    let path = format!("/_index_template/{name}");
    let template =
        async || server.ask("GET", &path, None).await.1["index_templates"][0]["index_template"].clone();
    let create = async || OpenSearchSink::new(server.options()).unwrap().create(&run_id()).await.unwrap();
    let put = async |version: Value, by: &str| {
        let body = json!({
            "index_patterns": ["smoltrace-metrics-*"], "priority": 200, "version": version, "_meta": {"managed_by": by},
        });
        assert_eq!(server.ask("PUT", &path, Some(body)).await.0, 200);
    };
    create().await;
    let ours = template().await;
    assert_eq!((&ours["version"], &ours["priority"]), (&json!(1), &json!(200)));
    assert_eq!(ours["template"]["mappings"]["properties"]["power_watts"]["type"], "double");

    put(json!(0), "wattspan").await;
    create().await;
    assert_eq!(template().await, ours, "an older one is replaced");
    for (version, by) in [(json!(7), "wattspan"), (json!(0), "somebody")] {
        put(version.clone(), by).await;
        create().await;
        let kept = template().await;
        assert_eq!((&kept["version"], &kept["_meta"]["managed_by"]), (&version, &json!(by)));
    }
    // Without a template of ours the index is mapped all the same.
    let index = server.ask("GET", "/smoltrace-metrics-*/_mapping", None).await.1;
    let mapping = index.as_object().unwrap().values().next().unwrap();
    assert_eq!(mapping["mappings"]["properties"]["power_watts"]["type"], "double");
}

#[tokio::test]
async fn an_older_leaderboard_gets_the_fields_that_it_lacks() {
    let server = Osmem::start();
    // As SMOLTRACE makes it: integers, and not all fields.
    let body = json!({"mappings": {"properties": {
        "run_id": {"type": "keyword"}, "total_tokens": {"type": "integer"},
        "hardware_detail": {"type": "object", "enabled": false},
    }}});
    server.ask("PUT", "/smoltrace-leaderboard", Some(body)).await;
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    export(&mut sink).await.unwrap();
    let (_, mapping) = server.ask("GET", "/smoltrace-leaderboard/_mapping", None).await;
    let fields = &mapping["smoltrace-leaderboard"]["mappings"]["properties"];
    assert_eq!(fields["total_tokens"]["type"], "integer", "a type cannot be changed");
    assert_eq!(fields["inference_energy_j"]["type"], "double");
    assert_eq!(fields["hardware_detail"], json!({"type": "object", "enabled": false}));
    assert_eq!(
        server.hits("smoltrace-leaderboard", json!({"range": {"success_rate": {"gte": 60}}})).await,
        1
    );
}

#[tokio::test]
async fn it_keeps_the_contract_of_a_dataset() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    let place = wattspan_testkit::conformance::dataset_sink(&mut sink, &run_id()).await;
    assert!(place.ends_with("/smoltrace-leaderboard/_doc/run-1"), "{place}");
    // Three rows that nothing names, each written several times; and one run.
    assert_eq!(server.counts(&sink).await, [3, 3, 3, 1]);
}

#[tokio::test]
async fn the_later_of_two_versions_of_a_row_wins() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    let mut later = result(1);
    later.response = Some("23C".into());
    sink.write(Table::Results, &[result(1).into_row(), later.into_row()]).await.unwrap();
    sink.finish(&Cell::Null).await.unwrap();
    let stored = server.document(&sink.indexes().unwrap().results, "run-1:1:tool:weather_1").await;
    assert_eq!(stored["response"], "23C");
    assert_eq!(server.counts(&sink).await, [1, 0, 0, 1]);
}

#[tokio::test]
async fn texts_of_any_length_are_stored() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    let long = "ü".repeat(40_000);
    let mut row = result(0);
    row.task_id = Some(long.clone());
    row.test_case_uid = Some(long.clone());
    row.prompt = Some(long.clone());
    let mut traced = trace(0);
    traced.spans[0].attributes.push("gen_ai.input.messages", Cell::Text(long.clone().into()));
    sink.write(Table::Results, &[row.into_row()]).await.unwrap();
    sink.write(Table::Traces, &[traced.into_row()]).await.unwrap();
    sink.finish(&Cell::Null).await.unwrap();
    let indexes = sink.indexes().unwrap();
    let (_, found) = server.ask("GET", &format!("/{}/_search", indexes.results), None).await;
    assert_eq!(found["hits"]["hits"][0]["_source"]["prompt"], long);
    let (_, found) = server.ask("GET", &format!("/{}/_search", indexes.traces), None).await;
    let cut = found["hits"]["hits"][0]["_source"]["spans"][0]["attributes"]["gen_ai.input.messages"].clone();
    let cut = cut.as_str().unwrap();
    assert!(cut.len() <= 30_000 && cut.len() > 29_990 && cut.ends_with("ü…"), "{}", cut.len());
}

#[tokio::test]
async fn rows_that_trickle_in_are_sent_without_waiting_for_the_end() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options().bulk(1 << 20, 3)).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    for index in 0..7 {
        sink.write(Table::Results, &rows(result, index..index + 1)).await.unwrap();
    }
    assert_eq!((sink.progress().stored, sink.progress().waiting()), (6, 1));
    assert_eq!(sink.progress().requests, 2);
}

#[tokio::test]
async fn a_check_tells_much_and_writes_nothing() {
    let server = Osmem::start();
    let report = check(&server.options()).await.unwrap();
    assert_eq!(report.server, "OpenSearch 3.8.0");
    assert_eq!((report.runs, report.user.as_deref(), report.is_good()), (None, None, true));
    assert!(report.templates.iter().all(|(_, found)| found == "will be made"), "{report}");
    let (_, indexes) = server.ask("GET", "/_cat/indices?format=json", None).await;
    let (_, templates) = server.ask("GET", "/_index_template", None).await;
    assert_eq!((indexes, templates), (json!([]), json!({"index_templates": []})));

    export(&mut OpenSearchSink::new(server.options()).unwrap()).await.unwrap();
    let report = check(&server.options()).await.unwrap();
    assert_eq!(report.runs, Some(1));
    assert!(report.templates.iter().all(|(_, found)| found == "version 1"), "{report}");
    let writing = ("make and write indexes smoltrace-*".to_owned(), Right::Unknown);
    assert!(report.rights.contains(&writing), "{report}");
    let shown = report.to_string();
    assert!(
        shown.contains("1 runs on the leaderboard\n") && shown.contains("not known without writing"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_run_in_files_is_pushed_again_from_its_folder() {
    use wattspan_dataset::{JsonDataset, JsonRun, Replay};
    let server = Osmem::start();
    let folder = Folder::new();
    let mut files = JsonDataset::new(folder.0.path()).begun(begun());
    files.create(&run_id()).await.unwrap();
    files.write(Table::Results, &rows(result, 0..10)).await.unwrap();
    files.write(Table::Traces, &rows(trace, 0..10)).await.unwrap();
    files.write(Table::Metrics, &rows(metric, 0..20)).await.unwrap();
    let place = files.finish(&metadata()).await.unwrap();
    let run = JsonRun::open(place);
    // Once from the rows themselves, then from what the files hold: the same documents.
    export(&mut OpenSearchSink::new(server.options()).unwrap().begun(begun())).await.unwrap();
    for _ in 0..2 {
        let mut sink = OpenSearchSink::new(server.options()).unwrap().of_folder(run.folder());
        let replayed = Replay::new(&run).write_into(&mut sink).await.unwrap();
        assert_eq!((replayed.results, replayed.traces, replayed.metrics), (10, 10, 20));
        assert_eq!(sink.indexes().unwrap().results, format!("smoltrace-results-{SUFFIX}"));
        assert_eq!(server.counts(&sink).await, [10, 10, 20, 1]);
    }
}

#[tokio::test]
async fn a_server_that_is_away_says_how_to_go_on() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..10)).await.unwrap();
    server.kill();
    let error = sink.finish(&metadata()).await.unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, SinkError::Retry { .. }), "{message}");
    assert!(
        message.contains("cannot connect") && message.contains("wattspan push DIR --to opensearch"),
        "{message}"
    );
    // Nothing that was taken is forgotten.
    assert_eq!(sink.progress().waiting(), 10);
}

#[tokio::test]
async fn rows_without_a_name_are_known_by_their_cells() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    let row = |value: f64| Row(vec![("power_watts".into(), Cell::Float(value))]);
    sink.write(Table::Metrics, &[row(1.0), row(2.0), row(1.0)]).await.unwrap();
    sink.finish(&Cell::Null).await.unwrap();
    assert_eq!(server.counts(&sink).await, [0, 0, 2, 1]);
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let mut sink = OpenSearchSink::new(common::options("http://127.0.0.1:9")).unwrap();
    let run = run_id();
    let mut create = sink.create(&run);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(error)) = create.as_mut().poll(&mut context) else { panic!("it waits") };
    assert!(error.to_string().contains("no Tokio runtime"), "{error}");
}
