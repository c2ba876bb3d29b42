//! When inferences ran, and what was checked, from traces as neutral cells: a trace at a time is in memory.

use std::collections::HashMap;

use wattspan_core::{Cell, Row};

/// One inference on the time axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inference {
    /// Nanoseconds since 1970.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) failed: bool,
    /// What it is, for the first ones.
    pub(crate) label: Option<String>,
}

/// What the traces of a run tell.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    pub(crate) inferences: Vec<Inference>,
    /// By trace id: name and result of each check.
    pub(crate) checks: HashMap<String, Vec<Check>>,
    /// Inferences beyond what is kept.
    pub(crate) dropped: u64,
}

/// A check of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    pub(crate) name: String,
    /// Such as `pass`, or its score.
    pub(crate) result: String,
}

impl Traced {
    pub(crate) fn add(&mut self, row: &Row) {
        let Some(Cell::List(spans)) = find(&row.0, "spans") else { return };
        for span in spans {
            let Cell::Map(span) = span else { continue };
            self.inference(span);
            self.checks(span);
        }
    }

    fn inference(&mut self, span: &Cells) {
        let attributes = map(span, "attributes");
        if !is_inference(attributes) {
            return;
        }
        let (Some(begin), Some(end)) = (int(span, "start_time"), int(span, "end_time")) else { return };
        if self.inferences.len() >= KEPT {
            self.dropped += 1;
            return;
        }
        let status = text(map(span, "status"), "code");
        let label =
            (self.inferences.len() < LABELLED).then(|| text(span, "name").unwrap_or_default().to_owned());
        self.inferences.push(Inference {
            begin,
            end: end.max(begin),
            failed: status == Some("ERROR"),
            label,
        });
    }

    fn checks(&mut self, span: &Cells) {
        let Some(Cell::List(events)) = find(span, "events") else { return };
        for event in events {
            let Cell::Map(event) = event else { continue };
            if text(event, "name") != Some("gen_ai.evaluation.result") {
                continue;
            }
            let attributes = map(event, "attributes");
            let Some(name) = text(attributes, "gen_ai.evaluation.name") else { continue };
            let label = text(attributes, "gen_ai.evaluation.score.label").map(str::to_owned);
            let score = || match find(attributes, "gen_ai.evaluation.score.value") {
                Some(Cell::Float(score)) => Some(crate::number::significant(*score)),
                Some(Cell::Int(score)) => Some(score.to_string()),
                _ => None,
            };
            let error = || text(attributes, "error.type").map(str::to_owned);
            let result = label.or_else(score).or_else(error).unwrap_or_default();
            let trace = text(span, "trace_id").unwrap_or_default().to_owned();
            self.checks.entry(trace).or_default().push(Check { name: name.to_owned(), result });
        }
    }
}

pub(crate) type Cells = [(std::borrow::Cow<'static, str>, Cell)];

pub(crate) fn find<'a>(cells: &'a Cells, name: &str) -> Option<&'a Cell> {
    cells.iter().find(|(known, _)| known == name).map(|(_, cell)| cell)
}

pub(crate) fn text<'a>(cells: &'a Cells, name: &str) -> Option<&'a str> {
    match find(cells, name)? {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

fn map<'a>(cells: &'a Cells, name: &str) -> &'a Cells {
    match find(cells, name) {
        Some(Cell::Map(map)) => map,
        _ => &[],
    }
}

fn int(cells: &Cells, name: &str) -> Option<u64> {
    match find(cells, name)? {
        Cell::Int(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

/// A call of a model: not the agent around it and not a tool.
fn is_inference(attributes: &Cells) -> bool {
    match text(attributes, "gen_ai.operation.name") {
        Some(operation) => INFERENCES.contains(&operation),
        None => match text(attributes, "openinference.span.kind") {
            Some(kind) => matches!(kind, "LLM" | "EMBEDDING" | "RERANKER"),
            None => find(attributes, "wattspan.energy.method").is_some(),
        },
    }
}

/// Values of `gen_ai.operation.name` that compute on a model. (OpenTelemetry GenAI conventions 1.41.)
const INFERENCES: [&str; 5] = ["chat", "text_completion", "generate_content", "embeddings", "rerank"];

/// Inferences whose begin and end are kept, 48 bytes each.
const KEPT: usize = 1_000_000;
/// Inferences that are drawn one by one at most.
const LABELLED: usize = 512;
