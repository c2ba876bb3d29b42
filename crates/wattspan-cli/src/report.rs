//! `wattspan report`: pictures and tables of finished runs.

use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use wattspan::report::{Format, Report, ReportError};

use crate::args::ReportArgs;
use crate::exit::{Failure, OK, UNAVAILABLE, USAGE};
use crate::output::{Output, outcome, say};

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One page with pictures that needs nothing else
    Html,
    /// Markdown, with GitHub's tables
    #[value(alias = "markdown")]
    Md,
    /// One table with a figure on each line
    Csv,
}

impl ReportFormat {
    fn format(self) -> Format {
        match self {
            Self::Html => Format::Html,
            Self::Md => Format::Markdown,
            Self::Csv => Format::Csv,
        }
    }

    /// As the ending of a file has it.
    fn of(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Md),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

pub(crate) fn report(args: &ReportArgs) -> Result<u8, Failure> {
    let by_name = args.output.as_deref().and_then(ReportFormat::of);
    let format = args.format.or(by_name).unwrap_or(ReportFormat::Html);
    if args.output.is_none() && format == ReportFormat::Html && io::stdout().is_terminal() {
        return Err(Failure::new(
            USAGE,
            "a page is nothing for a terminal: name a file with --output report.html",
        ));
    }
    let mut builder = Report::builder().texts(!args.no_texts);
    if let Some(title) = &args.title {
        builder = builder.title(title);
    }
    let report = builder.open(&args.folders).map_err(|error| {
        let code = match error {
            ReportError::Io { .. } | ReportError::Unreadable { .. } => UNAVAILABLE,
            _ => USAGE,
        };
        Failure::of(code, &error)
    })?;
    if !args.quiet {
        for (run, notice) in report.notices() {
            say(&format!("wattspan: {run}: {notice}"));
        }
    }
    let mut output = Output::open(args.output.as_deref())?;
    let name = output.name();
    let mut buffered = io::BufWriter::new(&mut output);
    let written = report.write(format.format(), &mut buffered).and_then(|()| buffered.flush());
    // What is left in the buffer after a failure is not tried again.
    drop(buffered.into_parts());
    outcome(&name, written)?;
    Ok(OK)
}
