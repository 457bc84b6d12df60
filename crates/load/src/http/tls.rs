//! TLS configuration.

use super::flag_file;
use crate::LoadError;
use plimsoll_model::TlsFiles;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// More than any list of authorities has.
const MOST_BYTES: u64 = 16 << 20;

/// TLS 1.2 or 1.3 with servers that this machine, or an authority in `files`, trusts, or, if
/// `insecure`, with any, which speak this protocol (ALPN). Sessions are resumed when a connection is reopened, as clients do.
pub(super) fn config(
    insecure: bool,
    files: &TlsFiles,
    protocol: &[u8],
) -> Result<Arc<ClientConfig>, LoadError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| LoadError::Mistake(format!("cannot set up TLS: {e}")))?;
    let builder = if insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        builder.with_root_certificates(match &files.authorities {
            Some(file) => authorities(file)?,
            None => trusted()?,
        })
    };
    let mut config = match &files.certificate {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let key = files.key.as_ref().unwrap_or(file);
            let config = builder.with_client_auth_cert(certificates(file)?, private_key(key)?);
            config.map_err(|e| {
                let why =
                    format!("the certificate in {file} and the key in {key} cannot be used: {e}");
                LoadError::Mistake(format!("{why}; give those that belong together"))
            })?
        }
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(Arc::new(config))
}

fn authorities(file: &str) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|e| {
            LoadError::Mistake(format!(
                "{file} has a certificate that no authority has: {e}"
            ))
        })?;
    }
    Ok(roots)
}

/// All certificates in a file; at least one.
fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let pem = flag_file::bytes(file, MOST_BYTES).or_else(LoadError::mistake)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let all = all.map_err(|e| unreadable(file, "certificates", &e))?;
    match all.is_empty() {
        false => Ok(all),
        true => LoadError::mistake(format!(
            "there is no certificate in {file}; give a file in PEM form (-----BEGIN CERTIFICATE-----)"
        )),
    }
}

fn private_key(file: &str) -> Result<PrivateKeyDer<'static>, LoadError> {
    let pem = flag_file::bytes(file, MOST_BYTES).or_else(LoadError::mistake)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|e| unreadable(file, "a private key", &e))
}

fn unreadable(file: &str, what: &str, why: &dyn std::fmt::Display) -> LoadError {
    LoadError::Mistake(format!(
        "{what} cannot be read from {file}: {why}; give a file in PEM form"
    ))
}

fn trusted() -> Result<RootCertStore, LoadError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let error = found.errors.first();
    let why = error.map_or_else(String::new, |error| format!(" ({error})"));
    LoadError::mistake(format!(
        "this machine has no trusted certificates{why}; install the package ca-certificates, \
         or accept any certificate with --insecure"
    ))
}

/// Accepts any certificate, even an expired or malformed one.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
