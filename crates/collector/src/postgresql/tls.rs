//! TLS to the server: whom a mode of libpq's trusts, and what to do where that fails.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;
use trialwise_streams::tls::certificates;

use crate::address::{Address, Mode};
use crate::store::StoreError;

/// What a server must be asked for where the two begin with TLS at once (`sslnegotiation=direct`).
const PROTOCOL: &[u8] = b"postgresql";

/// What connects inside TLS as the address says.
///
/// # Errors
/// The certificates cannot be read, or there are none where some must be.
pub(super) fn connector(address: &Address) -> Result<MakeRustlsConnect, StoreError> {
    let roots = address.roots.as_deref().map(Roots::read).transpose()?;
    if roots.is_none() && address.mode.needs_roots() {
        let text = "there is no certificate to verify the server by; give sslrootcert=FILE (also ~/.postgresql/root.crt is \
                    one), or sslmode=require";
        return Err(StoreError(text.to_owned()));
    }
    let provider = Arc::new(ring::default_provider());
    let verifier =
        Verifier { roots, named: address.mode == Mode::VerifyFull, provider: Arc::clone(&provider) };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

/// Certificates that are trusted: authorities, and servers' own.
#[derive(Debug)]
struct Roots {
    own: Vec<CertificateDer<'static>>,
    authorities: RootCertStore,
}

impl Roots {
    fn read(path: &Path) -> Result<Self, StoreError> {
        let own = certificates(path)?;
        let mut authorities = RootCertStore::empty();
        authorities.add_parsable_certificates(own.iter().cloned());
        Ok(Self { own, authorities })
    }
}

/// Verifies what a mode asks for; the signatures of the handshake always.
#[derive(Debug)]
struct Verifier {
    roots: Option<Roots>,
    /// Whether the certificate must have the server's name.
    named: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(shown)?;
        if roots.own.iter().all(|own| own != shown) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &roots.authorities, between, now, algorithms)?;
        }
        if self.named {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What to do about a server that is there but gets no TLS with us; nothing where that was not the reason.
pub(super) fn advice(error: &tokio_postgres::Error) -> Option<&'static str> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.to_string() == "server does not support TLS" {
            return Some(
                "turn it on there (ssl = on in postgresql.conf), or use sslmode=disable over loopback, a Unix socket or a tunnel",
            );
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<Error>()) {
            return Some(advice_on(error));
        }
        cause = error.source();
    }
    None
}

const fn advice_on(error: &Error) -> &'static str {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "no certificate in sslrootcert has signed the server's; give the one that has"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "connect by a name that the server's certificate has (subjectAltName), or use sslmode=verify-ca",
        Error::InvalidCertificate(_) => "the server needs another certificate",
        _ => "the two have no TLS in common",
    }
}
