//! Evaluations of answers, as log events.

use std::borrow::Cow;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use wattspan_semconv::{Key, Operation, event};

use crate::attributes::Attributes;
use crate::content::ContentKind;
use crate::events::Event;
use crate::genai::Shared;

/// The result of evaluating an answer.
///
/// ```
/// use wattspan_genai::Evaluation;
///
/// let evaluation = Evaluation::new("relevance").score(0.9).label("pass");
/// # drop(evaluation);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    name: Cow<'static, str>,
    score: Option<f64>,
    label: Option<Cow<'static, str>>,
    explanation: Option<String>,
    response_id: Option<String>,
    error_type: Option<Cow<'static, str>>,
}

impl Evaluation {
    /// An evaluation by the name of its metric.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            score: None,
            label: None,
            explanation: None,
            response_id: None,
            error_type: None,
        }
    }

    /// Its score. A score that is no number is left out.
    pub fn score(mut self, score: f64) -> Self {
        self.score = score.is_finite().then_some(score);
        self
    }

    /// What the score means, such as `pass`.
    pub fn label(mut self, label: impl Into<Cow<'static, str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Why. May quote the answer: recorded only when the [content policy](crate::ContentPolicy) is on.
    pub fn explanation(mut self, text: impl Into<String>) -> Self {
        self.explanation = Some(text.into());
        self
    }

    /// Id of the answer.
    pub fn response_id(mut self, id: impl Into<String>) -> Self {
        self.response_id = Some(id.into());
        self
    }

    /// The evaluation itself failed.
    pub fn failed(mut self, error_type: impl Into<Cow<'static, str>>) -> Self {
        self.error_type = Some(error_type.into());
        self
    }

    pub(crate) fn record(self, shared: &Shared, context: &Context, response_id: Option<&str>) {
        let mut attributes = Attributes::new(shared.profile, Operation::Chat, 6);
        attributes.set(Key::EvaluationName, self.name);
        attributes.set_option(Key::EvaluationScoreValue, self.score);
        attributes.set_option(Key::EvaluationScoreLabel, self.label);
        if shared.content.is_on() {
            let text = self.explanation.map(|text| shared.content.text(ContentKind::Output, &text));
            attributes.set_option(Key::EvaluationExplanation, text);
        }
        attributes.set_option(Key::ResponseId, self.response_id.or_else(|| response_id.map(str::to_owned)));
        attributes.set_option(Key::ErrorType, self.error_type);
        let (name, time) = (event::GEN_AI_EVALUATION_RESULT, shared.clock.wall());
        let span = context.span();
        match &shared.events {
            None => span.add_event_with_timestamp(name, time, attributes.list),
            Some(sink) => sink.emit(&Event {
                name,
                severity: shared.profile.event_def(name).and_then(|def| def.severity),
                time,
                span: span.span_context().clone(),
                attributes: attributes.list,
                content: Vec::new(),
            }),
        }
    }
}
