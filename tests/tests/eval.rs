//! An evaluation of a real llama-server with a small model: the files agree with each other, with the server's own
//! counters and with the GPU's known power; killed in the middle and resumed, nothing is lost, doubled or asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde_json::Value;
use wattspan_core::{Cell, RunId};
use wattspan_dataset::{JsonRun, ResultRow, SpanRow};
use wattspan_eval::{Outcome, RunStatus};
use wattspan_testkit::{LlamaOptions, LlamaServer};
use wattspan_tests::{ATTEMPTS, CASES, EvalRun, INTENSITY, PRICE, WATTS, eventually, get};

#[test]
fn files_agree_with_the_server_and_a_killed_run_goes_on() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let evaluation = |run: &str, freeze_after| EvalRun {
        url: server.url(),
        folder: folder.path().join(run),
        run: RunId::new(run).unwrap(),
        freeze_after,
    };

    let before = Counters::read(&server);
    let whole = evaluation("whole", None).run();
    let rows = check_files(&whole, 0);
    Counters::agree(&server, before, &rows);

    // A process that dies by SIGKILL, with seven attempts finished and others in flight.
    let killed = evaluation("killed", Some(7));
    let mut child = Command::new(env!("CARGO_BIN_EXE_eval_run"))
        .args([&killed.url, killed.folder.to_str().unwrap(), killed.run.as_str(), "7"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    eventually("seven finished attempts", || {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        (killed.journalled() >= 7).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(killed.journalled(), 7);
    let finished = journalled(&killed);
    let before = eventually("an idle server", || Counters::at_rest(&server));

    let resumed = evaluation("killed", None).run();
    assert_eq!((resumed.made, resumed.skipped), (ATTEMPTS as u64 - 7, 7));
    let rows_resumed = check_files(&resumed, 1);
    let keys = |rows: &[ResultRow]| rows.iter().map(key).collect::<BTreeSet<_>>();
    assert_eq!(keys(&rows_resumed), keys(&rows), "the same result set");
    // What was finished is the very same: ids of answers are the server's and never come twice.
    let (old, new): (Vec<ResultRow>, Vec<ResultRow>) =
        rows_resumed.into_iter().partition(|row| finished.contains_key(&key(row)));
    assert_eq!(old.len(), 7);
    for row in &old {
        assert_eq!(Some(row), finished.get(&key(row)));
    }
    Counters::agree(&server, before, &new);

    // A run that is whole is not asked again at all.
    let before = Counters::read(&server);
    let again = evaluation("killed", None).run();
    assert_eq!((again.made, again.skipped, again.status), (0, ATTEMPTS as u64, RunStatus::Completed));
    assert_eq!(Counters::read(&server), before);
    assert_eq!(again.leaderboard.total_tokens, resumed.leaderboard.total_tokens);
    assert_eq!(again.leaderboard.inference_energy_j, resumed.leaderboard.inference_energy_j);
    check_files(&again, 1);
}

/// The files of a run agree with each other and with what is known of the machine. `restarts`: how often another process
/// has gone on with it.
#[track_caller]
fn check_files(outcome: &Outcome, restarts: usize) -> Vec<ResultRow> {
    assert_eq!(outcome.status, RunStatus::Completed);
    let run = JsonRun::open(&outcome.place);
    let (results, traces) = (run.results().unwrap(), run.traces().unwrap());
    let (metrics, row) = (run.metrics().unwrap(), run.leaderboard().unwrap());
    let metadata = run.metadata().unwrap();
    assert_eq!(row, outcome.leaderboard);
    assert_eq!((results.len(), traces.len()), (ATTEMPTS, ATTEMPTS));
    assert_eq!(results.iter().map(key).collect::<BTreeSet<_>>().len(), ATTEMPTS, "no attempt is there twice");
    let errors: Vec<_> = results.iter().filter_map(|row| row.error.as_ref()).collect();
    assert!(errors.is_empty(), "{errors:?}");

    // Each result has its trace, and each trace its result; the innermost spans alone add up to both.
    for result in &results {
        let id = result.trace_id.as_ref().unwrap();
        let trace = traces.iter().find(|trace| trace.trace_id == *id).unwrap();
        assert_eq!(trace.test_case_uids, [result.test_case_uid.clone().unwrap()]);
        assert_eq!(trace.root_span_id, result.span_id);
        let inferences: Vec<&SpanRow> =
            trace.spans.iter().filter(|span| number(span, "gen_ai.usage.output_tokens").is_some()).collect();
        assert_eq!(Some(inferences.len() as u64), result.inferences);
        let sum = |name: &str| inferences.iter().filter_map(|span| number(span, name)).sum::<f64>();
        assert_eq!(sum("gen_ai.usage.output_tokens"), result.output_tokens.unwrap() as f64);
        assert_eq!(sum("gen_ai.usage.input_tokens"), result.input_tokens.unwrap() as f64);
        assert_eq!(trace.total_tokens, result.total_tokens);
        near(sum("wattspan.energy.total"), result.energy_j.unwrap());
        near(trace.energy_j.unwrap(), result.energy_j.unwrap());
        near(trace.total_cost_usd.unwrap(), result.cost_usd.unwrap());
        near(trace.co2_emissions_g.unwrap(), result.co2_emissions_g.unwrap());
        // 475 g and 0.12 USD for 3.6 MJ.
        near(result.co2_emissions_g.unwrap(), result.energy_j.unwrap() * INTENSITY / 3.6e6);
        near(result.cost_usd.unwrap(), result.energy_j.unwrap() * PRICE / 3.6e6);
        assert_eq!(result.energy_method.as_deref(), Some("counter"));
        assert_eq!((result.locality.as_deref(), result.attempt), (Some("local_server"), Some(1)));
    }

    let sum = |part: fn(&ResultRow) -> Option<f64>| results.iter().filter_map(part).sum::<f64>();
    let count = |part: fn(&ResultRow) -> Option<u64>| results.iter().filter_map(part).sum::<u64>();
    assert_eq!(row.total_tests, ATTEMPTS as u64);
    assert_eq!(row.planned_tests, Some(ATTEMPTS as u64));
    assert_eq!(row.interrupted_tests, Some(0));
    assert_eq!(row.total_prompt_tokens, Some(count(|row| row.input_tokens)));
    assert_eq!(row.total_completion_tokens, Some(count(|row| row.output_tokens)));
    assert_eq!(row.total_tokens, Some(count(|row| row.total_tokens)));
    near(row.inference_energy_j.unwrap(), sum(|row| row.energy_j));
    near(row.inference_co2_g.unwrap(), sum(|row| row.co2_emissions_g));
    near(row.total_cost_usd.unwrap(), sum(|row| row.cost_usd));
    let passed = results.iter().filter(|row| row.success == Some(true)).count();
    assert_eq!(row.successful_tests, passed as u64);
    assert_eq!(row.traces, ATTEMPTS as u64);
    assert_eq!(row.spans, traces.iter().map(|trace| trace.spans.len() as u64).sum::<u64>());
    assert_eq!((row.agent_type.as_deref(), row.hardware_scope.as_deref()), (Some("both"), Some("model")));

    // The device's energy is its power times the time, in each process that ran, and holds that of all cases.
    let mut runs: BTreeMap<&str, Vec<&wattspan_dataset::MetricRow>> = BTreeMap::new();
    for metric in &metrics {
        runs.entry(&metric.started_unix_nano).or_default().push(metric);
    }
    // One that was killed within its first second has handed none on.
    assert!((1..=1 + restarts).contains(&runs.len()), "{}", runs.len());
    let device: f64 = runs.values().filter_map(|rows| rows.last()?.energy_j).sum();
    near(row.device_energy_j.unwrap_or(0.0), device);
    for rows in runs.values() {
        let (Some(first), Some(last)) =
            (rows.iter().find(|row| row.energy_j.is_some()), rows.iter().rfind(|row| row.energy_j.is_some()))
        else {
            continue;
        };
        let seconds = (nanos(&last.timestamp_unix_nano) - nanos(&first.timestamp_unix_nano)) / 1e9;
        let joules = last.energy_j.unwrap() - first.energy_j.unwrap();
        // The counter moves in steps of 20 ms, and intervals close some polls after they end.
        let slack = 0.05 * joules + WATTS * 1.0;
        assert!((joules - WATTS * seconds).abs() <= slack, "{joules} J in {seconds} s");
    }

    let text = |name: &str| match metadata.get(name) {
        Some(Cell::Text(text)) => text.to_string(),
        other => panic!("{name} is {other:?}"),
    };
    assert_eq!((text("run_status"), text("run_id")), ("completed".to_owned(), row.run_id.clone()));
    assert_eq!(metadata.get("num_results"), Some(&Cell::Int(ATTEMPTS as i64)));
    assert_eq!(metadata.get("num_metrics"), Some(&Cell::Int(metrics.len() as i64)));
    let Some(Cell::Map(configuration)) = metadata.get("configuration") else { panic!("a configuration") };
    assert!(configuration.contains(&("cases".into(), Cell::Int(CASES as i64))));
    let Some(Cell::Map(energy)) = metadata.get("energy") else { panic!("an energy summary") };
    assert!(energy.contains(&("measured_tests".into(), Cell::Int(ATTEMPTS as i64))), "{energy:?}");
    results
}

/// What the server itself has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counters {
    prompt: u64,
    predicted: u64,
}

impl Counters {
    fn read(server: &LlamaServer) -> Self {
        eventually("the server's counters", || Self::page(server))
    }

    fn page(server: &LlamaServer) -> Option<Self> {
        let page = get(server.port(), "/metrics")?;
        let value = |name: &str| {
            let line = page.lines().find_map(|line| line.strip_prefix(&format!("llamacpp:{name} ")));
            line?.trim().parse::<f64>().ok().map(|value| value as u64)
        };
        Some(Self { prompt: value("prompt_tokens_total")?, predicted: value("tokens_predicted_total")? })
    }

    /// The counters, once no slot works any more.
    fn at_rest(server: &LlamaServer) -> Option<Self> {
        let slots: Value = serde_json::from_str(&get(server.port(), "/slots")?).ok()?;
        let busy = slots.as_array()?.iter().any(|slot| slot["is_processing"] == true);
        if busy { None } else { Self::page(server) }
    }

    /// The counters moved by what these rows say. A slot is counted when it is given back, soon after its answer.
    #[track_caller]
    fn agree(server: &LlamaServer, before: Self, rows: &[ResultRow]) {
        let output: u64 = rows.iter().filter_map(|row| row.output_tokens).sum();
        let input: u64 = rows.iter().filter_map(|row| row.input_tokens).sum();
        let cached: u64 = rows.iter().filter_map(|row| row.cache_read_tokens).sum();
        let expected = Self { prompt: before.prompt + input - cached, predicted: before.predicted + output };
        let found = eventually("all slots at rest", || Self::at_rest(server));
        assert_eq!(found, expected);
    }
}

/// The rows of the finished attempts, as the journal has them.
fn journalled(run: &EvalRun) -> BTreeMap<(String, u64), ResultRow> {
    let folder = std::fs::read_dir(&run.folder).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(folder.join("journal.ndjson")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix(r#"{"results":"#)?.strip_suffix('}'));
    let rows = rows.map(|row| serde_json::from_str::<ResultRow>(row).unwrap());
    rows.map(|row| (key(&row), row)).collect()
}

fn key(row: &ResultRow) -> (String, u64) {
    (row.test_case_uid.clone().unwrap(), row.attempt.unwrap())
}

fn number(span: &SpanRow, name: &str) -> Option<f64> {
    match span.attributes.get(name)? {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) => Some(*value),
        _ => None,
    }
}

fn nanos(text: &str) -> f64 {
    text.parse::<u64>().unwrap() as f64
}

/// Equal but for the rounding of sums.
#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() <= 1e-6 + 1e-9 * one.abs(), "{one} and {other}");
}

/// Counts are llama.cpp's own, and loading the model is part of no case.
#[cfg(feature = "llama-cpp")]
#[test]
fn a_model_in_this_process_is_evaluated_too() {
    use wattspan_dataset::JsonDataset;
    use wattspan_eval::{
        Case, Cases, Evaluation, Generation, LlamaCppTarget, Recorder, Stop, run_evaluation,
    };
    use wattspan_llama_cpp::{Model, ModelOptions, Prompt, SessionOptions};

    let recorder = Recorder::new(&RunId::new("in-process").unwrap());
    let genai = recorder.unmeasured("llama_cpp").build();
    let options = ModelOptions::default().name("smollm2").gpu_layers(0);
    let model = Model::load(&genai, wattspan_testkit::peers::model(), &options).unwrap();
    let size = SessionOptions::default().context(256).threads(1);
    let target = LlamaCppTarget::new(&model, &size, 2).unwrap();
    let long = Case::new("long", "word ".repeat(600));
    let cases = vec![Case::new("one", "Say hello."), Case::new("two", "Count to three."), long];
    let evaluation = Evaluation::new(Cases::new(cases).unwrap(), target)
        .concurrency(3)
        .generation(Generation::greedy().max_tokens(3));
    let folder = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(folder.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stop = Stop::new();
    let run = run_evaluation(&evaluation, &genai, &recorder, &mut sink, &(), &stop);
    let outcome = runtime.block_on(run).unwrap();

    let run = JsonRun::open(&outcome.place);
    let (results, traces) = (run.results().unwrap(), run.traces().unwrap());
    for (id, prompt) in [("one", "Say hello."), ("two", "Count to three.")] {
        let row = results.iter().find(|row| row.task_id.as_deref() == Some(id)).unwrap();
        let tokens = model.tokenize(&Prompt::user(prompt)).unwrap().len() as u64;
        assert_eq!((row.input_tokens, row.output_tokens), (Some(tokens), Some(3)));
        assert_eq!((row.success, row.locality.as_deref()), (Some(true), Some("in_process")));
        assert!(row.time_to_first_token_ms.is_some());
    }
    let long = results.iter().find(|row| row.task_id.as_deref() == Some("long")).unwrap();
    assert!(long.error.as_deref().is_some_and(|error| error.contains("shorten it")), "{:?}", long.error);
    let names: Vec<_> = traces.iter().flat_map(|trace| &trace.spans).map(|span| span.name.as_str()).collect();
    assert!(!names.contains(&"load smollm2"), "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "chat smollm2").count(), 3, "{names:?}");
}
