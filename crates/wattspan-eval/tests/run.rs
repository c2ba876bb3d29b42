//! Whole runs against targets that answer from a table: what is counted, what is not, and how a run ends and goes on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table, TokenUsage};
use wattspan_dataset::{JsonDataset, JsonRun, ResultRow, SpanRow};
use wattspan_eval::{
    AgentType, Answer, Ask, Case, Cases, Check, Earlier, EvalError, Evaluation, Event, Generation, Judge,
    Outcome, Recorder, RunStatus, Stop, Target, TargetError, TargetFacts, ToolRequest, ToolSpec,
    run_evaluation,
};
use wattspan_genai::{GenAi, Request};

/// What a target does with a prompt.
type Behave = dyn Fn(&Ask<'_>) -> Behaviour + Send + Sync;

enum Behaviour {
    Answer(Answer),
    Fail(TargetError),
    Hang,
}

/// Answers as it is told to, 7 tokens in and 2 out each time, and remembers what it was asked.
struct Scripted {
    genai: GenAi,
    model: &'static str,
    behave: Box<Behave>,
    asked: Arc<Mutex<Vec<String>>>,
    seeds: Arc<Mutex<Vec<Option<u32>>>>,
    at_once: AtomicU32,
    most_at_once: Arc<AtomicU32>,
}

#[async_trait]
impl Target for Scripted {
    fn facts(&self) -> TargetFacts {
        let mut facts = TargetFacts::new(self.model, "table");
        facts.configuration.push(("api_key".to_owned(), Cell::Text("sk-0123456789".into())));
        facts
    }

    fn offers_tools(&self) -> bool {
        true
    }

    async fn answer(&self, ask: &Ask<'_>) -> Result<Answer, TargetError> {
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        self.asked.lock().unwrap().push(ask.messages.last().unwrap().content.clone());
        self.seeds.lock().unwrap().push(ask.generation.seed);
        let mut inference = self.genai.begin(Request::chat(self.model));
        tokio::task::yield_now().await;
        let answered = match (self.behave)(ask) {
            Behaviour::Hang => std::future::pending().await,
            Behaviour::Fail(error) => {
                inference.fail("broken");
                Err(error)
            }
            Behaviour::Answer(answer) => {
                let mut usage = TokenUsage::default();
                (usage.fresh, usage.output) = (Some(7), Some(2));
                inference.usage(usage);
                inference.finish();
                Ok(answer)
            }
        };
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        answered
    }
}

struct Bench {
    folder: tempfile::TempDir,
    run: RunId,
    recorder: Recorder,
    genai: GenAi,
    asked: Arc<Mutex<Vec<String>>>,
    seeds: Arc<Mutex<Vec<Option<u32>>>>,
    most_at_once: Arc<AtomicU32>,
}

impl Bench {
    fn new() -> Self {
        let run = RunId::new("run-1").unwrap();
        let recorder = Recorder::new(&run);
        let genai = recorder.unmeasured("table").build();
        Self {
            folder: tempfile::tempdir().unwrap(),
            run,
            recorder,
            genai,
            asked: Arc::default(),
            seeds: Arc::default(),
            most_at_once: Arc::default(),
        }
    }

    fn target(&self, behave: impl Fn(&Ask<'_>) -> Behaviour + Send + Sync + 'static) -> Scripted {
        Scripted {
            genai: self.genai.clone(),
            model: "m",
            behave: Box::new(behave),
            asked: Arc::clone(&self.asked),
            seeds: Arc::clone(&self.seeds),
            at_once: AtomicU32::new(0),
            most_at_once: Arc::clone(&self.most_at_once),
        }
    }

    /// Says what it was asked.
    fn echo(&self) -> Scripted {
        self.target(|ask| Behaviour::Answer(Answer::text(ask.messages[0].content.clone())))
    }

    async fn open(&self) -> (JsonDataset, Earlier) {
        let mut sink = JsonDataset::new(self.folder.path());
        let earlier = Earlier::open(&mut sink, &self.run).await.unwrap();
        (sink, earlier)
    }

    async fn run(&self, evaluation: Evaluation) -> Result<Outcome, EvalError> {
        self.run_until(evaluation, &Stop::new(), &()).await
    }

    async fn run_until(
        &self,
        evaluation: Evaluation,
        stop: &Stop,
        progress: &dyn wattspan_eval::Progress,
    ) -> Result<Outcome, EvalError> {
        let (mut sink, earlier) = self.open().await;
        let evaluation = evaluation.resume(earlier);
        run_evaluation(&evaluation, &self.genai, &self.recorder, &mut sink, progress, stop).await
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn cases(number: usize) -> Cases {
    let case = |number: usize| Case::new(format!("c{number}"), format!("prompt {number}"));
    Cases::new((1..=number).map(case).collect()).unwrap()
}

fn results(outcome: &Outcome) -> Vec<ResultRow> {
    JsonRun::open(&outcome.place).results().unwrap()
}

fn uids(rows: &[ResultRow]) -> BTreeSet<(String, u64)> {
    rows.iter().map(|row| (row.test_case_uid.clone().unwrap(), row.attempt.unwrap())).collect()
}

fn text<'a>(span: &'a SpanRow, name: &str) -> Option<&'a str> {
    match span.attributes.get(name)? {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

#[tokio::test]
async fn attempts_are_numbered_seeded_and_counted_once() {
    let bench = Bench::new();
    // Passes at the first attempt for the first case, at the second only for the second.
    let tries = AtomicU32::new(0);
    let target = bench.target(move |ask| {
        let first = tries.fetch_add(1, Ordering::SeqCst) < 2;
        let right = first == (ask.messages[0].content == "prompt 1");
        Behaviour::Answer(Answer::text(if right { "yes" } else { "no" }))
    });
    let list = cases(2).as_slice().iter().cloned().map(|case| case.check(Check::exact("yes"))).collect();
    let evaluation = Evaluation::new(Cases::new(list).unwrap(), target)
        .repeats(2)
        .generation(Generation::default().seed(40).max_tokens(5));
    assert_eq!(evaluation.planned(), 4);
    let outcome = bench.run(evaluation).await.unwrap();
    let rows = results(&outcome);
    let short: Vec<_> = rows
        .iter()
        .map(|row| (row.task_id.as_deref().unwrap(), row.attempt.unwrap(), row.success, row.pass_at_1_passed))
        .collect();
    assert_eq!(
        short,
        [
            ("c1", 1, Some(true), Some(true)),
            ("c2", 1, Some(false), Some(false)),
            ("c1", 2, Some(false), Some(false)),
            ("c2", 2, Some(true), Some(false)),
        ]
    );
    assert_eq!(*bench.seeds.lock().unwrap(), [Some(40), Some(40), Some(41), Some(41)]);
    let row = &outcome.leaderboard;
    assert_eq!((row.total_tests, row.pass_at_1, row.success_rate), (4, Some(0.5), Some(50.0)));
    assert_eq!((row.evaluated_prompts, row.passed_prompts, row.pass_attempts), (2, 1, Some(1)));
    assert_eq!((row.total_tokens, row.total_prompt_tokens), (Some(36), Some(28)));
    assert_eq!(row.generation_settings.as_deref(), Some(r#"{"max_tokens":5,"seed":40}"#));
    // Nobody measured: absent, and not 0.
    assert_eq!((row.inference_energy_j, row.device_energy_j, rows[0].energy_j), (None, None, None));
}

#[tokio::test]
async fn warm_up_is_in_no_table() {
    let bench = Bench::new();
    let told = Mutex::new(Vec::new());
    let progress = |event: &Event<'_>| told.lock().unwrap().push(format!("{event:?}"));
    let evaluation = Evaluation::new(cases(2), bench.echo()).warm_up(3);
    let outcome = bench.run_until(evaluation, &Stop::new(), &progress).await.unwrap();
    assert_eq!(bench.asked(), ["prompt 1", "prompt 2", "prompt 1", "prompt 1", "prompt 2"]);
    let run = JsonRun::open(&outcome.place);
    assert_eq!((run.results().unwrap().len(), run.traces().unwrap().len()), (2, 2));
    assert_eq!((outcome.leaderboard.total_tokens, outcome.leaderboard.spans), (Some(18), 4));
    let told = told.into_inner().unwrap();
    assert!(told[0].starts_with("Planned { total: 2, finished: 0 }"), "{told:?}");
    assert_eq!(told.iter().filter(|event| event.starts_with("WarmedUp")).count(), 3);
    assert_eq!(told.iter().filter(|event| event.starts_with("Finished")).count(), 2);
    assert_eq!(told.last().map(String::as_str), Some("Writing"));
}

#[tokio::test]
async fn cases_run_side_by_side_as_many_as_asked() {
    let bench = Bench::new();
    let outcome = bench.run(Evaluation::new(cases(9), bench.echo()).concurrency(3)).await.unwrap();
    assert_eq!(bench.most_at_once.load(Ordering::SeqCst), 3);
    assert_eq!(uids(&results(&outcome)).len(), 9);
    let one = Bench::new();
    one.run(Evaluation::new(cases(3), one.echo())).await.unwrap();
    assert_eq!(one.most_at_once.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn each_case_is_a_trace_of_its_own_and_verdicts_are_on_it() {
    let bench = Bench::new();
    let case = Case::new("c", "Paris").expected("Paris").tag("geo").check(Check::exact("Paris"));
    let case = case.check(Check::regex("^R").unwrap());
    let outcome = bench.run(Evaluation::new(Cases::new(vec![case]).unwrap(), bench.echo())).await.unwrap();
    let run = JsonRun::open(&outcome.place);
    let (rows, traces) = (run.results().unwrap(), run.traces().unwrap());
    let [row] = &rows[..] else { panic!("one row") };
    assert_eq!((row.success, row.response_correct, row.inferences), (Some(false), Some(false), Some(1)));
    assert_eq!((row.stop_reason.as_deref(), row.provider.as_deref()), (Some("stop"), Some("table")));
    assert_eq!((row.response.as_deref(), row.tool_called, row.tags.len()), (Some("Paris"), None, 1));
    assert_eq!(row.locality.as_deref(), Some("in_process"));
    let [trace] = &traces[..] else { panic!("one trace") };
    assert_eq!(row.trace_id.as_ref(), Some(&trace.trace_id));
    assert_eq!((&trace.test_ids[..], &trace.test_case_uids[..]), (&["c".into()][..], &["none:c".into()][..]));
    assert_eq!(trace.agent_type.as_deref(), Some("none"));
    let root = trace.spans.iter().find(|span| span.parent_span_id.is_none()).unwrap();
    let chat = trace.spans.iter().find(|span| span.name == "chat m").unwrap();
    assert_eq!(chat.parent_span_id.as_ref(), Some(&root.span_id));
    let verdicts: Vec<_> = root
        .events
        .iter()
        .map(|event| {
            assert_eq!(event.name, "gen_ai.evaluation.result");
            ["gen_ai.evaluation.name", "gen_ai.evaluation.score.label"]
                .map(|name| event.attributes.get(name).cloned())
        })
        .collect();
    let cell = |text: &'static str| Some(Cell::Text(text.into()));
    assert_eq!(verdicts, [[cell("exact"), cell("pass")], [cell("regex"), cell("fail")]]);
}

#[tokio::test]
async fn texts_can_be_left_out_and_secrets_are() {
    let bench = Bench::new();
    let evaluation = Evaluation::new(cases(1), bench.echo())
        .texts(false)
        .setting("hub.token", Cell::Text("hf_abcdefghijkl".into()))
        .dataset("mine.jsonl");
    let outcome = bench.run(evaluation).await.unwrap();
    let rows = results(&outcome);
    assert_eq!((&rows[0].prompt, &rows[0].response, rows[0].success), (&None, &None, Some(true)));
    let folder = std::path::Path::new(&outcome.place);
    let page = std::fs::read_to_string(folder.join("metadata.json")).unwrap();
    assert!(!page.contains("hf_abc") && !page.contains("sk-0123"), "{page}");
    assert!(page.contains(r#""hub.token":"[redacted]""#) && page.contains("mine.jsonl"), "{page}");
}

fn weather() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolSpec::table("get_weather", "The weather")
        .parameters(schema)
        .unwrap()
        .answer(json!({"city": "Oslo"}), "rain")
}

#[tokio::test]
async fn the_agent_calls_tools_until_it_has_an_answer() {
    let bench = Bench::new();
    let call = |name: &str, arguments: &str, id: &str| ToolRequest::new(name, arguments).id(id);
    let target = bench.target(move |ask| {
        let said: Vec<_> = ask.messages.iter().filter(|message| message.role == "tool").collect();
        Behaviour::Answer(match said.len() {
            _ if ask.tools.is_empty() => Answer::text("no idea"),
            // Wrong arguments, a made-up tool and arguments that are not JSON come back as words.
            0 => Answer::tools(vec![
                call("get_weather", "{}", "1"),
                call("get_time", "{}", "2"),
                call("get_weather", "{", "3"),
            ]),
            3 => {
                assert!(
                    said[0].content.starts_with("error: the arguments do not fit"),
                    "{}",
                    said[0].content
                );
                assert!(said[1].content.contains("no tool \"get_time\""), "{}", said[1].content);
                assert!(said[2].content.contains("not JSON"), "{}", said[2].content);
                assert_eq!(said[1].tool_call_id.as_deref(), Some("2"));
                Answer::tools(vec![call("get_weather", r#"{"city":"Oslo"}"#, "4")])
            }
            _ => Answer::text(format!("It is {}.", said[3].content)),
        })
    });
    let case = Case::new("w", "Weather in Oslo?").tool(weather()).expected_tool("get_weather");
    let case = case.check(Check::contains("rain"));
    let evaluation = Evaluation::new(Cases::new(vec![case]).unwrap(), target).agent(AgentType::Both);
    let outcome = bench.run(evaluation).await.unwrap();
    let run = JsonRun::open(&outcome.place);
    let (rows, traces) = (run.results().unwrap(), run.traces().unwrap());
    let [plain, tool] = &rows[..] else { panic!("{} rows", rows.len()) };
    assert_eq!(
        (plain.test_case_uid.as_deref(), plain.success, plain.steps),
        (Some("none:w"), Some(false), Some(1))
    );
    assert_eq!((plain.tool_called, plain.correct_tool), (None, None));
    assert_eq!(
        (tool.test_case_uid.as_deref(), tool.success, tool.steps),
        (Some("tool:w"), Some(true), Some(3))
    );
    assert_eq!(tool.tools_used, ["get_weather", "get_time", "get_weather", "get_weather"]);
    assert_eq!(
        (tool.tool_called, tool.correct_tool, tool.final_answer_called),
        (Some(true), Some(true), Some(true))
    );
    assert_eq!(
        (tool.stop_reason.as_deref(), tool.response.as_deref()),
        (Some("final_answer"), Some("It is rain."))
    );
    // Three inferences, each counted once: the agent around them has no tokens of its own.
    assert_eq!((tool.inferences, tool.input_tokens, tool.output_tokens), (Some(3), Some(21), Some(6)));

    let trace = traces.iter().find(|trace| Some(&trace.trace_id) == tool.trace_id.as_ref()).unwrap();
    assert_eq!((trace.total_tokens, trace.span_count), (Some(27), 9));
    let agent = trace.spans.iter().find(|span| span.name == "invoke_agent tool-agent").unwrap();
    let under: BTreeSet<&str> = trace
        .spans
        .iter()
        .filter(|span| span.parent_span_id.as_ref() == Some(&agent.span_id))
        .map(|span| span.name.as_str())
        .collect();
    assert_eq!(under, BTreeSet::from(["chat m", "execute_tool get_weather", "execute_tool unknown"]));
    let mut faults: Vec<_> = trace.spans.iter().filter_map(|span| text(span, "error.type")).collect();
    faults.sort_unstable();
    assert_eq!(faults, ["invalid_arguments", "invalid_arguments", "unknown_tool"]);
}

#[tokio::test]
async fn an_agent_that_finds_no_end_is_ended_by_its_limit() {
    let bench = Bench::new();
    let target = bench.target(|_| {
        Behaviour::Answer(Answer::tools(vec![ToolRequest::new("get_weather", r#"{"city":"Oslo"}"#)]))
    });
    let case = Case::new("w", "Weather?").tool(weather());
    let evaluation =
        Evaluation::new(Cases::new(vec![case]).unwrap(), target).agent(AgentType::Tool).max_steps(4);
    let outcome = bench.run(evaluation).await.unwrap();
    let rows = results(&outcome);
    assert_eq!(
        (rows[0].steps, rows[0].success, rows[0].final_answer_called),
        (Some(4), Some(false), Some(false))
    );
    assert_eq!((rows[0].stop_reason.as_deref(), outcome.leaderboard.max_steps_tests), (Some("max_steps"), 1));
}

#[tokio::test]
async fn a_case_that_fails_or_takes_too_long_is_a_row_and_the_run_goes_on() {
    let bench = Bench::new();
    let target = bench.target(|ask| match &*ask.messages[0].content {
        "prompt 1" => {
            Behaviour::Fail(TargetError::failed("exceed_context_size_error", "the prompt is too long"))
        }
        "prompt 2" => Behaviour::Hang,
        _ => Behaviour::Answer(Answer::text("fine")),
    });
    let mut list = cases(3).as_slice().to_vec();
    list[1] = list[1].clone().time_limit(Duration::from_millis(50)).expected("fine");
    let outcome = bench.run(Evaluation::new(Cases::new(list).unwrap(), target)).await.unwrap();
    let mut rows = results(&outcome);
    rows.sort_by(|one, other| one.task_id.cmp(&other.task_id));
    let [failed, slow, fine] = &rows[..] else { panic!("{} rows", rows.len()) };
    assert_eq!((failed.success, failed.stop_reason.as_deref()), (Some(false), Some("error")));
    assert_eq!((failed.error.as_deref(), failed.inferences), (Some("the prompt is too long"), Some(1)));
    assert_eq!(
        (slow.timed_out, slow.stop_reason.as_deref(), &slow.error),
        (Some(true), Some("timeout"), &None)
    );
    assert_eq!((slow.success, slow.response_correct, slow.inferences), (Some(false), Some(false), Some(1)));
    assert_eq!((fine.success, fine.response_correct), (Some(true), None));
    let row = &outcome.leaderboard;
    assert_eq!((row.errored_tests, row.timed_out_tests, row.completed_tests), (1, 1, 2));
    assert_eq!((outcome.status, row.run_status.as_deref()), (RunStatus::Completed, Some("completed")));
    // What the server knows of the request that was cut off, nobody here does.
    assert_eq!((slow.total_tokens, row.total_tokens), (None, Some(9)));
    let traces = JsonRun::open(&outcome.place).traces().unwrap();
    let trace = traces.iter().find(|trace| Some(&trace.trace_id) == slow.trace_id.as_ref()).unwrap();
    let faults: BTreeSet<_> = trace.spans.iter().filter_map(|span| text(span, "error.type")).collect();
    assert_eq!(faults, BTreeSet::from(["cancelled", "timeout"]));
}

#[tokio::test]
async fn a_stopped_run_keeps_what_is_finished_and_goes_on_later() {
    let bench = Bench::new();
    let stop = Stop::new();
    let (turn, count) = (stop.clone(), AtomicU32::new(0));
    let progress = move |event: &Event<'_>| {
        if matches!(event, Event::Finished { .. }) && count.fetch_add(1, Ordering::SeqCst) == 2 {
            turn.stop();
        }
    };
    let first = bench
        .run_until(Evaluation::new(cases(6), bench.echo()).concurrency(2), &stop, &progress)
        .await
        .unwrap();
    assert_eq!(
        (first.status, first.reason.as_deref()),
        (RunStatus::Interrupted, Some("interrupted by the user"))
    );
    let kept = results(&first);
    assert_eq!(kept.len() as u64, first.made);
    assert!((3..6).contains(&kept.len()), "{}", kept.len());
    let row = &first.leaderboard;
    assert_eq!((row.run_status.as_deref(), row.planned_tests), (Some("interrupted"), Some(6)));
    assert_eq!(row.interrupted_tests, Some(6 - first.made));
    assert_eq!(JsonRun::open(&first.place).traces().unwrap().len(), kept.len());
    bench.asked();

    let second = bench.run(Evaluation::new(cases(6), bench.echo())).await.unwrap();
    assert_eq!(
        (second.status, second.skipped, second.made),
        (RunStatus::Completed, first.made, 6 - first.made)
    );
    assert_eq!(bench.asked().len() as u64, second.made);
    let rows = results(&second);
    assert_eq!(uids(&rows).len(), 6);
    assert_eq!(rows[..kept.len()], kept[..], "what was finished is the very same");
    assert_eq!(JsonRun::open(&second.place).traces().unwrap().len(), 6);
    assert_eq!((second.leaderboard.total_tokens, second.leaderboard.traces), (Some(54), 6));
    assert_eq!((first.place, second.leaderboard.interrupted_tests), (second.place, Some(0)));
}

#[tokio::test]
async fn a_target_that_cannot_be_used_ends_the_run_and_its_case_is_asked_again() {
    let bench = Bench::new();
    let target = bench.target(|ask| match &*ask.messages[0].content {
        "prompt 2" => Behaviour::Fail(TargetError::unusable("no answer from http://127.0.0.1:9")),
        _ => Behaviour::Answer(Answer::text("fine")),
    });
    let first = bench.run(Evaluation::new(cases(3), target)).await.unwrap();
    assert_eq!((first.status, first.made), (RunStatus::Failed, 1));
    assert_eq!(first.leaderboard.run_status.as_deref(), Some("failed"));
    assert_eq!(first.leaderboard.run_stop_reason.as_deref(), Some("no answer from http://127.0.0.1:9"));
    bench.asked();
    let second = bench.run(Evaluation::new(cases(3), bench.echo())).await.unwrap();
    assert_eq!((second.status, second.made, second.skipped), (RunStatus::Completed, 2, 1));
    assert_eq!(bench.asked(), ["prompt 2", "prompt 3"]);

    let bench = Bench::new();
    let target = bench.target(|_| Behaviour::Fail(TargetError::unusable("gone")));
    let nothing = bench.run(Evaluation::new(cases(3), target).warm_up(1)).await.unwrap();
    assert_eq!((nothing.status, nothing.made, bench.asked().len()), (RunStatus::Failed, 0, 1));
}

#[tokio::test]
async fn a_run_does_not_go_on_with_another_model() {
    let bench = Bench::new();
    bench.run(Evaluation::new(cases(1), bench.echo())).await.unwrap();
    let mut other = bench.echo();
    other.model = "n";
    let error = bench.run(Evaluation::new(cases(2), other)).await.unwrap_err().to_string();
    assert!(error.contains("\"m\"") && error.contains("\"n\"") && error.contains("run id"), "{error}");
    let row = JsonRun::open(bench.open().await.0.folder().unwrap()).leaderboard().unwrap();
    assert_eq!(row.total_tests, 1, "the earlier files stand");
}

#[tokio::test]
async fn a_result_without_its_trace_is_not_finished() {
    let bench = Bench::new();
    let mut sink = Dies(JsonDataset::new(bench.folder.path()), 0);
    let evaluation = Evaluation::new(cases(3), bench.echo());
    let stop = Stop::new();
    let error =
        run_evaluation(&evaluation, &bench.genai, &bench.recorder, &mut sink, &(), &stop).await.unwrap_err();
    assert!(matches!(error, EvalError::Sink { .. }) && error.to_string().contains("same run id"), "{error}");
    assert_eq!(sink.0.results().unwrap().len(), 2);
    drop(sink);
    bench.asked();

    let outcome = bench.run(Evaluation::new(cases(3), bench.echo())).await.unwrap();
    assert_eq!(bench.asked(), ["prompt 2", "prompt 3"]);
    let run = JsonRun::open(&outcome.place);
    assert_eq!((run.results().unwrap().len(), run.traces().unwrap().len()), (3, 3));
    assert_eq!((outcome.leaderboard.total_tests, outcome.leaderboard.total_tokens), (3, Some(27)));
}

#[tokio::test]
async fn a_sink_that_may_be_retried_is() {
    let bench = Bench::new();
    let mut sink = Busy(wattspan_testkit::MemoryDataset::new(), 0);
    let evaluation = Evaluation::new(cases(2), bench.echo()).references("r", "t", "m");
    let stop = Stop::new();
    let outcome =
        run_evaluation(&evaluation, &bench.genai, &bench.recorder, &mut sink, &(), &stop).await.unwrap();
    assert_eq!(sink.0.rows(&bench.run, Table::Results).len(), 2);
    assert_eq!(sink.0.rows(&bench.run, Table::Leaderboard).len(), 1);
    assert_eq!(outcome.leaderboard.results_dataset.as_deref(), Some("r"));
}

#[tokio::test]
async fn what_cannot_begin_says_why_and_asks_nothing() {
    let bench = Bench::new();
    let judged = Case::new("j", "x").check(Check::judge(Judge::new(["/usr/bin/judge"])));
    let judged = || Evaluation::new(Cases::new(vec![judged.clone()]).unwrap(), bench.echo());
    let error = bench.run(judged()).await.unwrap_err().to_string();
    assert!(
        error.contains("case \"j\"") && error.contains("/usr/bin/judge") && error.contains("trust"),
        "{error}"
    );
    let error = bench.run(Evaluation::new(cases(1), bench.echo()).agent(AgentType::Tool)).await.unwrap_err();
    assert!(error.to_string().contains("no case declares a tool"), "{error}");
    let error = bench.run(Evaluation::new(Cases::default(), bench.echo())).await.unwrap_err();
    assert!(error.to_string().contains("no case"), "{error}");
    assert!(bench.asked().is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn a_judge_that_breaks_is_told_in_the_row() {
    let bench = Bench::new();
    let judge = |script: &str| Check::judge(Judge::new(["/bin/sh", "-c", script]));
    let list = vec![
        Case::new("good", "x").check(judge("grep -q '\"answer\":\"x\"'")),
        Case::new("bad", "x").check(judge("exit 1")),
        Case::new("broken", "x").check(judge("echo oops >&2; exit 7")),
    ];
    let evaluation = Evaluation::new(Cases::new(list).unwrap(), bench.echo()).allow_commands(true);
    let rows = results(&bench.run(evaluation).await.unwrap());
    let short: Vec<_> =
        rows.iter().map(|row| (row.task_id.as_deref().unwrap(), row.success.unwrap())).collect();
    assert_eq!(short, [("good", true), ("bad", false), ("broken", false)]);
    assert_eq!((&rows[0].error, &rows[1].error), (&None, &None));
    let error = rows[2].error.as_deref().unwrap();
    assert!(error.contains("code 7") && error.contains("oops"), "{error}");
}

/// Fails at the second trace, as a program ends that dies between the two writes of a case.
struct Dies(JsonDataset, u32);
#[async_trait]
impl DatasetSink for Dies {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        self.0.create(run).await
    }
    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        self.1 += u32::from(table == Table::Traces);
        if self.1 == 2 {
            let (sink, operation) = ("test", "write rows");
            return Err(SinkError::Fatal { sink, operation, reason: "full".to_owned(), remedy: "x".into() });
        }
        self.0.write(table, rows).await
    }
    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        self.0.finish(metadata).await
    }
}

/// Takes every second write only.
struct Busy(wattspan_testkit::MemoryDataset, u32);
#[async_trait]
impl DatasetSink for Busy {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        self.0.create(run).await
    }
    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        self.1 += 1;
        if self.1 % 2 == 1 {
            let (sink, operation, after) = ("test", "write rows", Some(Duration::ZERO));
            return Err(SinkError::Retry { sink, operation, reason: "busy".to_owned(), after });
        }
        self.0.write(table, rows).await
    }
    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        self.0.finish(metadata).await
    }
}
