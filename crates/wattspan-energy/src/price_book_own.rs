//! Reads wattspan's own form of a price book, TOML or JSON.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use wattspan_core::{TokenPrice, Usd};

use crate::price_book::{line_of, message, offset_in, usable};
use crate::{PriceBook, PriceBookError, PriceBookProblem, PriceBookRead};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlBook {
    per_tokens: Option<f64>,
    #[serde(default)]
    price: Vec<toml::Spanned<toml::Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonBook<'a> {
    per_tokens: Option<f64>,
    #[serde(default, borrow)]
    price: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    provider: String,
    model: String,
    #[serde(default)]
    aliases: Vec<String>,
    input: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    output: Option<f64>,
}

pub(crate) fn read_toml(text: &str) -> Result<PriceBookRead, PriceBookError> {
    let found: TomlBook = toml::from_str(text).map_err(|error| {
        let byte = error.span().map_or(text.len(), |Range { start, .. }| start);
        at(text, byte, format!("{}; the book has `per_tokens` and a list of `[[price]]`", error.message()))
    })?;
    let entries = found.price.into_iter().map(|entry| {
        let line = line_of(text, entry.span().start);
        let name = |key: &str| entry.get_ref().get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let name = describe(name("provider"), name("model"));
        let read = entry.into_inner().try_into::<Entry>().map_err(|error| error.message().to_owned());
        (line, name, read)
    });
    fill(text, found.per_tokens, entries)
}

pub(crate) fn read_json(text: &str) -> Result<PriceBookRead, PriceBookError> {
    let found: JsonBook<'_> = serde_json::from_str(text).map_err(|error| PriceBookError {
        line: error.line().max(1),
        column: error.column().max(1),
        reason: format!("{}; the book is an object with `per_tokens` and a list `price`", message(&error)),
    })?;
    let entries = found.price.iter().map(|entry| {
        let line = line_of(text, offset_in(text, entry.get()));
        let value: serde_json::Value = serde_json::from_str(entry.get()).unwrap_or_default();
        let name = |key: &str| value.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        let read = serde_json::from_str::<Entry>(entry.get()).map_err(|error| message(&error));
        (line, describe(name("provider"), name("model")), read)
    });
    fill(text, found.per_tokens, entries)
}

fn fill(
    text: &str,
    per_tokens: Option<f64>,
    entries: impl Iterator<Item = (usize, String, Result<Entry, String>)>,
) -> Result<PriceBookRead, PriceBookError> {
    // Without it, prices could be wrong by a factor of a million and still look like prices.
    let per = per_tokens.filter(|per| *per >= 1.0 && per.is_finite()).ok_or_else(|| {
        at(text, 0, "say for how many tokens the prices are: `per_tokens = 1_000_000` or 1".to_owned())
    })?;
    let mut found = PriceBookRead { book: PriceBook::default(), problems: Vec::new() };
    for (line, entry, read) in entries {
        let mut problem = |reason, kept| {
            found.problems.push(PriceBookProblem { line, entry: entry.clone(), reason, kept });
        };
        let (read, price) = match read.and_then(|read| Ok((priced(&read, per)?, read))) {
            Ok((price, read)) => (read, Arc::new(price)),
            Err(reason) => {
                problem(reason, false);
                continue;
            }
        };
        if !found.book.insert(&read.provider, &read.model, &price) {
            problem("its model has an entry already, which holds: remove one of them".to_owned(), false);
            continue;
        }
        for alias in &read.aliases {
            if !found.book.insert(&read.provider, alias, &price) {
                problem(
                    format!("its alias {alias:?} is taken, and stays with its first owner: remove it"),
                    true,
                );
            }
        }
    }
    Ok(found)
}

fn priced(entry: &Entry, per: f64) -> Result<TokenPrice, String> {
    let usd = |name: &str, given: Option<f64>| -> Result<Option<Usd>, String> {
        given.map(|price| usable(name, price).and_then(|_| usable(name, price / per))).transpose()
    };
    if entry.provider.is_empty() || entry.model.is_empty() {
        return Err("provider or model is empty: write them as requests name them".to_owned());
    }
    let mut price = TokenPrice::default();
    price.input = usd("input", entry.input)?;
    price.cache_read = usd("cache_read", entry.cache_read)?;
    price.cache_write = usd("cache_write", entry.cache_write)?;
    price.output = usd("output", entry.output)?;
    if price.input.is_none() && price.output.is_none() {
        return Err("it has neither `input` nor `output`: give at least one of them".to_owned());
    }
    price.entry = Some(format!("{}/{}", entry.provider, entry.model).into());
    Ok(price)
}

fn describe(provider: Option<String>, model: Option<String>) -> String {
    match (provider, model) {
        (Some(provider), Some(model)) => format!("{provider:?} {model:?}"),
        (None, Some(model)) => format!("{model:?}"),
        (provider, None) => provider.map_or_else(|| "an entry".to_owned(), |name| format!("{name:?}")),
    }
}

fn at(text: &str, byte: usize, reason: String) -> PriceBookError {
    let before = text.get(..byte).unwrap_or(text);
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    PriceBookError { line: line_of(text, byte), column, reason }
}
