//! Reads the two registries into plain structs and refuses what the generator does not understand, so that a new
//! registry cannot be half read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::scope::{Scope, scope};

pub(super) struct Input {
    pub(super) core: Table,
    pub(super) genai: Table,
    pub(super) hw: Table,
    pub(super) own: Table,
    pub(super) renames: Vec<Rename>,
    pub(super) smoltrace: Vec<Smoltrace>,
    pub(super) flat_columns: Vec<(String, String)>,
    pub(super) operations: Vec<Operation>,
    pub(super) aliases: Vec<(String, String)>,
    pub(super) measures: Vec<Measure>,
    pub(super) environment: Vec<(String, Vec<String>)>,
}

#[derive(Default)]
pub(super) struct Table {
    pub(super) version: String,
    pub(super) schema_url: Option<String>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) metrics: Vec<Metric>,
    pub(super) spans: Vec<Span>,
    pub(super) events: Vec<Event>,
    pub(super) deprecated_events: Vec<String>,
}

pub(super) enum Standing {
    Live,
    RenamedTo(String),
    Obsolete,
}

pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) members: Vec<Member>,
    pub(super) closed: bool,
    pub(super) sensitive: Option<String>,
    pub(super) content: bool,
    pub(super) standing: Standing,
    pub(super) unit: String,
    pub(super) on: String,
    pub(super) requires: Vec<String>,
    pub(super) evidence: String,
    pub(super) brief: String,
}

impl Attribute {
    pub(super) fn is_live(&self) -> bool {
        matches!(self.standing, Standing::Live)
    }
}

pub(super) struct Member {
    pub(super) value: String,
    pub(super) brief: String,
}

pub(super) struct Reference {
    pub(super) name: String,
    pub(super) level: String,
    pub(super) sampled: bool,
}

pub(super) struct Metric {
    pub(super) name: String,
    pub(super) instrument: String,
    pub(super) unit: String,
    pub(super) value_type: String,
    pub(super) buckets: Vec<f64>,
    pub(super) attributes: Vec<Reference>,
    pub(super) evidence: String,
    pub(super) brief: String,
}

pub(super) struct Span {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) kinds: Vec<String>,
    pub(super) template: String,
    pub(super) fallback: Option<String>,
    pub(super) operations: Vec<String>,
    pub(super) fixed: Vec<(String, String)>,
    pub(super) refines: Option<String>,
    pub(super) attributes: Vec<Reference>,
    pub(super) evidence: String,
}

pub(super) struct Event {
    pub(super) name: String,
    pub(super) severity: Option<u64>,
    pub(super) level: String,
    pub(super) attributes: Vec<Reference>,
    pub(super) evidence: String,
}

pub(super) struct Rename {
    pub(super) from: String,
    pub(super) to: Option<String>,
    pub(super) signal: String,
    pub(super) from_profile: String,
    pub(super) to_profile: String,
    pub(super) change: String,
    pub(super) scope: Scope,
    pub(super) evidence: String,
}

pub(super) struct Smoltrace {
    pub(super) metric: Metric,
    pub(super) column: String,
    pub(super) hw: Option<(String, f64)>,
}

pub(super) struct Operation {
    pub(super) name: String,
    pub(super) origin: String,
}

pub(super) struct Measure {
    pub(super) key: String,
    pub(super) brief: String,
    pub(super) core: Vec<Route>,
    pub(super) genai: Vec<Route>,
}

#[derive(Clone)]
pub(super) struct Route {
    /// `None`: any operation.
    pub(super) operations: Option<Vec<String>>,
    pub(super) metrics: Vec<(String, Vec<(String, String)>)>,
}

type Result<T> = std::result::Result<T, String>;

impl Input {
    pub(super) fn read(semconv: &Path, own: &Path) -> Result<Self> {
        let read = |path: &Path| -> Result<Value> {
            let text = fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            serde_json::from_str(&text).map_err(|error| format!("{} is not JSON: {error}", path.display()))
        };
        Self::parse(&read(semconv)?, &read(own)?)
    }

    fn parse(semconv: &Value, own: &Value) -> Result<Self> {
        for (name, registry) in [("semconv.json", semconv), ("wattspan.json", own)] {
            if registry["format_version"] != 1 {
                return Err(format!("{name} has a format version that this generator does not know"));
            }
        }
        let content = strings(&own["content_attributes"]);
        let core = table(&semconv["profiles"]["core_1_41"], &content)?;
        let genai = table(&semconv["profiles"]["genai_0_1"], &content)?;
        let operations = operations(&core, &genai, own)?;
        let peers = &semconv["peer_names"];
        Ok(Self {
            hw: table(&semconv["hw"], &content)?,
            own: table(own, &content)?,
            renames: list(&semconv["renames"], rename)?,
            smoltrace: list(&peers["smoltrace"], smoltrace)?,
            flat_columns: list(&peers["smoltrace_flat_columns"], |v| {
                Ok((text(v, "name")?, text(v, "type")?))
            })?,
            aliases: pairs(&own["provider_aliases"]),
            measures: list(&own["measures"], measure)?,
            environment: list(&semconv["environment"], |v| {
                Ok((
                    text(v, "name")?,
                    v["values"]
                        .as_array()
                        .map(Vec::as_slice)
                        .unwrap_or_default()
                        .iter()
                        .map(|v| text(v, "value"))
                        .collect::<Result<_>>()?,
                ))
            })?,
            operations,
            core,
            genai,
        })
    }

    /// The tables that a profile consists of, in the order of look-up.
    pub(super) fn tables(&self, profile: Profile) -> [(&'static str, &Table); 3] {
        let (name, table) = match profile {
            Profile::Core => ("core", &self.core),
            Profile::GenAi => ("genai", &self.genai),
        };
        [(name, table), ("hw", &self.hw), ("own", &self.own)]
    }

    /// Every attribute name once, sorted, with the first definition of each profile.
    pub(super) fn attributes(&self) -> BTreeMap<&str, &Attribute> {
        let mut all = BTreeMap::new();
        for table in [&self.core, &self.genai, &self.hw, &self.own] {
            for attribute in &table.attributes {
                all.entry(attribute.name.as_str()).or_insert(attribute);
            }
        }
        all
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    Core,
    GenAi,
}

fn table(value: &Value, content: &[String]) -> Result<Table> {
    let mut table = Table {
        version: value["version"].as_str().unwrap_or_default().to_owned(),
        schema_url: optional(value, "schema_url"),
        attributes: list(&value["attributes"], |v| attribute(v, content))?,
        metrics: list(&value["metrics"], metric)?,
        spans: list_or_empty(&value["spans"], span)?,
        events: list_or_empty(&value["events"], event)?,
        deprecated_events: list_or_empty(&value["deprecated_events"], |v| text(v, "name"))?,
    };
    table.attributes.sort_by(|a, b| a.name.cmp(&b.name));
    table.metrics.sort_by(|a, b| a.name.cmp(&b.name));
    table.spans.sort_by(|a, b| a.id.cmp(&b.id));
    table.events.sort_by(|a, b| a.name.cmp(&b.name));
    table.deprecated_events.sort();
    inherit_kinds(&mut table.spans);
    Ok(table)
}

/// A provider's variant may have every kind that the span it narrows may have.
fn inherit_kinds(spans: &mut [Span]) {
    let kinds: BTreeMap<String, Vec<String>> =
        spans.iter().map(|s| (s.id.clone(), s.kinds.clone())).collect();
    for span in spans {
        if let Some(base) = span.refines.as_ref().and_then(|id| kinds.get(id)) {
            for kind in base {
                if !span.kinds.contains(kind) {
                    span.kinds.push(kind.clone());
                }
            }
        }
    }
}

fn attribute(value: &Value, content: &[String]) -> Result<Attribute> {
    let name = text(value, "name")?;
    let kind = text(value, "type")?;
    let kind = match kind.as_str() {
        "enum" => "string".to_owned(),
        "string" | "int" | "double" | "boolean" | "string[]" | "any" | "template[string]" => kind,
        other => return Err(format!("{name}: type `{other}` is not known")),
    };
    let standing = match value.get("deprecated") {
        None => Standing::Live,
        Some(deprecated) => match text(deprecated, "reason")?.as_str() {
            "renamed" => Standing::RenamedTo(text(deprecated, "renamed_to")?),
            "obsoleted" => Standing::Obsolete,
            other => return Err(format!("{name}: deprecation `{other}` is not known")),
        },
    };
    let live = |member: &&Value| member.get("deprecated").is_none();
    let members = value["members"].as_array().map(Vec::as_slice).unwrap_or_default();
    let members = members
        .iter()
        .filter(live)
        .map(|v| Ok(Member { value: text(v, "value")?, brief: optional(v, "brief").unwrap_or_default() }))
        .collect::<Result<_>>()?;
    Ok(Attribute {
        content: content.contains(&name),
        kind,
        members,
        closed: value["closed"].as_bool().unwrap_or(false),
        sensitive: optional(value, "sensitive"),
        standing,
        unit: optional(value, "unit").unwrap_or_default(),
        on: optional(value, "on").unwrap_or_default(),
        requires: strings(&value["requires"]),
        evidence: evidence(value)?,
        brief: optional(value, "brief").unwrap_or_default(),
        name,
    })
}

fn metric(value: &Value) -> Result<Metric> {
    let unit = text(value, "unit")?;
    // The MCP durations name no number type; seconds are doubles on every other metric.
    let value_type = match optional(value, "value_type") {
        Some(value_type) => value_type,
        None if unit == "s" => "double".to_owned(),
        None => return Err(format!("{}: no value type", text(value, "name")?)),
    };
    let buckets = value["buckets"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(Metric {
        name: text(value, "name")?,
        instrument: text(value, "instrument")?,
        unit,
        value_type,
        buckets: buckets.iter().filter_map(Value::as_f64).collect(),
        attributes: list(&value["attributes"], reference)?,
        evidence: evidence(value)?,
        brief: optional(value, "brief").unwrap_or_default(),
    })
}

fn reference(value: &Value) -> Result<Reference> {
    Ok(Reference {
        name: text(value, "ref")?,
        level: text(value, "requirement_level")?,
        sampled: value["sampling_relevant"].as_bool().unwrap_or(false),
    })
}

fn span(value: &Value) -> Result<Span> {
    let kind = text(value, "kind")?;
    let mut kinds = strings(&value["kinds_allowed"]);
    if !kinds.contains(&kind) {
        kinds.insert(0, kind.clone());
    }
    let mut operations = strings(&value["operation_names"]);
    operations.extend(optional(value, "operation_name"));
    Ok(Span {
        id: text(value, "id")?,
        kind,
        kinds,
        template: text(value, "name_template")?,
        fallback: optional(value, "name_fallback"),
        operations,
        fixed: pairs(&value["fixed_attributes"]),
        refines: optional(value, "refines"),
        attributes: list(&value["attributes"], reference)?,
        evidence: evidence(value)?,
    })
}

fn event(value: &Value) -> Result<Event> {
    Ok(Event {
        name: text(value, "name")?,
        severity: value["severity_number"].as_u64(),
        level: text(value, "requirement_level")?,
        attributes: list(&value["attributes"], reference)?,
        evidence: evidence(value)?,
    })
}

fn rename(value: &Value) -> Result<Rename> {
    Ok(Rename {
        from: text(value, "from")?,
        to: optional(value, "to"),
        signal: text(value, "kind")?,
        from_profile: text(value, "from_profile")?,
        to_profile: text(value, "to_profile")?,
        change: text(value, "change")?,
        scope: scope(optional(value, "scope").as_deref().unwrap_or_default())?,
        evidence: evidence(value)?,
    })
}

fn smoltrace(value: &Value) -> Result<Smoltrace> {
    let hw = optional(value, "hw_name").zip(value["to_hw_factor"].as_f64());
    let attributes = strings(&value["attributes"]);
    Ok(Smoltrace {
        metric: Metric {
            name: text(value, "name")?,
            instrument: text(value, "instrument")?,
            unit: text(value, "unit")?,
            value_type: "double".to_owned(),
            buckets: Vec::new(),
            attributes: attributes
                .into_iter()
                .map(|name| Reference { name, level: "recommended".to_owned(), sampled: false })
                .collect(),
            evidence: "release".to_owned(),
            brief: String::new(),
        },
        column: text(value, "flat_column")?,
        hw,
    })
}

/// The operations of both profiles and our own, each once, in that order.
fn operations(core: &Table, genai: &Table, own: &Value) -> Result<Vec<Operation>> {
    let values = |table: &Table| -> Vec<String> {
        let named = table.attributes.iter().find(|attribute| attribute.name == "gen_ai.operation.name");
        named.map(|attribute| attribute.members.iter().map(|m| m.value.clone()).collect()).unwrap_or_default()
    };
    let (in_core, in_genai) = (values(core), values(genai));
    let mut all: Vec<Operation> = Vec::new();
    for name in in_core.iter().chain(&in_genai) {
        if all.iter().any(|operation| operation.name == *name) {
            continue;
        }
        let origin = match (in_core.contains(name), in_genai.contains(name)) {
            (true, true) => "in both profiles",
            (true, false) => "in `core` only",
            (false, _) => "in `genai` only",
        };
        all.push(Operation { name: name.clone(), origin: origin.to_owned() });
    }
    for value in own["operations"].as_array().map(Vec::as_slice).unwrap_or_default() {
        all.push(Operation { name: text(value, "name")?, origin: "a custom value of wattspan's".to_owned() });
    }
    Ok(all)
}

fn measure(value: &Value) -> Result<Measure> {
    Ok(Measure {
        key: text(value, "key")?,
        brief: text(value, "brief")?,
        core: list(&value["core"], route)?,
        genai: list(&value["genai"], route)?,
    })
}

fn route(value: &Value) -> Result<Route> {
    let operations = if value["operations"] == "any" { None } else { Some(strings(&value["operations"])) };
    let metrics = list(&value["metrics"], |v| Ok((text(v, "name")?, pairs(&v["fixed"]))))?;
    Ok(Route { operations, metrics })
}

fn evidence(value: &Value) -> Result<String> {
    let evidence = optional(value, "evidence").unwrap_or_else(|| "release".to_owned());
    match evidence.as_str() {
        // Seen in the tagged core release.
        "core_1_41" => Ok("release".to_owned()),
        "release" | "main_late" | "main_2026_10" | "main_2026_08" | "inferred" => Ok(evidence),
        other => Err(format!("evidence `{other}` is not known")),
    }
}

fn text(value: &Value, key: &str) -> Result<String> {
    optional(value, key).ok_or_else(|| format!("no text `{key}` in {value}"))
}

fn optional(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(ToOwned::to_owned)
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    value.as_array().ok_or("a list is missing")?.iter().map(read).collect()
}

fn list_or_empty<T>(value: &Value, read: impl Fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    if value.is_null() { Ok(Vec::new()) } else { list(value, read) }
}
