//! What an answer is held against.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::command::Command;
use crate::schema::Schema;
use crate::{Case, InvalidSchema};

/// A check of an answer. A case passes when all of its checks do.
///
/// ```
/// use wattspan_eval::Check;
///
/// let checks = [Check::contains("Paris").ignore_case(), Check::regex(r"^\w+")?];
/// assert_eq!(checks[0].name(), "contains");
/// # Ok::<(), wattspan_eval::InvalidPattern>(())
/// ```
#[derive(Clone)]
pub struct Check(Kind);

#[derive(Clone)]
enum Kind {
    Exact { text: String, ignore_case: bool },
    Contains { text: String, ignore_case: bool },
    Regex(Box<regex::Regex>),
    JsonSchema { schema: Value, compiled: Arc<Schema> },
    Judge(Judge),
}

/// A program that judges answers.
///
/// It gets `{"case", "agent_type", "attempt", "messages", "expected", "answer", "tools_used"}` as JSON on its standard
/// input. Exit code 0 is a pass and 1 a fail; any other end, or none in time, is a fault of the judge. With code 0 or 1 it
/// may print a JSON object with a `score` (a pass from [`pass_score`](Judge::pass_score) on), `passed`, which wins over
/// the score, and an `explanation`; with code 1 the answer fails whatever is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Judge {
    command: Command,
    pass_score: f64,
}

/// Text that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a regular expression: {reason}")]
pub struct InvalidPattern {
    reason: String,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct Verdict {
    /// Which check: `exact`, `contains`, `regex`, `json_schema`, `judge`.
    pub check: &'static str,
    /// Whether the answer passed.
    pub passed: bool,
    /// Its score. **Range** as the judge has it; 0 or 1 from other checks.
    pub score: Option<f64>,
    /// Why.
    pub explanation: Option<String>,
    /// The check itself failed: the judge did not judge.
    pub fault: Option<String>,
}

/// What a judge is told beside the case.
pub(crate) struct Asked<'a> {
    pub(crate) agent_type: &'a str,
    pub(crate) attempt: u32,
    pub(crate) answer: &'a str,
    pub(crate) tools_used: &'a [String],
}

impl Check {
    /// The answer is this text, white space around both left out.
    pub fn exact(text: impl Into<String>) -> Self {
        Self(Kind::Exact { text: text.into(), ignore_case: false })
    }

    /// The answer has this text in it.
    pub fn contains(text: impl Into<String>) -> Self {
        Self(Kind::Contains { text: text.into(), ignore_case: false })
    }

    /// Upper and lower case are the same to [`exact`](Self::exact) and [`contains`](Self::contains). A pattern has `(?i)`
    /// for it.
    pub fn ignore_case(mut self) -> Self {
        if let Kind::Exact { ignore_case, .. } | Kind::Contains { ignore_case, .. } = &mut self.0 {
            *ignore_case = true;
        }
        self
    }

    /// The pattern is found somewhere in the answer.
    ///
    /// # Errors
    /// When it is not a regular expression as the crate `regex` has them.
    pub fn regex(pattern: &str) -> Result<Self, InvalidPattern> {
        let compiled = regex::Regex::new(pattern);
        let reason = |error: regex::Error| InvalidPattern { reason: error.to_string() };
        Ok(Self(Kind::Regex(Box::new(compiled.map_err(reason)?))))
    }

    /// The answer is JSON that fits this schema. A Markdown fence around it is taken off.
    ///
    /// # Errors
    /// When it is not a JSON schema.
    pub fn json_schema(schema: &Value) -> Result<Self, InvalidSchema> {
        let compiled = Arc::new(Schema::new(schema)?);
        Ok(Self(Kind::JsonSchema { schema: schema.clone(), compiled }))
    }

    /// A program judges the answer.
    pub fn judge(judge: Judge) -> Self {
        Self(Kind::Judge(judge))
    }

    /// `exact`, `contains`, `regex`, `json_schema` or `judge`.
    pub fn name(&self) -> &'static str {
        match self.0 {
            Kind::Exact { .. } => "exact",
            Kind::Contains { .. } => "contains",
            Kind::Regex(_) => "regex",
            Kind::JsonSchema { .. } => "json_schema",
            Kind::Judge(_) => "judge",
        }
    }

    /// The program that it runs. **Absent** for all but judges.
    pub(crate) fn program(&self) -> Option<&Command> {
        match &self.0 {
            Kind::Judge(judge) => Some(&judge.command),
            _ => None,
        }
    }

    pub(crate) async fn run(&self, case: &Case, asked: &Asked<'_>) -> Verdict {
        let answer = asked.answer;
        let fault = match &self.0 {
            Kind::Exact { text, ignore_case } => {
                let same = folded(answer.trim(), *ignore_case) == folded(text.trim(), *ignore_case);
                (!same).then(|| format!("the answer is not {:?}", short(text)))
            }
            Kind::Contains { text, ignore_case } => {
                let found = folded(answer, *ignore_case).contains(&folded(text, *ignore_case));
                (!found).then(|| format!("{:?} is not in the answer", short(text)))
            }
            Kind::Regex(pattern) => (!pattern.is_match(answer))
                .then(|| format!("/{}/ is not in the answer", short(pattern.as_str()))),
            Kind::JsonSchema { compiled, .. } => match serde_json::from_str(without_fence(answer)) {
                Ok(value) => compiled.fault(&value),
                Err(error) => Some(format!("the answer is not JSON: {error}")),
            },
            Kind::Judge(judge) => return judge.run(case, asked).await,
        };
        Verdict {
            check: self.name(),
            passed: fault.is_none(),
            score: Some(if fault.is_none() { 1.0 } else { 0.0 }),
            explanation: fault,
            fault: None,
        }
    }
}

impl Judge {
    /// A judge by its program and arguments, run without a shell. It has a minute unless set.
    pub fn new<T: Into<String>>(argv: impl IntoIterator<Item = T>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { command: Command { argv, limit: Duration::from_secs(60) }, pass_score: 0.5 }
    }

    /// Bounds its time; then it is ended, with everything that it started.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.command.limit = limit;
        self
    }

    /// The least score that is a pass; 0.5 unless set.
    pub fn pass_score(mut self, score: f64) -> Self {
        self.pass_score = score;
        self
    }

    async fn run(&self, case: &Case, asked: &Asked<'_>) -> Verdict {
        let messages: Vec<Value> = case
            .messages
            .iter()
            .map(|message| json!({"role": message.role, "content": message.content}))
            .collect();
        let input = json!({
            "case": case.id, "agent_type": asked.agent_type, "attempt": asked.attempt, "messages": messages,
            "expected": case.expected, "answer": asked.answer, "tools_used": asked.tools_used,
        });
        let mut verdict =
            Verdict { check: "judge", passed: false, score: None, explanation: None, fault: None };
        let output = match self.command.run(input.to_string().as_bytes()).await {
            Ok(output) => output,
            Err(error) => {
                verdict.fault = Some(error.to_string());
                return verdict;
            }
        };
        let said = match output.code {
            Some(0) => true,
            Some(1) => false,
            code => {
                let code = code.map_or("a signal".to_owned(), |code| format!("code {code}"));
                let words = short(output.stderr.trim());
                verdict.fault =
                    Some(format!("the judge `{}` ended with {code}: {words}", self.command.program()));
                return verdict;
            }
        };
        let printed = serde_json::from_str::<Value>(output.stdout.trim()).ok();
        let part = |name: &str| printed.as_ref().and_then(|printed| printed.get(name));
        verdict.score = part("score").and_then(Value::as_f64);
        verdict.explanation = part("explanation").and_then(Value::as_str).map(str::to_owned);
        let scored = verdict.score.is_none_or(|score| score >= self.pass_score);
        verdict.passed = said && part("passed").and_then(Value::as_bool).unwrap_or(scored);
        verdict
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Exact { text, .. } | Kind::Contains { text, .. } => {
                write!(out, "{}({text:?})", self.name())
            }
            Kind::Regex(pattern) => write!(out, "regex({pattern})"),
            Kind::JsonSchema { schema, .. } => write!(out, "json_schema({schema})"),
            Kind::Judge(judge) => write!(out, "judge({:?})", judge.command.argv),
        }
    }
}

/// Two are the same when they are declared the same.
impl PartialEq for Check {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Exact { text: a, ignore_case: b }, Kind::Exact { text: c, ignore_case: d })
            | (Kind::Contains { text: a, ignore_case: b }, Kind::Contains { text: c, ignore_case: d }) => {
                (a, b) == (c, d)
            }
            (Kind::Regex(one), Kind::Regex(other)) => one.as_str() == other.as_str(),
            (Kind::JsonSchema { schema: one, .. }, Kind::JsonSchema { schema: other, .. }) => one == other,
            (Kind::Judge(one), Kind::Judge(other)) => one == other,
            _ => false,
        }
    }
}

fn folded(text: &str, ignore_case: bool) -> String {
    if ignore_case { text.to_lowercase() } else { text.to_owned() }
}

/// Models like to answer JSON inside a Markdown fence.
fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let Some(inside) = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return answer;
    };
    // The rest of the first line is the language.
    inside.split_once('\n').map_or(inside, |(_, body)| body).trim()
}

/// Enough of a text for a person to know it by.
fn short(text: &str) -> &str {
    text.char_indices().nth(200).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn verdict(check: &Check, answer: &str) -> Verdict {
        let case = Case::new("c", "Capital of France?").expected("Paris");
        let asked = Asked { agent_type: "none", attempt: 2, answer, tools_used: &[] };
        check.run(&case, &asked).await
    }

    #[tokio::test]
    async fn texts_and_patterns_pass_and_fail() {
        let regex = |pattern| Check::regex(pattern).unwrap();
        for (check, passes, fails) in [
            (Check::exact("Paris"), "  Paris\n", "paris"),
            (Check::exact("Paris").ignore_case(), "PARIS", "Paris."),
            (Check::contains("Paris"), "It is Paris.", "It is paris."),
            (Check::contains("ÉTÉ").ignore_case(), "en été", "en hiver"),
            (regex(r"^\d+$"), "42", "42 "),
            (regex(r"(?im)^yes\b"), "Well,\nYES!", "eyes"),
        ] {
            let good = verdict(&check, passes).await;
            assert_eq!((good.passed, good.score, good.explanation), (true, Some(1.0), None), "{check:?}");
            let bad = verdict(&check, fails).await;
            assert_eq!((bad.passed, bad.score, bad.fault), (false, Some(0.0), None), "{check:?}");
            assert!(bad.explanation.is_some(), "{check:?}");
        }
        assert!(Check::regex("(").unwrap_err().to_string().contains("not a regular expression"));
    }

    #[tokio::test]
    async fn json_answers_are_held_against_a_schema_also_in_a_fence() {
        let schema = json!({"type": "object", "required": ["city"]});
        let check = Check::json_schema(&schema).unwrap();
        for answer in
            [r#"{"city":1}"#, " {\"city\":1} ", "```json\n{\"city\":1}\n```", "```\n{\"city\":1}```"]
        {
            assert!(verdict(&check, answer).await.passed, "{answer}");
        }
        for answer in ["{}", "city", "", "```", "``````", "```json\n{}\n```"] {
            let bad = verdict(&check, answer).await;
            assert!(!bad.passed && bad.explanation.is_some(), "{answer}");
        }
    }

    #[cfg(unix)]
    fn judge(script: &str) -> Judge {
        Judge::new(["/bin/sh", "-c", script])
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_judge_decides_by_code_score_or_word() {
        for (script, passed, score) in [
            ("cat >/dev/null", true, None),
            ("exit 1", false, None),
            (r#"echo '{"score":0.7}'"#, true, Some(0.7)),
            (r#"echo '{"score":0.2}'"#, false, Some(0.2)),
            (r#"echo '{"score":0.2,"passed":true}'"#, true, Some(0.2)),
            (r#"echo '{"score":0.9}'; exit 1"#, false, Some(0.9)),
            ("echo fine", true, None),
        ] {
            let found = verdict(&Check::judge(judge(script)), "Paris").await;
            assert_eq!((found.passed, found.score, found.fault), (passed, score, None), "{script}");
        }
        let strict = Check::judge(judge(r#"echo '{"score":0.7,"explanation":"so so"}'"#).pass_score(0.8));
        let found = verdict(&strict, "Paris").await;
        assert_eq!((found.passed, found.explanation.as_deref()), (false, Some("so so")));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_judge_gets_the_case_and_its_faults_are_told() {
        let case = r#""answer":"Rome""#;
        let script = format!("grep -q '{case}' || exit 9");
        assert!(verdict(&Check::judge(judge(&script)), "Rome").await.passed);
        let broken = verdict(&Check::judge(judge("echo oops >&2; exit 9")), "Rome").await;
        let fault = broken.fault.unwrap();
        assert!(!broken.passed && fault.contains("code 9") && fault.contains("oops"), "{fault}");
        let slow = judge("sleep 3600").timeout(Duration::from_millis(50));
        let fault = verdict(&Check::judge(slow), "Rome").await.fault.unwrap();
        assert!(fault.contains("longer than 50ms"), "{fault}");
    }
}
