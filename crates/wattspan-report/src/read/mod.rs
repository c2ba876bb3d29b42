//! One run, from its folder. Metrics and traces are read row by row; of results the figures are kept.

mod devices;
mod folder;
mod series;
mod spans;

use std::path::{Path, PathBuf};

use wattspan_core::{Cell, Table};
use wattspan_dataset::{Attributes, JsonRun, LeaderboardRow, ReadError, ResultRow, RunAggregate};

pub(crate) use devices::{Counts, Device, Devices};
pub(crate) use folder::folders;
pub(crate) use series::{Point, Series};
pub(crate) use spans::{Check, Inference, Traced};

use crate::{Options, ReportError, text};

/// What a report needs of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) folder: PathBuf,
    /// Whether another run of the report has the same id.
    pub(crate) shares_id: bool,
    pub(crate) row: LeaderboardRow,
    pub(crate) metadata: Attributes,
    pub(crate) cases: Vec<Case>,
    pub(crate) devices: Devices,
    pub(crate) inferences: Vec<Inference>,
    /// Whether `inferences` are whole cases, because there is no trace.
    pub(crate) are_cases: bool,
    /// What is missing, or does not agree.
    pub(crate) notices: Vec<String>,
}

/// A case, and the checks that its trace tells of.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) row: ResultRow,
    pub(crate) checks: Vec<Check>,
}

impl Case {
    /// Output tokens per second of the case's time.
    pub(crate) fn tokens_per_second(&self) -> Option<f64> {
        let tokens = self.row.output_tokens.filter(|tokens| *tokens > 0)?;
        let millis = self.row.execution_time_ms.filter(|millis| *millis > 0.0)?;
        Some(tokens as f64 / millis * 1e3)
    }

    /// What it is called: its id with its kind of agent, or without.
    pub(crate) fn name(&self) -> &str {
        let names = [&self.row.test_case_uid, &self.row.task_id, &self.row.span_id];
        names.into_iter().flatten().map(String::as_str).find(|name| !name.is_empty()).unwrap_or("case")
    }
}

impl Run {
    pub(crate) fn read(folder: &Path, options: &Options) -> Result<Self, ReportError> {
        let json = JsonRun::open(folder);
        let mut reader = Reader {
            json: &json,
            notices: Vec::new(),
            first_error: None,
            read: 0,
            sums: RunAggregate::new(),
        };
        let metadata = reader.table(
            "metadata.json",
            "versions, configuration and methods are not known",
            JsonRun::metadata,
        );
        // Metadata alone is no run: at least one table has to be there.
        (reader.read, reader.first_error) = (0, None);
        let results = reader.results();
        let devices = reader.devices(options);
        let mut traced = reader.traces();
        let leaderboard = reader.table(
            "leaderboard_row.json",
            "its figures were summed up from the other tables",
            JsonRun::leaderboard,
        );
        let Reader { mut notices, first_error, read, sums, .. } = reader;
        if let Some(source) = first_error.filter(|_| read == 0) {
            return Err(ReportError::Unreadable { folder: folder.to_owned(), source });
        }
        let results = results.unwrap_or_default();
        let row = leaderboard.unwrap_or_else(|| summed_up(&sums, &results));
        let are_cases = traced.inferences.is_empty();
        let inferences = match std::mem::take(&mut traced.inferences) {
            found if found.is_empty() => results.iter().filter_map(as_inference).collect(),
            found => found,
        };
        if traced.dropped > 0 {
            notices
                .push(format!("{} inferences are not on the time axis: there are too many", traced.dropped));
        }
        let cases = results
            .into_iter()
            .map(|row| {
                let trace = row.trace_id.as_deref().unwrap_or_default();
                let checks = traced.checks.get(trace).cloned().unwrap_or_default();
                Case { row, checks }
            })
            .collect();
        let mut run = Self {
            folder: folder.to_owned(),
            shares_id: false,
            row,
            metadata: metadata.unwrap_or_default(),
            cases,
            devices,
            inferences,
            are_cases,
            notices,
        };
        if folder.join(folder::JOURNAL).exists() {
            run.notices.push(
                "the folder has a journal: the run goes on, or a crash came while its tables were written anew, so that \
                 they may be of the time before; `JsonDataset::recover` makes them whole"
                    .to_owned(),
            );
        }
        run.look_closer();
        Ok(run)
    }

    /// What the run is called: its id, else its folder; both when another run has the same id.
    pub(crate) fn name(&self) -> String {
        let id = self.id();
        if self.shares_id { format!("{id} ({})", text::line(&self.folder.display().to_string())) } else { id }
    }

    pub(crate) fn id(&self) -> String {
        let told = [
            Some(self.row.run_id.as_str()),
            self.told("run_id"),
            self.cases.first().map(|case| case.row.run_id.as_str()),
        ];
        let folder = || self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let told = told.into_iter().flatten().find(|name| !name.is_empty()).map(str::to_owned);
        text::line(&told.or_else(folder).unwrap_or_else(|| "run".to_owned()))
    }

    /// A text of the metadata.
    pub(crate) fn told(&self, name: &str) -> Option<&str> {
        spans::text(&self.metadata.0, name).filter(|text| !text.is_empty())
    }

    pub(crate) fn told_map(&self, name: &str) -> Option<&Cell> {
        self.metadata.get(name).filter(|cell| !matches!(cell, Cell::Null))
    }

    pub(crate) fn status(&self) -> Option<&str> {
        self.row.run_status.as_deref().or_else(|| self.told("run_status"))
    }

    /// Why there is no measured energy.
    pub(crate) fn why_no_energy(&self) -> String {
        if let Some(reason) = self.told("no_devices") {
            return text::line(reason);
        }
        let silent = self.devices.iter().filter(|device| device.is_counted && device.is_silent());
        let mut reasons = silent.map(Device::why_silent);
        match reasons.next() {
            Some(first) => reasons.fold(first, |all, next| format!("{all}; {next}")),
            None if self.all_remote() => "the model ran on a machine that was not measured here".to_owned(),
            None => "no device was measured".to_owned(),
        }
    }

    /// Whether every case was answered by another machine.
    pub(crate) fn all_remote(&self) -> bool {
        !self.cases.is_empty() && self.cases.iter().all(|case| case.row.locality.as_deref() == Some("remote"))
    }

    /// Says what is empty, what was interrupted, and what does not agree.
    fn look_closer(&mut self) {
        let mut notices = Vec::new();
        match self.status() {
            Some("interrupted") => {
                let left = self.row.interrupted_tests.filter(|left| *left > 0);
                notices.push(match (left, self.row.planned_tests) {
                    (Some(left), Some(planned)) => {
                        format!("the run was interrupted: {left} of {planned} planned cases did not end")
                    }
                    _ => "the run was interrupted".to_owned(),
                });
            }
            Some("recovered") => notices.push(
                "the run crashed, and its tables were made of its journal: what was in flight is missing"
                    .to_owned(),
            ),
            Some("failed") => notices.push("the run failed".to_owned()),
            _ => {}
        }
        if let Some(reason) = &self.row.run_stop_reason {
            notices.push(format!("it ended because: {}", text::line(reason)));
        }
        let cases = self.cases.len() as u64;
        if cases > 0 && cases != self.row.total_tests {
            notices.push(format!(
                "`leaderboard_row.json` counts {} cases and `results.json` has {cases}: they are not of the same state",
                self.row.total_tests
            ));
        }
        if self.row.inference_energy_j.is_none() && self.row.inference_energy_estimated_j.is_none() {
            notices.push(format!("the energy of inferences is not known: {}", self.why_no_energy()));
        } else if self.row.inference_energy_j.is_none() {
            notices.push(format!("energy is modelled and not measured: {}", self.why_no_energy()));
        }
        if let Some(coverage) = self.row.energy_coverage.filter(|coverage| *coverage < 0.9995) {
            notices.push(format!(
                "measured energy is a lower bound: at worst, sensors had data for {} of a case's time",
                crate::number::show(coverage, None, crate::number::Unit::Ratio)
            ));
        }
        // Where nothing was measured at all, that has been told with its reasons.
        if self.row.inference_energy_j.is_some() {
            let silent = self.devices.iter().filter(|device| device.is_counted && device.is_silent());
            notices.extend(silent.map(|device| format!("{}: it is in no sum", device.why_silent())));
        }
        if self.devices.partial > 0 {
            notices.push(format!(
                "{} moments are not in the sum of power, because a device had none",
                self.devices.partial
            ));
        }
        if let Some(Cell::Map(dropped)) = self.told_map("dropped") {
            for (reason, count) in
                dropped.iter().filter(|(_, count)| !matches!(count, Cell::Int(0) | Cell::Null))
            {
                notices.push(format!("lost ({}): {}", text::line(reason), crate::tables::value_text(count)));
            }
        }
        self.notices.append(&mut notices);
    }
}

/// Reads tables and keeps what went wrong.
struct Reader<'a> {
    json: &'a JsonRun,
    notices: Vec<String>,
    first_error: Option<ReadError>,
    /// Tables that could be read.
    read: usize,
    sums: RunAggregate,
}

impl Reader<'_> {
    fn table<T>(
        &mut self,
        name: &str,
        consequence: &str,
        read: impl FnOnce(&JsonRun) -> Result<T, ReadError>,
    ) -> Option<T> {
        let found = read(self.json);
        self.keep(name, consequence, found)
    }

    fn keep<T>(&mut self, name: &str, consequence: &str, found: Result<T, ReadError>) -> Option<T> {
        match found {
            Ok(table) => {
                self.read += 1;
                Some(table)
            }
            Err(error) => {
                self.notices.push(match &error {
                    ReadError::Missing { .. } => format!("`{name}` is not there: {consequence}"),
                    ReadError::Io { source, .. } => {
                        format!("`{name}` cannot be read ({source}): {consequence}")
                    }
                    ReadError::Format { reason, .. } => {
                        format!("`{name}` is not such a table ({}): {consequence}", text::line(reason))
                    }
                    other => format!("`{name}`: {other}: {consequence}"),
                });
                self.first_error.get_or_insert(error);
                None
            }
        }
    }

    fn results(&mut self) -> Option<Vec<ResultRow>> {
        let results =
            self.table("results.json", "cases and their distributions are missing", JsonRun::results)?;
        for row in &results {
            self.sums.result(row);
        }
        if results.is_empty() {
            self.notices.push("`results.json` has no case".to_owned());
        }
        Some(results)
    }

    /// Of rows before a fault in the file the figures stay.
    fn devices(&mut self, options: &Options) -> Devices {
        let mut devices = Devices::new(options.points);
        let sums = &mut self.sums;
        let read = self.json.each_metric(|row| {
            sums.metric(&row);
            devices.add(&row);
        });
        devices.finish();
        let consequence = match devices.rows {
            0 => "power over time and energy by device are missing".to_owned(),
            rows => format!("what stands here of devices is from its first {rows} rows"),
        };
        let is_there = self.keep("metrics.json", &consequence, read).is_some();
        if is_there && devices.is_empty() {
            self.notices.push(
                "`metrics.json` has no row: power over time and energy by device are missing".to_owned(),
            );
        }
        devices
    }

    fn traces(&mut self) -> Traced {
        let mut traced = Traced::default();
        let read = self.json.rows(Table::Traces).and_then(|rows| {
            for row in rows {
                traced.add(&row?);
            }
            Ok(())
        });
        self.keep("traces.json", "the time axis has whole cases instead of inferences", read);
        traced
    }
}

/// The row that a run without one would have.
fn summed_up(sums: &RunAggregate, results: &[ResultRow]) -> LeaderboardRow {
    let mut row = LeaderboardRow::default();
    sums.fill(&mut row);
    if let Some(result) = results.first() {
        row.run_id.clone_from(&result.run_id);
        row.model.clone_from(&result.model);
        row.agent_type.clone_from(&result.agent_type);
        row.provider.clone_from(&result.provider);
    }
    row
}

fn as_inference(row: &ResultRow) -> Option<Inference> {
    let begin = row.evaluation_date?.unix_micros().saturating_mul(1_000);
    let length = row.execution_time_ms.filter(|millis| *millis >= 0.0)? * 1e6;
    Some(Inference {
        begin,
        end: begin.saturating_add(length as u64),
        failed: row.error.is_some(),
        label: row.task_id.clone(),
    })
}
