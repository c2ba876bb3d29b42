//! What kind of server it is, from what `GET /` says.

use serde::Deserialize;

use crate::Error;

/// A server and the words it understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) dialect: Dialect,
    /// `OpenSearch 3.8.0`.
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenSearch,
    Elasticsearch,
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    tagline: String,
    version: Version,
}

#[derive(Deserialize)]
struct Version {
    number: String,
    #[serde(default)]
    distribution: String,
}

impl Server {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        let Ok(info) = serde_json::from_slice::<Info>(body) else {
            return Err(Error::Unsupported {
                server: "the server".to_owned(),
                remedy: "it does not say that it is OpenSearch or Elasticsearch: check the URL, and that no login page or \
                         proxy answers instead"
                    .to_owned(),
            });
        };
        let opensearch = info.version.distribution == "opensearch" || info.tagline.contains("OpenSearch");
        let (dialect, kind) = if opensearch {
            (Dialect::OpenSearch, "OpenSearch")
        } else {
            (Dialect::Elasticsearch, "Elasticsearch")
        };
        let server = Self { dialect, name: format!("{kind} {}", info.version.number) };
        let mut parts = info.version.number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        let (known, remedy) = match dialect {
            // With `compatibility.override_main_response_version` OpenSearch says 7.10 for old clients' sake.
            Dialect::OpenSearch => {
                (version >= (2, 7) || version == (7, 10), "OpenSearch 2.7, the first with `flat_object`")
            }
            Dialect::Elasticsearch => (version >= (8, 0), "Elasticsearch 8 or OpenSearch 2.7"),
        };
        if known {
            return Ok(server);
        }
        Err(Error::Unsupported { server: server.name, remedy: format!("take at least {remedy}") })
    }
}

impl Dialect {
    /// The type of an object whose keys nobody knows beforehand.
    pub(crate) const fn flat(self) -> &'static str {
        match self {
            Self::OpenSearch => "flat_object",
            Self::Elasticsearch => "flattened",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Result<&str, &str>) {
        let read = Server::read(body.as_bytes());
        let shown = read.as_ref().map(|server| format!("{} {}", server.name, server.dialect.flat()));
        match expected {
            Ok(name) => assert_eq!(shown.as_deref(), Ok(name)),
            Err(part) => assert!(read.as_ref().unwrap_err().to_string().contains(part), "{read:?}"),
        }
    }

    fn info(number: &str, distribution: &str) -> String {
        format!(r#"{{"version":{{"number":"{number}","distribution":"{distribution}"}},"tagline":"-"}}"#)
    }

    #[test]
    fn each_server_gets_its_own_words() {
        check(&info("3.8.0", "opensearch"), Ok("OpenSearch 3.8.0 flat_object"));
        check(&info("2.7.0", "opensearch"), Ok("OpenSearch 2.7.0 flat_object"));
        // A distribution is not named by Elasticsearch.
        check(
            r#"{"version":{"number":"8.15.0","build_flavor":"default"},"tagline":"You Know, for Search"}"#,
            Ok("Elasticsearch 8.15.0 flattened"),
        );
        // OpenSearch in its compatibility mode.
        check(
            r#"{"version":{"number":"7.10.2"},"tagline":"The OpenSearch Project: https://opensearch.org/"}"#,
            Ok("OpenSearch 7.10.2 flat_object"),
        );
    }

    #[test]
    fn servers_that_lack_what_is_needed_are_refused_by_name() {
        check(
            &info("2.6.0", "opensearch"),
            Err("OpenSearch 2.6.0 cannot be used: take at least OpenSearch 2.7"),
        );
        check(&info("7.17.9", ""), Err("Elasticsearch 7.17.9"));
        check("<html>", Err("check the URL"));
        check("{}", Err("check the URL"));
    }
}
