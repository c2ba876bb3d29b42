//! Reports on runs, from the folders that `wattspan-dataset` writes: one HTML file with pictures that needs nothing else,
//! Markdown, or CSV, all with the same numbers.
//!
//! Take this crate to make a report in a program of your own; `wattspan report` does it at the command line. To read the
//! tables themselves, take `wattspan-dataset`.
//!
//! ```
//! use wattspan_core::{Cell, DatasetSink, RunId, Table};
//! use wattspan_dataset::{JsonDataset, ResultRow, TableRow};
//! use wattspan_report::{Format, Report};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let block_on = futures_util::future::FutureExt::now_or_never;
//! # let place = block_on(async {
//! let mut row = ResultRow::default();
//! row.run_id = "demo".to_owned();
//! row.task_id = Some("capital-of-france".to_owned());
//! row.success = Some(true);
//! row.energy_j = Some(12.5);
//! row.energy_uncertainty_j = Some(0.4);
//!
//! let mut sink = JsonDataset::new(folder);
//! sink.create(&RunId::new("demo")?).await?;
//! sink.write(Table::Results, &[row.into_row()]).await?;
//! let place = sink.finish(&Cell::Map(vec![])).await?;
//! # Ok::<String, Box<dyn std::error::Error>>(place)
//! # }).expect("files are written without waiting")?;
//!
//! let report = Report::open([place])?;
//! let mut page = Vec::new();
//! report.write(Format::Html, &mut page)?;
//! let page = String::from_utf8(page)?;
//! assert!(page.contains("12.5\u{a0}±\u{a0}0.4\u{a0}J"));
//! // There were no sensors: that is said, and no zero stands for it.
//! assert!(report.notices().any(|(run, notice)| run == "demo" && notice.contains("metrics.json")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! Metric rows and traces are read one by one and are never all in memory; of a run's results the rows are, without their
//! order changed. Of each case the report has one line in HTML and Markdown up to [`ReportBuilder::cases`], and of each
//! inference one mark up to 512, beyond which it shows how many ran at a time. Everything is read by [`Report::open`];
//! writing needs no files. Both block the thread.
//!
//! # Features
//! None.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/report.md")]
struct Docs;

mod csv;
mod error;
mod headline;
mod html;
mod markdown;
mod model;
mod number;
mod read;
mod tables;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

pub use error::ReportError;

/// A report on one run or several, read and ready to be written.
#[derive(Debug)]
pub struct Report {
    title: String,
    options: Options,
    runs: Vec<read::Run>,
}

/// How a report is made: see [`Report::builder`].
#[derive(Clone, Debug, Default)]
pub struct ReportBuilder {
    title: Option<String>,
    options: Options,
}

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One file that needs nothing else: no network, no script from elsewhere.
    Html,
    /// Tables and sentences.
    Markdown,
    /// One table with a figure on each line.
    Csv,
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no format of a report: take `html`, `md` or `csv`")]
pub struct UnknownFormat(String);

#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Most stretches of a series.
    pub(crate) points: usize,
    /// Most lines of the table of cases.
    pub(crate) cases: usize,
    /// Whether prompts and responses are shown.
    pub(crate) texts: bool,
    /// Their longest form, in characters.
    pub(crate) text_length: usize,
}

impl Report {
    /// Reads runs with the usual settings. A folder is one of a run, or one that holds such folders.
    ///
    /// # Errors
    /// When a folder holds no run, or none of a run's tables can be read. A table that is missing is no error: the report
    /// says so.
    pub fn open<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Result<Self, ReportError> {
        Self::builder().open(folders)
    }

    /// Other settings than the usual ones.
    pub fn builder() -> ReportBuilder {
        ReportBuilder::default()
    }

    /// Writes the report.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write(&self, format: Format, mut out: impl Write) -> io::Result<()> {
        let out: &mut dyn Write = &mut out;
        match format {
            Format::Html => html::write(out, &self.title, &self.runs, &self.options),
            Format::Markdown => markdown::write(out, &self.title, &self.runs, &self.options),
            Format::Csv => csv::write(out, &self.runs, &self.options),
        }?;
        out.flush()
    }

    /// The report as one HTML file.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn html(&self, out: impl Write) -> io::Result<()> {
        self.write(Format::Html, out)
    }

    /// The report as Markdown, with GitHub's tables.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn markdown(&self, out: impl Write) -> io::Result<()> {
        self.write(Format::Markdown, out)
    }

    /// The report as CSV: `run,table,row,column,value,plus_minus,unit,shown,note`, with all cases.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn csv(&self, out: impl Write) -> io::Result<()> {
        self.write(Format::Csv, out)
    }

    /// What is missing or does not agree, with the run it is about. The report has it too.
    pub fn notices(&self) -> impl Iterator<Item = (String, &str)> {
        self.runs.iter().flat_map(|run| run.notices.iter().map(|notice| (run.name(), notice.as_str())))
    }

    /// How many runs it is on.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }
}

impl ReportBuilder {
    /// The title; else the run's id, or how many runs there are.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Whether prompts and responses are shown where the tables have them. They are unless turned off.
    pub fn texts(mut self, shown: bool) -> Self {
        self.options.texts = shown;
        self
    }

    /// Most cases that HTML and Markdown list one by one, those that did not pass first. 1 000 unless told otherwise; CSV
    /// always has all.
    pub fn cases(mut self, most: usize) -> Self {
        self.options.cases = most;
        self
    }

    /// Most points of a line in a picture. 240 unless told otherwise.
    pub fn points(mut self, most: usize) -> Self {
        self.options.points = most.max(8);
        self
    }

    /// Reads the runs.
    ///
    /// # Errors
    /// When a folder holds no run, or none of a run's tables can be read.
    pub fn open<P: AsRef<Path>>(self, folders: impl IntoIterator<Item = P>) -> Result<Report, ReportError> {
        let mut seen = HashSet::new();
        let mut runs = Vec::new();
        for named in folders {
            for folder in read::folders(named.as_ref())? {
                // The same folder by two ways is one run.
                if seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
                    runs.push(read::Run::read(&folder, &self.options)?);
                }
            }
        }
        let ids: Vec<String> = runs.iter().map(read::Run::id).collect();
        for run in &mut runs {
            let id = run.id();
            run.shares_id = ids.iter().filter(|known| **known == id).count() > 1;
        }
        let title = match (self.title, runs.as_slice()) {
            (_, []) => return Err(ReportError::NoFolder),
            (Some(title), _) => title,
            (None, [run]) => run.name(),
            (None, runs) => format!("{} runs", runs.len()),
        };
        Ok(Report { title: text::line(&title), options: self.options, runs })
    }
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Html, Self::Markdown, Self::Csv];

    /// The short name, which is also the extension of a file: `html`, `md`, `csv`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    /// A short name, or `markdown`.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name {
            "markdown" => Ok(Self::Markdown),
            _ => Self::ALL
                .into_iter()
                .find(|format| format.as_str() == name)
                .ok_or_else(|| UnknownFormat(name.to_owned())),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { points: 240, cases: 1_000, texts: true, text_length: 2_000 }
    }
}
