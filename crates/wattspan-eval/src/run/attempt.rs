//! One attempt of a case: its trace, its answer, its verdicts.

use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, KeyValue};
use wattspan_genai::{Agent, AgentRun, Evaluation as Verdicts, GenAi, Request};

use crate::agent::{self, Asking, Kind, Ran};
use crate::check::{Asked, Verdict};
use crate::recorder::Recorder;
use crate::target::TargetError;
use crate::{Case, Evaluation};

/// An attempt that is to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned<'a> {
    pub(super) case: &'a Case,
    pub(super) kind: Kind,
    pub(super) attempt: u32,
}

impl Planned<'_> {
    pub(super) fn uid(&self) -> String {
        format!("{}:{}", self.kind.as_str(), self.case.id)
    }
}

/// An attempt whose answer is in, and whose energy may not be.
pub(super) struct Attempted<'a> {
    pub(super) planned: Planned<'a>,
    pub(super) begun: SystemTime,
    pub(super) took: Duration,
    pub(super) timed_out: bool,
    pub(super) ran: Ran,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) trace: Trace,
    /// Inferences that were begun in it.
    pub(super) inferences: u64,
    /// Spans that will end in it.
    pub(super) spans: u64,
}

/// The place of its root span. Forgotten with this value, unless its rows were taken.
pub(super) struct Trace {
    recorder: Recorder,
    pub(super) id: Option<[u8; 16]>,
    pub(super) span: String,
    pub(super) sampled: bool,
}

impl Trace {
    fn of(recorder: &Recorder, root: &Context) -> Self {
        let span = root.span();
        let place = span.span_context();
        let id = place.is_valid().then(|| place.trace_id().to_bytes());
        if let Some(id) = id {
            recorder.expect(id);
        }
        let recorder = recorder.clone();
        Self { recorder, id, span: place.span_id().to_string(), sampled: place.is_sampled() }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.recorder.forget(id);
        }
    }
}

/// Makes an attempt, in a trace of its own.
pub(super) async fn make<'a>(
    evaluation: &Evaluation,
    genai: &GenAi,
    recorder: &Recorder,
    planned: Planned<'a>,
) -> Attempted<'a> {
    let Planned { case, kind, attempt } = planned;
    let begun = SystemTime::now();
    let root = begin(genai, &Context::new(), Agent::workflow(WORKFLOW));
    let trace = Trace::of(recorder, root.context());
    name(root.context(), planned);
    let agent = (kind == Kind::Tool).then(|| {
        let model = evaluation.target.facts().model;
        let agent = Agent::invoke(AGENT).request(Request::chat(model));
        begin(genai, root.context(), agent)
    });
    let mut generation = evaluation.generation.clone();
    generation.seed = generation.seed.map(|seed| seed.wrapping_add(attempt - 1));
    generation.max_tokens = case.max_tokens.or(generation.max_tokens);
    let asking = Asking { generation, timeout: evaluation.request_timeout, max_steps: evaluation.max_steps };

    let mut ran = Ran::default();
    let started = Instant::now();
    let run = async {
        let target = evaluation.target.as_ref();
        match &agent {
            Some(agent) => agent::with_tools(target, case, &asking, genai, agent, &mut ran).await,
            None => agent::plain(target, case, &asking, root.context(), &mut ran).await,
        }
    };
    let limit = case.time_limit.unwrap_or(evaluation.time_limit);
    let timed_out = tokio::time::timeout(limit, run).await.is_err();
    let took = started.elapsed();

    let failure = match &ran.error {
        _ if timed_out => Some("timeout".to_owned()),
        Some(TargetError::Failed { error_type, .. }) => Some(error_type.to_string()),
        Some(TargetError::Unusable { .. }) => Some("unusable_target".to_owned()),
        None if ran.stop_reason.as_deref() == Some("max_steps") => Some("max_steps".to_owned()),
        None => None,
    };
    let calls = |run: &AgentRun| (run.inference_calls(), run.tool_calls());
    let (mut inferences, mut tools) = calls(&root);
    let mut spans = 1;
    if let Some(agent) = agent {
        let (more, calls) = calls(&agent);
        (inferences, tools, spans) = (inferences + more, tools + calls, spans + 1);
        end(agent, failure.as_ref());
    }
    let mut verdicts = Vec::new();
    if let (false, None, Some(answer)) = (timed_out, &ran.error, &ran.answer) {
        let asked =
            Asked { agent_type: kind.as_str(), attempt, answer: &answer.text, tools_used: &ran.tools_used };
        for check in case.all_checks() {
            let verdict = check.run(case, &asked).await;
            genai.evaluate(root.context(), told(&verdict, answer.response_id.as_deref()));
            verdicts.push(verdict);
        }
    }
    end(root, failure.as_ref());
    let spans = spans + inferences + tools;
    Attempted { planned, begun, took, timed_out, ran, verdicts, trace, inferences, spans }
}

/// A request of a case that nobody counts. Answers whether another one makes sense.
pub(super) async fn warm_up(evaluation: &Evaluation, case: &Case) -> Result<(), TargetError> {
    let mut ran = Ran::default();
    let asking = Asking {
        generation: evaluation.generation.clone(),
        timeout: evaluation.request_timeout,
        max_steps: 1,
    };
    let nowhere = Context::new();
    let request = agent::plain(evaluation.target.as_ref(), case, &asking, &nowhere, &mut ran);
    // A warm-up that takes too long or fails tells nothing of the cases, unless nothing can succeed.
    let _ = tokio::time::timeout(evaluation.time_limit, request).await;
    match ran.error {
        Some(error @ TargetError::Unusable { .. }) => Err(error),
        _ => Ok(()),
    }
}

fn begin(genai: &GenAi, parent: &Context, agent: Agent) -> AgentRun {
    let _inside = parent.clone().attach();
    genai.begin_agent(agent)
}

fn end(run: AgentRun, failure: Option<&String>) {
    match failure {
        Some(error_type) => run.fail(error_type.clone()),
        None => run.finish(),
    }
}

/// What joins a trace with its case, under SMOLTRACE's names.
fn name(root: &Context, planned: Planned<'_>) {
    let span = root.span();
    span.set_attribute(KeyValue::new("test.id", planned.case.id.clone()));
    span.set_attribute(KeyValue::new("test.case_uid", planned.uid()));
    span.set_attribute(KeyValue::new("test.attempt", i64::from(planned.attempt)));
    span.set_attribute(KeyValue::new("agent.type", planned.kind.as_str()));
    if let Some(difficulty) = &planned.case.difficulty {
        span.set_attribute(KeyValue::new("test.difficulty", difficulty.clone()));
    }
}

fn told(verdict: &Verdict, response_id: Option<&str>) -> Verdicts {
    let mut told = Verdicts::new(verdict.check).label(if verdict.passed { "pass" } else { "fail" });
    if let Some(score) = verdict.score {
        told = told.score(score);
    }
    if let Some(explanation) = &verdict.explanation {
        told = told.explanation(explanation.clone());
    }
    if let Some(id) = response_id {
        told = told.response_id(id);
    }
    if verdict.fault.is_some() { told.failed("judge_failed") } else { told }
}

/// Name of each case's root span's workflow.
const WORKFLOW: &str = "evaluation";
/// Name of the agent that calls tools.
const AGENT: &str = "tool-agent";
