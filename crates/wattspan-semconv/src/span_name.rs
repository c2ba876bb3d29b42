//! Span names from their templates.

use crate::model::SpanDef;

/// The name of a span: the template with its parts filled in, or the fallback when one is missing.
///
/// `value` gives the text of an attribute. Where a definition has no fallback, the missing part is left out with the
/// space before it. `{target}` of the MCP spans is the tool's or else the prompt's name.
///
/// ```
/// use wattspan_semconv::{Operation, Profile, SpanKind, attr, span_name};
///
/// let span = Profile::Core.span(Operation::Chat, SpanKind::Client).unwrap();
/// let name = span_name(span, |key| match key {
///     attr::GEN_AI_OPERATION_NAME => Some("chat"),
///     attr::GEN_AI_REQUEST_MODEL => Some("smollm2"),
///     _ => None,
/// });
/// assert_eq!(name, "chat smollm2");
/// ```
pub fn span_name<'a>(span: &SpanDef, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let value = |key: &str| match key {
        "target" => value(crate::attr::GEN_AI_TOOL_NAME).or_else(|| value(crate::attr::GEN_AI_PROMPT_NAME)),
        _ => value(key),
    };
    let (name, complete) = fill(span.name_template, value);
    match span.name_fallback {
        Some(fallback) if !complete => fill(fallback, value).0,
        _ => name,
    }
}

/// The filled template, and whether every part was there.
fn fill<'a>(template: &str, value: impl Fn(&str) -> Option<&'a str>) -> (String, bool) {
    let mut out = String::with_capacity(template.len());
    let mut complete = true;
    let mut rest = template;
    while let Some((before, (key, after))) =
        rest.split_once('{').and_then(|(before, tail)| Some((before, tail.split_once('}')?)))
    {
        out.push_str(before);
        match value(key).filter(|text| !text.is_empty()) {
            Some(text) => out.push_str(text),
            None => complete = false,
        }
        rest = after;
    }
    out.push_str(rest);
    if !complete {
        let words: Vec<&str> = out.split_whitespace().collect();
        out = words.join(" ");
    }
    (out, complete)
}
