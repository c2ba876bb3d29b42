//! What names became from release to release, for readers of telemetry that others wrote or that is old.

use crate::generated::rename::RENAMES;
use crate::model::Evidence;
use crate::profile::Profile;

/// Which conventions a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// Before core 1.41.
    Older,
    /// Core 1.41.
    Core,
    /// GenAI 0.1.
    GenAi,
}

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// An attribute.
    Attribute,
    /// A metric.
    Metric,
    /// A span id of the registry; not on the wire.
    Span,
    /// A log event.
    Event,
}

/// What happened to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It has another name.
    Renamed,
    /// It became several.
    Split,
    /// Several became one.
    Merged,
    /// It stayed, where others of the same name changed.
    Kept,
    /// The name stayed; the type of its value changed.
    TypeChanged,
    /// It is gone.
    Removed,
}

/// One row of the rename table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The earlier name.
    pub from: &'static str,
    /// The later name; `None` when there is none.
    pub to: Option<&'static str>,
    /// What is named.
    pub signal: Signal,
    /// Where the earlier name belongs.
    pub from_era: Era,
    /// Where the later name belongs.
    pub to_era: Era,
    /// What happened.
    pub change: Change,
    /// Operations that the row is limited to. Empty: all that no other row of the name claims.
    pub operations: &'static [&'static str],
    /// Value of `gen_ai.token.type` that the row is limited to.
    pub token_type: Option<&'static str>,
    /// What the later name was seen in.
    pub evidence: Evidence,
}

/// The whole rename table.
pub fn renames() -> &'static [Rename] {
    &RENAMES
}

/// The names that stand in `profile` for an attribute, metric or event of any era; empty when there is none.
///
/// `operation` is the value of `gen_ai.operation.name` beside the name. Without it, all the names are given that some
/// operation leads to. Names that are never emitted are not among them.
///
/// ```
/// use wattspan_semconv::{Profile, names_in};
///
/// assert_eq!(names_in(Profile::Core, "gen_ai.system", None), ["gen_ai.provider.name"]);
/// assert_eq!(
///     names_in(Profile::GenAi, "gen_ai.client.operation.duration", Some("embeddings")),
///     ["gen_ai.client.embeddings.duration"],
/// );
/// ```
pub fn names_in(profile: Profile, name: &str, operation: Option<&str>) -> Vec<&'static str> {
    // First to a name of core 1.41 or, for one that exists in the newer profile only, back to core.
    let older = RENAMES.iter().find(|row| row.from_era == Era::Older && row.from == name);
    let current = match older {
        Some(row) => match row.to {
            Some(to) => to,
            None => return Vec::new(),
        },
        None => name,
    };
    match profile {
        Profile::Core => match known(Profile::Core, current) {
            Some(name) => vec![name],
            None => backward(current, operation),
        },
        Profile::GenAi => forward(current, operation),
    }
}

fn rows() -> impl Iterator<Item = &'static Rename> {
    RENAMES.iter().filter(|row| {
        row.from_era == Era::Core && row.signal != Signal::Span && row.evidence != Evidence::Inferred
    })
}

fn forward(name: &str, operation: Option<&str>) -> Vec<&'static str> {
    let named: Vec<&Rename> = rows().filter(|row| row.from == name).collect();
    let claimed = |row: &&&Rename| operation.is_some_and(|operation| row.operations.contains(&operation));
    let chosen: Vec<&Rename> = if operation.is_none() {
        named.clone()
    } else if named.iter().any(|row| claimed(&row)) {
        named.iter().filter(claimed).copied().collect()
    } else {
        named.iter().filter(|row| row.operations.is_empty()).copied().collect()
    };
    if chosen.is_empty() {
        return known(Profile::GenAi, name).into_iter().collect();
    }
    unique(chosen.into_iter().filter_map(|row| row.to))
}

fn backward(name: &str, operation: Option<&str>) -> Vec<&'static str> {
    let named = rows().filter(|row| row.to == Some(name)).filter(|row| {
        row.operations.is_empty() || operation.is_none_or(|operation| row.operations.contains(&operation))
    });
    unique(named.map(|row| row.from))
}

fn unique(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut out = Vec::new();
    for name in names {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

/// The profile's own copy of a live name, of whichever signal.
fn known(profile: Profile, name: &str) -> Option<&'static str> {
    let attribute =
        profile.attribute_def(name).filter(|def| def.is_live() && def.name == name).map(|def| def.name);
    let metric =
        || profile.metric_def(name).filter(|def| def.evidence != Evidence::Inferred).map(|def| def.name);
    let event = || profile.event_def(name).map(|def| def.name);
    attribute.or_else(metric).or_else(event)
}
