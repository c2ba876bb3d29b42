//! A loaded model, and its load as an operation of its own.

use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;
use opentelemetry::KeyValue;
use opentelemetry::trace::TraceContextExt as _;
use self_cell::self_cell;
use wattspan_core::Bytes;
use wattspan_genai::{GenAi, Inference, Key, Operation, Profile, Request};

use super::backend::{backend, context_lock};
use super::error::{Error, reason};
use super::log::with_reasons;
use super::params::{ModelOptions, SessionOptions};
use super::prompt::{ChatMessage, Prompt};
use crate::{Gguf, GgufError, ModelFacts};

/// A model in memory. Clones share it; it is freed when the last of them and of its sessions is gone.
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    llama: Arc<LlamaModel>,
    facts: ModelFacts,
    name: Arc<str>,
    template: Option<LlamaChatTemplate>,
    genai: GenAi,
}

self_cell!(
    /// A context that keeps its model alive.
    pub(crate) struct OwnedContext {
        owner: Arc<LlamaModel>,
        #[covariant]
        dependent: LlamaContext,
    }
);

impl Model {
    /// Loads a GGUF file. It is a `load` operation of its own: an inference is not charged for it.
    ///
    /// The file's head is checked first, so that a wrong, cut or damaged file is told as such. All that is done with
    /// the model is recorded with `genai`.
    ///
    /// # Errors
    /// [`Error::File`] when the file is not a whole GGUF, [`Error::OutOfMemory`], and [`Error::Refused`] for what
    /// llama.cpp does not take otherwise, such as an unknown architecture.
    pub fn load(genai: &GenAi, path: impl AsRef<Path>, options: &ModelOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = options.name.clone().unwrap_or_else(|| {
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            stem.to_string_lossy().into()
        });
        let inference = genai.begin(Request::load(Arc::clone(&name)));
        let (llama, facts) = match open(path, options) {
            Ok(opened) => opened,
            Err(error) => {
                inference.fail(error.failure());
                return Err(error);
            }
        };
        describe(&inference, &facts);
        let template = llama.chat_template(None).ok();
        inference.finish();
        let inner = Inner { llama: Arc::new(llama), facts, name, template, genai: genai.clone() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Its name in telemetry.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What it is.
    pub fn facts(&self) -> &ModelFacts {
        &self.inner.facts
    }

    /// Where what it does is recorded.
    pub fn genai(&self) -> &GenAi {
        &self.inner.genai
    }

    /// The model itself, for what this crate does not do. Calls through it are not recorded.
    ///
    /// Make contexts with [`Model::new_context`]: two made at the same time are unsound in llama.cpp.
    pub fn llama(&self) -> &LlamaModel {
        &self.inner.llama
    }

    /// The running library, as the binding's functions want it for a proof.
    pub fn backend(&self) -> &'static LlamaBackend {
        backend()
    }

    /// A context for a decode loop of the program's own; see [`Sequences`](crate::Sequences). One is made at a time.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and [`Error::Context`].
    pub fn new_context(&self, params: LlamaContextParams) -> Result<LlamaContext<'_>, Error> {
        let _one_at_a_time = context_lock();
        let (made, lines) = with_reasons(|| self.inner.llama.new_context(backend(), params));
        made.map_err(|_| no_context(&lines))
    }

    pub(crate) fn owned_context(&self, params: LlamaContextParams) -> Result<OwnedContext, Error> {
        let _one_at_a_time = context_lock();
        let owner = Arc::clone(&self.inner.llama);
        let (made, lines) =
            with_reasons(|| OwnedContext::try_new(owner, |llama| llama.new_context(backend(), params)));
        made.map_err(|_| no_context(&lines))
    }

    /// The text that a prompt becomes.
    ///
    /// # Errors
    /// [`Error::Template`] when the model's template is missing or not among those that llama.cpp knows, and
    /// [`Error::Nul`].
    pub fn render(&self, prompt: &Prompt) -> Result<String, Error> {
        match prompt {
            Prompt::Text(text) => Ok(text.clone()),
            Prompt::Chat(messages) => self.apply_template(messages),
        }
    }

    fn apply_template(&self, messages: &[ChatMessage]) -> Result<String, Error> {
        if messages.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let absent = || Error::Template { reason: "the model has none".into() };
        let template = self.inner.template.as_ref().ok_or_else(absent)?;
        let messages = messages.iter().map(|message| {
            LlamaChatMessage::new(message.role.clone().into_owned(), message.content.clone())
                .map_err(|_| Error::Nul { what: "message" })
        });
        let messages: Vec<LlamaChatMessage> = messages.collect::<Result<_, _>>()?;
        let text = self.inner.llama.apply_chat_template(template, &messages, true);
        text.map_err(|error| Error::Template { reason: error.to_string().into() })
    }

    /// The tokens of a prompt, as a session computes them.
    ///
    /// # Errors
    /// As [`Model::render`].
    pub fn tokenize(&self, prompt: &Prompt) -> Result<Vec<i32>, Error> {
        Ok(self.tokens(prompt)?.into_iter().map(|token| token.0).collect())
    }

    pub(crate) fn tokens(&self, prompt: &Prompt) -> Result<Vec<LlamaToken>, Error> {
        let text = self.render(prompt)?;
        // A chat's template writes its marks as special tokens; whether a first token is added is the model's to say,
        // and llama.cpp does not add a second one.
        Ok(self.inner.llama.vocab().tokenize(text.as_bytes(), true, true))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Model")
            .field("name", &self.name())
            .field("facts", self.facts())
            .finish_non_exhaustive()
    }
}

/// Parameters of a context as the options ask for it.
pub(crate) fn context_params(model: &Model, options: &SessionOptions) -> LlamaContextParams {
    let context = options.context.unwrap_or_else(|| model.llama().n_ctx_train().min(DEFAULT_CONTEXT)).max(1);
    let threads = options.threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, |count| count.get() as i32),
        |threads| i32::try_from(threads.max(1)).unwrap_or(i32::MAX),
    );
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(context))
        .with_n_batch(options.batch.unwrap_or(DEFAULT_BATCH).clamp(1, context))
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
}

fn open(path: &Path, options: &ModelOptions) -> Result<(LlamaModel, ModelFacts), Error> {
    let file = |source| Error::File { path: path.to_owned(), source };
    let gguf = Gguf::open(path).map_err(file)?;
    if path.to_str().is_none() {
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "llama.cpp takes paths in UTF-8 only");
        return Err(file(GgufError::Io(cause)));
    }
    let mut params = LlamaModelParams::default();
    if let Some(layers) = options.gpu_layers {
        params = params.with_n_gpu_layers(layers);
    }
    if options.lock_memory {
        params = params.with_use_mlock(true);
    }
    if options.no_mapping {
        params = params.with_use_mmap(false);
    }
    let (loaded, lines) = with_reasons(|| LlamaModel::load_from_file(backend(), path, &params));
    let llama = loaded.map_err(|_| {
        Error::memory("load the model", &lines)
            .unwrap_or_else(|| Error::Refused { path: path.to_owned(), reason: reason(&lines) })
    })?;
    let mut facts = ModelFacts::new(&gguf);
    // Of a model in several files the head of the first one knows only its own tensors.
    facts.parameters = llama.n_params();
    facts.size = Some(Bytes::new(llama.size()));
    Ok((llama, facts))
}

/// Facts on the load's span.
fn describe(inference: &Inference, facts: &ModelFacts) {
    let span = inference.context().span();
    let texts = [
        (Key::ModelArchitecture, facts.architecture.clone()),
        (Key::ModelName, facts.name.clone()),
        (Key::ModelQuantization, facts.file_type.map(|kind| kind.to_string())),
        (Key::ModelSizeLabel, facts.size_label.clone()),
        (Key::ModelLicense, facts.license.clone()),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| Some(KeyValue::new(name(key)?, text?)));
    let numbers = [
        (Key::ModelParameters, Some(facts.parameters)),
        (Key::ModelContextLength, facts.context_length),
        (Key::ModelSize, facts.size.map(Bytes::bytes)),
    ];
    let numbers = numbers
        .into_iter()
        .filter_map(|(key, number)| Some(KeyValue::new(name(key)?, i64::try_from(number?).ok()?)));
    span.set_attributes(texts.chain(numbers));
}

/// Names of our own are the same in every profile and for every operation.
fn name(key: Key) -> Option<&'static str> {
    Profile::Core.attribute(Operation::TextCompletion, key).map(|attribute| attribute.name)
}

fn no_context(lines: &[String]) -> Error {
    Error::memory("make a context", lines).unwrap_or_else(|| Error::Context { reason: reason(lines) })
}

/// Models are trained for up to a million tokens, whose KV cache few machines can hold.
const DEFAULT_CONTEXT: u32 = 4_096;

/// As llama.cpp's physical batch (`llama_context_params.n_ubatch`).
const DEFAULT_BATCH: u32 = 512;
