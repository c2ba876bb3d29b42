//! From attempts to rows, and from a run to its last two pages.

use std::time::SystemTime;

use wattspan_core::{Cell, Locality};
use wattspan_dataset::{
    Attributes, CaseTotals, DeviceInfo, EnergySummary, LeaderboardRow, Metadata, ResultRow, RunAggregate,
};

use super::attempt::Attempted;
use crate::Evaluation;
use crate::agent::Kind;
use crate::recorder::{Recorder, hex};
use crate::target::{TargetError, TargetFacts};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunStatus {
    /// Every attempt was made.
    Completed,
    /// The switch was turned.
    Interrupted,
    /// The target could not be used any more.
    Failed,
}

impl RunStatus {
    /// The value in the tables: `completed`, `interrupted`, `failed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// The row of an attempt, but for what it took.
pub(super) fn result(
    evaluation: &Evaluation,
    facts: &TargetFacts,
    provider: &str,
    run: &str,
    attempted: &Attempted<'_>,
) -> ResultRow {
    let (case, kind, attempt) = (attempted.planned.case, attempted.planned.kind, attempted.planned.attempt);
    let ran = &attempted.ran;
    let of_tools = kind == Kind::Tool;
    let checked = !attempted.verdicts.is_empty() || !case.all_checks().is_empty();
    let answered = ran.answer.is_some() && ran.error.is_none() && !attempted.timed_out;
    let correct = answered && attempted.verdicts.iter().all(|verdict| verdict.passed);
    let wanted = case.expected_tool.as_ref().filter(|_| of_tools);
    let right_tool = wanted.map(|wanted| ran.tools_used.contains(wanted));
    let gave_answer = ran.stop_reason.as_deref() == Some("final_answer");
    let success = correct && right_tool != Some(false) && (!of_tools || gave_answer);
    let fault = attempted.verdicts.iter().find_map(|verdict| verdict.fault.clone());

    let mut row = ResultRow::default();
    row.model = Some(facts.model.clone()).filter(|model| !model.is_empty());
    row.evaluation_date = Some(attempted.begun.into());
    row.task_id = Some(case.id.clone());
    row.test_case_uid = Some(attempted.planned.uid());
    row.agent_type = Some(kind.as_str().to_owned());
    row.difficulty.clone_from(&case.difficulty);
    row.prompt = evaluation.texts.then(|| case.prompt());
    row.success = Some(success);
    row.pass_at_1_passed = Some(success && attempt == 1);
    row.tool_called = of_tools.then_some(!ran.tools_used.is_empty());
    row.correct_tool = right_tool;
    row.final_answer_called = of_tools.then_some(gave_answer);
    row.response_correct = checked.then_some(correct);
    row.tools_used.clone_from(&ran.tools_used);
    row.steps = Some(i64::from(ran.steps));
    row.response = ran.answer.as_ref().filter(|_| evaluation.texts).map(|answer| answer.text.clone());
    row.error = ran.error.as_ref().map(ToString::to_string).or(fault);
    row.stop_reason = match (&ran.error, attempted.timed_out) {
        (_, true) => Some("timeout".to_owned()),
        (Some(_), _) => Some("error".to_owned()),
        _ => ran.stop_reason.clone(),
    };
    row.timed_out = Some(attempted.timed_out);
    row.trace_id = attempted.trace.id.filter(|_| attempted.trace.sampled).map(hex);
    row.span_id = row.trace_id.is_some().then(|| attempted.trace.span.clone());
    run.clone_into(&mut row.run_id);
    row.execution_time_ms = Some(attempted.took.as_secs_f64() * 1e3);
    row.attempt = Some(u64::from(attempt));
    row.provider = Some(provider.to_owned());
    row.tags.clone_from(&case.tags);
    row.inferences = Some(attempted.inferences);
    if let Some(answer) = &ran.answer {
        row.response_model.clone_from(&answer.model);
        row.response_id.clone_from(&answer.response_id);
    }
    row
}

/// Adds what it took.
pub(super) fn took(row: &mut ResultRow, totals: Option<&CaseTotals>, locality: Option<Locality>) {
    row.locality = locality.map(|locality| {
        match locality {
            Locality::InProcess => "in_process",
            Locality::LocalServer { .. } => "local_server",
            _ => "remote",
        }
        .to_owned()
    });
    if let Some(totals) = totals {
        totals.apply(row);
    }
}

/// What is known of a run at its end.
pub(super) struct Ended<'a> {
    pub(super) evaluation: &'a Evaluation,
    pub(super) facts: &'a TargetFacts,
    pub(super) recorder: &'a Recorder,
    pub(super) sums: &'a RunAggregate,
    pub(super) status: RunStatus,
    pub(super) reason: Option<&'a str>,
    pub(super) planned: u64,
    pub(super) started: SystemTime,
    /// Whether any inference ran on this machine. **Absent** when none is known.
    pub(super) local: Option<bool>,
    pub(super) refused: u64,
    pub(super) sources: &'a Sources,
}

/// Where figures of the results come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    pub(super) carbon: Option<String>,
    pub(super) cost: Option<String>,
}

impl Sources {
    pub(super) fn add(&mut self, row: &ResultRow) {
        for (known, found) in [(&mut self.carbon, &row.carbon_source), (&mut self.cost, &row.cost_source)] {
            match (known.as_deref(), found) {
                (None, Some(found)) => *known = Some(found.clone()),
                (Some(before), Some(found)) if before != found => *known = Some("mixed".to_owned()),
                _ => {}
            }
        }
    }
}

impl Ended<'_> {
    pub(super) fn leaderboard(&self) -> LeaderboardRow {
        let (evaluation, about) = (self.evaluation, &self.evaluation.about);
        let mut row = LeaderboardRow::default();
        row.run_id = self.recorder.run().to_string();
        row.model = Some(self.facts.model.clone()).filter(|model| !model.is_empty());
        row.agent_type = Some(evaluation.agent.to_string());
        row.provider = Some(self.facts.provider.clone());
        row.timestamp = Some(SystemTime::now().into());
        row.submitted_by.clone_from(&about.submitted_by);
        row.use_case.clone_from(&about.use_case);
        row.team.clone_from(&about.team);
        row.purpose.clone_from(&about.purpose);
        row.suite_version.clone_from(&about.suite_version);
        row.hardware = self.hardware();
        row.hardware_detail.clone_from(&about.hardware_detail);
        row.hardware_scope = self.scope();
        row.dataset_used.clone_from(&about.dataset);
        row.notes.clone_from(&about.notes);
        if let Some([results, traces, metrics]) =
            about.references.clone().or_else(|| evaluation.earlier.references.clone())
        {
            row.results_dataset = Some(results);
            row.traces_dataset = Some(traces);
            row.metrics_dataset = Some(metrics);
        }
        row.pass_rule = Some(PASS_RULE.to_owned());
        row.pass_attempts = Some(1);
        row.run_status = Some(self.status.as_str().to_owned());
        row.run_stop_reason = self.reason.map(str::to_owned);
        row.planned_tests = Some(self.planned);
        row.task_timeout_s = Some(evaluation.time_limit.as_secs_f64());
        row.request_timeout_s = evaluation.request_timeout.map(|limit| limit.as_secs_f64());
        row.generation_settings = serde_json::to_string(&evaluation.generation).ok();
        self.sums.fill(&mut row);
        row
    }

    pub(super) fn metadata(&self, row: &LeaderboardRow) -> Metadata {
        let about = &self.evaluation.about;
        let mut page = Metadata::default();
        page.run_id.clone_from(&row.run_id);
        page.model.clone_from(&row.model);
        page.agent_type.clone_from(&row.agent_type);
        page.dataset_used.clone_from(&row.dataset_used);
        page.timestamp = row.timestamp;
        page.hardware.clone_from(&row.hardware);
        page.hardware_detail.clone_from(&row.hardware_detail);
        page.hardware_scope.clone_from(&row.hardware_scope);
        page.started = Some(self.started.into());
        page.run_status.clone_from(&row.run_status);
        page.versions.push("wattspan", text(env!("CARGO_PKG_VERSION")));
        for (name, version) in self.facts.versions.iter().chain(&about.versions) {
            page.versions.push(name.clone(), text(version.clone()));
        }
        page.configure(self.configuration());
        page.devices = self.recorder.devices();
        page.no_devices = match (&about.no_devices, page.devices.is_empty()) {
            (Some(why), true) => Some(why.clone()),
            (None, true) => Some("no monitor handed on any sample".to_owned()),
            (_, false) => None,
        };
        let found = [
            ("energy", row.energy_method.clone()),
            ("intensity", self.sources.carbon.clone()),
            ("cost", self.sources.cost.clone()),
        ];
        for (name, method) in found.into_iter().filter_map(|(name, method)| Some((name, method?))) {
            page.methods.push(name, text(method));
        }
        for (name, method) in &about.methods {
            page.methods.push(name.clone(), text(method.clone()));
        }
        page.energy = EnergySummary::of(row);
        for (name, count) in self.recorder.dropped().into_iter().chain([("refused_rows", self.refused)]) {
            if count > 0 {
                page.dropped.push(name, int(count));
            }
        }
        page
    }

    fn configuration(&self) -> Attributes {
        let evaluation = self.evaluation;
        let mut out = Attributes::default();
        out.push("provider", text(self.facts.provider.clone()));
        out.push("agent_type", text(evaluation.agent.as_str()));
        out.push("cases", int(evaluation.cases.len() as u64));
        out.push("repeats", int(evaluation.repeats.into()));
        out.push("concurrency", int(evaluation.concurrency as u64));
        out.push("warm_up", int(evaluation.warm_up.into()));
        out.push("max_steps", int(evaluation.max_steps.into()));
        out.push("time_limit_s", Cell::Float(evaluation.time_limit.as_secs_f64()));
        let request = evaluation.request_timeout.map_or(Cell::Null, |limit| Cell::Float(limit.as_secs_f64()));
        out.push("request_timeout_s", request);
        out.push("settle_within_s", Cell::Float(evaluation.settle_within.as_secs_f64()));
        let generation = serde_json::to_string(&evaluation.generation).unwrap_or_default();
        out.push("generation", text(generation));
        out.push("allow_commands", Cell::Bool(evaluation.allow_commands));
        out.push("texts", Cell::Bool(evaluation.texts));
        for (name, value) in self.facts.configuration.iter().chain(&evaluation.about.configuration) {
            out.push(name.clone(), value.clone());
        }
        out
    }

    /// The user's words, else the GPUs that were read.
    fn hardware(&self) -> Option<String> {
        let said = self.evaluation.about.hardware.clone();
        said.or_else(|| gpus(&self.recorder.devices()))
    }

    fn scope(&self) -> Option<String> {
        self.local.map(|local| if local { "model" } else { "runner" }.to_owned())
    }
}

fn gpus(devices: &[DeviceInfo]) -> Option<String> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for device in devices.iter().filter(|device| device.kind == "gpu") {
        match names.iter_mut().find(|(name, _)| *name == device.name) {
            Some((_, count)) => *count += 1,
            None => names.push((&device.name, 1)),
        }
    }
    let line = |(name, count): (&str, usize)| {
        if count == 1 { name.to_owned() } else { format!("{count} × {name}") }
    };
    (!names.is_empty()).then(|| names.into_iter().map(line).collect::<Vec<_>>().join(", "))
}

fn text(text: impl Into<std::borrow::Cow<'static, str>>) -> Cell {
    Cell::Text(text.into())
}

fn int(count: u64) -> Cell {
    i64::try_from(count).map_or(Cell::Null, Cell::Int)
}

/// Whether an attempt failed because nothing can succeed.
pub(super) fn unusable<'a>(attempted: &'a Attempted<'_>) -> Option<&'a str> {
    match &attempted.ran.error {
        Some(TargetError::Unusable { message }) => Some(message),
        _ => None,
    }
}

const PASS_RULE: &str = "all checks of the first attempt pass";
