//! The run itself: plan, warm-up, cases side by side, settlement, rows, and the last two pages.

mod attempt;
mod resume;
mod rows;

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use wattspan_core::{DatasetSink, Row, SinkError, Table};
use wattspan_dataset::{LeaderboardRow, MetricRow, ResultRow, RunAggregate, TableRow as _, TraceRow};
use wattspan_genai::GenAi;

pub use resume::Earlier;
pub use rows::RunStatus;

use attempt::{Attempted, Planned};
use resume::uid;
use rows::{Ended, Sources};

use crate::error::EvalError;
use crate::progress::{Event, Progress};
use crate::recorder::Recorder;
use crate::target::{TargetError, TargetFacts};
use crate::{Evaluation, Stop};

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Where its tables are, as the sink says.
    pub place: String,
    /// How it ended.
    pub status: RunStatus,
    /// Why it ended early. **Absent** when it did not.
    pub reason: Option<String>,
    /// Its row.
    pub leaderboard: LeaderboardRow,
    /// Attempts that were made now.
    pub made: u64,
    /// Attempts that had been made earlier.
    pub skipped: u64,
}

/// Runs an evaluation and writes its tables.
///
/// `genai` names the cases' spans; `recorder` must be what its inferences, spans and samples are caught with, and `sink`
/// where its run is written. The files are made also when `stop` was turned or the target became unusable: the run is
/// marked then, and [`Evaluation::resume`] goes on with it.
///
/// Runs on a tokio runtime with time and I/O; a sink of files blocks its thread for moments. Dropping the future gives the
/// cases in flight up; finished ones are in the sink's journal.
///
/// # Errors
/// When it cannot begin as asked, or rows cannot be stored. A case that fails is a row, not an error.
pub async fn run_evaluation(
    evaluation: &Evaluation,
    genai: &GenAi,
    recorder: &Recorder,
    sink: &mut dyn DatasetSink,
    progress: &dyn Progress,
    stop: &Stop,
) -> Result<Outcome, EvalError> {
    evaluation.check()?;
    let facts = evaluation.target.facts();
    check_earlier(evaluation, &facts)?;
    let mut run = Run::new(evaluation, genai, recorder, facts, progress);
    let mut writer = Writer { sink, progress, total: run.total, done: run.skipped, refused: 0 };
    retry(async || writer.sink.create(recorder.run()).await).await?;
    progress.event(&Event::Planned { total: run.total, finished: run.skipped });
    if run.plan.len() > 0 && run.warm_up(stop).await {
        let _sampling = Sampling::on(recorder);
        let (rows, queue) = mpsc::channel(QUEUE);
        // Side by side: a sink that takes its time, or is retried, must not keep cases waiting that are being timed.
        tokio::try_join!(run.cases(stop, rows), writer.run(queue))?;
    }
    progress.event(&Event::Writing);
    let leaderboard = run.ended(&writer).leaderboard();
    writer.store(Table::Leaderboard, &[leaderboard.clone().into_row()]).await?;
    let metadata = run.ended(&writer).metadata(&leaderboard).into_cell();
    let place = retry(async || writer.sink.finish(&metadata).await).await?;
    let made = writer.done - run.skipped;
    Ok(Outcome { place, status: run.status, reason: run.reason, leaderboard, made, skipped: run.skipped })
}

/// Samples are kept while this value lives.
struct Sampling<'a>(&'a Recorder);

impl<'a> Sampling<'a> {
    fn on(recorder: &'a Recorder) -> Self {
        recorder.sample(true);
        Self(recorder)
    }
}

impl Drop for Sampling<'_> {
    fn drop(&mut self) {
        self.0.sample(false);
    }
}

/// What asks the cases and adds up.
struct Run<'a> {
    evaluation: &'a Evaluation,
    genai: &'a GenAi,
    recorder: &'a Recorder,
    facts: TargetFacts,
    progress: &'a dyn Progress,
    plan: std::vec::IntoIter<Planned<'a>>,
    /// Attempts in all, and those that were finished earlier.
    total: u64,
    skipped: u64,
    sums: RunAggregate,
    sources: Sources,
    started: SystemTime,
    local: Option<bool>,
    status: RunStatus,
    reason: Option<String>,
}

/// What stores rows, in their order.
struct Writer<'a> {
    sink: &'a mut dyn DatasetSink,
    progress: &'a dyn Progress,
    total: u64,
    done: u64,
    refused: u64,
}

/// Rows on their way to the sink.
enum Rows {
    Attempt(Box<Settled>),
    Metrics(Vec<MetricRow>),
}

/// Rows of an attempt.
struct Settled {
    result: ResultRow,
    trace: Option<TraceRow>,
}

impl<'a> Run<'a> {
    fn new(
        evaluation: &'a Evaluation,
        genai: &'a GenAi,
        recorder: &'a Recorder,
        facts: TargetFacts,
        progress: &'a dyn Progress,
    ) -> Self {
        let earlier = &evaluation.earlier;
        let finished: HashSet<(&str, u64)> =
            earlier.results.iter().map(|row| (uid(row), row.attempt.unwrap_or(1))).collect();
        let mut plan = Vec::new();
        // All first attempts come first: the same prompt twice in a row would mostly come from a cache.
        for attempt in 1..=evaluation.repeats {
            for case in evaluation.cases.as_slice() {
                let kinds = evaluation.agent.kinds(case).iter();
                plan.extend(kinds.map(|kind| Planned { case, kind: *kind, attempt }));
            }
        }
        plan.retain(|planned| !finished.contains(&(&*planned.uid(), u64::from(planned.attempt))));
        let skipped = earlier.results.len() as u64;
        let mut run = Self {
            total: plan.len() as u64 + skipped,
            plan: plan.into_iter(),
            skipped,
            sums: earlier.sums.clone(),
            sources: Sources::default(),
            started: SystemTime::now(),
            local: None,
            status: RunStatus::Completed,
            reason: None,
            evaluation,
            genai,
            recorder,
            facts,
            progress,
        };
        for row in &earlier.results {
            run.learn(row);
            if let Some(begun) = row.evaluation_date {
                run.started = run.started.min(begun.into());
            }
        }
        run
    }

    /// What a row says of the whole run.
    fn learn(&mut self, row: &ResultRow) {
        self.sources.add(row);
        if let Some(locality) = row.locality.as_deref() {
            let here = locality != "remote";
            self.local = Some(self.local.unwrap_or(false) || here);
        }
    }

    fn end(&mut self, status: RunStatus, reason: impl Into<String>) {
        if self.goes_on() {
            (self.status, self.reason) = (status, Some(reason.into()));
        }
    }

    fn goes_on(&self) -> bool {
        self.status == RunStatus::Completed
    }

    /// Requests that nobody counts. Answers whether cases may follow.
    async fn warm_up(&mut self, stop: &Stop) -> bool {
        let total = u64::from(self.evaluation.warm_up);
        for (done, case) in (1..=total).zip(self.evaluation.cases.as_slice().iter().cycle()) {
            let warmed = tokio::select! {
                biased;
                () = stop.stopped() => None,
                warmed = attempt::warm_up(self.evaluation, case) => Some(warmed),
            };
            match warmed {
                None => self.end(RunStatus::Interrupted, INTERRUPTED),
                Some(Err(TargetError::Unusable { message })) => self.end(RunStatus::Failed, message),
                Some(_) => self.progress.event(&Event::WarmedUp { done, total }),
            }
            if !self.goes_on() {
                return false;
            }
        }
        true
    }

    /// Asks all cases. When nobody takes the rows any more, the other side has failed and says why.
    async fn cases(&mut self, stop: &Stop, rows: mpsc::Sender<Rows>) -> Result<(), EvalError> {
        let (evaluation, genai, recorder) = (self.evaluation, self.genai, self.recorder);
        let facts = self.facts.clone();
        let mut running = FuturesUnordered::new();
        let mut settling = FuturesUnordered::new();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut wait_told = false;
        loop {
            if stop.is_stopped() && (self.plan.len() > 0 || !running.is_empty()) {
                self.end(RunStatus::Interrupted, INTERRUPTED);
            }
            if !self.goes_on() {
                // Dropping them ends their inferences as cancelled and closes their connections.
                running.clear();
            }
            while self.goes_on() && running.len() < evaluation.concurrency {
                let Some(planned) = self.plan.next() else { break };
                self.progress.event(&Event::Started { uid: &planned.uid(), attempt: planned.attempt });
                running.push(attempt::make(evaluation, genai, recorder, planned));
            }
            if running.is_empty() && settling.is_empty() {
                break;
            }
            if running.is_empty() && !std::mem::replace(&mut wait_told, true) {
                self.progress.event(&Event::Settling { waiting: settling.len() as u64 });
            }
            let ready = tokio::select! {
                Some(attempted) = running.next() => {
                    match rows::unusable(&attempted).map(str::to_owned) {
                        Some(reason) => self.end(RunStatus::Failed, reason),
                        None => settling.push(settle(evaluation, genai, recorder, &facts, attempted)),
                    }
                    None
                }
                Some(settled) = settling.next() => Some(self.attempt(settled)),
                _ = ticks.tick() => self.metrics(),
                () = stop.stopped(), if self.goes_on() && !running.is_empty() => None,
            };
            if let Some(ready) = ready
                && rows.send(ready).await.is_err()
            {
                return Ok(());
            }
        }
        if let Some(last) = self.metrics() {
            // See above.
            let _ = rows.send(last).await;
        }
        Ok(())
    }

    fn attempt(&mut self, settled: Settled) -> Rows {
        self.sums.result(&settled.result);
        if let Some(trace) = &settled.trace {
            self.sums.trace(trace);
        }
        self.learn(&settled.result);
        Rows::Attempt(Box::new(settled))
    }

    fn metrics(&mut self) -> Option<Rows> {
        let rows = self.recorder.drain_metrics();
        for row in &rows {
            self.sums.metric(row);
        }
        (!rows.is_empty()).then_some(Rows::Metrics(rows))
    }

    fn ended<'r>(&'r self, writer: &Writer<'_>) -> Ended<'r> {
        Ended {
            evaluation: self.evaluation,
            facts: &self.facts,
            recorder: self.recorder,
            sums: &self.sums,
            status: self.status,
            reason: self.reason.as_deref(),
            planned: self.total,
            started: self.started,
            local: self.local,
            refused: writer.refused,
            sources: &self.sources,
        }
    }
}

impl Writer<'_> {
    async fn run(&mut self, mut queue: mpsc::Receiver<Rows>) -> Result<(), EvalError> {
        while let Some(rows) = queue.recv().await {
            match rows {
                Rows::Metrics(rows) => {
                    let rows: Vec<Row> = rows.into_iter().map(MetricRow::into_row).collect();
                    self.store(Table::Metrics, &rows).await?;
                }
                Rows::Attempt(settled) => self.attempt(*settled).await?,
            }
        }
        Ok(())
    }

    /// The result comes before the trace: one without the other is not finished, and is asked again after a crash.
    async fn attempt(&mut self, settled: Settled) -> Result<(), EvalError> {
        let Settled { result, trace } = settled;
        self.store(Table::Results, &[result.clone().into_row()]).await?;
        if let Some(trace) = trace {
            self.store(Table::Traces, &[trace.into_row()]).await?;
        }
        self.done += 1;
        self.progress.event(&Event::Finished { row: &result, done: self.done, total: self.total });
        Ok(())
    }

    async fn store(&mut self, table: Table, rows: &[Row]) -> Result<(), EvalError> {
        match retry(async || self.sink.write(table, rows).await).await {
            // The sink has kept them, and the others are stored.
            Err(SinkError::Refused { rows, .. }) => {
                self.refused += rows;
                Ok(())
            }
            stored => stored.map_err(EvalError::from),
        }
    }
}

/// Waits for what an attempt took, and makes its rows.
async fn settle(
    evaluation: &Evaluation,
    genai: &GenAi,
    recorder: &Recorder,
    facts: &TargetFacts,
    attempted: Attempted<'_>,
) -> Settled {
    let mut result = rows::result(evaluation, facts, genai.provider(), recorder.run().as_str(), &attempted);
    let Some(id) = attempted.trace.id else { return Settled { result, trace: None } };
    let spans = if attempted.trace.sampled { attempted.spans } else { 0 };
    recorder.settled(id, attempted.inferences, spans, evaluation.settle_within).await;
    let (caught, totals, trace) = recorder.take(id);
    rows::took(&mut result, totals.as_ref(), caught.locality);
    if trace.is_none() {
        // A row that names a trace has one in the traces table.
        (result.trace_id, result.span_id) = (None, None);
    }
    Settled { result, trace }
}

/// Rows of two models in one run would be added up.
fn check_earlier(evaluation: &Evaluation, facts: &TargetFacts) -> Result<(), EvalError> {
    let other = evaluation
        .earlier
        .results
        .iter()
        .find_map(|row| row.model.as_ref().filter(|model| **model != facts.model));
    match other {
        Some(model) => Err(EvalError::setup(format!(
            "the run was begun with the model {model:?} and would go on with {:?}: choose another run id",
            facts.model
        ))),
        None => Ok(()),
    }
}

/// Makes a call again that may be made again, after the pause that the other side asks for.
async fn retry<T>(mut call: impl AsyncFnMut() -> Result<T, SinkError>) -> Result<T, SinkError> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..RETRIES {
        match call().await {
            Err(SinkError::Retry { after, .. }) => {
                tokio::time::sleep(after.unwrap_or(pause).min(LONGEST_PAUSE)).await;
                pause *= 2;
            }
            outcome => return outcome,
        }
    }
    call().await
}

const INTERRUPTED: &str = "interrupted by the user";
/// How often metric rows are handed on.
const TICK: Duration = Duration::from_secs(1);
/// Attempts whose rows may wait for the sink.
const QUEUE: usize = 256;
const RETRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
