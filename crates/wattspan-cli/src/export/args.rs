//! Where runs are pushed to, with the names that SMOLTRACE's options have.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::exit::{Failure, USAGE};
use crate::settings::duration;

/// Where a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// Four repositories of the Hugging Face Hub
    Hub,
    /// Four indexes of an OpenSearch or Elasticsearch server
    #[value(name = "opensearch")]
    OpenSearch,
}

impl To {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::OpenSearch => "opensearch",
        }
    }
}

/// An argument that is never shown.
#[derive(Clone)]
pub(crate) struct Hidden(pub(crate) String);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("set")
    }
}

/// Both ends.
#[derive(Args, Debug, Default)]
pub(crate) struct EndArgs {
    /// Wait so long at most for an end that is away or busy [default: 30m for the Hub, half a minute for OpenSearch]
    #[arg(long, value_name = "TIME", value_parser = duration, hide_short_help = true)]
    pub(crate) push_patience: Option<Duration>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
    #[command(flatten)]
    pub(crate) opensearch: OpenSearchArgs,
}

/// The Hub, and as whom.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Hugging Face Hub")]
pub(crate) struct HubArgs {
    /// Read the token from a file [default: HF_TOKEN, or the token file of `hf auth login`]
    #[arg(long, value_name = "FILE")]
    pub(crate) hf_token_file: Option<PathBuf>,
    /// The token itself. Other users can read it in the list of processes: prefer HF_TOKEN or --hf-token-file
    #[arg(long, value_name = "TOKEN", hide_short_help = true, conflicts_with = "hf_token_file", value_parser = hidden())]
    pub(crate) hf_token: Option<Hidden>,
    /// The Hub's address [default: HF_ENDPOINT, https://huggingface.co]
    #[arg(long, value_name = "URL")]
    pub(crate) hub_endpoint: Option<String>,
    /// The user or organisation that the repositories belong to [default: the token's user]
    #[arg(long, value_name = "NAME")]
    pub(crate) hub_namespace: Option<String>,
    /// What the repositories' names begin with [default: wattspan]
    #[arg(long, value_name = "PREFIX")]
    pub(crate) hub_prefix: Option<String>,
    /// Keep all four repositories private; so it is unless --public is given
    #[arg(long, conflicts_with = "public")]
    pub(crate) private: bool,
    /// Let everybody see all four repositories, which may hold prompts and answers
    #[arg(long)]
    pub(crate) public: bool,
    /// Send the token over plain HTTP to another machine, where anybody on the way can read it
    #[arg(long, hide_short_help = true)]
    pub(crate) hub_allow_plain_http: bool,
}

/// The server, and as whom.
#[allow(clippy::struct_field_names, reason = "the options have SMOLTRACE's names")]
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "OpenSearch")]
pub(crate) struct OpenSearchArgs {
    /// The server's URL, which wins over host, port and ssl
    #[arg(long, value_name = "URL")]
    pub(crate) opensearch_url: Option<String>,
    /// The server's host [default: localhost]
    #[arg(long, value_name = "HOST")]
    pub(crate) opensearch_host: Option<String>,
    /// The server's port [default: 9200]
    #[arg(long, value_name = "PORT")]
    pub(crate) opensearch_port: Option<u16>,
    /// The user of basic authentication
    #[arg(long, value_name = "USER")]
    pub(crate) opensearch_user: Option<String>,
    /// Read the password from a file [default: OPENSEARCH_PASSWORD]
    #[arg(long, value_name = "FILE")]
    pub(crate) opensearch_password_file: Option<PathBuf>,
    /// The password itself. Other users can read it in the list of processes: prefer OPENSEARCH_PASSWORD or a file
    #[arg(
        long,
        value_name = "PASSWORD",
        hide_short_help = true,
        conflicts_with = "opensearch_password_file",
        value_parser = hidden()
    )]
    pub(crate) opensearch_password: Option<Hidden>,
    /// Speak TLS to host and port
    #[arg(long)]
    pub(crate) opensearch_ssl: bool,
    /// Do not check the server's certificate: for tests only, and each run warns
    #[arg(long)]
    pub(crate) opensearch_no_verify_certs: bool,
    /// What the indexes' names begin with [default: smoltrace]
    #[arg(long, value_name = "PREFIX")]
    pub(crate) opensearch_index_prefix: Option<String>,
    /// Send credentials over plain HTTP to another machine, where anybody on the way can read them
    #[arg(long, hide_short_help = true)]
    pub(crate) opensearch_allow_insecure_remote: bool,
}

fn hidden() -> impl clap::builder::TypedValueParser<Value = Hidden> {
    use clap::builder::TypedValueParser as _;
    clap::builder::StringValueParser::new().map(Hidden)
}

/// What a file has in its first line, such as a token.
pub(crate) fn secret_file(option: &str, path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(USAGE, format!("{option} {}: {error}", path.display())))?;
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(secret.to_owned()),
        _ => Err(Failure::new(
            USAGE,
            format!("{option} {}: there is nothing in its first line", path.display()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_its_first_line_and_is_not_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hf_EXAMPLE \nmore\n").unwrap();
        assert_eq!(secret_file("--hf-token-file", file.path()).unwrap(), "hf_EXAMPLE");
        std::fs::write(file.path(), "\n").unwrap();
        let failure = secret_file("--hf-token-file", file.path()).unwrap_err();
        assert_eq!(failure.code, USAGE);
        assert!(failure.message.contains("nothing in its first line"), "{}", failure.message);
        assert_eq!(format!("{:?}", Hidden("hf_EXAMPLE".to_owned())), "set");
    }
}
