//! The parsers, for fuzz targets and benchmarks. No promise is made for this module.

use wattspan_core::{MonoTime, Reading};
use wattspan_genai::Inference;

use crate::answer::{ChatAnswer, Chunk};
use crate::error::Error;
use crate::metrics::{Scrape, Tracker};
use crate::sse::Events;
use crate::tally::Tally;
use crate::wire::WireAnswer;

/// Largest event that [`events`] and [`chunks`] take.
pub const EVENT_LIMIT: usize = 1 << 20;

/// The data of all events of a stream that comes in pieces; stops at an event that is too large.
pub fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut events = Events::new(EVENT_LIMIT);
    let mut found = Vec::new();
    for piece in pieces {
        events.push(piece);
        loop {
            match events.next() {
                Ok(Some(data)) => found.push(data),
                Ok(None) => break,
                Err(_) => return found,
            }
        }
    }
    found.extend(events.rest());
    found
}

/// Reads a stream's chunks, marks their tokens on an inference if there is one, and hands each on. `None` when one
/// cannot be read.
pub fn chunks(
    stream: &[u8],
    mut inference: Option<&mut Inference>,
    mut each: impl FnMut(Chunk),
) -> Option<u64> {
    let mut events = Events::new(EVENT_LIMIT);
    let mut tally = Tally::default();
    let mut seen = 0;
    events.push(stream);
    while let Ok(Some(data)) = events.next() {
        if data == "[DONE]" {
            break;
        }
        let answer = WireAnswer::parse(&data).ok()?;
        let usage = answer.counted();
        let chunk = answer.into_chunk();
        if let Some(inference) = inference.as_deref_mut() {
            tally.chunk(&chunk, usage, inference);
        }
        seen += 1;
        each(chunk);
    }
    if let Some(inference) = inference {
        tally.apply(inference);
    }
    Some(seen)
}

/// A whole answer; `None` when it is none.
pub fn answer(text: &str) -> Option<ChatAnswer> {
    crate::client::parse_whole(text, "").ok().map(|(answer, _)| answer)
}

/// An error answer.
pub fn error(status: u16, body: &str) -> Error {
    Error::from_answer("http://server/route".to_owned(), status, None, body)
}

/// Two scrapes, one second apart, as gauges. Whatever the server says, rates are neither negative nor not finite.
pub fn gauges(first: &str, second: &str, slots: &str) -> wattspan_core::ServerStats {
    let scrape =
        |text| Scrape::parse(text).map_or_else(|_| Reading::failed("no metrics text"), Reading::Value);
    let slots = || serde_json::from_str(slots).map_or_else(|_| Reading::failed("no slots"), Reading::Value);
    let mut tracker = Tracker::default();
    tracker.advance(MonoTime::ZERO, "server".into(), scrape(first), slots());
    tracker.advance(MonoTime::from_nanos(1_000_000_000), "server".into(), scrape(second), slots())
}

/// All other answers: slots, props, models, tokens, embeddings, ranking, and the layer's dialects.
pub fn others(text: &str) {
    let _ = serde_json::from_str::<Vec<crate::Slot>>(text);
    let _ = serde_json::from_str::<crate::Props>(text);
    let _ = serde_json::from_str::<crate::Model>(text);
    let _ = serde_json::from_str::<crate::plain::WireTokens>(text).map(crate::plain::WireTokens::into_public);
    let _ = serde_json::from_str::<crate::encode::WireEmbeddings>(text);
    let _ = serde_json::from_str::<crate::encode::WireRanking>(text);
}
