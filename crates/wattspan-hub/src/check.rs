//! Whether a push would work, found out without writing.

use std::error::Error as _;
use std::fmt;

use crate::api::{AccessToken, Identity};
use crate::names::is_name;
use crate::wire::Session;
use crate::{HubError, Visibility};

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It works.
    Ok,
    /// Worth knowing; nothing is broken.
    Note,
    /// A push would fail.
    Problem,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How it stands.
    pub mark: Mark,
    /// What: `hub`, `token`, `namespace`, `leaderboard`.
    pub what: &'static str,
    /// In words, with what to do about a problem.
    pub detail: String,
}

impl Finding {
    fn new(mark: Mark, what: &'static str, detail: impl Into<String>) -> Self {
        Self { mark, what, detail: detail.into() }
    }

    pub(crate) fn problem(what: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Mark::Problem, what, detail)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.mark {
            Mark::Ok => "ok",
            Mark::Note => "note",
            Mark::Problem => "PROBLEM",
        };
        write!(out, "{mark}: {}: {}", self.what, self.detail)
    }
}

pub(crate) async fn check(session: &Session<'_>) -> Vec<Finding> {
    let host = session.settings.host();
    let identity = match session.whoami().await {
        Ok(identity) => identity,
        Err(error @ (HubError::NoToken | HubError::TokenRefused { .. })) => {
            return vec![Finding::problem("token", words(&error))];
        }
        Err(error) => return vec![Finding::problem("hub", words(&error))],
    };
    let mut findings = vec![Finding::new(
        Mark::Ok,
        "hub",
        format!("{host} answers and knows whose token this is: {} (whoami-v2)", identity.name),
    )];
    let options = &session.settings.options;
    let namespace = options.namespace.as_deref().unwrap_or(&identity.name);
    findings.push(rights(&identity, namespace, &session.settings.origin()));
    if namespace != identity.name {
        findings.push(membership(&identity, namespace));
    }
    if is_name(namespace) {
        findings.push(leaderboard(session, &format!("{namespace}/{}-leaderboard", options.prefix)).await);
    }
    findings
}

fn rights(identity: &Identity, namespace: &str, origin: &str) -> Finding {
    let Some(AccessToken { role, fine_grained }) = &identity.auth.token else {
        return Finding::new(Mark::Note, "token", format!("{origin}; the Hub does not say what it may do"));
    };
    match role.as_deref() {
        Some("write" | "god") => Finding::new(Mark::Ok, "token", format!("{origin}, may write")),
        Some("read") => Finding::problem(
            "token",
            format!("{origin}, may only read: make one that may write to {namespace}"),
        ),
        Some("fineGrained") => {
            let scopes = fine_grained.iter().flat_map(|fine| &fine.scoped);
            let may = scopes
                .filter(|scope| scope.entity.name.as_deref() == Some(namespace))
                .any(|scope| scope.permissions.iter().any(|permission| permission == "repo.write"));
            if may {
                Finding::new(Mark::Ok, "token", format!("{origin}, may write to {namespace}"))
            } else {
                Finding::problem(
                    "token",
                    format!(
                        "{origin}, is not given `repo.write` for {namespace}: add it in the token's settings"
                    ),
                )
            }
        }
        other => {
            let role = other.unwrap_or("none");
            Finding::new(Mark::Note, "token", format!("{origin}, has a role that is not known here: {role}"))
        }
    }
}

fn membership(identity: &Identity, namespace: &str) -> Finding {
    match identity.orgs.iter().find(|organisation| organisation.name == namespace) {
        None => Finding::problem(
            "namespace",
            format!("{} is not a member of {namespace}: take another namespace", identity.name),
        ),
        Some(organisation) if organisation.role.as_deref() == Some("read") => Finding::problem(
            "namespace",
            format!("{} may only read in {namespace}: ask for write permission", identity.name),
        ),
        Some(_) => {
            Finding::new(Mark::Ok, "namespace", format!("{} is a member of {namespace}", identity.name))
        }
    }
}

async fn leaderboard(session: &Session<'_>, id: &str) -> Finding {
    let wanted = session.settings.options.visibility;
    match session.info(id).await {
        Err(error) => Finding::problem("leaderboard", words(&error)),
        Ok(None) => {
            Finding::new(Mark::Ok, "leaderboard", format!("{id} is not there and will be made, {wanted}"))
        }
        Ok(Some(info)) => match info.visibility() {
            Some(found) if found != wanted => Finding::problem(
                "leaderboard",
                words(&HubError::Visibility { repo: id.to_owned(), found, wanted })
                    .replace("so nothing was uploaded", "so nothing would be uploaded"),
            ),
            Some(Visibility::Private) => Finding::new(Mark::Ok, "leaderboard", format!("{id} is private")),
            Some(Visibility::Public) => {
                Finding::new(Mark::Note, "leaderboard", format!("{id} is public: everybody sees its rows"))
            }
            None => Finding::new(Mark::Note, "leaderboard", format!("{id} does not say who may see it")),
        },
    }
}

/// An error and its causes on one line.
pub(crate) fn words(error: &HubError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        words = format!("{words}: {deeper}");
        cause = deeper.source();
    }
    words
}
