//! Names of what serves a model.

use std::fmt;
use std::str::FromStr;

/// What serves the model. The names are those that `--provider` of SMOLTRACE takes, as far as something serves them here.
///
/// ```
/// use wattspan_eval::Provider;
///
/// assert_eq!("llama-server".parse(), Ok(Provider::LlamaServer));
/// // Ollama speaks OpenAI's routes.
/// assert_eq!("ollama".parse::<Provider>().unwrap().default_url(), Some("http://127.0.0.1:11434"));
/// let error = "transformers".parse::<Provider>().unwrap_err().to_string();
/// assert!(error.contains("llama-cpp"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// A GGUF file in this process.
    LlamaCpp,
    /// A llama-server.
    LlamaServer,
    /// Any server with OpenAI's routes.
    OpenAi,
    /// An Ollama server, over its OpenAI routes.
    Ollama,
    /// A LiteLLM proxy, over its OpenAI routes.
    LiteLlm,
    /// Hugging Face's router of inference providers, over its OpenAI routes. Not on this machine: needs a token.
    Inference,
}

/// A name that nothing serves here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("provider {name:?} is not served here: {remedy}")]
pub struct UnknownProvider {
    name: String,
    remedy: &'static str,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::LlamaCpp, Self::LlamaServer, Self::OpenAi, Self::Ollama, Self::LiteLlm, Self::Inference];

    /// Its name: `llama-cpp`, `llama-server`, `openai`, `ollama`, `litellm`, `inference`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama-cpp",
            Self::LlamaServer => "llama-server",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
            Self::LiteLlm => "litellm",
            Self::Inference => "inference",
        }
    }

    /// Its name in `gen_ai.provider.name`.
    pub const fn genai_name(self) -> &'static str {
        match self {
            Self::LlamaCpp | Self::LlamaServer => "llama_cpp",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
            Self::LiteLlm => "litellm",
            Self::Inference => "huggingface",
        }
    }

    /// Where its server is unless the user says otherwise. **Absent** in this process, and where nobody can know.
    pub const fn default_url(self) -> Option<&'static str> {
        match self {
            Self::LlamaCpp | Self::OpenAi => None,
            Self::LlamaServer => Some("http://127.0.0.1:8080"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
            Self::LiteLlm => Some("http://127.0.0.1:4000"),
            Self::Inference => Some("https://router.huggingface.co"),
        }
    }

    /// The environment variable that holds its key by custom. **Absent** where none is needed.
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::LlamaCpp | Self::Ollama => None,
            Self::LlamaServer => Some("LLAMA_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::LiteLlm => Some("LITELLM_API_KEY"),
            Self::Inference => Some("HF_TOKEN"),
        }
    }

    /// Whether it is reached over HTTP, with a [`ServerTarget`](crate::ServerTarget).
    pub const fn is_server(self) -> bool {
        !matches!(self, Self::LlamaCpp)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        if let Some(known) = Self::ALL.into_iter().find(|known| known.as_str() == name) {
            return Ok(known);
        }
        let remedy = match name {
            "transformers" => {
                "it runs models in Python: take `llama-cpp` with a GGUF file of the model, or start a server with OpenAI's \
                 routes for it (`transformers serve`, vLLM) and take `openai`"
            }
            _ => "take `llama-cpp`, `llama-server`, `openai`, `ollama`, `litellm` or `inference`",
        };
        Err(UnknownProvider { name: name.to_owned(), remedy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for provider in Provider::ALL {
            assert_eq!(provider.to_string().parse(), Ok(provider));
        }
    }

    #[test]
    fn what_is_not_served_says_what_to_use() {
        for (name, word) in [("transformers", "GGUF"), ("both", "llama-server"), ("", "openai")] {
            let error = name.parse::<Provider>().unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(&format!("{name:?}")), "{error}");
        }
    }
}
