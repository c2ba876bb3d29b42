//! Tests of `price_book` and its readers.

use super::*;
use proptest::prelude::*;

fn usage(
    fresh: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
) -> TokenUsage {
    let mut usage = TokenUsage::default();
    (usage.fresh, usage.cache_read, usage.cache_write, usage.output) =
        (fresh, cache_read, cache_write, output);
    usage
}

#[track_caller]
fn toml(text: &str) -> PriceBookRead {
    PriceBook::from_toml(text).unwrap()
}

#[track_caller]
fn close(cost: &Cost, usd: f64) {
    assert!((cost.total.usd() - usd).abs() <= 1e-9 * usd, "{} is not {usd}", cost.total.usd());
}

const OWN: &str = r#"per_tokens = 1_000_000

[[price]]
provider = "anthropic"
model = "large"
aliases = ["large-latest", "large-2026"]
input = 3.00
cache_read = 0.30
cache_write = 3.75
output = 15.0

[[price]]
provider = "openai"
model = "a"
input = 2.50
cache_read = 0.25

[[price]]
provider = "openai"
model = "b"
input = 2.50
"#;

#[test]
fn case_tokens_01_no_token_is_paid_twice() {
    let used = usage(Some(5), Some(128_955), Some(1_253), Some(0));
    assert_eq!(used.input(), Some(130_213));
    let cost = toml(OWN).book.cost("anthropic", "large", &used).unwrap();
    close(&cost, 0.043_400_25);
    assert_eq!((&*cost.source, cost.note), ("price_book", None));
}

#[test]
fn case_tokens_05_an_unknown_model_has_no_cost() {
    let used = usage(Some(1_200), None, None, Some(300));
    assert_eq!(toml(OWN).book.cost("openai", "x-9", &used), None);
    let source: &dyn PriceSource = &toml(OWN).book;
    assert_eq!(source.tokens("openai", "x-9"), None);
    assert_eq!(source.electricity(&Place::default(), SystemTime::UNIX_EPOCH), None);
}

#[test]
fn case_tokens_15_a_missing_cache_price_is_an_upper_bound_that_says_so() {
    let used = usage(Some(10_000), Some(90_000), None, Some(0));
    let book = toml(OWN).book;
    let with = book.cost("openai", "a", &used).unwrap();
    close(&with, 0.0475);
    assert_eq!(with.note, None);
    let without = book.cost("openai", "b", &used).unwrap();
    close(&without, 0.25);
    assert!(without.note.unwrap().contains("upper bound"));
}

#[test]
fn part_of_a_cost_is_not_the_cost() {
    let book = toml(OWN).book;
    let large = |used| book.cost("anthropic", "large", &used);
    assert_eq!(large(usage(None, None, None, Some(10))), None, "nobody counted the input");
    assert_eq!(large(usage(Some(10), None, None, None)), None, "nobody counted the output");
    assert_eq!(book.cost("openai", "a", &usage(Some(10), None, None, Some(1))), None, "output has no price");
    // Embeddings have no output and need no price for it.
    close(&book.cost("openai", "a", &usage(Some(1_000_000), None, None, None)).unwrap(), 2.50);
}

#[test]
fn a_cache_write_without_a_price_does_not_claim_a_bound() {
    let cost = toml(OWN).book.cost("openai", "a", &usage(Some(0), None, Some(1_000_000), Some(0))).unwrap();
    close(&cost, 2.50);
    assert!(cost.note.unwrap().contains("too low"));
}

#[test]
fn models_are_found_by_name_and_stated_alias_only() {
    let book = toml(OWN).book;
    assert_eq!(book.price("anthropic", "large-2026"), book.price("anthropic", "large"));
    assert_eq!(&**book.price("anthropic", "large-2026").unwrap().entry.as_ref().unwrap(), "anthropic/large");
    for (provider, model) in
        [("anthropic", "large-2"), ("anthropic", "Large"), ("openai", "large"), ("", "large")]
    {
        assert_eq!(book.price(provider, model), None, "{provider} {model}");
    }
}

#[test]
fn one_bad_entry_does_not_lose_the_others() {
    let read = toml(
        r#"per_tokens = 1

[[price]]
provider = "p"
model = "below"
input = -1.0

[[price]]
model = "nobody's"
input = 1.0

[[price]]
provider = "p"
model = "typo"
inptu = 1.0

[[price]]
provider = "p"
model = "free?"

[[price]]
provider = "p"
model = "good"
aliases = ["fine"]
input = 1.0

[[price]]
provider = "p"
model = "good"
input = 2.0

[[price]]
provider = "p"
model = "late"
aliases = ["fine"]
output = 2.0
"#,
    );
    let shown: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    let expected = [
        ("line 3: price of \"p\" \"below\" is left out: input is -1", "not below 0"),
        ("line 8: price of \"nobody's\" is left out: ", "provider"),
        ("line 12: price of \"p\" \"typo\" is left out: ", "inptu"),
        ("line 17: price of \"p\" \"free?\" is left out: ", "give at least one"),
        ("line 27: price of \"p\" \"good\" is left out: ", "remove one"),
        ("line 32: price of \"p\" \"late\" is read in part: ", "\"fine\" is taken"),
    ];
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for (line, (start, part)) in shown.iter().zip(expected) {
        assert!(line.starts_with(start) && line.contains(part), "{line}\nshould be {start}…{part}");
    }
    assert_eq!(read.book.price("p", "good").unwrap().input, Some(Usd::whole(1)));
    assert_eq!(read.book.price("p", "fine").unwrap().input, Some(Usd::whole(1)));
    assert_eq!(read.book.price("p", "late").unwrap().output, Some(Usd::whole(2)));
    assert_eq!(read.book.len(), 3);
}

#[test]
fn json_reads_as_toml_does() {
    let json = r#"{
  "per_tokens": 1000000,
  "price": [
    {"provider": "openai", "model": "a", "input": 2.5, "cache_read": 0.25},
    {"provider": "openai",
     "model": "c", "input": "much"},
    7
  ]
}"#;
    let read = PriceBook::from_json(json).unwrap();
    assert_eq!(read.book.price("openai", "a"), toml(OWN).book.price("openai", "a"));
    let lines: Vec<_> = read.problems.iter().map(|problem| (problem.line, problem.entry.as_str())).collect();
    assert_eq!(lines, [(5, "\"openai\" \"c\""), (7, "an entry")]);
    assert!(read.problems[0].reason.contains("much"), "{}", read.problems[0]);
}

#[test]
fn a_text_that_is_no_book_names_its_place() {
    let place = |error: PriceBookError| (error.line, error.column);
    assert_eq!(place(PriceBook::from_toml("per_tokens = 1\nprice = \n").unwrap_err()).0, 2);
    assert_eq!(place(PriceBook::from_json("{\n  \"per_tokens\": 1,\n  \"prize\": []}").unwrap_err()).0, 3);
    assert_eq!(place(PriceBook::from_litellm("[\n]").unwrap_err()).0, 1);
    for text in ["", "per_tokens = 0", "per_tokens = nan", "[[price]]\nprovider='a'\nmodel='b'\ninput=3"] {
        let error = PriceBook::from_toml(text).unwrap_err().to_string();
        assert!(error.contains("per_tokens = 1_000_000"), "{text}: {error}");
    }
    assert!(PriceBook::from_json("{}").unwrap_err().to_string().contains("per_tokens"));
}

/// In the form of LiteLLM's map; the figures are made up.
const LITELLM: &str = r#"{
  "sample_spec": {
    "input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "max_tokens": "a sentence",
    "litellm_provider": "one of the providers"
  },
  "thinker-1": {
    "litellm_provider": "openai", "mode": "chat", "max_tokens": 8192, "supports_vision": true,
    "input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06, "cache_read_input_token_cost": 5e-07
  },
  "azure/thinker-1": {
    "litellm_provider": "azure",
    "input_cost_per_token": 3e-06, "output_cost_per_token": 9e-06
  },
  "vertex_ai/claude-like": {
    "litellm_provider": "vertex_ai-anthropic_models",
    "input_cost_per_token": 1e-06, "output_cost_per_token": 5e-06,
    "cache_read_input_token_cost": 1e-07, "cache_creation_input_token_cost": 1.25e-06,
    "cache_creation_input_token_cost_above_1hr": 2e-06,
    "input_cost_per_token_above_200k_tokens": 2e-06, "output_cost_per_reasoning_token": 6e-06
  },
  "painter": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_image": 0.04},
  "wrong": {"litellm_provider": "openai", "input_cost_per_token": "cheap"},
  "orphan": {"input_cost_per_token": 1e-06},
  "list": [1],
  "thinker-1": {"litellm_provider": "openai", "input_cost_per_token": 9e-06},
  "openai/thinker-1": {"litellm_provider": "openai", "input_cost_per_token": 7e-06}
}"#;

#[test]
fn litellm_prices_are_per_token_and_by_both_provider_names() {
    let book = PriceBook::from_litellm(LITELLM).unwrap().book;
    let input = |provider, model| book.price(provider, model).and_then(|price| price.input).map(Usd::usd);
    assert_eq!(input("openai", "thinker-1"), Some(2e-6));
    assert_eq!(input("openai", "openai/thinker-1"), Some(7e-6));
    assert_eq!(input("azure", "azure/thinker-1"), Some(3e-6));
    assert_eq!(input("azure.ai.openai", "thinker-1"), Some(3e-6));
    assert_eq!(input("gcp.vertex_ai", "vertex_ai/claude-like"), Some(1e-6));
    let large = book.price("gcp.vertex_ai", "vertex_ai/claude-like").unwrap();
    assert_eq!((large.cache_read, large.cache_write), (Usd::new(1e-7), Usd::new(1.25e-6)));
    assert_eq!(&**large.entry.as_ref().unwrap(), "vertex_ai-anthropic_models/vertex_ai/claude-like");
    for (provider, model) in
        [("openai", "painter"), ("openai", "wrong"), ("one of the providers", "sample_spec")]
    {
        assert_eq!(book.price(provider, model), None, "{model}");
    }
}

#[test]
fn litellm_entries_that_cannot_be_used_are_named_by_line() {
    let read = PriceBook::from_litellm(LITELLM).unwrap();
    let shown: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    let expected = [
        ("line 14: price of \"vertex_ai/claude-like\" is read in part: ", "long prompts"),
        ("line 14: price of \"vertex_ai/claude-like\" is read in part: ", "reasoning"),
        ("line 22: price of \"wrong\" is left out: ", "number of dollars per token"),
        ("line 23: price of \"orphan\" is left out: ", "litellm_provider"),
        ("line 24: price of \"list\" is left out: ", "object of prices"),
        ("line 25: price of \"thinker-1\" is left out: ", "remove one"),
    ];
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for (line, (start, part)) in shown.iter().zip(expected) {
        assert!(line.starts_with(start) && line.contains(part), "{line}\nshould be {start}…{part}");
    }
}

#[test]
fn own_prices_go_before_a_lists() {
    let own = toml("per_tokens = 1\n[[price]]\nprovider='openai'\nmodel='thinker-1'\ninput=5").book;
    let both = own.or(PriceBook::from_litellm(LITELLM).unwrap().book);
    assert_eq!(both.price("openai", "thinker-1").unwrap().input, Some(Usd::whole(5)));
    assert!(both.price("azure", "azure/thinker-1").is_some());
    assert!(!both.is_empty() && PriceBook::default().is_empty());
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in "[\\[\\]{}\"a-z:=,.0-9 \\n_é-]{0,200}") {
        for read in [PriceBook::from_toml(&text), PriceBook::from_json(&text), PriceBook::from_litellm(&text)] {
            match read {
                Ok(read) => prop_assert!(read.problems.iter().all(|problem| problem.line >= 1)),
                Err(error) => prop_assert!(error.line >= 1 && error.column >= 1),
            }
        }
    }

    #[test]
    fn a_bucket_moved_to_a_cheaper_one_never_costs_more(fresh in 0_u64..1_000_000, read in 0_u64..1_000_000, output in 0_u64..1_000_000) {
        let book = toml(OWN).book;
        let cost = |fresh, read| book.cost("anthropic", "large", &usage(Some(fresh), Some(read), None, Some(output))).unwrap().total;
        prop_assert!(cost(fresh, read) <= cost(fresh + read, 0) + Usd::new(1e-9).unwrap());
    }
}
