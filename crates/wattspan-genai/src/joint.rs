//! What an open inference shares with inferences that begin inside it: they add to it instead of doubling it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use opentelemetry::Value;
use serde_json::Value as Json;
use wattspan_core::{Facts, LatePhases, MonoTime, Probe, TokenUsage};
use wattspan_semconv::{Key, Operation};

use crate::failure::Failure;
use crate::timing::{Marks, ServerTimings};
use crate::usage::ModalityUsage;

/// The shared part of an inference.
pub(crate) struct Joint {
    operation: Operation,
    pub(crate) model: Option<Arc<str>>,
    /// Set once, at the begin; taken at the end. Read for each token: an uncontended read lock is two atomic operations.
    probe: RwLock<Option<Box<dyn Probe>>>,
    observed: bool,
    open: AtomicBool,
    added: Mutex<Vec<Gathered>>,
}

impl Joint {
    pub(crate) fn new(
        operation: Operation,
        model: Option<Arc<str>>,
        probe: Option<Box<dyn Probe>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            operation,
            model,
            observed: probe.is_some(),
            probe: RwLock::new(probe),
            open: AtomicBool::new(true),
            added: Mutex::new(Vec::new()),
        })
    }

    /// Whether a request that begins inside is the same inference seen by another layer: the same operation, and no
    /// other model.
    pub(crate) fn is_same(&self, operation: Operation, model: Option<&Arc<str>>) -> bool {
        let other_model = matches!((&self.model, model), (Some(one), Some(other)) if one != other);
        self.open.load(Ordering::Acquire) && self.operation == operation && !other_model
    }

    pub(crate) fn decoded(&self, steps: u64) {
        self.with_probe(|probe| probe.decoded(steps));
    }

    pub(crate) fn prompted(&self, tokens: u64) {
        self.with_probe(|probe| probe.prompted(tokens));
    }

    fn with_probe(&self, mark: impl FnOnce(&dyn Probe)) {
        if self.observed
            && let Some(probe) = self.probe.read().unwrap_or_else(PoisonError::into_inner).as_deref()
        {
            mark(probe);
        }
    }

    /// Adds what an inference inside gathered. Lost when the outer one has ended.
    pub(crate) fn add(&self, gathered: Gathered) {
        if self.open.load(Ordering::Acquire) {
            self.added.lock().unwrap_or_else(PoisonError::into_inner).push(gathered);
        }
    }

    /// Ends the sharing: what was added, and the probe. Without locks when it was never shared.
    pub(crate) fn close(this: &mut Arc<Self>) -> (Vec<Gathered>, Option<Box<dyn Probe>>) {
        match Arc::get_mut(this) {
            Some(alone) => {
                let probe = alone.probe.get_mut().unwrap_or_else(PoisonError::into_inner).take();
                (Vec::new(), probe)
            }
            None => this.close_shared(),
        }
    }

    fn close_shared(&self) -> (Vec<Gathered>, Option<Box<dyn Probe>>) {
        self.open.store(false, Ordering::Release);
        let added = std::mem::take(&mut *self.added.lock().unwrap_or_else(PoisonError::into_inner));
        let probe = if self.observed {
            self.probe.write().unwrap_or_else(PoisonError::into_inner).take()
        } else {
            None
        };
        (added, probe)
    }
}

/// What is learnt of an inference while it runs.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) facts: Facts,
    pub(crate) phases: LatePhases,
    pub(crate) server: Option<ServerTimings>,
    pub(crate) marks: Marks,
    pub(crate) modalities: Option<Box<ModalityUsage>>,
    pub(crate) extra: Vec<(Key, Value)>,
    pub(crate) content: Vec<(Content, Json)>,
    /// How an inference inside failed, when the latest one did.
    pub(crate) failure: Option<Failure>,
}

/// A content attribute. Names of prompt variables are the template's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Key(Key),
    Variable(Cow<'static, str>),
}

impl Gathered {
    /// Sets an attribute; the last value stands.
    pub(crate) fn set(&mut self, key: Key, value: Value) {
        match self.extra.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.extra.push((key, value)),
        }
    }

    /// Sets content; the last value stands.
    pub(crate) fn set_content(&mut self, what: Content, value: Json) {
        match self.content.iter_mut().find(|(known, _)| *known == what) {
            Some((_, known)) => *known = value,
            None => self.content.push((what, value)),
        }
    }

    /// Takes in counts that are there; one that is not there erases none.
    pub(crate) fn usage(&mut self, newer: &TokenUsage) {
        merge_usage(&mut self.facts.tokens, newer);
    }

    /// Fills what is not known here with what an inference inside found.
    pub(crate) fn fill_from(&mut self, inner: Self) {
        let mut tokens = inner.facts.tokens;
        merge_usage(&mut tokens, &self.facts.tokens);
        self.facts.tokens = tokens;
        self.facts.first_token = earlier(self.facts.first_token, inner.facts.first_token);
        if self.facts.finish_reasons.is_empty() {
            self.facts.finish_reasons = inner.facts.finish_reasons;
        }
        self.facts.response_id = self.facts.response_id.take().or(inner.facts.response_id);
        self.facts.response_model = self.facts.response_model.take().or(inner.facts.response_model);
        if self.phases == LatePhases::default() {
            self.phases = inner.phases;
        }
        self.server = self.server.or(inner.server);
        self.failure = inner.failure;
        self.marks.join(inner.marks);
        self.modalities = self.modalities.take().or(inner.modalities);
        for (key, value) in inner.extra {
            if self.extra.iter().all(|(known, _)| *known != key) {
                self.extra.push((key, value));
            }
        }
        for (what, value) in inner.content {
            if self.content.iter().all(|(known, _)| *known != what) {
                self.content.push((what, value));
            }
        }
    }
}

fn merge_usage(into: &mut TokenUsage, newer: &TokenUsage) {
    into.fresh = newer.fresh.or(into.fresh);
    into.cache_read = newer.cache_read.or(into.cache_read);
    into.cache_write = newer.cache_write.or(into.cache_write);
    into.output = newer.output.or(into.output);
    into.reasoning = newer.reasoning.or(into.reasoning);
    into.draft = newer.draft.or(into.draft);
    into.draft_accepted = newer.draft_accepted.or(into.draft_accepted);
}

fn earlier(one: Option<MonoTime>, other: Option<MonoTime>) -> Option<MonoTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
