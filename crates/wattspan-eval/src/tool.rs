//! Tools that a case declares, and what they answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::command::Command;
use crate::schema::Schema;

/// A tool that a model may call: its parameters as a JSON schema, and a table of answers or a program that answers.
///
/// ```
/// use serde_json::json;
/// use wattspan_eval::ToolSpec;
///
/// let weather = ToolSpec::table("get_weather", "The weather in a city")
///     .parameters(json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}))?
///     .answer(json!({"city": "Oslo"}), "rain, 4 °C")
///     .otherwise("unknown city");
/// assert_eq!(weather.name(), "get_weather");
/// # Ok::<(), wattspan_eval::InvalidSchema>(())
/// ```
#[derive(Clone)]
pub struct ToolSpec {
    name: String,
    description: String,
    parameters: Value,
    schema: Arc<Schema>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Table { answers: Vec<(Value, Value)>, otherwise: Option<Value> },
    Command(Command),
}

/// A tool gave no result. The model is told; the case goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolFailure {
    pub(crate) error_type: &'static str,
    pub(crate) message: String,
}

impl ToolSpec {
    /// A tool that answers from a table, without parameters so far.
    pub fn table(name: impl Into<String>, description: impl Into<String>) -> Self {
        let source = Source::Table { answers: Vec::new(), otherwise: None };
        Self::new(name.into(), description.into(), source)
    }

    /// A tool that a program answers: it gets `{"case", "tool", "arguments"}` as JSON on its standard input, and its
    /// standard output is the result. It is run without a shell and ended when it takes longer than `limit`.
    pub fn command<T: Into<String>>(
        name: impl Into<String>,
        description: impl Into<String>,
        argv: impl IntoIterator<Item = T>,
        limit: Duration,
    ) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self::new(name.into(), description.into(), Source::Command(Command { argv, limit }))
    }

    fn new(name: String, description: String, source: Source) -> Self {
        let parameters = json!({"type": "object", "properties": {}});
        Self { name, description, parameters, schema: Arc::new(Schema::anything()), source }
    }

    /// The JSON schema of its arguments.
    ///
    /// # Errors
    /// When it is not a JSON schema.
    pub fn parameters(mut self, schema: Value) -> Result<Self, crate::InvalidSchema> {
        self.schema = Arc::new(Schema::new(&schema)?);
        self.parameters = schema;
        Ok(self)
    }

    /// Adds a row to the table: calls whose arguments have all of these get this result. The first row that fits counts.
    /// Without effect on a tool that a program answers.
    pub fn answer(mut self, arguments: Value, result: impl Into<Value>) -> Self {
        if let Source::Table { answers, .. } = &mut self.source {
            answers.push((arguments, result.into()));
        }
        self
    }

    /// What calls get that no row fits. Without it they are told that there is no answer.
    pub fn otherwise(mut self, result: impl Into<Value>) -> Self {
        if let Source::Table { otherwise, .. } = &mut self.source {
            *otherwise = Some(result.into());
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of its arguments.
    pub fn schema(&self) -> &Value {
        &self.parameters
    }

    /// The program that answers. **Absent** for a table.
    pub(crate) fn program(&self) -> Option<&Command> {
        match &self.source {
            Source::Command(command) => Some(command),
            Source::Table { .. } => None,
        }
    }

    /// Answers a call.
    pub(crate) async fn call(&self, case: &str, arguments: &Value) -> Result<Value, ToolFailure> {
        if let Some(fault) = self.schema.fault(arguments) {
            let message = format!("the arguments do not fit the tool's parameters: {fault}");
            return Err(ToolFailure { error_type: "invalid_arguments", message });
        }
        match &self.source {
            Source::Table { answers, otherwise } => {
                let fits = |wanted: &Value| match (wanted, arguments) {
                    (Value::Object(wanted), Value::Object(given)) => {
                        wanted.iter().all(|(name, value)| given.get(name) == Some(value))
                    }
                    (wanted, given) => wanted == given,
                };
                let row = answers.iter().find(|(wanted, _)| fits(wanted)).map(|(_, result)| result);
                row.or(otherwise.as_ref()).cloned().ok_or_else(|| ToolFailure {
                    error_type: "no_answer",
                    message: format!("`{}` has no answer for these arguments", self.name),
                })
            }
            Source::Command(command) => {
                let input = json!({"case": case, "tool": self.name, "arguments": arguments}).to_string();
                let output = command.run(input.as_bytes()).await.map_err(|error| ToolFailure {
                    error_type: error.error_type(),
                    message: error.to_string(),
                })?;
                if output.code == Some(0) {
                    let text = output.stdout.trim_end();
                    return Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)));
                }
                let code = output.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
                let message = format!("it ended with {code}: {}", output.stderr.trim_end());
                Err(ToolFailure { error_type: "command_failed", message })
            }
        }
    }
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ToolSpec")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// Two are the same when they are declared the same.
impl PartialEq for ToolSpec {
    fn eq(&self, other: &Self) -> bool {
        let source = match (&self.source, &other.source) {
            (Source::Table { answers: a, otherwise: b }, Source::Table { answers: c, otherwise: d }) => {
                a == c && b == d
            }
            (Source::Command(one), Source::Command(other)) => one == other,
            _ => false,
        };
        let head = |tool: &Self| (tool.name.clone(), tool.description.clone(), tool.parameters.clone());
        source && head(self) == head(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weather() -> ToolSpec {
        let schema = json!({
            "type": "object", "properties": {"city": {"type": "string"}, "day": {"type": "string"}},
            "required": ["city"],
        });
        ToolSpec::table("get_weather", "").parameters(schema).unwrap().answer(json!({"city": "Oslo"}), "rain")
    }

    #[tokio::test]
    async fn the_first_row_that_fits_answers() {
        let tool = weather().answer(json!({}), json!({"sky": "clear"}));
        let rain = tool.call("c", &json!({"city": "Oslo", "day": "today"})).await;
        assert_eq!(rain, Ok(json!("rain")));
        assert_eq!(tool.call("c", &json!({"city": "Rome"})).await, Ok(json!({"sky": "clear"})));
    }

    #[tokio::test]
    async fn what_no_row_fits_and_what_breaks_the_schema_is_told() {
        let failed = weather().call("c", &json!({"city": "Rome"})).await.unwrap_err();
        assert_eq!(failed.error_type, "no_answer");
        let failed = weather().call("c", &json!({"town": "Rome"})).await.unwrap_err();
        assert_eq!(failed.error_type, "invalid_arguments");
        assert!(failed.message.contains("city"), "{}", failed.message);
        let other = weather().otherwise("unknown");
        assert_eq!(other.call("c", &json!({"city": "Rome"})).await, Ok(json!("unknown")));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_gets_the_call_and_its_output_is_the_result() {
        let tool =
            |script: &str| ToolSpec::command("t", "", ["/bin/sh", "-c", script], Duration::from_secs(60));
        let echoed = tool("cat").call("case-1", &json!({"a": 1})).await.unwrap();
        assert_eq!(echoed, json!({"case": "case-1", "tool": "t", "arguments": {"a": 1}}));
        assert_eq!(tool("echo sunny").call("c", &json!({})).await, Ok(json!("sunny")));
        let failed = tool("echo broken >&2; exit 2").call("c", &json!({})).await.unwrap_err();
        assert_eq!(failed.error_type, "command_failed");
        assert!(failed.message.contains("code 2") && failed.message.contains("broken"), "{}", failed.message);
    }
}
