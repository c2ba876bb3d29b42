//! Works out the logical keys: one per attribute that is in use, joined across the profiles by the rename table, and
//! one per measure with the instruments of each profile.

use std::collections::BTreeMap;

use super::input::{Input, Profile, Route};

pub(super) struct Keys {
    pub(super) attributes: Vec<AttributeKey>,
    pub(super) measures: Vec<MeasureKey>,
}

pub(super) struct AttributeKey {
    pub(super) variant: String,
    pub(super) core: Option<String>,
    pub(super) genai: Option<String>,
    /// Operations for which the genai profile has a name apart, with that name.
    pub(super) genai_scoped: Vec<(String, String)>,
}

pub(super) struct MeasureKey {
    pub(super) variant: String,
    pub(super) brief: String,
    pub(super) core: Vec<Route>,
    pub(super) genai: Vec<Route>,
}

pub(super) fn keys(input: &Input) -> Result<Keys, String> {
    Ok(Keys { attributes: attribute_keys(input)?, measures: measure_keys(input)? })
}

fn attribute_keys(input: &Input) -> Result<Vec<AttributeKey>, String> {
    let live = |profile: Profile, name: &str| {
        input.tables(profile).iter().any(|(_, table)| {
            table.attributes.iter().any(|a| a.name == name && a.is_live() && a.evidence != "inferred")
        })
    };
    let mut keys: BTreeMap<String, AttributeKey> = BTreeMap::new();
    for name in input.attributes().into_keys() {
        let core = live(Profile::Core, name).then(|| name.to_owned());
        let genai = live(Profile::GenAi, name).then(|| name.to_owned());
        if core.is_some() || genai.is_some() {
            let key = AttributeKey { variant: variant(name), core, genai, genai_scoped: Vec::new() };
            keys.insert(name.to_owned(), key);
        }
    }
    for rename in &input.renames {
        let (Some(to), "attribute", "core_1_41", "genai_0_1") =
            (&rename.to, rename.signal.as_str(), rename.from_profile.as_str(), rename.to_profile.as_str())
        else {
            continue;
        };
        if *to == rename.from || rename.evidence == "inferred" {
            continue;
        }
        let missing = |name: &str| format!("the rename table names `{name}`, which no profile has");
        match rename.change.as_str() {
            // One thing under two names: the newer name gives the key.
            "renamed" => {
                keys.remove(&rename.from);
                keys.get_mut(to).ok_or_else(|| missing(to))?.core = Some(rename.from.clone());
            }
            // Two things under one newer name: both keys stay.
            "merged" => {
                keys.get_mut(&rename.from).ok_or_else(|| missing(&rename.from))?.genai = Some(to.clone());
            }
            // One name became two: either key finds the name that is right for the operation.
            "split" => {
                keys.get_mut(to).ok_or_else(|| missing(to))?.core = Some(rename.from.clone());
                let old = keys.get_mut(&rename.from).ok_or_else(|| missing(&rename.from))?;
                old.genai_scoped.extend(rename.scope.operations.iter().map(|o| (o.clone(), to.clone())));
            }
            other => return Err(format!("{}: change `{other}` is not understood", rename.from)),
        }
    }
    unique(keys.into_values().collect(), |key| &key.variant)
}

fn measure_keys(input: &Input) -> Result<Vec<MeasureKey>, String> {
    let mut keys = Vec::new();
    for measure in &input.measures {
        keys.push(MeasureKey {
            variant: pascal(&measure.key),
            brief: measure.brief.clone(),
            core: measure.core.clone(),
            genai: measure.genai.clone(),
        });
    }
    // What both profiles share needs no table of ours: the metric is the measure.
    let shared = input.core.metrics.iter().filter(|metric| metric.name.starts_with("mcp."));
    for metric in shared.chain(&input.hw.metrics).chain(&input.own.metrics) {
        let route = || vec![Route { operations: None, metrics: vec![(metric.name.clone(), Vec::new())] }];
        keys.push(MeasureKey {
            variant: variant(&metric.name),
            brief: metric.brief.clone(),
            core: route(),
            genai: route(),
        });
    }
    for key in &keys {
        for (profile, routes) in [(Profile::Core, &key.core), (Profile::GenAi, &key.genai)] {
            for (name, _) in routes.iter().flat_map(|route| &route.metrics) {
                let known = input.tables(profile).iter().any(|(_, table)| {
                    table.metrics.iter().any(|metric| metric.name == *name && metric.evidence != "inferred")
                });
                if !known {
                    return Err(format!(
                        "measure {} names `{name}`, which its profile does not emit",
                        key.variant
                    ));
                }
            }
            let operations = routes.iter().flat_map(|route| route.operations.iter().flatten());
            for operation in operations {
                if !input.operations.iter().any(|known| known.name == *operation) {
                    return Err(format!("measure {} names the unknown operation `{operation}`", key.variant));
                }
            }
        }
    }
    unique(keys, |key| &key.variant)
}

fn unique<T>(mut keys: Vec<T>, variant: impl Fn(&T) -> &String) -> Result<Vec<T>, String> {
    keys.sort_by(|a, b| variant(a).cmp(variant(b)));
    match keys.windows(2).find(|pair| variant(&pair[0]) == variant(&pair[1])) {
        Some(pair) => Err(format!("two names give the key `{}`", variant(&pair[0]))),
        None => Ok(keys),
    }
}

/// `gen_ai.request.top_k` → `RequestTopK`; other prefixes than our two stay.
pub(super) fn variant(name: &str) -> String {
    pascal(name.strip_prefix("gen_ai.").or_else(|| name.strip_prefix("wattspan.")).unwrap_or(name))
}

pub(super) fn pascal(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// `gen_ai.request.top_k` → `GEN_AI_REQUEST_TOP_K`; `logging/setLevel` → `LOGGING_SET_LEVEL`.
pub(super) fn screaming(name: &str) -> String {
    let mut out = String::new();
    let mut last = ' ';
    for c in name.chars() {
        let word_begins = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && last.is_ascii_lowercase());
        if word_begins && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_uppercase());
        }
        last = c;
    }
    out
}
