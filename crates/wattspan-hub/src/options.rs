//! Where to push, as whom, and under which names.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Token;
use crate::token::set;

/// Who may see a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Its owner and those whom the owner lets in. What was pushed by mistake can still be taken back.
    #[default]
    Private,
    /// Everybody.
    Public,
}

impl fmt::Display for Visibility {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Private => "private",
            Self::Public => "public",
        })
    }
}

pub(crate) type Wait = Arc<dyn Fn(Duration) + Send + Sync>;

/// Options of a [`Hub`](crate::Hub).
#[derive(Clone)]
pub struct HubOptions {
    pub(crate) endpoint: String,
    pub(crate) token: Option<Token>,
    pub(crate) namespace: Option<String>,
    pub(crate) prefix: String,
    pub(crate) visibility: Visibility,
    pub(crate) plain_http: bool,
    pub(crate) patience: Duration,
    pub(crate) wait: Option<Wait>,
}

impl Default for HubOptions {
    fn default() -> Self {
        Self {
            endpoint: OFFICIAL.to_owned(),
            token: None,
            namespace: None,
            prefix: "wattspan".to_owned(),
            visibility: Visibility::default(),
            plain_http: false,
            patience: Duration::from_secs(1_800),
            wait: None,
        }
    }
}

impl HubOptions {
    /// Endpoint and token from the variables that the official client reads: `HF_ENDPOINT`, `HF_TOKEN`, or the token file
    /// (`HF_TOKEN_PATH`, `HF_HOME`, `XDG_CACHE_HOME`, `HOME`). `lookup` gives a variable's value.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let mut options = Self { token: Token::find(&lookup), ..Self::default() };
        if let Some(endpoint) = set(&lookup, "HF_ENDPOINT") {
            options.endpoint = endpoint;
        }
        options
    }

    /// The Hub's address instead of `https://huggingface.co`.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = endpoint.into();
        self
    }

    /// The token, which needs write permission.
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// The user or organisation that the repositories belong to, instead of the token's user.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Begin of the repositories' names; `wattspan` unless set.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Who may see the four repositories; [`Visibility::Private`] unless set.
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Whether a token may go over plain HTTP to other machines than this one. Anybody on the way can read it then.
    pub fn allow_plain_http(mut self, on: bool) -> Self {
        self.plain_http = on;
        self
    }

    /// How long one push may wait in all, for a rate limit or for others' commits. Half an hour unless set.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Waits with this instead of a timer: to show a count-down, or to test without waiting.
    pub fn wait_with(mut self, wait: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.wait = Some(Arc::new(wait));
        self
    }
}

impl fmt::Debug for HubOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HubOptions")
            .field("endpoint", &crate::wire::without_userinfo(&self.endpoint))
            .field("token", &self.token)
            .field("namespace", &self.namespace)
            .field("prefix", &self.prefix)
            .field("visibility", &self.visibility)
            .field("plain_http", &self.plain_http)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// The official endpoint; mirrors answer with URLs of it.
pub(crate) const OFFICIAL: &str = "https://huggingface.co";
