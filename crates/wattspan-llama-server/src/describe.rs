//! From a request's JSON body to the instrumentation's typed request: one mapping for the client, whose bodies are made
//! from typed parameters, and for the layer, which sees bodies that others made.

use serde_json::Value;
use wattspan_genai::Operation;
use wattspan_genai::{OutputType, Request};

/// What a body asks for. What it does not say, or says in another type, is not recorded.
pub(crate) fn describe(operation: Operation, body: &Value) -> Request {
    let mut request = Request::new(operation);
    if let Some(model) = body["model"].as_str().filter(|model| !model.is_empty()) {
        request = request.model(model);
    }
    let float = |name: &str| body[name].as_f64();
    let whole = |name: &str| body[name].as_i64();
    macro_rules! set {
        ($($setter:ident($value:expr)),* $(,)?) => {
            $(if let Some(value) = $value { request = request.$setter(value); })*
        };
    }
    set! {
        temperature(float("temperature")),
        top_p(float("top_p")),
        top_k(whole("top_k")),
        max_tokens(["max_completion_tokens", "max_tokens", "max_output_tokens", "n_predict"].into_iter().find_map(whole)),
        seed(whole("seed")),
        frequency_penalty(float("frequency_penalty")),
        presence_penalty(float("presence_penalty")),
        choice_count(whole("n")),
        output_type(output_type(body)),
        stop_sequences(stop(body)),
        encoding_formats(body["encoding_format"].as_str().map(|format| [format])),
        embedding_dimensions(body["dimensions"].as_u64()),
    }
    if body["stream"] == true { request.streaming() } else { request }
}

fn output_type(body: &Value) -> Option<OutputType> {
    match body["response_format"]["type"].as_str()? {
        "text" => Some(OutputType::Text),
        "json_object" | "json_schema" => Some(OutputType::Json),
        _ => None,
    }
}

fn stop(body: &Value) -> Option<Vec<String>> {
    let stop = if body["stop"].is_null() { &body["stop_sequences"] } else { &body["stop"] };
    match stop {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) if !texts.is_empty() => {
            Some(texts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => None,
    }
}
