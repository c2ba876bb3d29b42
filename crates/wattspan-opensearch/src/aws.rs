//! Requests signed for Amazon OpenSearch Service.

use std::fmt;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::RequestBuilder;

use crate::{Error, Secret};

/// Credentials of Amazon Web Services, for domains that want Signature Version 4 instead of a password.
///
/// ```
/// let variables = |name: &str| Some(match name {
///     "AWS_ACCESS_KEY_ID" => "AKIDEXAMPLE",
///     "AWS_SECRET_ACCESS_KEY" => "not-for-logs",
///     "AWS_REGION" => "eu-central-1",
///     _ => return None,
/// }.to_owned());
/// let aws = wattspan_opensearch::Aws::environment(variables).unwrap();
/// assert!(!format!("{aws:?}").contains("not-for-logs"));
/// ```
#[derive(Clone)]
pub struct Aws {
    key: String,
    secret: Secret,
    session: Option<Secret>,
    region: String,
}

impl Aws {
    /// An access key with its secret, for the region of the domain.
    pub fn new(key: impl Into<String>, secret: Secret, region: impl Into<String>) -> Self {
        Self { key: key.into(), secret, session: None, region: region.into() }
    }

    /// The session token of temporary credentials.
    pub fn session(mut self, token: Secret) -> Self {
        self.session = Some(token);
        self
    }

    /// From `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` and `AWS_REGION` or `AWS_DEFAULT_REGION`.
    /// `None` when key, secret or region is not set. `lookup` is `std::env::var` in a program.
    pub fn environment(lookup: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &'static str| lookup(name).filter(|text| !text.is_empty());
        let secret = |name: &'static str| set(name).map(|text| Secret::new(text, name));
        Some(Self {
            key: set("AWS_ACCESS_KEY_ID")?,
            secret: secret("AWS_SECRET_ACCESS_KEY")?,
            session: secret("AWS_SESSION_TOKEN"),
            region: set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"))?,
        })
    }

    /// Signs a request, its body included.
    pub(crate) fn sign(&self, request: RequestBuilder, now: SystemTime) -> Result<RequestBuilder, Error> {
        let unsigned = || Error::Option {
            option: "aws",
            reason:
                "the request cannot be signed: check key and region for characters that no header may have"
                    .to_owned(),
        };
        let (client, request) = request.build_split();
        let mut request = request.map_err(|_| unsigned())?;
        let session = self.session.as_ref().map(|token| token.expose().to_owned());
        let identity =
            Credentials::new(&self.key, self.secret.expose(), session, None, "wattspan-opensearch").into();
        let mut settings = SigningSettings::default();
        // The service wants the body's hash as a header of its own.
        settings.payload_checksum_kind = aws_sigv4::http_request::PayloadChecksumKind::XAmzSha256;
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("es")
            .time(now)
            .settings(settings)
            .build()
            .map_err(|_| unsigned())?;
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        // What a proxy on the way may change stays unsigned: only the type of the content is.
        let headers = request
            .headers()
            .iter()
            .filter(|(name, _)| *name == reqwest::header::CONTENT_TYPE)
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let signable = SignableRequest::new(
            request.method().as_str(),
            request.url().as_str(),
            headers,
            SignableBody::Bytes(body),
        )
        .map_err(|_| unsigned())?;
        let (instructions, _) = sign(signable, &parameters.into()).map_err(|_| unsigned())?.into_parts();
        let (headers, _) = instructions.into_parts();
        for header in headers {
            let mut value = reqwest::header::HeaderValue::from_str(header.value()).map_err(|_| unsigned())?;
            value.set_sensitive(header.sensitive());
            request.headers_mut().insert(header.name(), value);
        }
        Ok(RequestBuilder::from_parts(client, request))
    }
}

impl fmt::Debug for Aws {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Aws")
            .field("region", &self.region)
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}
