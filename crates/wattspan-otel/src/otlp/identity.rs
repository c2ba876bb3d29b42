//! Who this program is to a receiver that asks for a certificate: a chain and its key, checked before anything is sent.

use std::fmt;
use std::path::{Path, PathBuf};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::TelemetryError;
use crate::env::Environment;

/// The two files, as code names them.
#[derive(Clone, Debug)]
pub(crate) struct IdentityFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// A certificate chain and the key that belongs to it, both PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl fmt::Debug for Identity {
    /// Nothing of the key.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl IdentityFiles {
    /// The files of a signal's variables, of which one alone is a mistake.
    pub(crate) fn from_env(signal: &str, env: &Environment) -> Result<Option<Self>, TelemetryError> {
        let read = |what| env.of_signal(signal, what);
        match (read("CLIENT_CERTIFICATE"), read("CLIENT_KEY")) {
            (Some(certificate), Some(key)) => {
                Ok(Some(Self { certificate: certificate.into(), key: key.into() }))
            }
            (None, None) => Ok(None),
            (Some(_), None) => Err(TelemetryError::HalfIdentity { missing: "CLIENT_KEY" }),
            (None, Some(_)) => Err(TelemetryError::HalfIdentity { missing: "CLIENT_CERTIFICATE" }),
        }
    }

    /// Reads both files and checks that they belong together.
    pub(crate) fn read(&self) -> Result<Identity, TelemetryError> {
        let certificate = std::fs::read(&self.certificate)
            .map_err(|source| TelemetryError::Certificate { path: self.certificate.clone(), source })?;
        let key = std::fs::read(&self.key)
            .map_err(|source| TelemetryError::ClientKey { path: self.key.clone(), source })?;
        self.checked(Identity { certificate, key })
    }

    fn checked(&self, identity: Identity) -> Result<Identity, TelemetryError> {
        let wrong = |path: &Path, reason: &str| TelemetryError::Identity {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.certificate).collect();
        let chain = chain.map_err(|_| wrong(&self.certificate, "it is not PEM"))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, "there is no CERTIFICATE in it"));
        }
        // What the parser says may quote the file: it is not passed on.
        let key = PrivateKeyDer::from_pem_slice(&identity.key).map_err(|_| {
            wrong(
                &self.key,
                "there is no private key in it: give an unencrypted PEM of PKCS#8, PKCS#1 or SEC1",
            )
        })?;
        match CertifiedKey::from_der(chain, key, &ring::default_provider()) {
            Ok(_) => Ok(identity),
            Err(rustls::Error::InconsistentKeys(_)) => {
                Err(wrong(&self.key, "it is not the key of the client certificate"))
            }
            Err(rustls::Error::InvalidCertificate(_)) => {
                Err(wrong(&self.certificate, "its first certificate cannot be read"))
            }
            Err(_) => Err(wrong(&self.key, "its kind of key cannot be used")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &'static [(&'static str, &'static str)]) -> Environment {
        Environment::read(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_files_of_a_signal_win_over_the_general_ones() {
        let env = env(&[
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "all.pem"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "all.key"),
            ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "traces.pem"),
            ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "traces.key"),
        ]);
        let files = |signal| IdentityFiles::from_env(signal, &env).unwrap().unwrap();
        assert_eq!(files("TRACES").certificate, Path::new("traces.pem"));
        assert_eq!(files("TRACES").key, Path::new("traces.key"));
        assert_eq!(files("LOGS").key, Path::new("all.key"));
    }

    #[test]
    fn one_file_without_the_other_is_an_error_that_names_the_variable() {
        let only = |pairs| IdentityFiles::from_env("METRICS", &env(pairs)).unwrap_err().to_string();
        let error = only(&[("OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", "k.pem")]);
        assert!(error.contains("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"), "{error}");
        let error = only(&[("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "c.pem")]);
        assert!(error.contains("OTEL_EXPORTER_OTLP_CLIENT_KEY"), "{error}");
        assert!(IdentityFiles::from_env("LOGS", &Environment::default()).unwrap().is_none());
    }

    #[test]
    fn what_is_no_certificate_and_no_key_is_named_by_its_file_and_never_quoted() {
        let files = IdentityFiles { certificate: "client.pem".into(), key: "client.key".into() };
        let check = |certificate: &str, key: &str| {
            let identity =
                Identity { certificate: certificate.as_bytes().to_vec(), key: key.as_bytes().to_vec() };
            assert!(!format!("{identity:?}").contains("private"));
            files.checked(identity).unwrap_err().to_string()
        };
        assert!(check("no pem", "private-text").contains("client.pem"), "the certificate is named");
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let error = check(broken, "private-text");
        assert!(error.contains("client.key") && !error.contains("private-text"), "{error}");
    }
}
