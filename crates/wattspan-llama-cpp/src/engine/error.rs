//! What can fail, by what the caller can do about it.

use std::borrow::Cow;
use std::path::PathBuf;

use llama_cpp_2::DecodeError;
use wattspan_genai::Failure;

use crate::GgufError;

/// Why a model, session or generation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not there, no GGUF, cut short, damaged, or unreadable.
    #[error("cannot load {path}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: GgufError,
    },
    /// llama.cpp did not take a file whose head is sound.
    #[error("llama.cpp did not load {path}: {reason}", path = .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What llama.cpp's log said.
        reason: String,
    },
    /// There is not enough memory.
    #[error(
        "not enough memory to {operation}: {reason}: take a smaller model, context or number of GPU layers"
    )]
    OutOfMemory {
        /// What was to be done.
        operation: &'static str,
        /// What llama.cpp's log said.
        reason: String,
    },
    /// llama.cpp did not make a context.
    #[error("llama.cpp did not make a context: {reason}")]
    Context {
        /// What llama.cpp's log said.
        reason: String,
    },
    /// The prompt does not fit into the context. Nothing was computed.
    #[error(
        "the prompt has {tokens} tokens and the context holds {context}: shorten it or make a larger session"
    )]
    ContextExceeded {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens that fit.
        context: usize,
    },
    /// There is nothing to compute.
    #[error("the prompt is empty: give at least one token")]
    EmptyPrompt,
    /// The model has no chat template, or llama.cpp does not know it.
    #[error("no usable chat template: {reason}: give the prompt as text")]
    Template {
        /// Why.
        reason: Cow<'static, str>,
    },
    /// The grammar or JSON schema cannot be used.
    #[error("the grammar cannot be used: {reason}")]
    Grammar {
        /// Why.
        reason: String,
    },
    /// A text holds a NUL, which llama.cpp cannot take.
    #[error("the {what} holds a NUL character, which llama.cpp cannot take")]
    Nul {
        /// Which text.
        what: &'static str,
    },
    /// `llama_decode` failed.
    #[error("llama_decode failed with code {code}: {}", meaning(*.code))]
    Decode {
        /// llama.cpp's own code.
        code: i32,
    },
    /// The pooling that was asked for gives no embedding with this model.
    #[error("the model gives no embedding: choose another pooling")]
    NoEmbedding,
    /// A batch was described wrongly; nothing was computed.
    #[error(
        "the batch has {batch} tokens and its description {described}: describe each token of each sequence"
    )]
    WrongWork {
        /// Tokens of the batch.
        batch: u64,
        /// Tokens of the description.
        described: u64,
    },
    /// A sequence has not begun, or has ended.
    #[error("sequence {sequence} is not open: begin it first")]
    UnknownSequence {
        /// The sequence.
        sequence: i32,
    },
}

impl Error {
    /// The value of `error.type`: one of few.
    pub fn error_type(&self) -> &'static str {
        match self {
            Self::File { source, .. } => match source {
                GgufError::NotGguf { .. } => "not_gguf",
                GgufError::Version { .. } | GgufError::ByteOrder => "unsupported_gguf",
                GgufError::Truncated { .. } => "truncated_file",
                GgufError::Malformed { .. } => "damaged_file",
                GgufError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => "not_found",
                GgufError::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    "permission_denied"
                }
                GgufError::Io(_) => "unreadable_file",
            },
            Self::Refused { .. } => "load_refused",
            Self::OutOfMemory { .. } | Self::Decode { code: -2 } => "out_of_memory",
            Self::Context { .. } => "no_context",
            Self::ContextExceeded { .. } => "context_exceeded",
            Self::EmptyPrompt => "empty_prompt",
            Self::Template { .. } => "no_chat_template",
            Self::Grammar { .. } => "bad_grammar",
            Self::Nul { .. } => "nul_in_text",
            Self::Decode { code: 1 } => "no_kv_slot",
            Self::Decode { code: 2 } => "aborted",
            Self::Decode { code: -1 } => "invalid_batch",
            Self::Decode { code: -3 } => "compute_failed",
            Self::Decode { .. } => "decode_failed",
            Self::NoEmbedding => "no_embedding",
            Self::WrongWork { .. } => "wrong_work",
            Self::UnknownSequence { .. } => "unknown_sequence",
        }
    }

    pub(crate) fn failure(&self) -> Failure {
        let mut message = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            message = format!("{message}: {inner}");
            cause = inner.source();
        }
        Failure::new(self.error_type()).message(message).exception("wattspan_llama_cpp::Error")
    }

    /// llama.cpp's code from the binding's error. The binding calls every −1 an empty batch, while llama.cpp answers
    /// −1 to any batch that it will not take; only the number is true.
    pub(crate) fn decode(error: &DecodeError) -> Self {
        let code = match error {
            DecodeError::NoKvCacheSlot => 1,
            DecodeError::NTokensZero => -1,
            DecodeError::Unknown(code) => *code,
        };
        Self::Decode { code }
    }

    /// A refusal with what the log said; memory is told apart, since its remedy is another.
    pub(crate) fn memory(operation: &'static str, lines: &[String]) -> Option<Self> {
        let short = lines.iter().find(|line| MEMORY.iter().any(|sign| line.to_lowercase().contains(sign)))?;
        Some(Self::OutOfMemory { operation, reason: short.clone() })
    }
}

pub(crate) fn reason(lines: &[String]) -> String {
    lines.first().cloned().unwrap_or_else(|| "it gave no reason".to_owned())
}

/// **Source** `llama.h`, `llama_decode`, and the return values in `llama-context.cpp`.
fn meaning(code: i32) -> &'static str {
    match code {
        1 => "no room in the KV cache: use a smaller batch or a larger context",
        2 => "aborted by a callback",
        -1 => "the batch is empty, or has a token, sequence or position that does not follow",
        -2 => "memory for the computation could not be had",
        -3 => "the computation failed on the device",
        _ => "a failure that llama.cpp does not name",
    }
}

/// How ggml's and the back-ends' messages on memory read.
const MEMORY: [&str; 5] =
    ["failed to allocate", "unable to allocate", "out of memory", "outofmemory", "cudamalloc failed"];
