//! Any text, in each form: the reader answers with a book and the lines that it could not use, or with a place in the
//! text; and no price that it read is below zero.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wattspan_core::{TokenUsage, Usd};
use wattspan_energy::{PriceBook, token_cost};

fuzz_target!(|text: &str| {
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    for read in [PriceBook::from_toml(text), PriceBook::from_json(text), PriceBook::from_litellm(text)] {
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error}");
                continue;
            }
        };
        for problem in &read.problems {
            assert!((1..=lines).contains(&problem.line), "{problem}");
        }
        // Every word of the text may be a name.
        let words: Vec<&str> =
            text.split(['"', '\'', '\n', ' ', '=']).filter(|word| !word.is_empty()).take(32).collect();
        for provider in &words {
            for model in &words {
                if let Some(price) = read.book.price(provider, model) {
                    let parts = [price.input, price.cache_read, price.cache_write, price.output];
                    assert!(parts.into_iter().flatten().all(|part| part >= Usd::ZERO));
                    let mut usage = TokenUsage::default();
                    (usage.fresh, usage.cache_read, usage.output) = (Some(1_000), Some(7), Some(20));
                    let cost = token_cost(price, &usage);
                    assert!(cost.is_none_or(|cost| cost.total >= Usd::ZERO));
                }
            }
        }
    }
});
