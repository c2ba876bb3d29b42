//! What is asked of a model, as typed parameters.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::{StringValue, Value};
use wattspan_core::{DeviceScope, Locality, Workload};
use wattspan_semconv::{Key, Operation, Profile};

use crate::attributes::{Attributes, count_value, text_list};

/// One request to a model. Everything but the operation is optional; what is not set is not recorded.
///
/// A parameter that is set twice has its last value. One that the profile has no name for is left out.
///
/// ```
/// use wattspan_genai::Request;
///
/// let request = Request::chat("smollm2").temperature(0.2).max_tokens(64).seed(7).streaming();
/// assert_eq!(request.model_name(), Some("smollm2"));
/// ```
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
    pub(crate) separate: bool,
    pub(crate) parameters: Vec<(Key, Value)>,
}

/// What kind of output is asked for: `gen_ai.output.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputType {
    /// Plain text.
    Text,
    /// JSON, with or without a schema.
    Json,
    /// An image.
    Image,
    /// Speech.
    Speech,
}

impl OutputType {
    /// The attribute's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Image => "image",
            Self::Speech => "speech",
        }
    }
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
            separate: false,
            parameters: Vec::new(),
        }
    }

    /// A chat completion.
    pub fn chat(model: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::Chat).model(model)
    }

    /// A plain text completion.
    pub fn completion(model: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::TextCompletion).model(model)
    }

    /// Embeddings.
    pub fn embeddings(model: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::Embeddings).model(model)
    }

    /// Documents put in order by a model.
    pub fn rerank(model: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::Rerank).model(model)
    }

    /// Loading or warming up a model: an operation of its own, never spread over inferences.
    pub fn load(model: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::Load).model(model)
    }

    /// The operation.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The model's name, if it was given.
    pub fn model_name(&self) -> Option<&str> {
        self.model.as_deref()
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

    /// The answer comes in chunks. Chunk times are measured of such requests only.
    pub fn streaming(mut self) -> Self {
        self.stream = true;
        self
    }

    /// The conversation that it belongs to. Never make one up. Without it the one in the current context is taken, see
    /// [`context::with_conversation`](crate::context::with_conversation).
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// Makes it an inference of its own, also inside another one of the same operation and model.
    pub fn separate(mut self) -> Self {
        self.separate = true;
        self
    }

    /// Sampling temperature.
    pub fn temperature(self, temperature: f64) -> Self {
        self.with(Key::RequestTemperature, temperature)
    }

    /// Nucleus sampling: the probability mass that is kept.
    pub fn top_p(self, top_p: f64) -> Self {
        self.with(Key::RequestTopP, top_p)
    }

    /// How many of the likeliest tokens are kept.
    pub fn top_k(self, top_k: i64) -> Self {
        self.with(Key::RequestTopK, top_k)
    }

    /// Largest number of output tokens.
    pub fn max_tokens(self, tokens: i64) -> Self {
        self.with(Key::RequestMaxTokens, tokens)
    }

    /// Seed of the sampler.
    pub fn seed(self, seed: i64) -> Self {
        self.with(Key::RequestSeed, seed)
    }

    /// Penalty for tokens by how often they came.
    pub fn frequency_penalty(self, penalty: f64) -> Self {
        self.with(Key::RequestFrequencyPenalty, penalty)
    }

    /// Penalty for tokens that came at all.
    pub fn presence_penalty(self, penalty: f64) -> Self {
        self.with(Key::RequestPresencePenalty, penalty)
    }

    /// Texts that end the answer.
    pub fn stop_sequences<T: Into<String>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.with_list(Key::RequestStopSequences, texts)
    }

    /// Number of answers asked for. One is the usual number and is not recorded.
    pub fn choice_count(self, choices: i64) -> Self {
        if choices == 1 { self } else { self.with(Key::RequestChoiceCount, choices) }
    }

    /// What kind of output is asked for.
    pub fn output_type(self, kind: OutputType) -> Self {
        self.with(Key::OutputType, kind.as_str())
    }

    /// Encodings in which embeddings may come, such as `float` or `base64`.
    pub fn encoding_formats<T: Into<String>>(self, formats: impl IntoIterator<Item = T>) -> Self {
        self.with_list(Key::RequestEncodingFormats, formats)
    }

    /// Dimensions asked of an embedding.
    pub fn embedding_dimensions(self, dimensions: u64) -> Self {
        self.with(Key::EmbeddingsDimensionCount, count_value(dimensions))
    }

    /// How much reasoning is asked for, such as `low`. In the `genai` profile.
    pub fn reasoning_level(self, level: impl Into<Cow<'static, str>>) -> Self {
        self.with(Key::RequestReasoningLevel, level.into())
    }

    /// The answer that this request goes on from. In the `genai` profile.
    pub fn previous_response(self, id: impl Into<Arc<str>>) -> Self {
        self.with(Key::RequestPreviousResponseId, id.into())
    }

    /// Where in a stream a fetch begins. In the `genai` profile.
    pub fn stream_cursor(self, cursor: impl Into<Arc<str>>) -> Self {
        self.with(Key::RequestStreamCursor, cursor.into())
    }

    /// Whether the conversation was shortened to fit. In the `genai` profile.
    pub fn conversation_compacted(self, compacted: bool) -> Self {
        self.with(Key::ConversationCompacted, compacted)
    }

    /// Name of the prompt template.
    pub fn prompt_name(self, name: impl Into<Arc<str>>) -> Self {
        self.with(Key::PromptName, name.into())
    }

    /// Version of the prompt template. In the `genai` profile.
    pub fn prompt_version(self, version: impl Into<Arc<str>>) -> Self {
        self.with(Key::PromptVersion, version.into())
    }

    /// A tier of service, where the provider is OpenAI or speaks its words.
    pub fn service_tier(self, tier: impl Into<Cow<'static, str>>) -> Self {
        self.with(Key::OpenaiRequestServiceTier, tier.into())
    }

    /// Which of OpenAI's interfaces is used: `chat_completions` or `responses`.
    pub fn openai_api(self, kind: impl Into<Cow<'static, str>>) -> Self {
        self.with(Key::OpenaiApiType, kind.into())
    }

    /// Any other attribute of the conventions. Refused are those that hold prompts or answers, which go through
    /// [`Inference::input_messages`](crate::Inference::input_messages) and its siblings, `error.type`, and those of a
    /// settlement.
    pub fn attribute(self, key: Key, value: impl Into<Value>) -> Self {
        if is_reserved(key) { self } else { self.with(key, value) }
    }

    fn with_list<T: Into<String>>(self, key: Key, texts: impl IntoIterator<Item = T>) -> Self {
        self.with(key, text_list(texts.into_iter().map(|text| Cow::Owned(text.into()))))
    }

    fn with(mut self, key: Key, value: impl Into<Value>) -> Self {
        let value = value.into();
        if let Some((_, known)) = self.parameters.iter_mut().find(|(known, _)| *known == key) {
            *known = value;
        } else {
            if self.parameters.is_empty() {
                self.parameters.reserve(8);
            }
            self.parameters.push((key, value));
        }
        self
    }

    /// Attributes that must be there when the span is created, since samplers read them; the parameters go with them.
    /// `conversation` is the request's or the context's. Takes the parameters out.
    pub(crate) fn at_creation(
        &mut self,
        profile: Profile,
        provider: &StringValue,
        conversation: Option<&Arc<str>>,
    ) -> Attributes {
        let mut attributes = Attributes::new(profile, self.operation, 8 + self.parameters.len());
        attributes.set(Key::OperationName, self.operation.as_str());
        attributes.set(Key::ProviderName, provider.clone());
        attributes.set_option(Key::RequestModel, self.model.clone());
        if let Some((address, port)) = &self.server {
            attributes.set(Key::ServerAddress, Arc::clone(address));
            attributes.set_option(Key::ServerPort, port.map(i64::from));
        }
        self.rest(&mut attributes, conversation);
        attributes
    }

    /// Everything but what identifies the request.
    pub(crate) fn rest(&mut self, attributes: &mut Attributes, conversation: Option<&Arc<str>>) {
        if self.stream {
            attributes.set(Key::RequestStream, true);
        }
        attributes.set_option(Key::ConversationId, conversation.map(Arc::clone));
        for (key, value) in self.parameters.drain(..) {
            attributes.set(key, value);
        }
    }
}

/// Whether an attribute is not for callers to set: content has its own ways in, `error.type` goes with a failure, and
/// what is ours is written when the inference settles.
pub(crate) fn is_reserved(key: Key) -> bool {
    let mut names = Profile::ALL.into_iter().filter_map(|profile| profile.attribute(Operation::Chat, key));
    key == Key::ErrorType
        || names.any(|attribute| attribute.content || attribute.name.starts_with("wattspan."))
}
