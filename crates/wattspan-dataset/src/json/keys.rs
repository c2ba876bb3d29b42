//! What makes two rows the same row.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;
use wattspan_core::Table;

/// What makes two rows of a table the same row.
#[derive(Deserialize)]
struct Key<'a> {
    #[serde(borrow, default)]
    test_case_uid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attempt: Option<&'a RawValue>,
    #[serde(borrow, default)]
    trace_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    run_id: Option<&'a RawValue>,
}

/// The key of a row that was read; `None` when it is not JSON.
pub(super) fn key(table: Table, row: &[u8]) -> Option<u128> {
    match table {
        Table::Metrics => serde_json::from_slice::<serde::de::IgnoredAny>(row).ok().map(|_| hash(&[row])),
        _ => serde_json::from_slice::<Key<'_>>(row).ok().map(|key| key_of(table, row, &key)),
    }
}

/// The key of a row that was written by this program just before.
pub(super) fn live_key(table: Table, row: &[u8]) -> u128 {
    match table {
        Table::Metrics => hash(&[row]),
        _ => key(table, row).unwrap_or_else(|| hash(&[row])),
    }
}

/// A row without the columns that name it is known by all of its cells.
fn key_of(table: Table, row: &[u8], key: &Key<'_>) -> u128 {
    let text = |value: Option<&RawValue>| value.map(|raw| raw.get().to_owned());
    let named = match table {
        Table::Results => text(key.test_case_uid.or(key.task_id))
            .map(|case| hash(&[case.as_bytes(), text(key.attempt).unwrap_or_default().as_bytes()])),
        Table::Traces => text(key.trace_id).map(|trace| hash(&[trace.as_bytes()])),
        Table::Leaderboard => text(key.run_id).map(|run| hash(&[run.as_bytes()])),
        Table::Metrics => None,
    };
    named.unwrap_or_else(|| hash(&[b"row", row]))
}

/// 128 bits: two rows that differ share one with a chance of 10⁻²⁶ in a million rows. Stays inside the process.
fn hash(parts: &[&[u8]]) -> u128 {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        for part in parts {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// Hashes of the latest metric rows: a batch that is written again is known. Two generations keep it bounded.
#[derive(Default)]
pub(super) struct Recent {
    young: HashSet<u128>,
    old: HashSet<u128>,
}

impl Recent {
    /// Whether it is new.
    pub(super) fn insert(&mut self, key: u128) -> bool {
        if self.old.contains(&key) || !self.young.insert(key) {
            return false;
        }
        if self.young.len() >= GENERATION {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        true
    }

    pub(super) fn remove(&mut self, key: u128) {
        self.young.remove(&key);
        self.old.remove(&key);
    }
}

/// Metric rows of which a repetition is surely known.
const GENERATION: usize = 65_536;
