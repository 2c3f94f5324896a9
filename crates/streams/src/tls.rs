//! TLS around the native protocol: both sides over any bytes that come and go without waiting.
//!
//! The server shows a certificate and its key. The client has a file of certificates that it trusts: authorities, or the
//! server's own (then the name in it does not matter: it is that server, as with a host key of ssh).

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};

/// The first byte of a client's handshake (RFC 8446, section 5.1): it begins no OML header and no native connection.
pub const FIRST_BYTE: u8 = 22;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read, or holds nothing of the kind.
    #[error("{path:?}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A certificate and a key that do not go together, or a name that is none.
    #[error("TLS: {0}")]
    Setting(String),
}

/// An error of a connection for people: what to do about a certificate.
fn explained(error: rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(reason) => format!(
            "the collector's certificate is not trusted here ({reason}); name those to trust in TRIALWISE_CERTIFICATE, \
             or --forward-certificate"
        ),
        other => other.to_string(),
    }
}

fn file_error(path: &Path, reason: &impl ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), reason: reason.to_string() }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn setting(error: impl ToString) -> TlsError {
    TlsError::Setting(error.to_string())
}

/// The certificates in a file in PEM.
///
/// # Errors
/// It cannot be read, or holds none.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match found {
        Ok(found) if found.is_empty() => Err(file_error(path, &"holds no certificate in PEM")),
        found => found.map_err(|error| file_error(path, &error)),
    }
}

/// What a server shows.
#[derive(Clone, Debug)]
pub struct Identity(Arc<ServerConfig>);

impl Identity {
    /// From a certificate (with those between it and its authority) and its key, both in PEM.
    ///
    /// # Errors
    /// A file that cannot be read, or a key of another certificate.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| file_error(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(setting)?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(setting)?;
        Ok(Self(Arc::new(config)))
    }
}

/// Whom a client trusts.
#[derive(Clone, Debug)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// From a file of certificates in PEM: authorities, or those of servers themselves.
    ///
    /// # Errors
    /// A file that cannot be read, or holds none.
    pub fn read(path: &Path) -> Result<Self, TlsError> {
        let trusted = certificates(path)?;
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        // Without any authority among them only the servers themselves are trusted.
        let verifier =
            Verifier { trusted, authorities: authorities.build().ok(), provider: Arc::clone(&provider) };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(setting)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// Trusts a server that shows one of the certificates themselves, and what webpki trusts by them.
#[derive(Debug)]
struct Verifier {
    trusted: Vec<CertificateDer<'static>>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.trusted.iter().any(|trusted| trusted == shown) {
            return Ok(ServerCertVerified::assertion());
        }
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let authorities = self.authorities.as_ref().ok_or(unknown)?;
        authorities.verify_server_cert(shown, between, name, revocation, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// One connection's TLS, over a wire that never waits.
pub struct Channel(Connection);

impl fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Channel")
    }
}

impl Channel {
    /// The server's half.
    ///
    /// # Errors
    /// None is known.
    pub fn server(identity: &Identity) -> Result<Self, TlsError> {
        ServerConnection::new(Arc::clone(&identity.0)).map(|half| Self(half.into())).map_err(setting)
    }

    /// The client's half, to a server of this name or address.
    ///
    /// # Errors
    /// A name that is none.
    pub fn client(trust: &Trust, host: &str) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(setting)?;
        ClientConnection::new(Arc::clone(&trust.0), name).map(|half| Self(half.into())).map_err(setting)
    }

    /// Reads what has come for the program; 0 at the end. Goes on with the handshake meanwhile.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there; `InvalidData` where the peer cannot be trusted or breaks the protocol.
    pub fn read(&mut self, wire: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.0.reader().read(&mut buffer[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) => match self.take(wire) {
                    Ok(0) if self.0.is_handshaking() => return Err(ErrorKind::ConnectionReset.into()),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => return Ok(filled),
                    Err(error) => return Err(error),
                },
            }
            if filled == buffer.len() {
                return Ok(filled);
            }
        }
    }

    /// Takes bytes off the wire, and answers what the protocol asks.
    fn take(&mut self, wire: &mut (impl Read + Write)) -> io::Result<usize> {
        let taken = self.0.read_tls(wire);
        if taken.is_ok()
            && let Err(error) = self.0.process_new_packets()
        {
            let _ = self.flush(wire); // the alert is a courtesy
            return Err(io::Error::new(ErrorKind::InvalidData, explained(error)));
        }
        self.flush(wire)?;
        taken
    }

    /// Writes what is taken at once, like a socket that does not wait.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is taken now.
    pub fn write(&mut self, wire: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        self.flush(wire)?;
        if self.0.wants_write() || self.0.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = self.0.writer().write(bytes)?;
        self.flush(wire)?;
        Ok(taken)
    }

    /// Whether the two sides do not know each other yet.
    pub fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Says that nothing follows.
    pub fn close(&mut self, wire: &mut impl Write) {
        self.0.send_close_notify();
        let _ = self.flush(wire); // a peer that is gone needs no goodbye
    }

    /// Writes as much of what waits as the wire takes.
    ///
    /// # Errors
    /// The wire's, but not that it takes nothing now.
    pub fn flush(&mut self, wire: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(wire) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
