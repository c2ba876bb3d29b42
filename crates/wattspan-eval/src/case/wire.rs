//! Cases as JSON has them. Everything is checked while it is read, so that each fault comes with its place.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use super::{Case, Message};
use crate::{Check, Judge, ToolSpec};

/// A whole file: a list of cases, or an object with the list and what its cases share.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) cases: Vec<RawCase>,
    pub(super) tools: Vec<RawTool>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Suite {
    name: Option<String>,
    version: Option<String>,
    tools: Vec<RawTool>,
    cases: CaseList,
}

#[derive(Debug, Default)]
struct CaseList(Vec<RawCase>);

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCase {
    pub(super) id: String,
    #[serde(default)]
    pub(super) prompt: Option<String>,
    #[serde(default)]
    pub(super) messages: Vec<RawMessage>,
    #[serde(default)]
    pub(super) expected: Option<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) difficulty: Option<String>,
    #[serde(default)]
    pub(super) checks: Vec<RawCheck>,
    #[serde(default)]
    pub(super) tools: Vec<RawToolUse>,
    #[serde(default)]
    pub(super) expected_tool: Option<String>,
    #[serde(default)]
    pub(super) time_limit_s: Option<f64>,
    #[serde(default)]
    pub(super) max_tokens: Option<u32>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMessage {
    role: String,
    content: String,
}

/// A check by its name, with the case's `expected`, or in full.
#[derive(Debug)]
pub(super) enum RawCheck {
    Named(String),
    Full(FullCheck),
}

#[derive(Debug, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FullCheck {
    Exact {
        #[serde(default)]
        value: Option<String>,
        #[serde(default)]
        ignore_case: bool,
    },
    Contains {
        #[serde(default)]
        value: Option<String>,
        #[serde(default)]
        ignore_case: bool,
    },
    Regex {
        #[serde(default)]
        pattern: Option<String>,
    },
    JsonSchema {
        schema: Value,
    },
    Judge {
        command: Vec<String>,
        #[serde(default)]
        timeout_s: Option<f64>,
        #[serde(default)]
        pass_score: Option<f64>,
    },
}

/// A tool of the file by its name, or one of the case's own.
#[derive(Debug)]
pub(super) enum RawToolUse {
    Named(String),
    Own(RawTool),
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    pub(super) name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    answers: Vec<RawAnswer>,
    #[serde(default)]
    otherwise: Option<Value>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    timeout_s: Option<f64>,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnswer {
    #[serde(default = "no_arguments")]
    arguments: Value,
    result: Value,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Document;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a list of cases, or an object with `cases`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Document, A::Error> {
                let CaseList(cases) = CaseList::deserialize(de::value::SeqAccessDeserializer::new(list))?;
                Ok(Document { cases, ..Document::default() })
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Document, A::Error> {
                let suite = Suite::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let Suite { name, version, tools, cases: CaseList(cases) } = suite;
                Ok(Document { name, version, cases, tools })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for CaseList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = CaseList;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a list of cases")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CaseList, A::Error> {
                let (mut cases, mut known) = (Vec::new(), HashSet::new());
                while let Some(case) = list.next_element_seed(OneCase(&mut known))? {
                    cases.push(case);
                }
                Ok(CaseList(cases))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Reads a case and tries its parts, while the reader still stands at its end and can say where that is. Knows the ids of
/// earlier ones. Tools of the file are found later.
pub(super) struct OneCase<'k>(pub(super) &'k mut HashSet<String>);

impl<'de> DeserializeSeed<'de> for OneCase<'_> {
    type Value = RawCase;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawCase, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneCase<'_> {
    type Value = RawCase;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a case: an object with `id` and `prompt`")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RawCase, A::Error> {
        let case = RawCase::deserialize(de::value::MapAccessDeserializer::new(map))?;
        case.try_parts().map_err(de::Error::custom)?;
        if self.0.insert(case.id.clone()) { Ok(case) } else { Err(de::Error::custom(twice(&case.id))) }
    }
}

impl<'de> Deserialize<'de> for RawCheck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_object(
            deserializer,
            "the name of a check, or an object with its `type`",
            Self::Named,
            Self::Full,
        )
    }
}

impl<'de> Deserialize<'de> for RawToolUse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_object(deserializer, "the name of a tool of this file, or a tool", Self::Named, Self::Own)
    }
}

/// What may be named or told in full. Unlike an untagged enum it tells what is wrong with the object.
fn text_or_object<'de, D: Deserializer<'de>, T: Deserialize<'de>, R>(
    deserializer: D,
    wanted: &'static str,
    of_text: fn(String) -> R,
    of_object: fn(T) -> R,
) -> Result<R, D::Error> {
    struct Either<T, R> {
        wanted: &'static str,
        of_text: fn(String) -> R,
        of_object: fn(T) -> R,
    }
    impl<'de, T: Deserialize<'de>, R> Visitor<'de> for Either<T, R> {
        type Value = R;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str(self.wanted)
        }

        fn visit_str<E>(self, text: &str) -> Result<R, E> {
            Ok((self.of_text)(text.to_owned()))
        }

        fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
            T::deserialize(de::value::MapAccessDeserializer::new(map)).map(self.of_object)
        }
    }
    deserializer.deserialize_any(Either { wanted, of_text, of_object })
}

impl RawCase {
    /// Everything that can be wrong with it by itself.
    pub(super) fn try_parts(&self) -> Result<(), String> {
        let of_case = |reason: String| format!("case {:?}: {reason}", self.id);
        let bad_id = self.id.trim().is_empty()
            || self.id.chars().count() > LONGEST_ID
            || self.id.chars().any(char::is_control);
        if bad_id {
            return Err(of_case(format!(
                "the id must have 1 to {LONGEST_ID} characters and no control characters"
            )));
        }
        match (&self.prompt, self.messages.is_empty()) {
            (None, true) => return Err(of_case("give it a `prompt` or `messages`".to_owned())),
            (Some(_), false) => {
                return Err(of_case("it has both `prompt` and `messages`: leave one out".to_owned()));
            }
            _ => {}
        }
        if let Some(message) = self.messages.iter().find(|message| !ROLES.contains(&&*message.role)) {
            let roles = ROLES.join("`, `");
            return Err(of_case(format!("role {:?} is not one of `{roles}`", message.role)));
        }
        if let Some(seconds) = self.time_limit_s {
            time("time_limit_s", seconds).map_err(of_case)?;
        }
        for check in &self.checks {
            check.build(self.expected.as_deref()).map_err(of_case)?;
        }
        let mut names = HashSet::new();
        for tool in &self.tools {
            let name = match tool {
                RawToolUse::Named(name) => name,
                RawToolUse::Own(tool) => {
                    tool.build().map_err(of_case)?;
                    &tool.name
                }
            };
            if !names.insert(name) {
                return Err(of_case(format!("tool {name:?} is there twice")));
            }
        }
        Ok(())
    }

    /// The case, with tools of the file filled in.
    pub(super) fn build(self, shared: &[RawTool]) -> Result<Case, String> {
        let messages = match self.prompt {
            Some(prompt) => vec![Message::new("user", prompt)],
            None => {
                self.messages.into_iter().map(|message| Message::new(message.role, message.content)).collect()
            }
        };
        let of_case = |reason: String| format!("case {:?}: {reason}", self.id);
        let checks = self.checks.iter().map(|check| check.build(self.expected.as_deref()));
        let checks = checks.collect::<Result<Vec<_>, _>>().map_err(of_case)?;
        let tools = self.tools.iter().map(|tool| match tool {
            RawToolUse::Own(tool) => tool.build(),
            RawToolUse::Named(name) => match shared.iter().find(|tool| tool.name == *name) {
                Some(tool) => tool.build(),
                None => Err(format!("there is no tool {name:?} among the file's `tools`")),
            },
        });
        let tools = tools.collect::<Result<Vec<_>, _>>().map_err(of_case)?;
        if let Some(name) =
            self.expected_tool.as_ref().filter(|name| !tools.iter().any(|tool| tool.name() == **name))
        {
            return Err(of_case(format!("`expected_tool` {name:?} is not among its `tools`")));
        }
        let mut case = Case::chat(self.id, messages);
        case.time_limit = self.time_limit_s.and_then(|seconds| time("time_limit_s", seconds).ok());
        case.expected = self.expected;
        case.tags = self.tags;
        case.difficulty = self.difficulty;
        case.checks = checks;
        case.tools = tools;
        case.expected_tool = self.expected_tool;
        case.max_tokens = self.max_tokens;
        Ok(case)
    }
}

impl RawCheck {
    pub(super) fn build(&self, expected: Option<&str>) -> Result<Check, String> {
        let operand = |own: &Option<String>, name: &str| {
            let text = own.as_deref().or(expected).map(str::to_owned);
            text.ok_or_else(|| format!("the check `{name}` needs `expected`, or a text of its own"))
        };
        let with_case = |check: Check, ignore: bool| if ignore { check.ignore_case() } else { check };
        let pattern = |text: &str| Check::regex(text).map_err(|error| format!("the check `regex`: {error}"));
        let schema = |schema: &Value| {
            Check::json_schema(schema).map_err(|error| format!("the check `json_schema`: {error}"))
        };
        match self {
            Self::Named(name) => match name.as_str() {
                "exact" => Ok(Check::exact(operand(&None, name)?)),
                "contains" => Ok(Check::contains(operand(&None, name)?)),
                "regex" => pattern(&operand(&None, name)?),
                "json_schema" => {
                    let text = operand(&None, name)?;
                    let value = serde_json::from_str(&text).map_err(|error| {
                        format!("the check `json_schema`: `expected` is not JSON: {error}")
                    })?;
                    schema(&value)
                }
                _ => Err(format!(
                    "there is no check {name:?}: take `exact`, `contains`, `regex`, `json_schema`, or an object with \
                     `\"type\": \"judge\"`"
                )),
            },
            Self::Full(FullCheck::Exact { value, ignore_case }) => {
                Ok(with_case(Check::exact(operand(value, "exact")?), *ignore_case))
            }
            Self::Full(FullCheck::Contains { value, ignore_case }) => {
                Ok(with_case(Check::contains(operand(value, "contains")?), *ignore_case))
            }
            Self::Full(FullCheck::Regex { pattern: own }) => pattern(&operand(own, "regex")?),
            Self::Full(FullCheck::JsonSchema { schema: own }) => schema(own),
            Self::Full(FullCheck::Judge { command, timeout_s, pass_score }) => {
                program("the check `judge`", command)?;
                let mut judge = Judge::new(command.iter().cloned());
                if let Some(seconds) = timeout_s {
                    judge = judge.timeout(time("timeout_s", *seconds)?);
                }
                if let Some(score) = pass_score {
                    judge = judge.pass_score(*score);
                }
                Ok(Check::judge(judge))
            }
        }
    }
}

impl RawTool {
    pub(super) fn build(&self) -> Result<ToolSpec, String> {
        let of_tool = |reason: &str| format!("tool {:?}: {reason}", self.name);
        if self.name.trim().is_empty() {
            return Err(of_tool("give it a name"));
        }
        let has_table = !self.answers.is_empty() || self.otherwise.is_some();
        let mut tool = match (has_table, self.command.is_empty()) {
            (true, false) => return Err(of_tool("it has both `answers` and `command`: leave one out")),
            (false, true) => return Err(of_tool("give it `answers`, `otherwise`, or a `command`")),
            (true, true) => ToolSpec::table(&self.name, &self.description),
            (false, false) => {
                program("its command", &self.command).map_err(|reason| of_tool(&reason))?;
                let limit = time("timeout_s", self.timeout_s.unwrap_or(TOOL_SECONDS));
                let limit = limit.map_err(|reason| of_tool(&reason))?;
                ToolSpec::command(&self.name, &self.description, self.command.iter().cloned(), limit)
            }
        };
        if let Some(parameters) = &self.parameters {
            tool = tool
                .parameters(parameters.clone())
                .map_err(|error| of_tool(&format!("`parameters`: {error}")))?;
        }
        for row in &self.answers {
            tool = tool.answer(row.arguments.clone(), row.result.clone());
        }
        if let Some(result) = &self.otherwise {
            tool = tool.otherwise(result.clone());
        }
        Ok(tool)
    }
}

pub(super) fn twice(id: &str) -> String {
    format!("case {id:?}: an earlier case has the same id: give each its own")
}

fn program(what: &str, argv: &[String]) -> Result<(), String> {
    match argv.first() {
        Some(program) if !program.is_empty() => Ok(()),
        _ => Err(format!("{what} is empty: give program and arguments as a list")),
    }
}

pub(super) fn time(name: &str, seconds: f64) -> Result<Duration, String> {
    let fits = |time: &Duration| !time.is_zero();
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(fits)
        .ok_or_else(|| format!("`{name}` must be a number of seconds above 0"))
}

const ROLES: [&str; 3] = ["system", "user", "assistant"];
/// Ids become part of names that people read in tables.
const LONGEST_ID: usize = 256;
/// How long a tool's program has unless the case says otherwise.
const TOOL_SECONDS: f64 = 30.0;
