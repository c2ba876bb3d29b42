//! Token prices of hosted models, as the user gave them. Nothing is invented: what the book does not name has no cost.
//!
//! Two forms are read, each naming the line of what it cannot use and keeping the rest: one of our own, in TOML or JSON
//! ([`PriceBook::from_toml`], [`PriceBook::from_json`]), and the price map of LiteLLM ([`PriceBook::from_litellm`]).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{Cost, ElectricityPrice, Place, PriceSource, TokenPrice, TokenUsage, Usd};

use crate::{price_book_litellm, price_book_own};

/// Prices by provider and model.
///
/// A model is found by its exact name or by an alias that an entry states, and by nothing like similarity: another
/// model's price would be a guess.
///
/// ```
/// use wattspan_energy::PriceBook;
///
/// let read = PriceBook::from_toml(
///     r#"
///     per_tokens = 1_000_000
///
///     [[price]]
///     provider = "anthropic"
///     model = "model-9"
///     aliases = ["model-9-latest"]
///     input = 3.00
///     output = 15.00
///     "#,
/// )?;
/// assert!(read.problems.is_empty());
/// let price = read.book.price("anthropic", "model-9-latest").unwrap();
/// assert_eq!(price.input.unwrap().usd(), 3e-6);
/// assert!(read.book.price("anthropic", "model-10").is_none());
/// # Ok::<(), wattspan_energy::PriceBookError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceBook {
    providers: HashMap<Box<str>, HashMap<Box<str>, Arc<TokenPrice>>>,
}

/// A book and what could not be read of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PriceBookRead {
    /// What could be read.
    pub book: PriceBook,
    /// What could not, in the order of the text.
    pub problems: Vec<PriceBookProblem>,
}

/// One entry of a price book that cannot be used, or not in full.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PriceBookProblem {
    /// The line it begins in, from 1.
    pub line: usize,
    /// Its name, as far as it has one.
    pub entry: String,
    /// What is wrong, and what to do.
    pub reason: String,
    /// Whether the entry is in the book all the same.
    pub kept: bool,
}

impl fmt::Display for PriceBookProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.kept { "is read in part" } else { "is left out" };
        write!(out, "line {}: price of {} {state}: {}", self.line, self.entry, self.reason)
    }
}

/// A text that is no price book at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("price book cannot be read: line {line}, column {column}: {reason}")]
#[non_exhaustive]
pub struct PriceBookError {
    /// Where, from 1.
    pub line: usize,
    /// Where in the line, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl PriceBook {
    /// Reads our own form, as TOML.
    ///
    /// `per_tokens` says how many tokens the prices are for; each `[[price]]` has `provider`, `model`, and any of
    /// `aliases`, `input`, `cache_read`, `cache_write` and `output`, in dollars.
    ///
    /// # Errors
    /// When the text is not TOML, or says not for how many tokens its prices are.
    pub fn from_toml(text: &str) -> Result<PriceBookRead, PriceBookError> {
        price_book_own::read_toml(text)
    }

    /// Reads our own form, as JSON: an object with `per_tokens` and a list `price` of the same entries.
    ///
    /// # Errors
    /// When the text is not such JSON, or says not for how many tokens its prices are.
    pub fn from_json(text: &str) -> Result<PriceBookRead, PriceBookError> {
        price_book_own::read_json(text)
    }

    /// Reads LiteLLM's price map: an object of models, each with `litellm_provider` and dollars per single token.
    ///
    /// A model is found by its key and by its key without the provider before the slash; its provider by LiteLLM's name
    /// and by that of `gen_ai.provider.name`. Entries without token prices (images, audio by the second) are passed over.
    ///
    /// **Source** LiteLLM, `model_prices_and_context_window.json`, entry `sample_spec`.
    ///
    /// # Errors
    /// When the text is not a JSON object.
    pub fn from_litellm(text: &str) -> Result<PriceBookRead, PriceBookError> {
        price_book_litellm::read(text)
    }

    /// The prices of a model; `None` where no entry names it.
    pub fn price(&self, provider: &str, model: &str) -> Option<&TokenPrice> {
        self.providers.get(provider)?.get(model).map(|price| &**price)
    }

    /// What an inference cost; `None` where the model is not in the book or a price that it takes is missing.
    pub fn cost(&self, provider: &str, model: &str, usage: &TokenUsage) -> Option<Cost> {
        token_cost(self.price(provider, model)?, usage)
    }

    /// Adds the entries of another book that this one does not have, so that one's own prices go before a list's.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        for (provider, models) in other.providers {
            let known = self.providers.entry(provider).or_default();
            for (model, price) in models {
                known.entry(model).or_insert(price);
            }
        }
        self
    }

    /// How many names of models it answers to.
    pub fn len(&self) -> usize {
        self.providers.values().map(HashMap::len).sum()
    }

    /// Whether it has no prices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a name, unless it is taken.
    pub(crate) fn insert(&mut self, provider: &str, model: &str, price: &Arc<TokenPrice>) -> bool {
        let models = self.providers.entry(provider.into()).or_default();
        let free = !models.contains_key(model);
        if free {
            models.insert(model.into(), Arc::clone(price));
        }
        free
    }
}

impl PriceSource for PriceBook {
    /// A price book knows no electricity.
    fn electricity(&self, _place: &Place, _at: SystemTime) -> Option<ElectricityPrice> {
        None
    }

    fn tokens(&self, provider: &str, model: &str) -> Option<TokenPrice> {
        self.price(provider, model).cloned()
    }
}

/// What tokens cost, each bucket at its own price, so that no token is paid twice.
///
/// Where a cache price is missing the input price stands in and the note says so: for tokens read from a cache that is an
/// upper bound; writing to one can cost more than plain input.
///
/// **Absent** `None` when a bucket has tokens and no price, when no input bucket is known, or when output has a price and
/// nobody counted it: part of a cost is not the cost.
///
/// ```
/// use wattspan_core::{TokenPrice, TokenUsage, Usd};
/// use wattspan_energy::token_cost;
///
/// let mut price = TokenPrice::default();
/// price.input = Usd::new(2.5e-6);
/// let mut usage = TokenUsage::default();
/// (usage.fresh, usage.cache_read, usage.output) = (Some(10_000), Some(90_000), Some(0));
/// let cost = token_cost(&price, &usage).unwrap();
/// assert_eq!(cost.total.to_string(), "250 mUSD");
/// assert!(cost.note.unwrap().contains("upper bound"));
/// ```
pub fn token_cost(price: &TokenPrice, usage: &TokenUsage) -> Option<Cost> {
    usage.input()?;
    if usage.output.is_none() && price.output.is_some() {
        return None;
    }
    let mut notes: Vec<&str> = Vec::new();
    let mut with_fallback = |tokens: Option<u64>, own: Option<Usd>, note: &'static str| {
        if own.is_none() && price.input.is_some() && tokens.is_some_and(|tokens| tokens > 0) {
            notes.push(note);
        }
        own.or(price.input)
    };
    let read = with_fallback(
        usage.cache_read,
        price.cache_read,
        "no price for tokens read from a cache: input price taken, an upper bound",
    );
    let write = with_fallback(
        usage.cache_write,
        price.cache_write,
        "no price for tokens written to a cache: input price taken, which may be too low",
    );
    let buckets = [
        (usage.fresh, price.input),
        (usage.cache_read, read),
        (usage.cache_write, write),
        (usage.output, price.output),
    ];
    let mut total = 0.0;
    for (tokens, price) in buckets {
        if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
            total += tokens as f64 * price?.usd();
        }
    }
    let mut cost = Cost::new(Usd::new(total)?, "price_book");
    cost.note = (!notes.is_empty()).then(|| notes.join("; ").into());
    Some(cost)
}

/// The line, from 1, of a byte of a text.
pub(crate) fn line_of(text: &str, byte: usize) -> usize {
    1 + text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count()
}

/// Where `part`, a slice of `text`, begins in it.
pub(crate) fn offset_in(text: &str, part: &str) -> usize {
    (part.as_ptr().addr()).saturating_sub(text.as_ptr().addr()).min(text.len())
}

/// A JSON error's message without its place, which is relative to a part of the text.
pub(crate) fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// A price that can be one; the error says why not.
pub(crate) fn usable(name: &str, number: f64) -> Result<Usd, String> {
    match Usd::new(number) {
        Some(price) if price >= Usd::ZERO => Ok(price),
        _ => Err(format!("{name} is {number}: give dollars, not below 0")),
    }
}

#[cfg(test)]
#[path = "price_book_tests.rs"]
mod tests;
