//! The chain that draws tokens, in llama.cpp's order.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use wattspan_genai::Request;

use super::error::Error;
use super::params::GenerateParams;

/// Makes the chain for an answer to `prompt`.
pub(crate) fn chain(
    llama: &LlamaModel,
    params: &GenerateParams,
    prompt: &[LlamaToken],
) -> Result<LlamaSampler, Error> {
    let mut samplers = Vec::with_capacity(8);
    if let Some(grammar) = grammar(params)? {
        let made = LlamaSampler::grammar(llama, &grammar, "root");
        samplers.push(made.map_err(|error| Error::Grammar { reason: error.to_string() })?);
    }
    let penalised =
        params.repeat_penalty != 1.0 || params.frequency_penalty != 0.0 || params.presence_penalty != 0.0;
    if penalised && params.penalty_window > 0 {
        let window = i32::try_from(params.penalty_window).unwrap_or(i32::MAX);
        let (repeat, frequency, presence) =
            (params.repeat_penalty, params.frequency_penalty, params.presence_penalty);
        let penalties = LlamaSampler::penalties(llama.n_vocab(), window, repeat, frequency, presence);
        // They look at the prompt too. It is told to this sampler alone: a grammar would take it for the answer.
        let latest = &prompt[prompt.len().saturating_sub(params.penalty_window as usize)..];
        samplers.push(penalties.with_tokens(latest));
    }
    if params.temperature <= 0.0 {
        samplers.push(LlamaSampler::greedy());
        return Ok(LlamaSampler::chain_simple(samplers));
    }
    if params.top_k > 0 {
        samplers.push(LlamaSampler::top_k(i32::try_from(params.top_k).unwrap_or(i32::MAX)));
    }
    if params.top_p < 1.0 {
        samplers.push(LlamaSampler::top_p(params.top_p, 1));
    }
    if params.min_p > 0.0 {
        samplers.push(LlamaSampler::min_p(params.min_p, 1));
    }
    samplers.push(LlamaSampler::temp(params.temperature));
    samplers.push(LlamaSampler::dist(params.seed.unwrap_or(RANDOM_SEED)));
    Ok(LlamaSampler::chain_simple(samplers))
}

/// The parameters that are in force, on the request.
pub(crate) fn describe(request: Request, params: &GenerateParams) -> Request {
    let mut request = request.streaming().temperature(params.temperature.into());
    if params.temperature > 0.0 {
        request = request.top_p(params.top_p.into()).top_k(params.top_k.into());
    }
    if let Some(tokens) = params.max_tokens {
        request = request.max_tokens(tokens.into());
    }
    if let Some(seed) = params.seed {
        request = request.seed(seed.into());
    }
    if params.frequency_penalty != 0.0 {
        request = request.frequency_penalty(params.frequency_penalty.into());
    }
    if params.presence_penalty != 0.0 {
        request = request.presence_penalty(params.presence_penalty.into());
    }
    if !params.stop.is_empty() {
        request = request.stop_sequences(params.stop.iter().cloned());
    }
    match &params.conversation {
        Some(id) => request.conversation(std::sync::Arc::clone(id)),
        None => request,
    }
}

fn grammar(params: &GenerateParams) -> Result<Option<String>, Error> {
    match (&params.grammar, &params.json_schema) {
        (Some(_), Some(_)) => {
            Err(Error::Grammar { reason: "a grammar and a JSON schema exclude each other".to_owned() })
        }
        (Some(grammar), None) => Ok(Some(grammar.clone())),
        (None, Some(schema)) => {
            let grammar = llama_cpp_2::json_schema_to_grammar(schema);
            grammar.map(Some).map_err(|error| Error::Grammar { reason: error.to_string() })
        }
        (None, None) => Ok(None),
    }
}

/// llama.cpp, `LLAMA_DEFAULT_SEED`: another seed each time.
const RANDOM_SEED: u32 = u32::MAX;
