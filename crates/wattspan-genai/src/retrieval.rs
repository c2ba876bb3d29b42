//! Retrievals and operations on an agent's memory.

use std::sync::Arc;

use opentelemetry::Value;
use opentelemetry::trace::SpanKind;
use serde_json::Value as Json;
use wattspan_semconv::{Key, Operation};

use crate::attributes::count_value;
use crate::content::ContentKind;
use crate::genai::Shared;
use crate::step::{Plan, Step, step_methods};

/// A retrieval that is about to begin.
#[derive(Clone, Debug)]
pub struct Retrieval(Plan);

impl Default for Retrieval {
    fn default() -> Self {
        Self::new()
    }
}

impl Retrieval {
    /// A retrieval of which nothing else is known.
    pub fn new() -> Self {
        Self(Plan::new(Operation::Retrieval, SpanKind::Client))
    }

    /// Where it looks.
    pub fn data_source(self, id: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::DataSourceId, id.into())
    }

    /// The model that it uses.
    pub fn model(self, model: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::RequestModel, model.into())
    }

    /// How many documents are wanted.
    pub fn top_k(self, documents: i64) -> Self {
        self.attribute(Key::RetrievalTopK, documents)
    }

    /// The server's address and port.
    pub fn server(self, address: impl Into<Arc<str>>, port: Option<u16>) -> Self {
        let this = self.attribute(Key::ServerAddress, address.into());
        match port {
            Some(port) => this.attribute(Key::ServerPort, i64::from(port)),
            None => this,
        }
    }

    /// Any other attribute of the conventions. Token counts and content are refused here.
    pub fn attribute(mut self, key: Key, value: impl Into<Value>) -> Self {
        self.0.set(key, value);
        self
    }
}

/// A retrieval that runs. Dropping it ends it with `error.type` = `cancelled` or `panic`.
#[must_use = "dropping a retrieval ends it as cancelled"]
pub struct RetrievalRun {
    step: Step,
}

impl RetrievalRun {
    pub(crate) fn begin(shared: Arc<Shared>, retrieval: Retrieval) -> Self {
        Self { step: Step::begin(shared, retrieval.0, None) }
    }

    /// What is looked for. Recorded only when the [content policy](crate::ContentPolicy) is on.
    pub fn query(&mut self, text: &str) {
        self.step.text(Key::RetrievalQueryText, ContentKind::Query, text);
    }

    /// What was found: a list of objects with `id` and `score`. Recorded only when the content policy is on.
    pub fn documents(&mut self, documents: &Json) {
        self.step.json(Key::RetrievalDocuments, ContentKind::Documents, documents);
    }
}

step_methods!(RetrievalRun);

/// An operation on an agent's memory that is about to begin. Described in the `genai` profile; in `core` its span has
/// the operation, the provider and what that profile has a name for.
#[derive(Clone, Debug)]
pub struct Memory(Plan);

impl Memory {
    /// One of the memory operations, such as [`Operation::SearchMemory`].
    pub fn new(operation: Operation) -> Self {
        Self(Plan::new(operation, SpanKind::Client))
    }

    /// One in this process.
    pub fn in_process(operation: Operation) -> Self {
        Self(Plan::new(operation, SpanKind::Internal))
    }

    /// The store.
    pub fn store(self, id: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::MemoryStoreId, id.into())
    }

    /// The record.
    pub fn record(self, id: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::MemoryRecordId, id.into())
    }

    /// Any other attribute of the conventions. Token counts and content are refused here.
    pub fn attribute(mut self, key: Key, value: impl Into<Value>) -> Self {
        self.0.set(key, value);
        self
    }
}

/// A memory operation that runs. Dropping it ends it with `error.type` = `cancelled` or `panic`.
#[must_use = "dropping a memory operation ends it as cancelled"]
pub struct MemoryRun {
    step: Step,
}

impl MemoryRun {
    pub(crate) fn begin(shared: Arc<Shared>, memory: Memory) -> Self {
        Self { step: Step::begin(shared, memory.0, None) }
    }

    /// How many records were found or changed.
    pub fn record_count(&mut self, records: u64) {
        self.step.set(Key::MemoryRecordCount, count_value(records));
    }

    /// What is looked for. Recorded only when the [content policy](crate::ContentPolicy) is on.
    pub fn query(&mut self, text: &str) {
        self.step.text(Key::MemoryQueryText, ContentKind::Query, text);
    }

    /// The records. Recorded only when the content policy is on.
    pub fn records(&mut self, records: &Json) {
        self.step.json(Key::MemoryRecords, ContentKind::Documents, records);
    }
}

step_methods!(MemoryRun);
