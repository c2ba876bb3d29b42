//! Reads LiteLLM's price map, `model_prices_and_context_window.json`.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use wattspan_core::{TokenPrice, Usd};

use crate::price_book::{line_of, message, offset_in, usable};
use crate::{PriceBook, PriceBookError, PriceBookProblem, PriceBookRead};

/// Describes the format; its values are sentences.
const SAMPLE: &str = "sample_spec";

/// LiteLLM's provider names beside those of `gen_ai.provider.name` (OpenTelemetry GenAI semantic conventions), where
/// they differ.
const PROVIDERS: [(&str, &str); 8] = [
    ("azure", "azure.ai.openai"),
    ("azure_ai", "azure.ai.inference"),
    ("bedrock", "aws.bedrock"),
    ("bedrock_converse", "aws.bedrock"),
    ("gemini", "gcp.gemini"),
    ("mistral", "mistral_ai"),
    ("watsonx", "ibm.watsonx.ai"),
    ("xai", "x_ai"),
];

/// Vertex AI's models come under `vertex_ai` and many names that begin with it.
const VERTEX: (&str, &str) = ("vertex_ai", "gcp.vertex_ai");

pub(crate) fn read(text: &str) -> Result<PriceBookRead, PriceBookError> {
    let models: Models<'_> = serde_json::from_str(text).map_err(|error| PriceBookError {
        line: error.line().max(1),
        column: error.column().max(1),
        reason: format!("{}; LiteLLM's price map is an object of models", message(&error)),
    })?;
    let mut found = PriceBookRead { book: PriceBook::default(), problems: Vec::new() };
    let mut priced = Vec::new();
    for (key, raw) in models.0.iter().filter(|(key, _)| key != SAMPLE) {
        let line = line_of(text, offset_in(text, raw.get()));
        let mut problem = |reason: String, kept| {
            found.problems.push(PriceBookProblem { line, entry: format!("{key:?}"), reason, kept });
        };
        match entry(key, raw) {
            Ok(Some((provider, price, notices))) => {
                for notice in notices {
                    problem(notice, true);
                }
                priced.push((key, line, provider, Arc::new(price)));
            }
            Ok(None) => {}
            Err(reason) => problem(reason, false),
        }
    }
    // Whole keys first, so that a shortened one never stands before a key that is written so.
    for (key, line, provider, price) in &priced {
        let mut taken = false;
        for provider in names(provider) {
            taken |= !found.book.insert(provider, key, price);
        }
        if taken {
            let reason = "its model has an entry already, which holds: remove one of them".to_owned();
            found.problems.push(PriceBookProblem {
                line: *line,
                entry: format!("{key:?}"),
                reason,
                kept: false,
            });
        }
    }
    for (key, _, provider, price) in &priced {
        if let Some(short) = key.strip_prefix(provider.as_str()).and_then(|rest| rest.strip_prefix('/')) {
            for provider in names(provider) {
                found.book.insert(provider, short, price);
            }
        }
    }
    found.problems.sort_by_key(|problem| problem.line);
    Ok(found)
}

/// LiteLLM's name of a provider, and the conventions' name where it is another.
fn names(provider: &str) -> impl Iterator<Item = &str> {
    let other = match PROVIDERS.iter().find(|(litellm, _)| *litellm == provider) {
        Some((_, conventional)) => Some(*conventional),
        None => provider.starts_with(VERTEX.0).then_some(VERTEX.1),
    };
    [provider].into_iter().chain(other)
}

/// Provider, prices, and what of them is not applied; `None` for an entry without token prices.
fn entry(key: &str, raw: &RawValue) -> Result<Option<(String, TokenPrice, Vec<String>)>, String> {
    let fields: Map<String, Value> = serde_json::from_str(raw.get())
        .map_err(|error| format!("{}: write an object of prices", message(&error)))?;
    let usd = |name: &str| -> Result<Option<Usd>, String> {
        match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => usable(name, number.as_f64().unwrap_or(f64::NAN)).map(Some),
            Some(other) => Err(format!("{name} is {other}: write it as a number of dollars per token")),
        }
    };
    let mut price = TokenPrice::default();
    price.input = usd("input_cost_per_token")?;
    price.output = usd("output_cost_per_token")?;
    price.cache_read = usd("cache_read_input_token_cost")?;
    price.cache_write = usd("cache_creation_input_token_cost")?;
    if price.input.is_none() && price.output.is_none() {
        return Ok(None);
    }
    let provider = match fields.get("litellm_provider").and_then(Value::as_str) {
        Some(provider) if !provider.is_empty() => provider.to_owned(),
        _ => return Err("it has no litellm_provider: add the provider's name".to_owned()),
    };
    price.entry = Some(format!("{provider}/{key}").into());
    Ok(Some((provider, price, notices(&fields))))
}

/// Prices that depend on more than the bucket of a token, which a [`TokenPrice`] cannot say.
fn notices(fields: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let tiered = fields
        .iter()
        .any(|(name, value)| name.contains("_above_") && name.ends_with("_tokens") && value.is_number());
    if tiered {
        found.push(
            "its prices for long prompts are not applied: a cost of such a prompt is too low".to_owned(),
        );
    }
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    if let Some(reasoning) = number("output_cost_per_reasoning_token")
        && number("output_cost_per_token") != Some(reasoning)
    {
        found.push("its price for reasoning tokens is not applied: they are paid as output".to_owned());
    }
    found
}

/// All models, in order and with repeated names, which a map would hide.
struct Models<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Models<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Models<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of models")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut models = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    models.push(entry);
                }
                Ok(Models(models))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
