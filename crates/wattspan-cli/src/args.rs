//! The command line, and which part does what.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::eval::EvalArgs;
use crate::exit::{self, Failure};
use crate::export::{EndArgs, To};
use crate::output::{Output, say};
use crate::report::ReportFormat;
use crate::settings::{SettingArgs, duration};
use crate::validate::ValidateArgs;
use crate::{devices, doctor, eval, export, report, run, validate, watch};

/// Measures energy, carbon and cost of local language models and of any command
#[derive(Parser, Debug)]
#[command(name = "wattspan", version, about, after_help = exit::TABLE, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Measure a command, or until Ctrl-C
    #[command(after_help = exit::TABLE)]
    Run(RunArgs),
    /// Show what every sensor of every device answers, and why one does not
    Devices(JsonArgs),
    /// Show what was found, where each setting comes from and what to do about problems
    Doctor(DoctorArgs),
    /// Show power, energy, utilisation and memory live, and a llama-server's work
    Watch(WatchArgs),
    /// Find out what this machine's sensors are worth: in minutes, with a load and, best, a meter
    #[command(after_help = exit::TABLE)]
    Validate(ValidateArgs),
    /// Run test cases against a model and write what each took, as a run's four tables
    #[command(after_help = exit::TABLE)]
    Eval(Box<EvalArgs>),
    /// Make a page, Markdown or CSV of finished runs
    Report(ReportArgs),
    /// Push a finished run to the Hugging Face Hub or to OpenSearch; again changes nothing
    #[command(after_help = exit::TABLE)]
    Push(PushArgs),
    /// Print the notices that go along with the bundled data
    Licences,
    /// Print a script that completes this program's options
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Where samples go while a command is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exporter {
    /// A line of text at each interval, on standard error
    Console,
    /// A line of JSON per device and interval, and the result as the last one
    Json,
    /// Serve metrics for scrapes while it runs
    Prometheus,
    /// The receiver of the setting `otlp.endpoint`
    Otlp,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Time between two polls, and between two lines of an exporter [default: the setting sampling.idle, 1s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// Write the result as JSON into a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the result as JSON instead of text; to standard output unless --output is given
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no result for people, and no warnings
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Where samples go meanwhile; may be given several times. Without it, to a receiver if one is set
    #[arg(long, value_enum)]
    pub(crate) exporter: Vec<Exporter>,
    /// Where scrapes are answered; means --exporter prometheus [default: the setting prometheus.listen, 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) prometheus_listen: Option<SocketAddr>,
    /// The command and its arguments; without one, measures until Ctrl-C
    #[arg(trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct JsonArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) common: JsonArgs,
    /// Look also whether runs can be pushed there; with that end's credentials, without writing
    #[arg(long, value_enum)]
    pub(crate) to: Vec<To>,
    #[command(flatten)]
    pub(crate) ends: EndArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Folders of runs, or folders that hold such folders
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// What it is written as [default: what the file's name ends with, html]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// Write it into a file instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Its title [default: the run's id, or how many runs there are]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Leave prompts and answers out
    #[arg(long)]
    pub(crate) no_texts: bool,
    /// Do not say what is missing in a run; the report has it too
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PushArgs {
    /// Folders of finished runs, as eval has made them
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// Where they go
    #[arg(long, value_enum)]
    pub(crate) to: To,
    /// Write what would be pushed to the Hub into a folder, and send nothing
    #[arg(long, value_name = "OUT")]
    pub(crate) dry_run: Option<PathBuf>,
    /// Print where it went as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress and no result for people
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) ends: EndArgs,
}

#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Time between two looks [default: the setting sampling.idle, 1s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// Print a line at each interval, as where standard output is no terminal, instead of drawing
    #[arg(long)]
    pub(crate) lines: bool,
    /// Print so many lines and end
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// A llama-server whose tokens, slots and queue stand beside, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub(crate) llama_server: Option<String>,
}

/// Runs the program on the process's own arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output, and a reader that has gone has seen enough.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    log(match &cli.command {
        Command::Run(args) if !args.quiet => LevelFilter::WARN,
        // Lines among what is drawn would spoil both.
        Command::Watch(args) if watch::is_live(args) && io::stderr().is_terminal() => LevelFilter::OFF,
        Command::Watch(_) | Command::Push(_) => LevelFilter::WARN,
        Command::Eval(args) if !args.written.quiet => LevelFilter::WARN,
        // Their output says it all.
        _ => LevelFilter::ERROR,
    });
    let ended = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Devices(args) => devices::devices(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Watch(args) => watch::watch(&args),
        Command::Validate(args) => validate::validate(&args),
        Command::Eval(args) => eval::eval(&args),
        Command::Report(args) => report::report(&args),
        Command::Push(args) => export::push(&args),
        Command::Licences => Output::Stdout.text(wattspan::carbon::licences()).map(|()| exit::OK),
        Command::Completions { shell } => completions(shell),
    };
    let code = ended.unwrap_or_else(|Failure { code, message }| {
        say(&format!("wattspan: {message}"));
        code
    });
    ExitCode::from(code)
}

fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    // Into memory first, since the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "wattspan", &mut script);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(&script).and_then(|()| stdout.flush());
    crate::output::outcome("standard output", written).map(|()| exit::OK)
}

/// Warnings go to standard error; `WATTSPAN_LOG` is a level that says otherwise.
fn log(usual: LevelFilter) {
    let asked = std::env::var("WATTSPAN_LOG").ok().and_then(|level| level.parse::<LevelFilter>().ok());
    // What the results tell anyway: an unknown place.
    let told = Targets::new().with_default(usual).with_target("wattspan_carbon", LevelFilter::ERROR);
    let filter = asked.map_or(told, |level| Targets::new().with_default(level));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        // It would panic where standard error is closed.
        .log_internal_errors(false);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
    // Fails only where a program that calls `main` has one of its own, which then stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_of_the_command_are_its_own() {
        let cli =
            Cli::try_parse_from(["wattspan", "run", "--json", "--", "prog", "--json", "--help"]).unwrap();
        let Command::Run(args) = cli.command else { panic!("run was asked for") };
        assert_eq!(args.command, ["prog", "--json", "--help"]);
        assert!(args.json && args.exporter.is_empty());
    }
}
