//! Where to write, as whom, and how much at a time. Pure: nothing is resolved or sent.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use wattspan_core::is_loopback_host;

use crate::{Error, Secret};

/// Options of an export, with SMOLTRACE's names and defaults.
///
/// ```
/// use wattspan_opensearch::Options;
///
/// let options = Options::default().host("search.example").ssl(true);
/// // A program passes what `std::env::var` says.
/// let options = options.user("eval").environment(|_| Some("not-for-logs".to_owned()));
/// assert_eq!(options.endpoint()?, "https://search.example:9200");
/// # Ok::<(), wattspan_opensearch::Error>(())
/// ```
#[derive(Clone)]
pub struct Options {
    url: Option<String>,
    host: String,
    port: u16,
    ssl: bool,
    user: Option<String>,
    password: Option<Secret>,
    pub(crate) verify_certs: bool,
    allow_insecure_remote: bool,
    pub(crate) prefix: String,
    pub(crate) refused: PathBuf,
    pub(crate) bulk: Bulk,
    pub(crate) retry: Retry,
    #[cfg(feature = "aws")]
    pub(crate) aws: Option<crate::Aws>,
}

/// Bounds of one bulk request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk {
    pub(crate) bytes: usize,
    pub(crate) documents: usize,
    /// Where it was not said: for other machines only.
    pub(crate) gzip: Option<bool>,
}

/// How patient an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often a document or request is sent again before the export gives up.
    pub times: u32,
    /// First wait; each later one is twice as long. A random part of up to half is taken off each.
    pub first: Duration,
    /// Longest wait. A server that asks for a longer one with `Retry-After` gets up to ten times this.
    pub longest: Duration,
    /// Limit of one request.
    pub timeout: Duration,
}

/// A server, as options name it.
pub(crate) struct Target {
    pub(crate) base: Url,
    pub(crate) login: Option<(String, Secret)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            url: None,
            host: "localhost".to_owned(),
            port: 9200,
            ssl: false,
            user: None,
            password: None,
            verify_certs: true,
            allow_insecure_remote: false,
            prefix: "smoltrace".to_owned(),
            refused: PathBuf::from("."),
            bulk: Bulk { bytes: BYTES, documents: DOCUMENTS, gzip: None },
            retry: Retry::default(),
            #[cfg(feature = "aws")]
            aws: None,
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 8,
            first: Duration::from_millis(250),
            longest: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// The server's URL, which wins over host, port and ssl.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The server's host: `localhost` unless set.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// Its port: 9200 unless set.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Whether to speak TLS to host and port: not unless set.
    pub fn ssl(mut self, on: bool) -> Self {
        self.ssl = on;
        self
    }

    /// The user of basic authentication.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The user's password. A program lets its user name a variable or file rather than type it as an argument.
    pub fn password(mut self, password: Secret) -> Self {
        self.password = Some(password);
        self
    }

    /// Takes the password from `OPENSEARCH_PASSWORD`, where it is set and none was given. `lookup` is `std::env::var` in a
    /// program.
    pub fn environment(mut self, lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = lookup(PASSWORD).filter(|text| !text.is_empty());
        self.password = self.password.or_else(|| Some(Secret::new(set?, PASSWORD)));
        self
    }

    /// Whether the server's certificate must be good: yes unless turned off, and then each run warns.
    pub fn verify_certs(mut self, on: bool) -> Self {
        self.verify_certs = on;
        self
    }

    /// Insists on what is refused otherwise: credentials inside the URL, or over plain HTTP to another machine.
    pub fn allow_insecure_remote(mut self, on: bool) -> Self {
        self.allow_insecure_remote = on;
        self
    }

    /// What all index names begin with: `smoltrace` unless set, so that its readers find them.
    pub fn index_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// The folder for documents that the server refuses: the current one unless set. A program names the run's folder.
    /// The file, `opensearch-refused-RUN.ndjson`, is only made when there is such a document.
    pub fn refused_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.refused = folder.into();
        self
    }

    /// Bounds of a bulk request before compression: 2 MiB and 2 000 documents unless set. A document that is larger goes
    /// alone. As much is in memory.
    pub fn bulk(mut self, bytes: usize, documents: usize) -> Self {
        self.bulk.bytes = bytes.max(1);
        self.bulk.documents = documents.max(1);
        self
    }

    /// Whether bulk requests are compressed: unless set, those to another machine are.
    pub fn gzip(mut self, on: bool) -> Self {
        self.bulk.gzip = Some(on);
        self
    }

    /// How patient an export is.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Signs requests for Amazon OpenSearch Service instead of sending a password.
    #[cfg(feature = "aws")]
    pub fn aws(mut self, aws: crate::Aws) -> Self {
        self.aws = Some(aws);
        self
    }

    /// Scheme, host and port that these options name, after all checks that need no network.
    ///
    /// # Errors
    /// When they cannot be used, or would show credentials.
    pub fn endpoint(&self) -> Result<String, Error> {
        self.target().map(|target| place(&target.base))
    }

    /// What the user should be told at each run, since these options ask for it.
    pub fn warnings(&self) -> Vec<String> {
        let Ok(Target { base, login }) = self.target() else { return Vec::new() };
        let mut warnings = Vec::new();
        let here = place(&base);
        if base.scheme() == "https" && !self.verify_certs {
            warnings.push(format!(
                "the certificate of {here} is not checked (no-verify-certs): whoever is in between can read and change \
                 everything, the password too"
            ));
        }
        if base.scheme() == "http" && !is_loopback(&base) {
            let what = if login.is_some() { "the password and all rows" } else { "all rows" };
            warnings.push(format!("{what} go to {here} in the clear: use https"));
        }
        warnings
    }

    pub(crate) fn target(&self) -> Result<Target, Error> {
        let mut base = self.base()?;
        let in_url = Some(base.username().to_owned()).filter(|user| !user.is_empty());
        let password_in_url = base.password().map(str::to_owned);
        if (in_url.is_some() || password_in_url.is_some()) && !self.allow_insecure_remote {
            return Err(option(
                "url",
                "it holds credentials, which show in logs and process lists: name the user and set OPENSEARCH_PASSWORD, or \
                 insist with allow-insecure-remote",
            ));
        }
        // Neither can fail: the scheme has a host.
        let _ = base.set_username("");
        let _ = base.set_password(None);
        base.set_query(None);
        base.set_fragment(None);
        let user = self.user.clone().or(in_url.map(|user| decoded(&user)));
        let password = self.password.clone().or_else(|| Some(Secret::new(decoded(&password_in_url?), "url")));
        let login = match (user, password) {
            (Some(user), Some(password)) => Some((user, password)),
            // A password in the environment may be meant for somebody else: without a user it is not sent.
            (None, _) => None,
            (Some(user), None) => {
                return Err(option(
                    "password",
                    &format!("user {user:?} has none: set OPENSEARCH_PASSWORD or name a file that holds it"),
                ));
            }
        };
        if login.as_ref().is_some_and(|(user, _)| user.contains(':')) {
            return Err(option("user", "basic authentication does not allow a colon in it"));
        }
        #[cfg(feature = "aws")]
        let login = if self.aws.is_some() { None } else { login };
        if self.shows_credentials(&base, login.is_some()) {
            return Err(option(
                "url",
                &format!(
                    "{} is another machine and http would send the credentials in the clear: use https, or insist with \
                     allow-insecure-remote",
                    place(&base)
                ),
            ));
        }
        check_prefix(&self.prefix)?;
        Ok(Target { base, login })
    }

    fn shows_credentials(&self, base: &Url, login: bool) -> bool {
        #[cfg(feature = "aws")]
        let login = login || self.aws.is_some();
        login && base.scheme() == "http" && !is_loopback(base) && !self.allow_insecure_remote
    }

    fn base(&self) -> Result<Url, Error> {
        let (name, text) = if let Some(url) = &self.url {
            ("url", url.trim_end_matches('/').to_owned())
        } else {
            let scheme = if self.ssl { "https" } else { "http" };
            // A bare IPv6 address gets its brackets.
            let is_bare = self.host.contains(':') && !self.host.starts_with('[');
            let host = if is_bare { format!("[{}]", self.host) } else { self.host.clone() };
            ("host", format!("{scheme}://{host}:{}", self.port))
        };
        // The text is not shown: it may hold a password.
        let url = Url::parse(&text).map_err(|error| option(name, &format!("it is not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(option(name, "give it as https://HOST:PORT"));
        }
        Ok(url)
    }
}

impl fmt::Debug for Options {
    /// Without what a URL may hold besides its place.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Options");
        match self.base() {
            Ok(base) => shown.field("endpoint", &place(&base)),
            Err(error) => shown.field("endpoint", &error.to_string()),
        };
        shown
            .field("user", &self.user)
            .field("password", &self.password)
            .field("verify_certs", &self.verify_certs)
            .field("allow_insecure_remote", &self.allow_insecure_remote)
            .field("index_prefix", &self.prefix)
            .field("refused_folder", &self.refused)
            .field("bulk", &self.bulk)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// Index names are lower case and may not begin with `-`, `_` or `+`; commas and wildcards name several. (OpenSearch
/// documentation, create index, "Index naming restrictions".)
fn check_prefix(prefix: &str) -> Result<(), Error> {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
    let begins_well = prefix.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins_well && prefix.len() <= LONGEST_PREFIX && prefix.bytes().all(allowed) {
        return Ok(());
    }
    Err(option(
        "index-prefix",
        &format!(
            "{prefix:?} cannot begin an index name: take 1 to {LONGEST_PREFIX} lower-case letters, digits, dots, hyphens or \
             underscores, a letter or digit first"
        ),
    ))
}

fn option(option: &'static str, reason: &str) -> Error {
    Error::Option { option, reason: reason.to_owned() }
}

/// Scheme, host and port, and nothing else that a URL can hold.
pub(crate) fn place(url: &Url) -> String {
    let port = url.port_or_known_default().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

/// Whether a URL is of this machine. A name other than `localhost` counts as another machine, wherever it leads.
pub(crate) fn is_loopback(url: &Url) -> bool {
    is_loopback_host(url.host_str().unwrap_or_default())
}

/// Undoes percent encoding, which user and password have in a URL.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const PASSWORD: &str = "OPENSEARCH_PASSWORD";
/// Well below a server's `http.max_content_length` of 100 MB, and of 10 MiB on small Amazon instances.
const BYTES: usize = 2 << 20;
const DOCUMENTS: usize = 2_000;
/// A whole name has at most 255 bytes; this leaves room for table and time.
const LONGEST_PREFIX: usize = 128;

#[cfg(test)]
mod tests;
