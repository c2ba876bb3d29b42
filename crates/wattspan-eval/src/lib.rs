//! Evaluation runs as a library: test cases against a model, checked, measured, and written as a run's four tables.
//!
//! Take this crate to run evaluations from a program of your own; the program `wattspan` does it from a shell. To read or
//! write the tables take `wattspan-dataset`; to measure without test cases the facade `wattspan`.
//!
//! A target of one's own, without a monitor:
//!
//! ```
//! use async_trait::async_trait;
//! use wattspan_core::{RunId, TokenUsage};
//! use wattspan_dataset::JsonDataset;
//! use wattspan_eval::{Answer, Ask, Case, Cases, Check, Evaluation, Recorder, Stop, Target, TargetError, TargetFacts};
//! use wattspan_eval::run_evaluation;
//! use wattspan_genai::{GenAi, Request};
//!
//! /// Knows one answer.
//! struct Table(GenAi);
//!
//! #[async_trait]
//! impl Target for Table {
//!     fn facts(&self) -> TargetFacts {
//!         TargetFacts::new("a-table", "mine")
//!     }
//!     fn offers_tools(&self) -> bool {
//!         false
//!     }
//!     async fn answer(&self, ask: &Ask<'_>) -> Result<Answer, TargetError> {
//!         let mut inference = self.0.begin(Request::chat("a-table"));
//!         let known = ask.messages[0].content.contains("France");
//!         let mut usage = TokenUsage::default();
//!         (usage.fresh, usage.output) = (Some(7), Some(1));
//!         inference.usage(usage);
//!         inference.finish();
//!         Ok(Answer::text(if known { "Paris" } else { "I do not know." }))
//!     }
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let recorder = Recorder::new(&RunId::new("demo-1")?);
//! let genai = recorder.unmeasured("mine").build();
//! let cases = Cases::new(vec![
//!     Case::new("france", "Capital of France?").check(Check::exact("Paris")),
//!     Case::new("peru", "Capital of Peru?").expected("Lima"),
//! ])?;
//! let evaluation = Evaluation::new(cases, Table(genai.clone()));
//! let mut sink = JsonDataset::new(folder);
//! let outcome = run_evaluation(&evaluation, &genai, &recorder, &mut sink, &(), &Stop::new()).await?;
//! assert_eq!(outcome.leaderboard.success_rate, Some(50.0));
//! assert_eq!(outcome.leaderboard.total_tokens, Some(16));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the facade, `Wattspan::builder()` takes the recorder's three sinks, [`Recorder::sample_sink`],
//! [`Recorder::record_sink`] and [`Recorder::span_exporter`]; the target is a [`ServerTarget`] or, with the feature
//! `llama-cpp`, a GGUF file in this process.
//!
//! # What is counted
//! An attempt of a case is one trace. Its tokens, energy, grams and cost are those of the trace's inferences, each counted
//! once, and its rows are written when all of them are settled. Warm-up requests, the loading of a model and the time of
//! checks are part of no case. Samples of devices are kept from the first case to the last settlement.
//!
//! # Limits
//! Needs a tokio runtime with time and I/O. Case files are held in memory. Messages are text. Programs that cases name
//! are run only when [`Evaluation::allow_commands`] says so. A case that its time limit ends has no token counts of the
//! request that was cut off: the server alone knows them.
//!
//! # Features
//! | feature | what it adds |
//! | --- | --- |
//! | `llama-cpp` | a target that runs a GGUF file in this process; builds llama.cpp, which needs cmake, a C++ compiler and libclang |

mod agent;
mod case;
mod check;
mod command;
mod error;
mod evaluation;
mod progress;
mod provider;
mod recorder;
mod run;
mod schema;
mod stop;
mod target;
mod tool;

pub use agent::{AgentType, UnknownAgentType};
pub use case::{Case, CaseFormat, Cases, CasesError, Message, ToolRequest};
pub use check::{Check, InvalidPattern, Judge};
pub use error::EvalError;
pub use evaluation::Evaluation;
pub use progress::{Event, Progress};
pub use provider::{Provider, UnknownProvider};
pub use recorder::{Recorder, RecorderBuilder, RecorderSpans};
pub use run::{Earlier, Outcome, RunStatus, run_evaluation};
pub use schema::InvalidSchema;
pub use stop::Stop;
#[cfg(feature = "llama-cpp")]
pub use target::LlamaCppTarget;
pub use target::{Answer, Ask, Generation, ServerTarget, Target, TargetError, TargetFacts};
pub use tool::ToolSpec;
