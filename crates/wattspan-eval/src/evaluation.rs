//! What a run is made of: cases, a target, and how they meet.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::Cell;
use wattspan_dataset::HardwareDetail;

use crate::Cases;
use crate::agent::AgentType;
use crate::error::EvalError;
use crate::run::Earlier;
use crate::target::{Generation, Target};

/// An evaluation that is about to run.
///
/// Unless set: plain requests, one attempt of each case, one at a time, no warm-up, five minutes for a case, ten steps of
/// an agent, texts kept, programs that cases name not run.
#[derive(Clone)]
pub struct Evaluation {
    pub(crate) cases: Cases,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) agent: AgentType,
    pub(crate) repeats: u32,
    pub(crate) concurrency: usize,
    pub(crate) warm_up: u32,
    pub(crate) generation: Generation,
    pub(crate) time_limit: Duration,
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) max_steps: u32,
    pub(crate) settle_within: Duration,
    pub(crate) allow_commands: bool,
    pub(crate) texts: bool,
    pub(crate) earlier: Earlier,
    pub(crate) about: About,
}

/// What the tables say of a run that nothing else knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) dataset: Option<String>,
    pub(crate) suite_version: Option<String>,
    pub(crate) hardware: Option<String>,
    pub(crate) hardware_detail: Option<HardwareDetail>,
    pub(crate) submitted_by: Option<String>,
    pub(crate) team: Option<String>,
    pub(crate) use_case: Option<String>,
    pub(crate) purpose: Option<String>,
    pub(crate) notes: Option<String>,
    pub(crate) references: Option<[String; 3]>,
    pub(crate) versions: Vec<(String, String)>,
    pub(crate) configuration: Vec<(String, Cell)>,
    pub(crate) methods: Vec<(String, String)>,
    pub(crate) no_devices: Option<String>,
}

impl Evaluation {
    /// Cases for a target.
    pub fn new(cases: Cases, target: impl Target + 'static) -> Self {
        Self::shared(cases, Arc::new(target))
    }

    /// Cases for a target that is used elsewhere too.
    pub fn shared(cases: Cases, target: Arc<dyn Target>) -> Self {
        let suite_version = cases.version().map(str::to_owned);
        let dataset = cases.name().map(str::to_owned);
        Self {
            cases,
            target,
            agent: AgentType::None,
            repeats: 1,
            concurrency: 1,
            warm_up: 0,
            generation: Generation::default(),
            time_limit: Duration::from_secs(300),
            request_timeout: None,
            max_steps: 10,
            settle_within: Duration::from_secs(60),
            allow_commands: false,
            texts: true,
            earlier: Earlier::default(),
            about: About { dataset, suite_version, ..About::default() },
        }
    }

    /// How cases are run.
    pub fn agent(mut self, agent: AgentType) -> Self {
        self.agent = agent;
        self
    }

    /// How often each case is tried; the first attempt alone counts for pass@1.
    pub fn repeats(mut self, attempts: u32) -> Self {
        self.repeats = attempts.max(1);
        self
    }

    /// How many cases run at once.
    pub fn concurrency(mut self, cases: usize) -> Self {
        self.concurrency = cases.max(1);
        self
    }

    /// How many requests are sent before the first case. They are in no table.
    pub fn warm_up(mut self, requests: u32) -> Self {
        self.warm_up = requests;
        self
    }

    /// How answers are drawn.
    pub fn generation(mut self, generation: Generation) -> Self {
        self.generation = generation;
        self
    }

    /// Bounds a case in time, unless it has a bound of its own. Checks are not part of it.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Bounds each request in time.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = Some(limit);
        self
    }

    /// How often an agent may ask the model.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps.max(1);
        self
    }

    /// How long the energy and spans of a case may take to come after its end; a minute unless set.
    pub fn settle_within(mut self, bound: Duration) -> Self {
        self.settle_within = bound;
        self
    }

    /// Whether programs that cases name, as judges or tools, may be run. Say yes only to files that you trust.
    pub fn allow_commands(mut self, allow: bool) -> Self {
        self.allow_commands = allow;
        self
    }

    /// Whether prompts and answers are kept in the results table. Spans have them only if the content policy of the
    /// instrumentation says so.
    pub fn texts(mut self, keep: bool) -> Self {
        self.texts = keep;
        self
    }

    /// Goes on with a run: what is finished is not asked again.
    pub fn resume(mut self, earlier: Earlier) -> Self {
        self.earlier = earlier;
        self
    }

    /// Where the cases come from: a path or a data set's name.
    pub fn dataset(mut self, name: impl Into<String>) -> Self {
        self.about.dataset = Some(name.into());
        self
    }

    /// The hardware, in a line and in parts.
    pub fn hardware(mut self, line: impl Into<String>, detail: HardwareDetail) -> Self {
        self.about.hardware = Some(line.into());
        self.about.hardware_detail = Some(detail);
        self
    }

    /// Who submits it.
    pub fn submitted_by(mut self, who: impl Into<String>) -> Self {
        self.about.submitted_by = Some(who.into());
        self
    }

    /// By which team.
    pub fn team(mut self, team: impl Into<String>) -> Self {
        self.about.team = Some(team.into());
        self
    }

    /// What for.
    pub fn use_case(mut self, use_case: impl Into<String>) -> Self {
        self.about.use_case = Some(use_case.into());
        self
    }

    /// Why.
    pub fn purpose(mut self, purpose: impl Into<String>) -> Self {
        self.about.purpose = Some(purpose.into());
        self
    }

    /// Remarks.
    pub fn notes(mut self, notes: impl Into<String>) -> Self {
        self.about.notes = Some(notes.into());
        self
    }

    /// Where results, traces and metrics can be found, for the leaderboard row. A [`JsonDataset`] that was opened with
    /// [`Earlier::open`] tells it by itself.
    ///
    /// [`JsonDataset`]: wattspan_dataset::JsonDataset
    pub fn references(
        mut self,
        results: impl Into<String>,
        traces: impl Into<String>,
        metrics: impl Into<String>,
    ) -> Self {
        self.about.references = Some([results.into(), traces.into(), metrics.into()]);
        self
    }

    /// Adds a version to the metadata.
    pub fn version(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.about.versions.push((name.into(), version.into()));
        self
    }

    /// Adds a setting to the metadata. What looks like a secret is taken out.
    pub fn setting(mut self, name: impl Into<String>, value: Cell) -> Self {
        self.about.configuration.push((name.into(), value));
        self
    }

    /// Says in the metadata where a figure comes from, such as `intensity`.
    pub fn method(mut self, name: impl Into<String>, method: impl Into<String>) -> Self {
        self.about.methods.push((name.into(), method.into()));
        self
    }

    /// Says in the metadata why there is no device, when there is none.
    pub fn no_devices(mut self, why: impl Into<String>) -> Self {
        self.about.no_devices = Some(why.into());
        self
    }

    /// How many attempts it has in all.
    pub fn planned(&self) -> u64 {
        let kinds = self.cases.as_slice().iter().map(|case| self.agent.kinds(case).len() as u64);
        kinds.sum::<u64>() * u64::from(self.repeats)
    }

    /// What would go wrong for certain, before anything is asked.
    pub(crate) fn check(&self) -> Result<(), EvalError> {
        if self.cases.is_empty() {
            return Err(EvalError::setup("there is no case to run: check the file or the selection"));
        }
        if self.agent != AgentType::None {
            if self.cases.as_slice().iter().all(|case| case.tools.is_empty()) {
                return Err(EvalError::setup(
                    "no case declares a tool: give cases `tools`, or take the agent type `none`",
                ));
            }
            if !self.target.offers_tools() {
                let provider = self.target.facts().provider;
                return Err(EvalError::setup(format!(
                    "`{provider}` cannot offer tools to the model: take `llama-server` or another server, or the agent \
                     type `none`"
                )));
            }
        }
        let programs = self.cases.as_slice().iter().filter(|_| !self.allow_commands);
        let first = programs.into_iter().find_map(|case| Some((case, case.programs().next()?)));
        if let Some((case, program)) = first {
            return Err(EvalError::setup(format!(
                "case {:?} runs the program `{program}`: allow commands if you trust where the cases come from",
                case.id
            )));
        }
        Ok(())
    }
}

impl fmt::Debug for Evaluation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Evaluation")
            .field("cases", &self.cases.len())
            .field("target", &self.target.facts().provider)
            .field("agent", &self.agent)
            .field("repeats", &self.repeats)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
