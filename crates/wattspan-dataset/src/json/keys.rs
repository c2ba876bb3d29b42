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
        Table::Metrics => serde_json::from_slice::<serde::de::IgnoredAny>(row).ok().map(|_| hash_row(row)),
        _ => serde_json::from_slice::<Key<'_>>(row).ok().map(|key| key_of(table, row, &key)),
    }
}

/// The key of a row that was written by this program just before.
pub(super) fn live_key(table: Table, row: &[u8]) -> u128 {
    match table {
        Table::Metrics => hash_row(row),
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

/// The same for a whole row of measured values, which nobody chooses so that they collide, and of which there are many: two
/// chains of multiplications whose product's halves are folded together, as in wyhash.
fn hash_row(row: &[u8]) -> u128 {
    let fold = |one: u64, other: u64| {
        let product = u128::from(one) * u128::from(other);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let length = row.len() as u64;
    let mut state = [length ^ BITS[0], length ^ BITS[1]];
    let (pairs, rest) = row.as_chunks::<16>();
    let mut tail = [0; 16];
    tail[..rest.len()].copy_from_slice(rest);
    for pair in pairs.iter().chain([&tail]) {
        let [low, high] = [0, 8].map(|start| {
            let mut half = [0; 8];
            half.copy_from_slice(&pair[start..start + 8]);
            u64::from_le_bytes(half)
        });
        state = [fold(low ^ BITS[2], high ^ state[0]), fold(high ^ BITS[3], low ^ state[1])];
    }
    u128::from(fold(state[0], BITS[4])) << 64 | u128::from(fold(state[1], BITS[5]))
}

/// Bits without a pattern: the fractional parts of the square roots of the first primes (FIPS 180-4, the initial hash value
/// of SHA-512).
const BITS: [u64; 6] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
];

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_that_differ_in_one_bit_or_in_length_differ_in_both_halves_of_their_hash() {
        let row: Vec<u8> = (0_u8..100).map(|index| index.wrapping_mul(7)).collect();
        let mut rows = vec![row.clone()];
        for bit in 0..row.len() * 8 {
            let mut other = row.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            rows.push(other);
        }
        rows.extend((0..40).map(|length| vec![0; length]));
        let hashes: Vec<u128> = rows.iter().map(|row| hash_row(row)).collect();
        for half in [0, 64] {
            let halves: BTreeSet<u64> = hashes.iter().map(|hash| (hash >> half) as u64).collect();
            assert_eq!(halves.len(), rows.len());
        }
    }
}
