//! Options of `wattspan eval`, with the names that SMOLTRACE's have where they mean the same.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use wattspan::core::Cell;
use wattspan::eval::{AgentType, Evaluation, Generation, Provider};

use crate::export::{EndArgs, To};
use crate::settings::{SettingArgs, duration};

/// Where the tables go, beside the files on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Files on this machine only
    Json,
    /// The files, then the Hugging Face Hub
    Hub,
    /// The files, then OpenSearch
    #[value(name = "opensearch")]
    OpenSearch,
}

impl OutputFormat {
    pub(super) fn to(self) -> Option<To> {
        match self {
            Self::Json => None,
            Self::Hub => Some(To::Hub),
            Self::OpenSearch => Some(To::OpenSearch),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// The test cases: a file that ends with .json, .jsonl or .csv
    #[arg(long, value_name = "FILE", visible_alias = "dataset-name")]
    pub(crate) cases: PathBuf,
    /// The model: a GGUF file for llama-cpp, else its name as the server knows it [default: the server's only one]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What serves it: llama-cpp, llama-server, openai, ollama, litellm or inference
    #[arg(long, value_name = "NAME", default_value = "llama-server", value_parser = parsed::<Provider>)]
    pub(crate) provider: Provider,
    /// The server's address [default: the provider's usual one]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Read the server's key from a file [default: the provider's variable, such as OPENAI_API_KEY]
    #[arg(long, value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// How cases are run: none (plain requests), tool (an agent that calls the tools of a case) or both
    #[arg(long, value_name = "KIND", default_value = "none", value_parser = parsed::<AgentType>)]
    pub(crate) agent_type: AgentType,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) drawn: DrawnArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) ends: EndArgs,
}

/// Some of the cases.
#[derive(Args, Debug)]
#[command(next_help_heading = "Which cases")]
pub(crate) struct WhichArgs {
    /// Only cases with this tag; may be given several times, and one of them is enough
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Only cases of this difficulty
    #[arg(long, value_name = "LEVEL")]
    pub(crate) difficulty: Option<String>,
    /// Only so many, from the first on
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[derive(Args, Debug)]
#[command(next_help_heading = "How they are run")]
pub(crate) struct HowArgs {
    /// Try each case so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: u32,
    /// Run so many cases at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) concurrency: u16,
    /// Send so many requests first, which are in no table
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) warm_up: u32,
    /// End a case that takes longer, unless it has a limit of its own [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// End a request that takes longer
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) request_timeout: Option<Duration>,
    /// Let an agent ask the model so many times
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: u32,
    /// Run the programs that cases name as judges or tools: only for files that you trust
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Do not stream answers: for servers that cannot stream tool calls; there is no time to the first token then
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Send spans and metrics to the receiver of the setting otlp.endpoint, too
    #[arg(long)]
    pub(crate) enable_otel: bool,
    /// Leave GPUs alone, as --no-gpu does
    #[arg(long)]
    pub(crate) disable_gpu_metrics: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "How answers are drawn (the server's defaults unless given)")]
pub(crate) struct DrawnArgs {
    /// Temperature; 0 takes the likeliest token always
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f64>,
    /// Draw from the likeliest tokens that together have this probability
    #[arg(long, value_name = "P")]
    pub(crate) top_p: Option<f64>,
    /// Draw from this many of the likeliest tokens
    #[arg(long, value_name = "K")]
    pub(crate) top_k: Option<u32>,
    /// Draw from tokens of at least this fraction of the likeliest one's probability
    #[arg(long, value_name = "P")]
    pub(crate) min_p: Option<f64>,
    /// Most tokens of an answer
    #[arg(long, value_name = "N", visible_alias = "max-tokens")]
    pub(crate) max_new_tokens: Option<u32>,
    /// Seed of the first attempt; each further one has the next number
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u32>,
    /// A text that ends an answer; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop: Vec<String>,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[derive(Args, Debug)]
#[command(next_help_heading = "What is written")]
pub(crate) struct WrittenArgs {
    /// The run's id; that of a run which was interrupted goes on with it [default: eval- and the time]
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
    /// Where the run goes besides its files
    #[arg(long, value_enum, default_value_t = OutputFormat::Json)]
    pub(crate) output_format: OutputFormat,
    /// The folder for runs; each has one of its own in it
    #[arg(long, value_name = "DIR", default_value = "./wattspan_results")]
    pub(crate) output_dir: PathBuf,
    /// Write the tables as Parquet beside the JSON
    #[arg(long)]
    pub(crate) parquet: bool,
    /// Leave prompts and answers out of the files
    #[arg(long)]
    pub(crate) no_texts: bool,
    /// Time between two rows of a device in the metrics table [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// Who submits the run
    #[arg(long, value_name = "WHO")]
    pub(crate) submitted_by: Option<String>,
    /// By which team
    #[arg(long)]
    pub(crate) team: Option<String>,
    /// What the model is to be used for
    #[arg(long)]
    pub(crate) use_case: Option<String>,
    /// Why it is evaluated, such as selection, regression or monitoring
    #[arg(long)]
    pub(crate) purpose: Option<String>,
    /// Remarks
    #[arg(long)]
    pub(crate) notes: Option<String>,
    /// A name for this machine, such as a cloud's flavour [default: its GPUs or its CPU]
    #[arg(long, value_name = "NAME")]
    pub(crate) hardware_label: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress and no result for people
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What a type says of itself, with its own words where it cannot be had.
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Adds something that the tables say of a run.
type Remark = fn(Evaluation, String) -> Evaluation;

impl DrawnArgs {
    fn generation(&self) -> Generation {
        let mut generation = Generation::default();
        generation.temperature = self.temperature;
        generation.top_p = self.top_p;
        generation.top_k = self.top_k;
        generation.min_p = self.min_p;
        generation.max_tokens = self.max_new_tokens;
        generation.seed = self.seed;
        generation.stop.clone_from(&self.stop);
        generation
    }
}

impl EvalArgs {
    /// The evaluation as the options want it.
    pub(super) fn apply(&self, mut evaluation: Evaluation) -> Evaluation {
        let (how, written) = (&self.how, &self.written);
        evaluation = evaluation
            .agent(self.agent_type)
            .repeats(how.repeats)
            .concurrency(how.concurrency.into())
            .warm_up(how.warm_up)
            .max_steps(how.max_steps)
            .allow_commands(how.allow_commands)
            .generation(self.drawn.generation())
            .texts(!written.no_texts)
            .dataset(self.cases.display().to_string())
            .version("wattspan-cli", env!("CARGO_PKG_VERSION"));
        if let Some(limit) = how.time_limit {
            evaluation = evaluation.time_limit(limit);
        }
        if let Some(limit) = how.request_timeout {
            evaluation = evaluation.request_timeout(limit);
        }
        for tag in &self.which.tag {
            evaluation = evaluation.setting("tag", Cell::Text(tag.clone().into()));
        }
        let about: [(&Option<String>, Remark); 5] = [
            (&written.submitted_by, Evaluation::submitted_by),
            (&written.team, Evaluation::team),
            (&written.use_case, Evaluation::use_case),
            (&written.purpose, Evaluation::purpose),
            (&written.notes, Evaluation::notes),
        ];
        about.into_iter().fold(evaluation, |evaluation, (text, set)| match text {
            Some(text) => set(evaluation, text.clone()),
            None => evaluation,
        })
    }
}
