//! OTLP over HTTP.

use std::io::Write as _;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use prost::Message as _;
use reqwest::{Client, Url};

use super::config::{Protocol, Target};
use super::payload::Payload;
use super::retry::{Attempt, Receipt, retry_after};
use crate::TelemetryError;

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// More than any answer of OTLP needs; the rest of a longer one is not read.
const LONGEST_ANSWER: usize = 64 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct HttpSender {
    client: Client,
    url: Url,
    headers: http::HeaderMap,
    json: bool,
    gzip: bool,
}

impl HttpSender {
    pub(crate) fn new(target: &Target) -> Result<Self, TelemetryError> {
        let url = Url::parse(&target.endpoint).map_err(|error| target.unusable(error))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(target.unusable("expected http:// or https:// and a host"));
        }
        // A redirected POST would become a GET, and headers with secrets would go to another host.
        let mut builder = Client::builder().redirect(reqwest::redirect::Policy::none());
        if let Some(pem) = &target.certificate {
            let certificates =
                reqwest::Certificate::from_pem_bundle(pem).map_err(|error| target.unusable(error))?;
            builder = builder.tls_certs_merge(certificates);
        }
        if let Some(identity) = &target.identity {
            let pem = [identity.key.as_slice(), b"\n", &identity.certificate].concat();
            // What the parser says may quote the key.
            let identity = reqwest::Identity::from_pem(&pem)
                .map_err(|_| target.unusable("the client certificate and its key cannot be used"))?;
            builder = builder.identity(identity);
        }
        let client = builder.build().map_err(|error| target.unusable(reason(error)))?;
        let json = target.protocol == Protocol::HttpJson;
        Ok(Self { client, url, headers: target.headers.clone(), json, gzip: target.gzip })
    }

    /// The body as it goes over the wire, made once for all tries.
    pub(crate) fn body<P: Payload>(&self, payload: &P) -> Result<Bytes, String> {
        let body = if self.json {
            serde_json::to_vec(payload).map_err(|error| format!("cannot write JSON: {error}"))?
        } else {
            payload.encode_to_vec()
        };
        if !self.gzip {
            return Ok(body.into());
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let packed = encoder.write_all(&body).and_then(|()| encoder.finish());
        packed.map(Bytes::from).map_err(|error| format!("cannot compress: {error}"))
    }

    pub(crate) async fn send<P: Payload>(&self, body: Bytes) -> Attempt {
        let mut request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        request = request.header(CONTENT_TYPE, if self.json { JSON } else { PROTOBUF });
        if self.gzip {
            request = request.header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Attempt::Again { after: None, why: reason(error) },
        };
        let status = response.status();
        let header = |name| response.headers().get(name)?.to_str().ok();
        let after = header(RETRY_AFTER).and_then(|text| retry_after(text, SystemTime::now()));
        let json = header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
        // The body of an error may quote the request's secrets and is not looked at.
        match status.as_u16() {
            200..=299 => {
                let mut answer = Vec::new();
                // It was taken, whatever comes of reading the rest.
                while answer.len() < LONGEST_ANSWER
                    && let Ok(Some(chunk)) = response.chunk().await
                {
                    answer.extend_from_slice(&chunk);
                }
                Attempt::Delivered(receipt::<P>(&answer, json))
            }
            // OTLP 1.x, "Failures" of OTLP/HTTP: these may be tried again, all others must not.
            429 | 502 | 503 | 504 => Attempt::Again { after, why: format!("the receiver answered {status}") },
            _ => Attempt::Refused(format!("the receiver answered {status}")),
        }
    }
}

/// An answer that cannot be read says nothing: the batch was taken.
fn receipt<P: Payload>(answer: &[u8], json: bool) -> Receipt {
    if !json {
        return P::Answer::decode(answer).map(P::receipt).unwrap_or_default();
    }
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    // ProtoJSON writes 64-bit integers as strings.
    let count = &partial[P::REJECTED];
    let rejected = count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0);
    let message = partial["errorMessage"].as_str().unwrap_or_default().to_owned();
    Receipt { rejected: usize::try_from(rejected).unwrap_or(usize::MAX), message }
}

/// The causes of an error in one line, without the URL, which may hold a secret.
pub(crate) fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    };

    use super::*;

    #[test]
    fn partial_success_is_read_in_both_forms() {
        let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: "too old".to_owned() };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        let expected = Receipt { rejected: 2, message: "too old".to_owned() };
        assert_eq!(receipt::<ExportTraceServiceRequest>(&answer, false), expected);
        for json in [
            r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#,
            r#"{"partialSuccess":{"rejectedSpans":2,"errorMessage":"too old"}}"#,
        ] {
            assert_eq!(receipt::<ExportTraceServiceRequest>(json.as_bytes(), true), expected);
        }
        for silent in ["", "{}", "not json", r#"{"partialSuccess":{}}"#] {
            assert_eq!(receipt::<ExportTraceServiceRequest>(silent.as_bytes(), true), Receipt::default());
        }
        assert_eq!(receipt::<ExportTraceServiceRequest>(b"", false), Receipt::default());
    }
}
