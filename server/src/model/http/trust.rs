//! TLS with a person's own certificates: authorities and a server's own certificate.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
};
use rustls_platform_verifier::Verifier;

use crate::model::ModelError;

/// Creates a configuration that trusts the certificates of a file as well as the system's.
///
/// # Errors
/// [`ModelError::Settings`] if the file can't be read or contains no certificates.
pub(super) fn trusting(path: &Path) -> Result<ClientConfig, ModelError> {
    let fault = |why: String| {
        ModelError::Settings(format!(
            "model: the file {}, which ca_file names, {why}.",
            path.display()
        ))
    };
    let pem = std::fs::read(path).map_err(|error| fault(format!("can't be read: {error}")))?;
    let named: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| fault(format!("holds no certificates: {error}")))?;
    if named.is_empty() {
        return Err(fault("holds no certificate in PEM form".to_owned()));
    }
    let unusable = |error: TlsError| fault(format!("can't be used: {error}"));
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(named.clone(), Arc::clone(&provider));
    let verifier = NamedCertificateVerifier {
        system: verifier.map_err(unusable)?,
        named,
    };
    let mut configuration = with_provider(provider)
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // Without ALPN, no server would choose HTTP/2.
    configuration.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(configuration)
}

fn with_provider(
    provider: Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TlsError> {
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

/// Verifies certificates as the system does, and accepts a server's own certificate that a person
/// named. `openssl req -x509` makes one that is also an authority: WebPKI rejects it for a server,
/// but curl accepts it. Name, time and signature are checked as for any other.
#[derive(Debug)]
struct NamedCertificateVerifier {
    system: Verifier,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for NamedCertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let verified = self.system.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // rustls has no specific error for an authority's certificate used by a server. It is
            // raised after the certificate's time is checked and before its names are.
            Err(TlsError::InvalidCertificate(CertificateError::Other(_)))
                if self.named.iter().any(|named| named == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.system.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.system.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}
