//! Short names: a name without its `gen_ai.` prefix, as programs write it, and back.

use std::fmt;

use crate::model::{AttributeDef, Evidence, Standing};
use crate::profile::Profile;

const PREFIX: &str = "gen_ai.";

/// The full name of an attribute: `request.model` gives `gen_ai.request.model`.
///
/// Names outside `gen_ai.` are their own short names, and a full name stays as it is. Names of either profile are known,
/// those of `core` first; deprecated ones are not.
///
/// # Errors
/// [`UnknownName`] with the nearest name, or for a deprecated one with its replacement.
///
/// ```
/// use wattspan_semconv::attr_name;
///
/// assert_eq!(attr_name("request.model"), Ok("gen_ai.request.model"));
/// assert_eq!(attr_name("request.modle").unwrap_err().suggestion(), Some("request.model"));
/// ```
pub fn attr_name(short: &str) -> Result<&'static str, UnknownName> {
    let found: Vec<&AttributeDef> = candidates(short)
        .filter_map(|name| Profile::ALL.into_iter().find_map(|profile| profile.attribute_def(&name)))
        .filter(|def| is_whole(def, short))
        .collect();
    // `openai.request.service_tier` lives, and with the prefix it is the deprecated name of itself: life goes first.
    if let Some(def) = found.iter().find(|def| def.is_live()) {
        return Ok(def.name);
    }
    if let Some(Standing::RenamedTo(newer)) = found.first().map(|def| def.standing) {
        return Err(UnknownName::new(Kind::Attribute, short, Some(shorten(newer))));
    }
    let known = Profile::ALL.into_iter().flat_map(Profile::attributes).filter(|def| def.is_live());
    Err(UnknownName::new(Kind::Attribute, short, nearest(short, known.map(|def| def.name))))
}

/// The full name of a metric of the `core` profile: `client.operation.duration` gives `gen_ai.client.operation.duration`.
///
/// Hardware metrics and our own are known by their full names. Use [`Profile::instruments`] for code that serves both
/// profiles, since one measure may be several metrics there.
///
/// # Errors
/// [`UnknownName`] with the nearest name.
///
/// ```
/// use wattspan_semconv::metric_name;
///
/// assert_eq!(metric_name("client.token.usage"), Ok("gen_ai.client.token.usage"));
/// assert_eq!(metric_name("hw.energy"), Ok("hw.energy"));
/// ```
pub fn metric_name(short: &str) -> Result<&'static str, UnknownName> {
    if let Some(def) = candidates(short).find_map(|name| Profile::Core.metric_def(&name)) {
        return Ok(def.name);
    }
    Err(UnknownName::new(Kind::Metric, short, nearest(short, Profile::Core.metrics().map(|def| def.name))))
}

/// The short name of an attribute or metric of either profile: `gen_ai.request.model` gives `request.model`.
///
/// # Errors
/// [`UnknownName`] with the nearest full name.
///
/// ```
/// assert_eq!(wattspan_semconv::short_name("gen_ai.request.model"), Ok("request.model"));
/// ```
pub fn short_name(name: &str) -> Result<&'static str, UnknownName> {
    for profile in Profile::ALL {
        let attribute = profile.attribute_def(name).filter(|def| def.is_live() && is_whole(def, name));
        let metric = profile.metric_def(name).filter(|def| def.evidence != Evidence::Inferred);
        if let Some(full) = attribute.map(|def| def.name).or(metric.map(|def| def.name)) {
            return Ok(shorten(full));
        }
    }
    let attributes = Profile::ALL.into_iter().flat_map(Profile::attributes).filter(|def| def.is_live());
    let metrics = Profile::ALL.into_iter().flat_map(Profile::metrics).map(|def| def.name);
    let known = attributes.map(|def| def.name).chain(metrics);
    Err(UnknownName { kind: Kind::Full, name: name.to_owned(), suggestion: closest(name, known) })
}

/// The convention's value of `gen_ai.provider.name` for a name in use: `vertex` gives `gcp.vertex_ai`.
///
/// The list of providers is open, so what is not an older name of a known one stays as it is.
///
/// ```
/// use wattspan_semconv::provider_name;
///
/// assert_eq!(provider_name("bedrock"), "aws.bedrock");
/// assert_eq!(provider_name("llama_cpp"), "llama_cpp");
/// ```
pub fn provider_name(given: &str) -> &str {
    let aliases = &crate::generated::rename::PROVIDER_ALIASES;
    match aliases.binary_search_by(|(old, _)| (*old).cmp(given)) {
        Ok(at) => aliases[at].1,
        Err(_) => given,
    }
}

/// A short name that no profile has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    kind: Kind,
    name: String,
    suggestion: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Attribute,
    Metric,
    Full,
}

impl UnknownName {
    fn new(kind: Kind, name: &str, suggestion: Option<&'static str>) -> Self {
        Self { kind, name: name.to_owned(), suggestion }
    }

    /// The name that was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nearest known name, in the form that the question had, when one is near.
    pub fn suggestion(&self) -> Option<&'static str> {
        self.suggestion
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Attribute => "attribute",
            Kind::Metric => "metric",
            Kind::Full => "attribute or metric",
        };
        write!(f, "no {what} is called `{}`", self.name)?;
        match self.suggestion {
            Some(name) => write!(f, ": did you mean `{name}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownName {}

fn shorten(full: &'static str) -> &'static str {
    full.strip_prefix(PREFIX).unwrap_or(full)
}

/// The full names that a short one may stand for, most likely first.
fn candidates(short: &str) -> impl Iterator<Item = String> {
    [format!("{PREFIX}{short}"), short.to_owned()].into_iter()
}

/// Whether a name found a definition by itself, and not as one of a template's family.
fn is_whole(def: &AttributeDef, asked: &str) -> bool {
    def.name == asked || def.name.strip_prefix(PREFIX) == Some(asked)
}

/// The nearest of the known names in the form the question had: with the prefix or without.
fn nearest(asked: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if asked.starts_with(PREFIX) { closest(asked, known) } else { closest(asked, known.map(shorten)) }
}

/// The name with the least edits, unless more than a third of it would have to change.
fn closest(asked: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let limit = (asked.chars().count() / 3).max(2);
    let scored =
        known.map(|name| (strsim::osa_distance(asked, name), name)).filter(|(edits, _)| *edits <= limit);
    scored.min().map(|(_, name)| name)
}
