//! Any bytes as a stream, an answer, an error, or gauges of a model server: what is no such thing is refused, a stream gives
//! the same events however its bytes are cut, and no rate is negative.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wattspan_llama_server::fuzzing;

fuzz_target!(|bytes: &[u8]| {
    let whole = fuzzing::events([bytes]);
    let cut = fuzzing::events(bytes.chunks(1 + bytes.len() % 7));
    assert_eq!(whole, cut, "events depend on how the bytes are cut");
    let _ = fuzzing::chunks(bytes, None, drop);
    let text = String::from_utf8_lossy(bytes);
    let _ = fuzzing::answer(&text);
    let _ = fuzzing::error(500, &text);
    fuzzing::others(&text);
    let (first, second) =
        text.split_at(text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at));
    let stats = fuzzing::gauges(first, second, &text);
    for rate in [stats.tokens_per_second, stats.prompt_tokens_per_second] {
        assert!(rate.as_value().is_none_or(|rate| rate.is_finite() && *rate >= 0.0), "{rate:?}");
    }
});
