//! Reads `/metrics` and `/slots` of a llama-server and turns them into gauges. Pure: no I/O and no clock.
//!
//! Rates come from differences of counters only. The server's own rate gauges start anew at each scrape, whoever
//! scrapes, so two scrapers spoil each other's; they are not read.

use std::collections::HashMap;
use std::sync::Arc;

use wattspan_core::{MonoTime, Ratio, Reading, ServerStats};

use crate::plain::Slot;

/// The samples of one scrape, by name, without the `llamacpp` prefix.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scrape {
    values: HashMap<String, f64>,
    /// A mark of the server process, if it sends one. Only that it changes means anything.
    process: Option<String>,
}

/// The body is not a metrics text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotMetrics;

impl Scrape {
    /// Reads the text format. One line that cannot be read takes only itself away; a text without any sample of
    /// llama.cpp's is an error.
    ///
    /// A build of the server sent the whole text as one JSON string; that is read too.
    pub(crate) fn parse(body: &str) -> Result<Self, NotMetrics> {
        let unquoted;
        let text = if body.trim_start().starts_with('"') {
            unquoted = serde_json::from_str::<String>(body.trim()).map_err(|_| NotMetrics)?;
            &unquoted
        } else {
            body
        };
        let samples = text.lines().filter_map(sample).map(|(name, value)| (name.to_owned(), value));
        let values: HashMap<String, f64> = samples.collect();
        if values.is_empty() { Err(NotMetrics) } else { Ok(Self { values, process: None }) }
    }

    /// The same, of a server process with this mark.
    pub(crate) fn of_process(self, process: Option<String>) -> Self {
        Self { process, ..self }
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    fn count(&self, name: &str) -> Reading<u64> {
        match self.value(name) {
            Some(value) if (0.0..9e15).contains(&value) => Reading::Value(value as u64),
            Some(_) => Reading::failed(format!("the server reports an impossible {name}")),
            None => Reading::NotSupported,
        }
    }
}

/// Name and value of a line without labels; `None` for comments, other programs' metrics, and what cannot be read.
fn sample(line: &str) -> Option<(&str, f64)> {
    let mut words = line.split_ascii_whitespace();
    let (name, value) = (words.next()?, words.next()?);
    let name = ["llamacpp:", "llamacpp_", "llama_cpp:", "llama_cpp_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let value: f64 = value.parse().ok()?;
    (plain && value.is_finite()).then_some((name, value))
}

/// Remembers the poll before, for differences.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    before: Option<(MonoTime, Scrape)>,
}

const PREDICTED: &str = "tokens_predicted_total";
const PROMPT: &str = "prompt_tokens_total";

/// Counters that a restart sets back. `n_tokens_max` is called a counter and is none.
const COUNTERS: [&str; 4] = [PREDICTED, PROMPT, "n_decode_total", "prompt_tokens_cached_total"];

impl Tracker {
    /// Gauges at a time. `slots` are what `/slots` answered, or why it did not.
    pub(crate) fn advance(
        &mut self,
        time: MonoTime,
        server: Arc<str>,
        scrape: Reading<Scrape>,
        slots: Reading<Vec<Slot>>,
    ) -> ServerStats {
        let mut stats = ServerStats::new(time, server);
        stats.slots =
            slots.as_value().map_or_else(|| reason(&slots), |slots| Reading::Value(slots.len() as u64));
        stats.kv_cache = kv_cache(&slots);
        stats.busy_slots = slots.and_then(|slots| busy(&slots));
        let scrape = match scrape {
            Reading::Value(scrape) => scrape,
            absent => {
                // The gap stays a gap: the next difference spans it, since counters do not lose what they counted.
                stats.tokens_per_second = reason(&absent);
                stats.prompt_tokens_per_second = reason(&absent);
                stats.queued = reason(&absent);
                stats.tokens_total = reason(&absent);
                stats.prompt_tokens_total = reason(&absent);
                return stats;
            }
        };
        stats.tokens_total = scrape.count(PREDICTED);
        stats.prompt_tokens_total = scrape.count(PROMPT);
        stats.queued = scrape.count("requests_deferred");
        stats.busy_slots = scrape.count("requests_processing").or_else(|| stats.busy_slots.clone());
        if let (false, Some(ratio)) = (stats.kv_cache.is_value(), scrape.value("kv_cache_usage_ratio")) {
            stats.kv_cache = fraction(ratio);
        }
        stats.tokens_per_second = self.rate(time, &scrape, PREDICTED);
        stats.prompt_tokens_per_second = self.rate(time, &scrape, PROMPT);
        self.before = Some((time, scrape));
        stats
    }

    fn rate(&self, time: MonoTime, scrape: &Scrape, name: &str) -> Reading<f64> {
        let Some(now) = scrape.value(name) else { return Reading::NotSupported };
        let Some((since, before)) = &self.before else {
            return Reading::failed("a rate needs two polls");
        };
        if restarted(before, scrape) {
            return Reading::failed("the server was restarted between two polls");
        }
        let (Some(then), seconds) = (before.value(name), time.since(*since).as_secs_f64()) else {
            return Reading::failed("a rate needs two polls");
        };
        if seconds > 0.0 {
            Reading::Value((now - then) / seconds)
        } else {
            Reading::failed("no time passed between two polls")
        }
    }
}

/// Whether the counters of two scrapes are of different processes.
fn restarted(before: &Scrape, now: &Scrape) -> bool {
    let fell = COUNTERS.iter().any(|name| match (before.value(name), now.value(name)) {
        (Some(before), Some(now)) => now < before,
        _ => false,
    });
    let other = matches!((&before.process, &now.process), (Some(before), Some(now)) if before != now);
    fell || other
}

fn busy(slots: &[Slot]) -> Reading<u64> {
    match slots.iter().map(|slot| slot.is_processing).collect::<Option<Vec<bool>>>() {
        Some(working) => Reading::Value(working.into_iter().filter(|working| *working).count() as u64),
        None => Reading::NotSupported,
    }
}

/// Fraction of all slots' context that holds tokens, those kept for reuse included.
fn kv_cache(slots: &Reading<Vec<Slot>>) -> Reading<Ratio> {
    let Some(slots) = slots.as_value() else { return reason(slots) };
    let held = slots.iter().map(|slot| match slot.n_prompt_tokens {
        Some(tokens) => Some(tokens),
        // A slot that never had a task holds nothing. That is known, not absent.
        None if slot.is_processing == Some(false) && slot.id_task.is_none() => Some(0),
        None => None,
    });
    let held: Option<u64> = held.sum();
    let room: Option<u64> = slots.iter().map(|slot| slot.n_ctx).sum();
    match (held, room) {
        (Some(held), Some(room)) if room > 0 => fraction(held as f64 / room as f64),
        _ => Reading::NotSupported,
    }
}

fn fraction(value: f64) -> Reading<Ratio> {
    let ratio = Ratio::share(value);
    ratio.map_or_else(
        || Reading::failed("the server reports more KV cache in use than it has"),
        Reading::Value,
    )
}

/// The reason of an absent reading, for another type.
fn reason<T, U>(absent: &Reading<T>) -> Reading<U> {
    match absent {
        Reading::Value(_) | Reading::NotSupported => Reading::NotSupported,
        Reading::Denied(remedy) => Reading::Denied(remedy.clone()),
        Reading::Failed(failure) => Reading::Failed(failure.clone()),
    }
}
