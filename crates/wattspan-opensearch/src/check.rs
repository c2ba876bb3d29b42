//! Whether an export would work, found out without writing anything.

use std::fmt;

use reqwest::Method;
use serde_json::{Value, json};
use wattspan_core::Table;

use crate::client::{Body, Client, Request};
use crate::dialect::Dialect;
use crate::index::{self, Template, get};
use crate::mapping::{TEMPLATE_VERSION, pattern, template_name};
use crate::{Error, Options};

/// What [`check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Scheme, host and port.
    pub endpoint: String,
    /// Kind and version, such as `OpenSearch 3.8.0`.
    pub server: String,
    /// Who the server takes this for. **Absent** where it does not tell.
    pub user: Option<String>,
    /// Each index template: its name and what is there.
    pub templates: Vec<(String, String)>,
    /// Runs on the leaderboard. **Absent** when there is none yet, or it may not be read.
    pub runs: Option<u64>,
    /// What an export needs, and whether this user may do it.
    pub rights: Vec<(String, Right)>,
    /// What the user should know.
    pub warnings: Vec<String>,
    may_write: Right,
}

/// Whether something is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Right {
    /// It is.
    Granted,
    /// It is not.
    Denied,
    /// Only trying would tell.
    Unknown,
}

/// Looks whether an export with these options would work: whether the server can be reached, takes the credentials, has a
/// version that can be used, and what it says of rights. Nothing is written. Each request is tried once or twice.
///
/// Needs a Tokio runtime, as the sink does.
///
/// # Errors
/// When an export would fail: the option that cannot be used, the server that does not answer, the credentials that it does
/// not take, the version that is too old. Rights that are missing stand in the report.
pub async fn check(options: &Options) -> Result<Report, Error> {
    let mut retry = options.retry;
    retry.times = retry.times.min(1);
    let client = Client::new(&options.clone().retry(retry))?;
    let prefix = &options.prefix;
    let server = index::server(&client).await?;
    let mut rights = Vec::new();
    let mut templates = Vec::new();
    let mut warnings = options.warnings();
    let mut may_see_templates = Right::Granted;
    for table in Table::ALL {
        let name = template_name(prefix, table);
        let found = index::template(&client, &name).await?;
        if found == Template::Denied {
            may_see_templates = Right::Denied;
        }
        if found == Template::Foreign {
            warnings.push(format!("index template {name} is not wattspan's and will be left alone"));
        }
        templates.push((name, found.to_string()));
    }
    rights.push(("see index templates".to_owned(), may_see_templates));
    let (read, runs) = leaderboard(&client, prefix).await?;
    rights.push((format!("read {prefix}-leaderboard"), read));
    let user = match server.dialect {
        Dialect::OpenSearch => opensearch_user(&client).await?,
        Dialect::Elasticsearch => None,
    };
    let (templating, writing) = match server.dialect {
        // Its security plugin tells what a role may do only to administrators.
        Dialect::OpenSearch => (Right::Unknown, Right::Unknown),
        Dialect::Elasticsearch => elasticsearch_rights(&client, prefix).await?,
    };
    rights.push(("make index templates".to_owned(), templating));
    rights.push((format!("make and write indexes {prefix}-*"), writing));
    Ok(Report {
        endpoint: client.endpoint,
        server: server.name,
        user,
        templates,
        runs,
        rights,
        warnings,
        may_write: writing,
    })
}

impl Report {
    /// Whether nothing is known that would stop an export. It needs neither templates nor to read the leaderboard.
    pub fn is_good(&self) -> bool {
        self.may_write != Right::Denied
    }
}

impl fmt::Display for Report {
    /// A line for each fact.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.endpoint, self.server)?;
        if let Some(user) = &self.user {
            write!(out, ", as {user}")?;
        }
        match self.runs {
            Some(runs) => write!(out, "\n{runs} runs on the leaderboard")?,
            None => write!(out, "\nno leaderboard yet")?,
        }
        for (name, found) in &self.templates {
            write!(out, "\nindex template {name}: {found}")?;
        }
        for (what, right) in &self.rights {
            write!(out, "\nmay {what}: {right}")?;
        }
        for warning in &self.warnings {
            write!(out, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Granted => "yes",
            Self::Denied => "no",
            Self::Unknown => "not known without writing",
        })
    }
}

impl fmt::Display for Template {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => out.write_str("will be made"),
            Self::Ours(version) if *version < TEMPLATE_VERSION => {
                write!(out, "version {version}, will become {TEMPLATE_VERSION}")
            }
            Self::Ours(version) if *version > TEMPLATE_VERSION => {
                write!(out, "version {version}, newer than this program's and kept")
            }
            Self::Ours(version) => write!(out, "version {version}"),
            Self::Foreign => out.write_str("somebody else's, left alone"),
            Self::Denied => out.write_str("may not be seen"),
        }
    }
}

async fn leaderboard(client: &Client, prefix: &str) -> Result<(Right, Option<u64>), Error> {
    let path = format!("/{}/_count", pattern(prefix, Table::Leaderboard));
    let answer = client.call(&get("count the leaderboard's runs", &path)).await?;
    match answer.status {
        200 => {
            let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            Ok((Right::Granted, found["count"].as_u64()))
        }
        404 => Ok((Right::Granted, None)),
        403 => Ok((Right::Denied, None)),
        _ => Err(client.refusal("count the leaderboard's runs", &answer)),
    }
}

/// The security plugin's own page about who asks; absent where the plugin is, and on a server without security.
async fn opensearch_user(client: &Client) -> Result<Option<String>, Error> {
    let answer = client.call(&get("tell the user", "/_plugins/_security/authinfo")).await?;
    let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let Some(name) = found["user_name"].as_str().filter(|_| answer.status == 200) else { return Ok(None) };
    let roles: Vec<&str> =
        found["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Ok(Some(if roles.is_empty() { name.to_owned() } else { format!("{name} (roles: {})", roles.join(", ")) }))
}

/// Elasticsearch answers what a user may do without its being done.
async fn elasticsearch_rights(client: &Client, prefix: &str) -> Result<(Right, Right), Error> {
    let body = json!({
        "cluster": ["manage_index_templates"],
        "index": [{
            "names": [format!("{prefix}-*")],
            "privileges": ["create_index", "index", "view_index_metadata", "manage"],
        }],
    });
    let request = Request {
        operation: "tell rights",
        method: Method::POST,
        path: "/_security/user/_has_privileges",
        body: Body::Json(&body),
    };
    let answer = client.call(&request).await?;
    if answer.status != 200 {
        return Ok((Right::Unknown, Right::Unknown));
    }
    let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let right = |value: &Value| match value.as_bool() {
        Some(true) => Right::Granted,
        Some(false) => Right::Denied,
        None => Right::Unknown,
    };
    let of_index = &found["index"][format!("{prefix}-*")];
    let writing = ["create_index", "index", "view_index_metadata"].map(|name| right(&of_index[name]));
    let writing = if writing.contains(&Right::Denied) {
        Right::Denied
    } else if writing.contains(&Right::Unknown) {
        Right::Unknown
    } else {
        Right::Granted
    };
    Ok((right(&found["cluster"]["manage_index_templates"]), writing))
}
