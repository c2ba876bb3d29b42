//! OTLP over gRPC.

use std::error::Error as _;
use std::time::Duration;

use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;

use super::config::Target;
use super::payload::Payload;
use super::retry::Attempt;
use crate::TelemetryError;
use crate::network::Spawner;

#[derive(Clone, Debug)]
pub(crate) struct GrpcSender {
    channel: Channel,
    metadata: MetadataMap,
    gzip: bool,
}

impl GrpcSender {
    pub(crate) fn new(target: &Target, spawner: &Spawner) -> Result<Self, TelemetryError> {
        let mut endpoint =
            Endpoint::from_shared(target.endpoint.clone()).map_err(|error| target.unusable(error))?;
        let uri = endpoint.uri();
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
            return Err(target.unusable("expected http:// or https:// and a host"));
        }
        if endpoint.uri().scheme_str() == Some("https") {
            let mut tls = ClientTlsConfig::new().with_native_roots();
            if let Some(pem) = &target.certificate {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            if let Some(identity) = &target.identity {
                tls = tls.identity(Identity::from_pem(&identity.certificate, &identity.key));
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| target.unusable(error))?;
        }
        let endpoint = endpoint.connect_timeout(target.patience.timeout);
        let channel = {
            let _inside = spawner.enter();
            endpoint.connect_lazy()
        };
        let metadata = MetadataMap::from_headers(target.headers.clone());
        Ok(Self { channel, metadata, gzip: target.gzip })
    }

    pub(crate) async fn send<P: Payload>(&self, payload: P, timeout: Duration) -> Attempt {
        let mut request = Request::new(payload);
        *request.metadata_mut() = self.metadata.clone();
        request.set_timeout(timeout);
        match P::call(self.channel.clone(), request, self.gzip).await {
            Ok(answer) => Attempt::Delivered(P::receipt(answer)),
            Err(status) => failed(&status),
        }
    }
}

/// OTLP 1.x, "Failures" of OTLP/gRPC.
fn failed(status: &Status) -> Attempt {
    let after =
        status.get_details_retry_info().and_then(|info| info.retry_delay).filter(|delay| !delay.is_zero());
    let mut why = format!("the receiver answered {:?}", status.code());
    // A status that was made here, not by the receiver, has the cause; a receiver's message may quote secrets.
    let mut cause = status.source();
    while let Some(inner) = cause {
        why.push_str(": ");
        why.push_str(&inner.to_string());
        cause = inner.source();
    }
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Attempt::Again { after, why },
        // Only a receiver that says when expects to recover.
        Code::ResourceExhausted if after.is_some() => Attempt::Again { after, why },
        // A connection that broke off, or a port where something else than gRPC answers.
        Code::Unknown | Code::Internal if status.source().is_some() => Attempt::Again { after, why },
        _ => Attempt::Refused(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_tried_again_as_the_protocol_says() {
        let again = |status: &Status| matches!(failed(status), Attempt::Again { .. });
        for code in [Code::Unavailable, Code::Aborted, Code::DeadlineExceeded, Code::DataLoss] {
            assert!(again(&Status::new(code, "")), "{code:?}");
        }
        for code in [Code::InvalidArgument, Code::Unauthenticated, Code::Unimplemented, Code::Internal] {
            assert!(!again(&Status::new(code, "")), "{code:?}");
        }
    }

    #[test]
    fn an_exhausted_receiver_is_asked_again_only_when_it_says_when() {
        assert!(matches!(failed(&Status::resource_exhausted("")), Attempt::Refused(_)));
        let mut details = tonic_types::ErrorDetails::new();
        details.set_retry_info(Some(Duration::from_secs(3)));
        let status = Status::with_error_details(Code::ResourceExhausted, "", details);
        let Attempt::Again { after, .. } = failed(&status) else { panic!("it said when") };
        assert_eq!(after, Some(Duration::from_secs(3)));
    }
}
