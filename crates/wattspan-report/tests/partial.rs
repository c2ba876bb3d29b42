//! Folders that are not whole give a report that says what is missing, or an error that says what to do.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{fixture, json, written};
use wattspan_core::{Cell, DatasetSink, RunId, Table};
use wattspan_dataset::{JsonDataset, ResultRow, TableRow};
use wattspan_report::{Format, Report, ReportError};

fn whole(base: &Path) -> PathBuf {
    fixture::write_run(base, &fixture::INTERRUPTED, |_| {})
}

#[track_caller]
fn says(folder: &Path, expected: &str) -> Report {
    let report = Report::open([folder]).unwrap();
    let notices: Vec<&str> = report.notices().map(|(_, notice)| notice).collect();
    assert!(notices.iter().any(|notice| notice.contains(expected)), "{expected}: {notices:#?}");
    // Each format can be written, and says so too.
    for format in Format::ALL {
        assert!(!written(&report, format).is_empty());
    }
    report
}

#[test]
fn each_table_may_be_missing() {
    for (name, expected) in [
        ("results.json", "`results.json` is not there: cases and their distributions are missing"),
        ("traces.json", "`traces.json` is not there: the time axis has whole cases"),
        ("metrics.json", "`metrics.json` is not there: power over time and energy by device are missing"),
        ("leaderboard_row.json", "`leaderboard_row.json` is not there: its figures were summed up"),
        ("metadata.json", "`metadata.json` is not there: versions, configuration and methods are not known"),
    ] {
        let base = tempfile::tempdir().unwrap();
        let folder = whole(base.path());
        fs::remove_file(folder.join(name)).unwrap();
        says(&folder, expected);
    }
}

#[test]
fn without_a_leaderboard_row_the_figures_are_the_same() {
    let base = tempfile::tempdir().unwrap();
    let folder = whole(base.path());
    let before = written(&Report::open([&folder]).unwrap(), Format::Csv);
    fs::remove_file(folder.join("leaderboard_row.json")).unwrap();
    let after = written(&Report::open([&folder]).unwrap(), Format::Csv);
    let figure = |text: &str, name: &str| {
        let prefix = format!("tools-3b-q8,summary,{name},value,");
        text.lines().find(|line| line.starts_with(&prefix)).map(str::to_owned)
    };
    for name in ["inference_energy_j", "device_energy_j", "gpu_power_max_w", "co2_emissions_g", "total_tests"]
    {
        assert!(figure(&before, name).is_some());
        assert_eq!(figure(&before, name), figure(&after, name));
    }
}

#[test]
fn an_interrupted_run_says_so() {
    let base = tempfile::tempdir().unwrap();
    says(&whole(base.path()), "the run was interrupted: 26 of 60 planned cases did not end");
}

#[test]
fn a_file_that_was_cut_off_is_told_and_what_came_before_stays() {
    let base = tempfile::tempdir().unwrap();
    let folder = whole(base.path());
    let path = folder.join("metrics.json");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    let report = says(&folder, "`metrics.json` is not such a table");
    let notice = report.notices().find(|(_, notice)| notice.contains("metrics.json")).unwrap().1.to_owned();
    assert!(notice.contains("what stands here of devices is from its first"), "{notice}");
    assert!(written(&report, Format::Html).contains("Power over time"));
}

#[test]
fn tables_of_different_states_are_told() {
    let base = tempfile::tempdir().unwrap();
    let folder = whole(base.path());
    let path = folder.join("leaderboard_row.json");
    let mut row = json(&folder, "leaderboard_row.json");
    row["total_tests"] = 20.into();
    fs::write(&path, row.to_string()).unwrap();
    says(&folder, "`leaderboard_row.json` counts 20 cases and `results.json` has 34");
}

fn results_only(base: &Path, rows: Vec<ResultRow>, metadata: &Cell) -> PathBuf {
    let mut sink = JsonDataset::new(base);
    fixture::now(sink.create(&RunId::new("bare").unwrap())).unwrap();
    let rows: Vec<_> = rows.into_iter().map(TableRow::into_row).collect();
    fixture::now(sink.write(Table::Results, &rows)).unwrap();
    fixture::now(sink.finish(metadata)).unwrap().into()
}

fn case(task: &str) -> ResultRow {
    let mut row = ResultRow::default();
    row.run_id = "bare".into();
    row.task_id = Some(task.to_owned());
    row.success = Some(true);
    row.output_tokens = Some(40);
    row.execution_time_ms = Some(800.0);
    row
}

#[test]
fn a_run_on_a_remote_server_has_no_zero_joules() {
    let base = tempfile::tempdir().unwrap();
    let mut row = case("a");
    row.locality = Some("remote".to_owned());
    let folder = results_only(base.path(), vec![row], &Cell::Null);
    let report = says(
        &folder,
        "the energy of inferences is not known: the model ran on a machine that was not measured here",
    );
    says(&folder, "`metrics.json` has no row");
    let html = written(&report, Format::Html);
    assert!(!html.contains("0\u{a0}J"), "an absent figure is no zero");
    assert!(html.contains("50.0\u{a0}token/s"));
    let markdown = written(&report, Format::Markdown);
    assert!(markdown.contains("what they used is not known"), "{markdown}");
    assert!(markdown.contains(
        "| Energy of inferences, measured | – | the model ran on a machine that was not measured here |"
    ));
}

#[test]
fn a_machine_without_sensors_says_why() {
    let base = tempfile::tempdir().unwrap();
    let metadata =
        Cell::Map(vec![("no_devices".into(), Cell::Text("no driver of a GPU, and no powercap".into()))]);
    let folder = results_only(base.path(), vec![case("a")], &metadata);
    says(&folder, "the energy of inferences is not known: no driver of a GPU, and no powercap");
}

#[test]
fn a_device_that_gave_nothing_is_named_with_its_reason() {
    let base = tempfile::tempdir().unwrap();
    let report = says(
        &whole(base.path()),
        "DRAM (dram:0) gave neither power nor energy (denied: let the user read \
         /sys/class/powercap/intel-rapl:0:0/energy_uj): it is in no sum",
    );
    assert!(written(&report, Format::Markdown).contains("| DRAM (dram:0) | – | – | – | – | – | – | – | – |"));
}

#[test]
fn a_models_path_is_its_file() {
    let base = tempfile::tempdir().unwrap();
    let mut row = case("a");
    row.model = Some("/home/somebody/models/tiny.gguf".to_owned());
    let folder = results_only(base.path(), vec![row], &Cell::Null);
    let csv = written(&Report::open([&folder]).unwrap(), Format::Csv);
    assert!(csv.contains("bare,leaderboard,bare,model,tiny.gguf,"), "{csv}");
    // In full only among what the run was made with.
    assert!(csv.contains("bare,setup,model,value,/home/somebody/models/tiny.gguf,"), "{csv}");
}

#[test]
fn an_estimate_is_called_one_and_not_added() {
    let base = tempfile::tempdir().unwrap();
    let mut row = case("a");
    row.energy_estimated_j = Some(321.0);
    row.energy_method = Some("estimated".to_owned());
    let folder = results_only(base.path(), vec![row], &Cell::Null);
    let report = says(&folder, "energy is modelled and not measured");
    let html = written(&report, Format::Html);
    assert!(html.contains("<dt>Energy, modelled</dt>") && html.contains("321\u{a0}J"));
    let csv = written(&report, Format::Csv);
    assert!(csv.contains("bare,summary,inference_energy_j,value,,,J,,"), "{csv}");
    assert!(csv.contains("bare,summary,inference_energy_estimated_j,value,321,,J,"), "{csv}");
}

#[test]
fn a_run_without_cases_is_a_report_too() {
    let base = tempfile::tempdir().unwrap();
    let folder = results_only(base.path(), vec![], &Cell::Null);
    let report = says(&folder, "`results.json` has no case");
    assert!(written(&report, Format::Markdown).contains("No case ended"));
}

#[test]
fn a_journal_alone_is_an_error_that_says_what_to_do() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path());
    fixture::now(sink.create(&RunId::new("crashed").unwrap())).unwrap();
    fixture::now(sink.write(Table::Results, &[case("a").into_row()])).unwrap();
    let folder = sink.folder().unwrap().to_owned();
    drop(sink);
    for named in [folder.as_path(), base.path()] {
        let error = Report::open([named]).unwrap_err();
        assert!(matches!(&error, ReportError::Unfinished { folder: found } if *found == folder), "{error:?}");
        assert!(error.to_string().contains("`JsonDataset::recover`"), "{error}");
    }
    // What it says is what helps.
    JsonDataset::recover(&folder).unwrap();
    says(base.path(), "the run crashed, and its tables were made of its journal");
}

#[test]
fn a_journal_beside_the_tables_is_told() {
    let base = tempfile::tempdir().unwrap();
    let folder = whole(base.path());
    fs::write(folder.join("journal.ndjson"), "").unwrap();
    says(&folder, "the folder has a journal");
}

#[test]
fn a_folder_of_runs_is_all_of_them_and_each_is_there_once() {
    let base = tempfile::tempdir().unwrap();
    let [one, two] = fixture::write(base.path());
    let report =
        Report::open([base.path(), &one, &two, &two.join("..").join(two.file_name().unwrap())]).unwrap();
    assert_eq!(report.runs(), 2);
}

#[test]
fn what_is_no_run_is_an_error_that_names_it() {
    let base = tempfile::tempdir().unwrap();
    assert!(matches!(Report::open([base.path()]), Err(ReportError::NoRun { .. })));
    assert!(matches!(Report::open(Vec::<PathBuf>::new()), Err(ReportError::NoFolder)));
    let missing = base.path().join("nowhere");
    let error = Report::open([&missing]).unwrap_err();
    assert!(matches!(&error, ReportError::Io { .. }) && error.to_string().contains("nowhere"), "{error}");
    for table in ["results.json", "leaderboard_row.json"] {
        fs::write(base.path().join(table), "no table").unwrap();
    }
    let error = Report::open([base.path()]).unwrap_err();
    assert!(matches!(&error, ReportError::Unreadable { .. }), "{error:?}");
}

/// Files of SMOLTRACE 0.2.12 as its exporter left them: its times have no zone and its metrics no rows, which is told; what
/// remains is shown.
#[test]
fn another_programs_folder_gives_what_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wattspan-dataset/fixtures/smoltrace");
    let report = says(&folder, "`metrics.json` is not such a table");
    assert_eq!(report.runs(), 1);
}

#[test]
fn two_runs_with_one_id_are_told_apart_by_their_folders() {
    let base = tempfile::tempdir().unwrap();
    let folders = ["one", "two"].map(|name| whole(&base.path().join(name)));
    let report = Report::open(&folders).unwrap();
    let csv = written(&report, Format::Csv);
    for folder in &folders {
        assert!(
            csv.contains(&format!("tools-3b-q8 ({}),summary,total_tests,value,34", folder.display())),
            "{csv}"
        );
    }
}
