//! Look-ups by exact code. The indexes are worked out by the compiler, so that a look-up costs some nanoseconds and
//! starting up costs nothing.

use super::{COUNTRIES, CloudRegion, Country, EGRID, Grid, REGIONS, SUBDIVISIONS, WITHOUT_FIGURE};

/// The country of an alpha-2 code in capitals.
pub fn country(iso2: &str) -> Option<&'static Country> {
    let at = letter_pair(iso2.as_bytes())?;
    let number = usize::from(COUNTRY_INDEX[at]);
    let found = COUNTRIES.get(number).or_else(|| WITHOUT_FIGURE.get(number.checked_sub(COUNTRIES.len())?));
    found.filter(|row| row.iso2 == iso2)
}

/// The state or province of an ISO 3166-2 code in capitals.
pub fn subdivision(code: &str) -> Option<&'static Grid> {
    let at = SUBDIVISION_KEYS.binary_search(&packed(code.as_bytes())).ok()?;
    Some(&SUBDIVISIONS[at]).filter(|row| row.code == code)
}

/// The eGRID subregion of an acronym in capitals.
pub fn egrid_subregion(code: &str) -> Option<&'static Grid> {
    let at = EGRID_KEYS.binary_search(&packed(code.as_bytes())).ok()?;
    Some(&EGRID[at]).filter(|row| row.code == code)
}

/// A region of a cloud provider, both in small letters.
pub fn cloud_region(provider: &str, region: &str) -> Option<&'static CloudRegion> {
    let mut slot = region_slot(provider.as_bytes(), region.as_bytes());
    // The index is at most half full, so that an empty slot comes soon.
    while let Some(row) = REGIONS.get(usize::from(REGION_INDEX[slot])) {
        if row.region == region && row.provider == provider {
            return Some(row);
        }
        slot = (slot + 1) % REGION_SLOTS;
    }
    None
}

/// Number of the country of each pair of letters, those without a figure counted after the others.
static COUNTRY_INDEX: [u8; 676] = {
    let mut index = [u8::MAX; 676];
    let mut at = 0;
    while at < COUNTRIES.len() + WITHOUT_FIGURE.len() {
        let row = if at < COUNTRIES.len() { &COUNTRIES[at] } else { &WITHOUT_FIGURE[at - COUNTRIES.len()] };
        if let Some(pair) = letter_pair(row.iso2.as_bytes()) {
            index[pair] = at as u8;
        }
        at += 1;
    }
    assert!(at < u8::MAX as usize);
    index
};

static SUBDIVISION_KEYS: [u64; SUBDIVISIONS.len()] = keys(SUBDIVISIONS);
static EGRID_KEYS: [u64; EGRID.len()] = keys(EGRID);

const REGION_SLOTS: usize = 512;
/// Numbers of the regions, each at its slot or at the next free one.
static REGION_INDEX: [u8; REGION_SLOTS] = {
    let mut index = [u8::MAX; REGION_SLOTS];
    let mut at = 0;
    while at < REGIONS.len() {
        let mut slot = region_slot(REGIONS[at].provider.as_bytes(), REGIONS[at].region.as_bytes());
        while index[slot] != u8::MAX {
            slot = (slot + 1) % REGION_SLOTS;
        }
        index[slot] = at as u8;
        at += 1;
    }
    assert!(at < u8::MAX as usize && at * 2 <= REGION_SLOTS);
    index
};

/// Nine bits of a product that mixes both ends of the region's name (multiplier: 2⁶⁴ over the golden ratio, odd).
const fn region_slot(provider: &[u8], region: &[u8]) -> usize {
    let end = if region.len() > 8 { region.split_at(region.len() - 8).1 } else { region };
    let mixed = packed(region) ^ packed(end).rotate_left(29) ^ packed(provider).rotate_left(7);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

/// 0 to 675 of two capitals.
const fn letter_pair(text: &[u8]) -> Option<usize> {
    match text {
        [first @ b'A'..=b'Z', second @ b'A'..=b'Z'] => {
            Some((*first - b'A') as usize * 26 + (*second - b'A') as usize)
        }
        _ => None,
    }
}

/// The first eight bytes as a number that sorts as the text does.
const fn packed(text: &[u8]) -> u64 {
    if let Some(eight) = text.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    let mut key = 0;
    let mut at = 0;
    while at < 8 {
        key = key << 8 | if at < text.len() { text[at] as u64 } else { 0 };
        at += 1;
    }
    key
}

const fn keys<const N: usize>(rows: &[Grid]) -> [u64; N] {
    let mut keys = [0; N];
    let mut at = 0;
    while at < N {
        keys[at] = packed(rows[at].code.as_bytes());
        at += 1;
    }
    keys
}
