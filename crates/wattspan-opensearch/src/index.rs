//! A run's indexes and their templates: made, found again, and brought up to date.

use std::time::{Duration, SystemTime};

use reqwest::Method;
use serde_json::{Map, Value, json};
use wattspan_core::{RunId, Table};
use wattspan_dataset::Timestamp;

use crate::Error;
use crate::client::{Body, Client, Request};
use crate::dialect::{Dialect, Server};
use crate::mapping::{MANAGED_BY, TEMPLATE_VERSION, mappings, template_body, template_name};
use crate::sink::Indexes;

/// What is known of one of our index templates on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    Absent,
    Ours(u64),
    /// Somebody else's with our name.
    Foreign,
    /// May not be looked at.
    Denied,
}

pub(crate) async fn server(client: &Client) -> Result<Server, Error> {
    let answer = client.call(&get("tell its version", "/")).await?;
    match answer.status {
        200 => Server::read(&answer.body),
        // OpenSearch Serverless has no such page.
        404 => Err(Error::Unsupported {
            server: client.endpoint.clone(),
            remedy: "it does not tell its version, as OpenSearch Serverless does not: take a domain or a server of your own"
                .to_owned(),
        }),
        _ => Err(client.refusal("tell its version", &answer)),
    }
}

pub(crate) async fn template(client: &Client, name: &str) -> Result<Template, Error> {
    let path = format!("/_index_template/{name}");
    let answer = client.call(&get("show an index template", &path)).await?;
    match answer.status {
        200 => {}
        404 => return Ok(Template::Absent),
        403 => return Ok(Template::Denied),
        _ => return Err(client.refusal("show an index template", &answer)),
    }
    let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let found = &found["index_templates"][0]["index_template"];
    if found["_meta"]["managed_by"] != MANAGED_BY {
        return Ok(Template::Foreign);
    }
    Ok(Template::Ours(found["version"].as_u64().unwrap_or(0)))
}

/// Makes the templates, or brings older ones up to date. One that cannot be made does not stop an export: an index gets its
/// mapping when it is made.
pub(crate) async fn templates(client: &Client, prefix: &str, dialect: Dialect) -> Result<(), Error> {
    for table in Table::ALL {
        let name = template_name(prefix, table);
        let why = match template(client, &name).await? {
            Template::Ours(version) if version >= TEMPLATE_VERSION => continue,
            Template::Ours(_) | Template::Absent => {
                let body = template_body(prefix, table, dialect);
                let path = format!("/_index_template/{name}");
                let answer = client.call(&put("make an index template", &path, &body)).await?;
                if answer.is_success() {
                    continue;
                }
                client.refusal("make an index template", &answer).to_string()
            }
            Template::Foreign => "there is one of this name that is not wattspan's".to_owned(),
            Template::Denied => "this user may not see templates".to_owned(),
        };
        tracing::warn!("index template {name} is left as it is: {why}");
    }
    Ok(())
}

/// The run's indexes. A run that was exported before has them, whatever time is given now; a new one gets names with the
/// time `begun`, or with one of the seconds after it where another run took that.
pub(crate) async fn of_run(
    client: &Client,
    prefix: &str,
    dialect: Dialect,
    run: &RunId,
    begun: SystemTime,
) -> Result<Indexes, Error> {
    let suffix = match known(client, prefix, run).await? {
        Some(suffix) => {
            open(client, &format!("{prefix}-results-{suffix}"), Table::Results, dialect, run).await?;
            suffix
        }
        None => claim(client, prefix, dialect, run, begun).await?,
    };
    let indexes = Indexes::new(prefix, &suffix);
    for table in [Table::Traces, Table::Metrics, Table::Leaderboard] {
        open(client, indexes.of(table), table, dialect, run).await?;
    }
    Ok(indexes)
}

/// Looks the run up in what each results index says of itself. That is in the cluster's state: it is there at once, before
/// any document can be searched.
async fn known(client: &Client, prefix: &str, run: &RunId) -> Result<Option<String>, Error> {
    let begin = format!("{prefix}-results-");
    let path = format!("/{begin}*/_mapping?filter_path=*.mappings._meta&expand_wildcards=open");
    let answer = client.call(&get("list its indexes", &path)).await?;
    match answer.status {
        200 => {}
        404 => return Ok(None),
        403 => {
            tracing::debug!("this user may not list indexes: the run's time alone tells which are its own");
            return Ok(None);
        }
        _ => return Err(client.refusal("list its indexes", &answer)),
    }
    let found: Map<String, Value> = serde_json::from_slice(&answer.body).unwrap_or_default();
    let of_run = found.iter().filter(|(_, index)| is_of(&index["mappings"], run));
    Ok(of_run.filter_map(|(name, _)| name.strip_prefix(&begin)).min().map(str::to_owned))
}

fn is_of(mappings: &Value, run: &RunId) -> bool {
    mappings["_meta"]["run_id"] == run.as_str()
}

/// Makes the run's results index, whose name is then this run's alone.
async fn claim(
    client: &Client,
    prefix: &str,
    dialect: Dialect,
    run: &RunId,
    begun: SystemTime,
) -> Result<String, Error> {
    for later in 0..MOST_RUNS_A_MOMENT {
        let suffix = suffix(begun + Duration::from_secs(later));
        if open(client, &format!("{prefix}-results-{suffix}"), Table::Results, dialect, run).await? {
            return Ok(suffix);
        }
    }
    let reason =
        format!("the names of {MOST_RUNS_A_MOMENT} seconds from its beginning are taken by other runs");
    Err(client.answer("make the run's indexes", 400, &reason))
}

/// `20261201-214638`.
fn suffix(begun: SystemTime) -> String {
    Timestamp::from(begun).compact().replace('_', "-")
}

/// Makes an index, or brings one that is there up to date. Answers whether it is this run's.
async fn open(
    client: &Client,
    name: &str,
    table: Table,
    dialect: Dialect,
    run: &RunId,
) -> Result<bool, Error> {
    let wanted = mappings(table, dialect);
    let mut mapping = wanted.clone();
    if table != Table::Leaderboard {
        mapping["_meta"] = json!({"managed_by": MANAGED_BY, "run_id": run.as_str()});
    }
    let path = format!("/{name}");
    // Settings come from the template, so that an administrator's own one can decide on shards and replicas.
    let answer = client.call(&put("make an index", &path, &json!({"mappings": mapping}))).await?;
    if answer.is_success() {
        return Ok(true);
    }
    let error = client.refusal("make an index", &answer);
    let is_there = matches!(&error, Error::Answer { status: 400, reason, .. }
        if reason.starts_with("resource_already_exists_exception"));
    // Who may not make an index may still write to one that is there.
    if !is_there && answer.status != 403 {
        return Err(error);
    }
    let path = format!("/{name}/_mapping");
    let answer = client.call(&get("show a mapping", &path)).await?;
    if answer.status != 200 {
        return Err(if is_there { client.refusal("show a mapping", &answer) } else { error });
    }
    let found: Map<String, Value> = serde_json::from_slice(&answer.body).unwrap_or_default();
    // Under another name when ours is an alias.
    let Some(found) = found.values().next().map(|index| &index["mappings"]) else {
        return Err(client.answer("show a mapping", answer.status, "it names no index"));
    };
    let is_own = table == Table::Leaderboard || is_of(found, run);
    if table == Table::Results && !is_own {
        return Ok(false);
    }
    let mut other = Vec::new();
    let missing = missing(&found["properties"], &wanted["properties"], "", &mut other);
    if !other.is_empty() {
        tracing::warn!(
            "{name} maps {} otherwise than wattspan does; documents that do not fit are kept in a file",
            other.join(", ")
        );
    }
    if let Some(missing) = missing {
        let answer = client.call(&put("add fields", &path, &json!({"properties": missing}))).await?;
        if !answer.is_success() {
            tracing::warn!(
                "{name} does not get its new fields, which stay unsearchable: {}",
                client.refusal("add fields", &answer)
            );
        }
    }
    Ok(is_own)
}

/// The fields that an index lacks. Those with another type are named in `other`.
fn missing(found: &Value, wanted: &Value, path: &str, other: &mut Vec<String>) -> Option<Map<String, Value>> {
    let mut missing = Map::new();
    for (name, field) in wanted.as_object()? {
        let Some(there) = found.get(name) else {
            missing.insert(name.clone(), field.clone());
            continue;
        };
        let path = format!("{path}{name}");
        // A mapping does not say `object` where it has fields.
        let kind = |field: &Value| field["type"].as_str().unwrap_or("object").to_owned();
        let (is, should) = (kind(there), kind(field));
        if is != should {
            other.push(format!("{path} as {is}"));
        } else if field.get("properties").is_some() && there["enabled"] != false {
            let inner = self::missing(&there["properties"], &field["properties"], &format!("{path}."), other);
            if let Some(inner) = inner {
                missing.insert(name.clone(), json!({"type": is, "properties": inner}));
            }
        }
    }
    (!missing.is_empty()).then_some(missing)
}

pub(crate) fn get<'a>(operation: &'static str, path: &'a str) -> Request<'a> {
    Request { operation, method: Method::GET, path, body: Body::None }
}

fn put<'a>(operation: &'static str, path: &'a str, body: &'a Value) -> Request<'a> {
    Request { operation, method: Method::PUT, path, body: Body::Json(body) }
}

/// Runs of one prefix that may begin in the same second, or in the seconds after it.
const MOST_RUNS_A_MOMENT: u64 = 100;

#[cfg(test)]
mod tests;
