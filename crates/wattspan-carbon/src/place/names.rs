//! Spellings of countries, subdivisions and cloud regions, and those that come near.

use crate::Error;
use crate::tables::{self, CloudRegion, Country, Grid};

/// Names in everyday use that the tables spell another way.
const COUNTRY_ALIASES: [(&str, &str); 21] = [
    ("britain", "GB"),
    ("burma", "MM"),
    ("congo kinshasa", "CD"),
    ("czech republic", "CZ"),
    ("el", "GR"),
    ("england", "GB"),
    ("great britain", "GB"),
    ("holland", "NL"),
    ("ivory coast", "CI"),
    ("korea republic of", "KR"),
    ("macau", "MO"),
    ("republic of korea", "KR"),
    ("russian federation", "RU"),
    ("swaziland", "SZ"),
    ("timor leste", "TL"),
    ("turkiye", "TR"),
    ("uae", "AE"),
    ("uk", "GB"),
    ("united states of america", "US"),
    ("usa", "US"),
    ("viet nam", "VN"),
];

/// A country by alpha-2, alpha-3 or name.
pub(crate) fn country(text: &str) -> Option<&'static Country> {
    let wanted = plain(text);
    let upper = text.trim().to_ascii_uppercase();
    tables::country(&upper)
        .or_else(|| tables::countries().find(|row| row.iso3 == upper || plain(row.name) == wanted))
        .or_else(|| {
            let alias = COUNTRY_ALIASES.iter().find(|(name, _)| *name == wanted)?;
            tables::country(alias.1)
        })
}

/// The error for a country that nobody knows.
pub(crate) fn unknown_country(text: &str) -> Error {
    let spellings = tables::countries()
        .flat_map(|row| [row.iso3, row.name].map(|name| (name, format!("{} ({})", row.name, row.iso2))));
    let near = near(text, spellings);
    Error::Unknown { what: "country".to_owned(), value: text.to_owned(), near }
}

/// A state or province by ISO 3166-2 code, by its part after the dash, or by name; within a country if one is given.
pub(crate) fn subdivision(text: &str, country: Option<&str>) -> Option<&'static Grid> {
    let (upper, wanted) = (text.trim().to_ascii_uppercase(), plain(text));
    let inside = |row: &Grid| country.is_none_or(|country| row.code.get(..2) == Some(country));
    tables::subdivision(&upper).filter(|row| inside(row)).or_else(|| {
        tables::subdivisions().filter(|row| inside(row)).find(|row| {
            (country.is_some() && row.code.get(3..) == Some(upper.as_str())) || plain(row.name) == wanted
        })
    })
}

/// Whether the tables have states or provinces of a country, so that an unknown one must be a mistake.
pub(crate) fn has_subdivisions(country: &str) -> bool {
    tables::subdivisions().any(|row| row.code.get(..2) == Some(country))
}

/// The error for a state or province that a country does not have.
pub(crate) fn unknown_subdivision(text: &str, country: Option<&str>) -> Error {
    let spellings = tables::subdivisions()
        .filter(|row| country.is_none_or(|country| row.code.get(..2) == Some(country)))
        .flat_map(|row| [row.code, row.name].map(|name| (name, format!("{} ({})", row.name, row.code))));
    let near = near(text, spellings);
    let what = match country {
        Some(country) => format!("state or province of {country}"),
        None => "state or province".to_owned(),
    };
    Error::Unknown { what, value: text.to_owned(), near }
}

/// Canonical name of a cloud provider.
pub(crate) fn provider(text: &str) -> Result<&'static str, Error> {
    match plain(text).as_str() {
        "aws" | "amazon" | "amazon web services" | "ec2" => Ok("aws"),
        "gcp" | "google" | "google cloud" | "google cloud platform" => Ok("gcp"),
        "azure" | "microsoft" | "microsoft azure" => Ok("azure"),
        _ => Err(Error::Unknown {
            what: "cloud provider".to_owned(),
            value: text.to_owned(),
            near: ["aws", "azure", "gcp"].map(str::to_owned).to_vec(),
        }),
    }
}

/// A cloud region, of one provider or of the only one that has it. A zone of it (`us-east-1a`, `us-central1-a`) counts
/// as the region; spaces and capitals, as Azure's display names have them, do not matter.
pub(crate) fn cloud_region(text: &str, provider: Option<&str>) -> Result<&'static CloudRegion, Error> {
    let wanted: String = text.to_lowercase().split_whitespace().collect();
    let of = |name: &str| {
        let mut rows = tables::cloud_regions()
            .filter(|row| provider.is_none_or(|provider| row.provider == provider) && row.region == name);
        (rows.next(), rows.next())
    };
    for name in [Some(wanted.as_str()), zone_to_region(&wanted)].into_iter().flatten() {
        match of(name) {
            (Some(first), Some(second)) => {
                let meanings = [first, second].map(|row| format!("{}:{}", row.provider, row.region)).to_vec();
                return Err(Error::Ambiguous { value: text.to_owned(), meanings });
            }
            (Some(row), None) => return Ok(row),
            (None, _) => {}
        }
    }
    let what = match provider {
        Some(provider) => format!("cloud region of {provider}"),
        None => "cloud region".to_owned(),
    };
    let spellings = tables::cloud_regions()
        .filter(|row| provider.is_none_or(|provider| row.provider == provider))
        .map(|row| (row.region, row.region.to_owned()));
    Err(Error::Unknown { what, value: text.to_owned(), near: near(&wanted, spellings) })
}

/// The region of an availability zone: AWS adds a letter, Google a dash and a letter.
fn zone_to_region(zone: &str) -> Option<&str> {
    let letterless = zone.strip_suffix(|last: char| last.is_ascii_lowercase())?;
    let region = letterless.strip_suffix('-').unwrap_or(letterless);
    region.ends_with(|last: char| last.is_ascii_digit()).then_some(region)
}

/// A spelling in small ASCII letters and single spaces, so that capitals, accents and punctuation do not matter.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.trim().chars().flat_map(char::to_lowercase) {
        let ascii = match letter {
            'à'..='å' => 'a',
            'ç' => 'c',
            'è'..='ë' => 'e',
            'ì'..='ï' => 'i',
            'ñ' => 'n',
            'ò'..='ö' | 'ø' => 'o',
            'ù'..='ü' => 'u',
            'ý' | 'ÿ' => 'y',
            '\'' | '’' | '.' | '\u{307}' => continue,
            other if other.is_alphanumeric() => other,
            _ => ' ',
        };
        if ascii != ' ' || !(out.is_empty() || out.ends_with(' ')) {
            out.push(ascii);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The three nearest spellings, best first, as the second of each pair writes them.
fn near<'a>(text: &str, spellings: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let wanted = plain(text);
    // A third of the letters may differ: enough for a slip in a short code, too little to offer strangers.
    let limit = (wanted.chars().count() / 3).clamp(1, 4);
    let mut found: Vec<(usize, String)> = spellings
        .map(|(spelling, shown)| (strsim::osa_distance(&wanted, &plain(spelling)), shown))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    found.sort();
    let mut near: Vec<String> = Vec::new();
    for (_, shown) in found {
        if !near.contains(&shown) && near.len() < 3 {
            near.push(shown);
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_name_countries_and_hide_none() {
        for (alias, code) in COUNTRY_ALIASES {
            assert!(tables::country(code).is_some(), "{code}");
            assert_eq!(plain(alias), alias);
            assert_eq!(country(alias).map(|row| row.iso2), Some(code), "{alias}");
        }
    }

    #[test]
    fn no_two_countries_share_a_spelling() {
        let mut seen = std::collections::BTreeMap::new();
        for row in tables::countries() {
            for spelling in [plain(row.iso2), plain(row.iso3), plain(row.name)] {
                assert_eq!(seen.insert(spelling.clone(), row.iso2), None, "{spelling}");
            }
        }
    }
}
