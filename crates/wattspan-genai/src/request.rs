//! What is asked of a model, as typed parameters.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::{KeyValue, Value};
use wattspan_core::{DeviceScope, Locality, Workload};
use wattspan_semconv::{Key, Operation, Profile};

/// One request to a model. Everything but the operation is optional; what is not set is not recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    pub(crate) operation: Operation,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) workload: Workload,
    pub(crate) locality: Option<Locality>,
    pub(crate) devices: DeviceScope,
    pub(crate) server: Option<(Arc<str>, Option<u16>)>,
    pub(crate) stream: bool,
    pub(crate) conversation: Option<Arc<str>>,
    pub(crate) parameters: Vec<(Key, Value)>,
}

impl Request {
    /// A request of any operation.
    pub fn new(operation: Operation) -> Self {
        let workload = match operation {
            Operation::Embeddings | Operation::Rerank => Workload::Encoding,
            Operation::Load => Workload::Load,
            _ => Workload::Generation,
        };
        Self {
            operation,
            model: None,
            workload,
            locality: None,
            devices: DeviceScope::All,
            server: None,
            stream: false,
            conversation: None,
            parameters: Vec::new(),
        }
    }

    /// A chat completion.
    pub fn chat(model: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::Chat).model(model)
    }

    /// The model's name.
    pub fn model(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Where it runs, when it is not where the client usually runs it.
    pub fn locality(mut self, locality: Locality) -> Self {
        self.locality = Some(locality);
        self
    }

    /// Which devices it may use.
    pub fn devices(mut self, devices: DeviceScope) -> Self {
        self.devices = devices;
        self
    }

    /// The server's address and port.
    pub fn server(mut self, address: impl Into<Arc<str>>, port: Option<u16>) -> Self {
        self.server = Some((address.into(), port));
        self
    }

    /// The answer comes in chunks.
    pub fn streaming(mut self) -> Self {
        self.stream = true;
        self
    }

    /// The conversation that it belongs to. Never make one up.
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// Sampling temperature.
    pub fn temperature(self, temperature: f64) -> Self {
        self.with(Key::RequestTemperature, temperature)
    }

    /// Largest number of output tokens.
    pub fn max_tokens(self, tokens: i64) -> Self {
        self.with(Key::RequestMaxTokens, tokens)
    }

    fn with(mut self, key: Key, value: impl Into<Value>) -> Self {
        self.parameters.push((key, value.into()));
        self
    }

    /// Attributes that must be there when the span is created, since samplers read them.
    pub(crate) fn at_creation(&self, profile: Profile, provider: &str) -> Vec<KeyValue> {
        let mut attributes = Attributes::new(profile, self.operation, 8 + self.parameters.len());
        attributes.set(Key::OperationName, self.operation.as_str());
        attributes.set(Key::ProviderName, provider.to_owned());
        if let Some(model) = &self.model {
            attributes.set(Key::RequestModel, Arc::clone(model));
        }
        if let Some((address, port)) = &self.server {
            attributes.set(Key::ServerAddress, Arc::clone(address));
            if let Some(port) = port {
                attributes.set(Key::ServerPort, i64::from(*port));
            }
        }
        if self.stream {
            attributes.set(Key::RequestStream, true);
        }
        if let Some(id) = &self.conversation {
            attributes.set(Key::ConversationId, Arc::clone(id));
        }
        for (key, value) in &self.parameters {
            attributes.set(*key, value.clone());
        }
        attributes.list
    }
}

/// Attributes under the names that a profile has for them; a key that it does not have is left out.
pub(crate) struct Attributes {
    pub(crate) profile: Profile,
    pub(crate) operation: Operation,
    pub(crate) list: Vec<KeyValue>,
}

impl Attributes {
    pub(crate) fn new(profile: Profile, operation: Operation, room: usize) -> Self {
        Self { profile, operation, list: Vec::with_capacity(room) }
    }

    pub(crate) fn set(&mut self, key: Key, value: impl Into<Value>) {
        if let Some(attribute) = self.profile.attribute(self.operation, key) {
            self.list.push(KeyValue::new(attribute.name, value));
        }
    }

    pub(crate) fn set_list(&mut self, key: Key, values: impl IntoIterator<Item = Cow<'static, str>>) {
        let values: Vec<opentelemetry::StringValue> = values.into_iter().map(Into::into).collect();
        self.set(key, Value::Array(opentelemetry::Array::String(values)));
    }
}
