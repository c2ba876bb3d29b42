//! What a caller may choose: how a model is loaded, how large a session is, how tokens are drawn.

use std::sync::Arc;

use super::cancel::Cancel;

/// How a model is loaded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelOptions {
    /// Its name in telemetry. **Absent** the file's name without its ending.
    pub name: Option<Arc<str>>,
    /// Layers that go to the GPU. **Absent** llama.cpp's default: all, where there is a GPU.
    pub gpu_layers: Option<u32>,
    /// Keep it in memory: it is never swapped out.
    pub lock_memory: bool,
    /// Read it into memory at once where it would be mapped.
    pub no_mapping: bool,
}

impl ModelOptions {
    /// Names it in telemetry.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Puts this many layers on the GPU; 0 keeps it on the CPU.
    pub fn gpu_layers(mut self, layers: u32) -> Self {
        self.gpu_layers = Some(layers);
        self
    }
}

/// How large a session is and which threads work for it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Tokens that fit, prompt and answer together. **Absent** 4096, or what the model was trained on if less.
    pub context: Option<u32>,
    /// Prompt tokens that are computed at once. **Absent** 512.
    pub batch: Option<u32>,
    /// CPU threads. **Absent** as many as the machine offers this process.
    pub threads: Option<u32>,
}

impl SessionOptions {
    /// Sets how many tokens fit.
    pub fn context(mut self, tokens: u32) -> Self {
        self.context = Some(tokens);
        self
    }

    /// Sets how many prompt tokens are computed at once.
    pub fn batch(mut self, tokens: u32) -> Self {
        self.batch = Some(tokens);
        self
    }

    /// Sets the number of CPU threads.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }
}

/// How an answer is drawn. The defaults are llama.cpp's.
///
/// **Source** llama.cpp, `common.h`, `common_params_sampling`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GenerateParams {
    /// Most tokens of the answer. **Absent** as many as fit. With 0 the prompt is computed and nothing drawn.
    pub max_tokens: Option<u32>,
    /// Temperature; 0 takes the likeliest token always.
    pub temperature: f32,
    /// Draws from this many of the likeliest tokens; 0 from all.
    pub top_k: u32,
    /// Draws from the likeliest tokens that together have this probability; 1 from all.
    pub top_p: f32,
    /// Draws from tokens of at least this fraction of the likeliest one's probability; 0 from all.
    pub min_p: f32,
    /// Factor against tokens that came before; 1 is off.
    pub repeat_penalty: f32,
    /// Penalty for how often a token came before; 0 is off.
    pub frequency_penalty: f32,
    /// Penalty for a token that came before; 0 is off.
    pub presence_penalty: f32,
    /// How many of the latest tokens the penalties look at.
    pub penalty_window: u32,
    /// Seed of the draw. **Absent** another one each time.
    pub seed: Option<u32>,
    /// Texts that end the answer and are not part of it.
    pub stop: Vec<String>,
    /// Grammar (GBNF, beginning at `root`) that the answer follows.
    pub grammar: Option<String>,
    /// JSON schema that the answer follows.
    pub json_schema: Option<String>,
    /// Goes on where the model would end; for measuring.
    pub ignore_end: bool,
    /// The conversation that it belongs to, for telemetry.
    pub conversation: Option<Arc<str>>,
    /// Ends it early.
    pub cancel: Option<Cancel>,
}

impl Default for GenerateParams {
    fn default() -> Self {
        Self {
            max_tokens: None,
            temperature: 0.8,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            repeat_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            penalty_window: 64,
            seed: None,
            stop: Vec::new(),
            grammar: None,
            json_schema: None,
            ignore_end: false,
            conversation: None,
            cancel: None,
        }
    }
}

impl GenerateParams {
    /// Takes the likeliest token always, so that the same prompt gives the same answer.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// Sets the most tokens of the answer.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the temperature.
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = temperature;
        self
    }

    /// Sets the seed.
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Adds a text that ends the answer.
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Has the answer follow a grammar.
    pub fn grammar(mut self, grammar: impl Into<String>) -> Self {
        self.grammar = Some(grammar.into());
        self
    }

    /// Has the answer follow a JSON schema.
    pub fn json_schema(mut self, schema: impl Into<String>) -> Self {
        self.json_schema = Some(schema.into());
        self
    }

    /// Goes on where the model would end.
    pub fn ignore_end(mut self) -> Self {
        self.ignore_end = true;
        self
    }

    /// Names the conversation.
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// Lets another thread end it.
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }
}
