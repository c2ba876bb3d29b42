//! Prompts and answers in the conventions' shape, for programs that chose to record them. Nothing here is called unless
//! the content policy is on.

use std::borrow::Cow;

use serde_json::Value;
use wattspan_genai::{Inference, Message, Part, ToolDefinition};

use crate::answer::{ChatAnswer, Choice};

/// Tells an inference what was sent, out of a request's body of any of the routes.
pub(crate) fn record_input(body: &Value, inference: &mut Inference) {
    if !inference.captures_content() {
        return;
    }
    let messages = match (&body["messages"], &body["prompt"], &body["input"]) {
        (Value::Array(messages), ..) => messages.iter().map(message).collect(),
        (_, Value::String(text), _) | (.., Value::String(text)) => vec![Message::user(text.as_str())],
        _ => Vec::new(),
    };
    if !messages.is_empty() {
        inference.input_messages(&messages);
    }
    if let Value::String(text) = &body["system"] {
        inference.system_instructions(&[Part::Text(text.clone())]);
    }
    if let Value::Array(tools) = &body["tools"] {
        let tools: Vec<ToolDefinition> = tools.iter().filter_map(tool).collect();
        inference.tool_definitions(&tools);
    }
}

/// Tells an inference what came back.
pub(crate) fn record_output(answer: &ChatAnswer, inference: &mut Inference) {
    let messages: Vec<Message> = answer.choices.iter().map(output).collect();
    if !messages.is_empty() {
        inference.output_messages(&messages);
    }
}

fn message(message: &Value) -> Message {
    let role = message["role"].as_str().unwrap_or("user").to_owned();
    let mut parts = match &message["content"] {
        Value::String(text) if role == "tool" => vec![Part::ToolResponse {
            id: message["tool_call_id"].as_str().map(str::to_owned),
            response: Value::String(text.clone()),
        }],
        Value::String(text) => vec![Part::Text(text.clone())],
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        _ => Vec::new(),
    };
    if let Value::Array(calls) = &message["tool_calls"] {
        parts.extend(calls.iter().map(|call| Part::ToolCall {
            id: call["id"].as_str().map(str::to_owned),
            name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            arguments: arguments(call["function"]["arguments"].as_str().unwrap_or_default()),
        }));
    }
    of_parts(role, parts)
}

/// A part of a message. Inline images and audio are left out, as the conventions' crate asks.
fn part(part: &Value) -> Option<Part> {
    if let Some(text) = part["text"].as_str() {
        return Some(Part::Text(text.to_owned()));
    }
    let uri = part["image_url"]["url"].as_str().filter(|url| !url.starts_with("data:"))?;
    Some(Part::Uri { modality: "image".to_owned(), mime_type: None, uri: uri.to_owned() })
}

fn tool(tool: &Value) -> Option<ToolDefinition> {
    // OpenAI has it under `function`; Anthropic has it at the top, with another name for the schema.
    let function = if tool["function"].is_object() { &tool["function"] } else { tool };
    let mut definition = ToolDefinition::function(function["name"].as_str()?);
    if let Some(text) = function["description"].as_str() {
        definition = definition.description(text);
    }
    let schema =
        [&function["parameters"], &function["input_schema"]].into_iter().find(|schema| schema.is_object());
    Some(match schema {
        Some(schema) => definition.parameters(schema.clone()),
        None => definition,
    })
}

fn output(choice: &Choice) -> Message {
    let mut parts = Vec::new();
    parts.extend(choice.reasoning.clone().filter(|text| !text.is_empty()).map(Part::Reasoning));
    if !choice.content.is_empty() {
        parts.push(Part::Text(choice.content.clone()));
    }
    parts.extend(choice.tool_calls.iter().map(|call| Part::ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: arguments(&call.arguments),
    }));
    let message = of_parts("assistant", parts);
    match &choice.finish_reason {
        Some(reason) => message.finish_reason(reason.as_str()),
        None => message,
    }
}

fn of_parts(role: impl Into<Cow<'static, str>>, parts: Vec<Part>) -> Message {
    let mut message = Message::new(role, Part::Text(String::new()));
    message.parts = parts;
    message
}

/// A model may write arguments that are no JSON; they are kept as text then.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
