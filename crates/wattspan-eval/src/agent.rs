//! How a case is run: as a plain request, or by an agent that calls tools.

use std::fmt;
use std::str::FromStr;

use opentelemetry::Context;
use serde_json::Value;
use wattspan_genai::{AgentRun, GenAi, Tool, context};

use crate::target::{Answer, Ask, Generation, Target, TargetError};
use crate::{Case, Message, ToolRequest, ToolSpec};

/// How cases are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentType {
    /// As plain requests.
    #[default]
    None,
    /// By an agent that calls the case's tools until it has an answer.
    Tool,
    /// As plain requests, and those that declare tools by the agent as well.
    Both,
}

/// A kind of agent that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agent type {name:?} is not there: {remedy}")]
pub struct UnknownAgentType {
    name: String,
    remedy: &'static str,
}

impl AgentType {
    /// `none`, `tool` or `both`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tool => "tool",
            Self::Both => "both",
        }
    }

    /// The kinds in which a case is run.
    pub(crate) fn kinds(self, case: &Case) -> &'static [Kind] {
        match self {
            Self::None => &[Kind::None],
            Self::Tool => &[Kind::Tool],
            Self::Both if case.tools.is_empty() => &[Kind::None],
            Self::Both => &[Kind::None, Kind::Tool],
        }
    }
}

impl fmt::Display for AgentType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for AgentType {
    type Err = UnknownAgentType;

    fn from_str(name: &str) -> Result<Self, UnknownAgentType> {
        match name {
            "none" => Ok(Self::None),
            "tool" => Ok(Self::Tool),
            "both" => Ok(Self::Both),
            _ => Err(UnknownAgentType {
                name: name.to_owned(),
                remedy: if name == "code" {
                    "code that a model wrote is not run here: take `tool`, with tools that the cases declare"
                } else {
                    "take `none`, `tool` or `both`"
                },
            }),
        }
    }
}

/// One kind of agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    None,
    Tool,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tool => "tool",
        }
    }
}

/// What came of running a case, filled in as it goes on, so that a time limit finds what there is.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) answer: Option<Answer>,
    pub(crate) tools_used: Vec<String>,
    pub(crate) steps: u32,
    pub(crate) stop_reason: Option<String>,
    pub(crate) error: Option<TargetError>,
}

/// A plain request, in the context of the case's span.
pub(crate) async fn plain(target: &dyn Target, case: &Case, asking: &Asking, root: &Context, ran: &mut Ran) {
    ran.steps = 1;
    let ask = asking.ask(&case.messages, &[]);
    match context::with_context(target.answer(&ask), root.clone()).await {
        Ok(answer) => {
            ran.stop_reason.clone_from(&answer.finish_reason);
            ran.answer = Some(answer);
        }
        Err(error) => ran.error = Some(error),
    }
}

/// An agent's loop, in the context of its span: the model is asked, the tools that it wants are called, and so on until it
/// answers without wanting one.
pub(crate) async fn with_tools(
    target: &dyn Target,
    case: &Case,
    asking: &Asking,
    genai: &GenAi,
    agent: &AgentRun,
    ran: &mut Ran,
) {
    let inside = agent.context().clone();
    let mut messages = case.messages.clone();
    while ran.steps < asking.max_steps {
        ran.steps += 1;
        let ask = asking.ask(&messages, &case.tools);
        let answer = match context::with_context(target.answer(&ask), inside.clone()).await {
            Ok(answer) => answer,
            Err(error) => {
                ran.error = Some(error);
                return;
            }
        };
        let calls = answer.tool_calls.clone();
        let text = answer.text.clone();
        ran.answer = Some(answer);
        if calls.is_empty() {
            ran.stop_reason = Some("final_answer".to_owned());
            return;
        }
        messages.push(Message::assistant(text, calls.clone()));
        for call in calls {
            ran.tools_used.push(call.name.clone());
            let result = context::with_context(execute(genai, case, &call), inside.clone()).await;
            messages.push(Message::tool_result(call.id, result));
        }
    }
    ran.stop_reason = Some("max_steps".to_owned());
}

/// Calls a tool inside its span. What goes wrong is told to the model, which may do better.
async fn execute(genai: &GenAi, case: &Case, call: &ToolRequest) -> String {
    let known = case.tools.iter().find(|tool| tool.name() == call.name);
    // A name that the model made up must not become one of many span names and metric series.
    let mut tool = Tool::new(known.map_or("unknown", ToolSpec::name)).kind("function");
    if let Some(id) = &call.id {
        tool = tool.call_id(id.as_str());
    }
    if let Some(known) = known.filter(|known| !known.description().is_empty()) {
        tool = tool.description(known.description());
    }
    let mut span = genai.begin_tool(tool);
    let (error_type, message) = match (known, arguments(&call.arguments)) {
        (None, _) => ("unknown_tool", format!("there is no tool {:?}", call.name)),
        (_, Err(error)) => ("invalid_arguments", format!("the arguments are not JSON: {error}")),
        (Some(known), Ok(arguments)) => {
            span.arguments(&arguments);
            match known.call(&case.id, &arguments).await {
                Ok(result) => {
                    span.result(&result);
                    span.finish();
                    return match result {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                }
                Err(failure) => (failure.error_type, failure.message),
            }
        }
    };
    span.fail(error_type);
    format!("error: {message}")
}

/// Models leave the arguments out where there are none.
fn arguments(text: &str) -> serde_json::Result<Value> {
    if text.trim().is_empty() {
        Ok(Value::Object(serde_json::Map::new()))
    } else {
        serde_json::from_str(text)
    }
}

/// What all requests of an attempt have in common.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) generation: Generation,
    pub(crate) timeout: Option<std::time::Duration>,
    pub(crate) max_steps: u32,
}

impl Asking {
    fn ask<'a>(&self, messages: &'a [Message], tools: &'a [ToolSpec]) -> Ask<'a> {
        Ask { messages, tools, generation: self.generation.clone(), timeout: self.timeout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_others_say_what_to_use() {
        for agent in [AgentType::None, AgentType::Tool, AgentType::Both] {
            assert_eq!(agent.to_string().parse(), Ok(agent));
        }
        let error = "code".parse::<AgentType>().unwrap_err().to_string();
        assert!(error.contains("\"code\"") && error.contains("`tool`"), "{error}");
        assert!("x".parse::<AgentType>().unwrap_err().to_string().contains("`both`"));
    }

    #[test]
    fn both_kinds_run_only_what_has_tools() {
        let plain = Case::new("a", "Hi");
        let with = Case::new("b", "Hi").tool(ToolSpec::table("t", "").otherwise("x"));
        assert_eq!(AgentType::Both.kinds(&plain), [Kind::None]);
        assert_eq!(AgentType::Both.kinds(&with), [Kind::None, Kind::Tool]);
        assert_eq!(AgentType::Tool.kinds(&plain), [Kind::Tool]);
    }
}
