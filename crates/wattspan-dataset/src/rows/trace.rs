//! One row per trace, its spans nested.

use std::collections::{HashMap, HashSet};

use crate::schema::records;
use crate::{Attributes, Timestamp};

records! {
    /// A trace of a run. Sums count each token and each cost once, although wrappers repeat what their calls report.
    pub struct TraceRow in Traces {
        /// Trace id, 32 lower-case hexadecimal digits. Rows with the same one are the same row.
        trace_id: String,
        /// The run.
        run_id: String,
        /// Id of the first root span. **Absent** when no root span ended.
        root_span_id: Option<String>,
        /// Values of `test.id`, each once.
        test_ids: Vec<String>,
        /// Values of `test.case_uid`, each once.
        test_case_uids: Vec<String>,
        /// First value of `agent.type`.
        agent_type: Option<String>,
        /// Its spans, in the order in which they ended.
        spans: Vec<SpanRow>,
        /// Input and output tokens, of the innermost spans that report them.
        total_tokens: Option<u64> => "{token}",
        /// Input tokens.
        total_prompt_tokens: Option<u64> => "{token}",
        /// Output tokens.
        total_completion_tokens: Option<u64> => "{token}",
        /// Time from the first begin to the last end, not the sum of the spans.
        total_duration_ms: Option<f64> => "ms",
        /// Cost, of the innermost spans that report one.
        total_cost_usd: Option<f64> => "USD",

        /// When the first span began.
        start_time: Option<Timestamp>,
        /// Measured energy of its inferences. **Absent** when nothing was measured.
        energy_j: Option<f64> => "J",
        /// Modelled energy, beside the measured one.
        energy_estimated_j: Option<f64> => "J",
        /// Emissions of its inferences.
        co2_emissions_g: Option<f64> => "g",
        /// Number of spans.
        span_count: u64,
    }

    /// A span inside a trace.
    pub struct SpanRow {
        /// Trace id.
        trace_id: String,
        /// Span id, 16 lower-case hexadecimal digits.
        span_id: String,
        /// Id of the parent. **Absent** for a root span.
        parent_span_id: Option<String>,
        /// Name.
        name: String,
        /// Begin, in nanoseconds since 1970.
        start_time: u64 => "ns",
        /// End, in nanoseconds since 1970.
        end_time: u64 => "ns",
        /// Difference of the two.
        duration_ms: f64 => "ms",
        /// Attributes.
        attributes: Attributes,
        /// Events.
        events: Vec<EventRow>,
        /// Status.
        status: StatusRow,
        /// `INTERNAL`, `CLIENT`, `SERVER`, `PRODUCER`, `CONSUMER`.
        kind: String,
        /// What emitted it.
        resource: ResourceRow,
        /// Tokens that this span reports itself.
        total_tokens: Option<u64> => "{token}",
        /// Result of a tool, where its span has one.
        tool_output: Option<String>,

        /// Links to other spans.
        links: Vec<LinkRow>,
        /// Instrumentation scope.
        scope: Option<String>,
    }

    /// An event of a span.
    pub struct EventRow {
        /// Name.
        name: String,
        /// Attributes.
        attributes: Attributes,
        /// When, in nanoseconds since 1970.
        timestamp: u64 => "ns",
    }

    /// A link of a span.
    pub struct LinkRow {
        /// Trace id.
        trace_id: String,
        /// Span id.
        span_id: String,
        /// Attributes.
        attributes: Attributes,
    }

    /// Status of a span.
    pub struct StatusRow {
        /// `UNSET`, `OK` or `ERROR`.
        code: String,
        /// What went wrong.
        description: Option<String>,
    }

    /// The resource of a span.
    pub struct ResourceRow {
        /// Its attributes.
        attributes: Attributes,
    }
}

impl TraceRow {
    /// Puts a trace together from its spans, in any order, of which those of other traces are left out.
    ///
    /// A span's tokens, cost and energy count unless a span below it reports that figure too: an agent's sum over its
    /// calls is not added to the calls.
    pub fn from_spans(run: &str, trace_id: &str, spans: Vec<SpanRow>) -> Self {
        let mut spans: Vec<SpanRow> = spans.into_iter().filter(|span| span.trace_id == trace_id).collect();
        spans.sort_by_key(|span| span.end_time);
        for span in &mut spans {
            span.total_tokens = span.tokens();
            span.tool_output = span.tool_result();
        }
        let tree = Tree::new(&spans);
        let energy = |span: &SpanRow| span.attributes.float(&["wattspan.energy.total"]);
        let is_estimate =
            |span: &SpanRow| span.attributes.text("wattspan.energy.method") == Some("estimated");
        let measured = |span: &SpanRow| energy(span).filter(|_| !is_estimate(span));
        let estimated = |span: &SpanRow| {
            let beside = span.attributes.float(&["wattspan.energy.estimated"]);
            if is_estimate(span) { beside.or_else(|| energy(span)) } else { beside }
        };
        let begin = spans.iter().map(|span| span.start_time).min();
        let end = spans.iter().map(|span| span.end_time).max();
        let root =
            spans.iter().filter(|span| span.parent_span_id.is_none()).min_by_key(|span| span.start_time);
        Self {
            trace_id: trace_id.to_owned(),
            run_id: run.to_owned(),
            root_span_id: root.map(|span| span.span_id.clone()),
            test_ids: distinct(&spans, "test.id"),
            test_case_uids: distinct(&spans, "test.case_uid"),
            agent_type: spans.iter().find_map(|span| span.attributes.text("agent.type")).map(str::to_owned),
            total_tokens: tree.sum(|span| span.total_tokens.map(u128::from)).map(narrow),
            total_prompt_tokens: tree.sum(|span| span.input_tokens().map(u128::from)).map(narrow),
            total_completion_tokens: tree.sum(|span| span.output_tokens().map(u128::from)).map(narrow),
            total_duration_ms: begin.zip(end).map(|(begin, end)| millis(end.saturating_sub(begin))),
            total_cost_usd: tree.sum(|span| span.attributes.float(&COST)),
            start_time: begin
                .map(|nanos| Timestamp::from(std::time::UNIX_EPOCH + std::time::Duration::from_nanos(nanos))),
            energy_j: tree.sum(measured),
            energy_estimated_j: tree.sum(estimated),
            co2_emissions_g: tree.sum(|span| span.attributes.float(&["wattspan.emissions.total"])),
            span_count: spans.len() as u64,
            spans,
        }
    }
}

impl SpanRow {
    fn input_tokens(&self) -> Option<u64> {
        self.attributes.int(&INPUT)
    }

    fn output_tokens(&self) -> Option<u64> {
        self.attributes.int(&OUTPUT)
    }

    /// Input and output; a reported total only where neither is there.
    fn tokens(&self) -> Option<u64> {
        match (self.input_tokens(), self.output_tokens()) {
            (None, None) => self.attributes.int(&["llm.token_count.total"]),
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }

    fn tool_result(&self) -> Option<String> {
        let of_tool = self.attributes.text("openinference.span.kind") == Some("TOOL");
        let openinference = self.attributes.text("output.value").filter(|_| of_tool);
        self.attributes.text("gen_ai.tool.call.result").or(openinference).map(str::to_owned)
    }
}

/// Which span is below which.
struct Tree<'a> {
    spans: &'a [SpanRow],
    parents: HashMap<&'a str, &'a str>,
}

impl<'a> Tree<'a> {
    fn new(spans: &'a [SpanRow]) -> Self {
        let parents = spans
            .iter()
            .filter_map(|span| Some((span.span_id.as_str(), span.parent_span_id.as_deref()?)))
            .collect();
        Self { spans, parents }
    }

    /// Sum over the spans that have a figure and none below them has. A span exported twice counts once.
    fn sum<T: std::ops::Add<Output = T>>(&self, figure: impl Fn(&SpanRow) -> Option<T>) -> Option<T> {
        let mut wrappers = HashSet::new();
        for span in self.spans.iter().filter(|span| figure(span).is_some()) {
            let mut above = self.parents.get(span.span_id.as_str());
            // Marking stops where an earlier span has marked already, which also ends a circle of parents.
            while let Some(parent) = above.filter(|parent| wrappers.insert(**parent)) {
                above = self.parents.get(parent);
            }
        }
        let mut seen = HashSet::new();
        let innermost = self.spans.iter().filter(|span| !wrappers.contains(span.span_id.as_str()));
        innermost
            .filter(|span| seen.insert(span.span_id.as_str()))
            .filter_map(figure)
            .reduce(|one, other| one + other)
    }
}

fn distinct(spans: &[SpanRow], name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in spans.iter().filter_map(|span| span.attributes.text(name)) {
        if !found.iter().any(|known| known == value) {
            found.push(value.to_owned());
        }
    }
    found
}

fn narrow(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

pub(crate) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Names of input tokens: the conventions' own, its older one, OpenInference's.
const INPUT: [&str; 3] =
    ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"];
const OUTPUT: [&str; 3] =
    ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"];
const COST: [&str; 2] = ["wattspan.cost.total", "gen_ai.usage.cost.total"];

#[cfg(test)]
mod tests {
    use wattspan_core::Cell;

    use super::*;

    fn span(id: &str, parent: Option<&str>, times: (u64, u64), tokens: Option<(i64, i64)>) -> SpanRow {
        let mut attributes = Attributes::default();
        if let Some((input, output)) = tokens {
            attributes.push("gen_ai.usage.input_tokens", Cell::Int(input));
            attributes.push("gen_ai.usage.output_tokens", Cell::Int(output));
            attributes.push("wattspan.energy.total", Cell::Float(1.5));
        }
        SpanRow {
            trace_id: "t".to_owned(),
            span_id: id.to_owned(),
            parent_span_id: parent.map(str::to_owned),
            start_time: times.0 * 1_000_000,
            end_time: times.1 * 1_000_000,
            attributes,
            ..SpanRow::default()
        }
    }

    #[test]
    fn case_datadog_03_usage_on_wrapper_and_call_counts_once() {
        let spans = vec![
            span("agent", None, (0, 400), Some((30, 13))),
            span("a", Some("agent"), (10, 100), Some((10, 5))),
            span("b", Some("agent"), (110, 390), Some((20, 8))),
        ];
        let trace = TraceRow::from_spans("r", "t", spans);
        assert_eq!(trace.total_prompt_tokens, Some(30));
        assert_eq!(trace.total_completion_tokens, Some(13));
        assert_eq!((trace.total_tokens, trace.energy_j), (Some(43), Some(3.0)));
        // The case took 400 ms, although its spans add up to 770.
        assert_eq!(trace.total_duration_ms, Some(400.0));
        assert_eq!(trace.root_span_id.as_deref(), Some("agent"));
    }

    #[test]
    fn a_wrapper_far_above_the_call_is_not_added() {
        let spans = vec![
            span("call", Some("step"), (1, 2), Some((100, 20))),
            span("step", Some("agent"), (1, 3), None),
            span("agent", Some("root"), (1, 3), Some((100, 20))),
            span("root", None, (0, 4), None),
        ];
        assert_eq!(TraceRow::from_spans("r", "t", spans).total_tokens, Some(120));
    }

    #[test]
    fn a_span_exported_twice_and_a_circle_of_parents_end_well() {
        let spans = vec![
            span("a", Some("b"), (0, 1), None),
            span("b", Some("a"), (0, 1), None),
            span("c", Some("a"), (0, 1), Some((1, 1))),
            span("c", Some("a"), (0, 1), Some((1, 1))),
        ];
        assert_eq!(TraceRow::from_spans("r", "t", spans).total_tokens, Some(2));
    }

    #[test]
    fn an_estimate_is_not_measured_energy() {
        let mut estimate = span("a", None, (0, 1), None);
        estimate.attributes.push("wattspan.energy.total", Cell::Float(9.0));
        estimate.attributes.push("wattspan.energy.method", Cell::Text("estimated".into()));
        let trace = TraceRow::from_spans("r", "t", vec![estimate, span("b", Some("a"), (0, 1), None)]);
        assert_eq!((trace.energy_j, trace.energy_estimated_j, trace.total_tokens), (None, Some(9.0), None));
    }
}
