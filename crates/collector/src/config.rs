//! What a collector is told before it starts.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trialwise_streams::protocol::Limits;
use trialwise_streams::tls::Identity;

use crate::address::Address;

/// OML's port.
pub const DEFAULT_PORT: u16 = 3003;

/// Whether what empties the spool goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It does.
    Never,
    /// It ends when the spool is empty, or at this time.
    By(Instant),
}

/// Told from outside to what empties the spool.
pub(crate) type Stopping = Arc<Mutex<Stop>>;

/// Everything that a collector needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; loopback by default.
    pub listen: SocketAddr,
    /// Where the rows go.
    pub store: Store,
    /// The folder of the spool.
    pub spool: PathBuf,
    /// Bytes of the spool that may wait for the loader; then clients wait.
    pub spool_capacity: u64,
    /// Who may send.
    pub access: Access,
    /// Bounds on each connection.
    pub limits: Limits,
    /// Connections at a time; more wait.
    pub connections: usize,
    /// Rows are visible to readers after so long.
    pub commit: Duration,
    /// What the native protocol's TLS shows; absent: no TLS.
    pub identity: Option<Identity>,
}

impl Config {
    /// Loopback on OML's port, the spool in `.spool` beside the databases (where there is no folder of them, `trialwise-spool`
    /// in the present one), 64 GiB of it at most, 10,000 connections, a commit five times a second.
    pub fn new(store: Store) -> Self {
        let spool = store.spool();
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            store,
            spool,
            spool_capacity: 64 << 30,
            access: Access::default(),
            limits: Limits::default(),
            connections: 10_000,
            commit: Duration::from_millis(200),
            identity: None,
        }
    }
}

/// Where rows go.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Store {
    /// One SQLite file `<domain>.sq3` for each domain in a folder.
    Sqlite(PathBuf),
    /// A folder `<domain>/<table>` of Parquet files for each table in a folder.
    Parquet(PathBuf),
    /// A schema for each domain in the database that a URL `postgresql://USER:PASSWORD@HOST/DATABASE` names.
    PostgreSql(String),
    /// Another collector, which stores them.
    Collector(Upstream),
}

/// Another collector.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The certificates trusted there, in PEM; absent: no TLS.
    pub certificate: Option<PathBuf>,
    /// What it wants to see.
    pub access: Access,
}

impl fmt::Debug for Upstream {
    /// Without the tokens.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, certificate, .. } = self;
        write!(formatter, "Upstream({host}:{port}, {certificate:?})")
    }
}

impl fmt::Debug for Store {
    /// Without the URL, which may have a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(folder) => write!(formatter, "Sqlite({folder:?})"),
            Self::Parquet(folder) => write!(formatter, "Parquet({folder:?})"),
            Self::PostgreSql(_) => write!(formatter, "PostgreSql(…)"),
            Self::Collector(upstream) => write!(formatter, "Collector({upstream:?})"),
        }
    }
}

/// A store's name that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownStore {
    /// No store is called so.
    #[error("store {0:?} is unknown; write sqlite:DIR, parquet:DIR or postgresql://USER@HOST/DATABASE")]
    Kind(String),
    /// A URL with a mistake; it is not told, for it may have a password.
    #[error(
        "the store's URL cannot be read: {0}; write postgresql://USER@HOST/DATABASE, after it perhaps ?sslmode=…"
    )]
    Url(String),
}

impl Store {
    /// The folder of the spool unless another is given: beside the rows, or where they go elsewhere below the present folder.
    fn spool(&self) -> PathBuf {
        match self {
            Self::Sqlite(folder) | Self::Parquet(folder) => folder.join(".spool"),
            Self::PostgreSql(_) | Self::Collector(_) => "trialwise-spool".into(),
        }
    }
}

impl FromStr for Store {
    type Err = UnknownStore;

    /// Reads `sqlite:DIR`, `parquet:DIR`, or `postgresql://…` (also `postgres://…`).
    fn from_str(text: &str) -> Result<Self, UnknownStore> {
        match text.split_once(':') {
            Some(("sqlite", folder)) if !folder.is_empty() => Ok(Self::Sqlite(folder.into())),
            Some(("parquet", folder)) if !folder.is_empty() => Ok(Self::Parquet(folder.into())),
            Some(("postgresql" | "postgres", rest)) if rest.starts_with("//") => {
                Address::read(text).map_err(UnknownStore::Url)?;
                Ok(Self::PostgreSql(text.to_owned()))
            }
            // What follows may hold a password.
            Some((kind, _)) => Err(UnknownStore::Kind(format!("{kind}:…"))),
            None => Err(UnknownStore::Kind(text.to_owned())),
        }
    }
}

/// Who may send where. OML's protocol proves nothing: where there is any token, its senders are taken only if that is asked for, and
/// never to a domain with a token of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// What native clients must show for domains without a token of their own; absent: nothing.
    pub token: Option<String>,
    /// Tokens of single domains.
    pub domains: BTreeMap<String, String>,
    /// Take OML's senders though there are tokens.
    pub oml: bool,
}

impl Access {
    /// Whether a client may send to `domain`; `token` is `None` for OML's protocol.
    pub fn allows(&self, domain: &str, token: Option<&[u8]>) -> bool {
        match (self.domains.get(domain), token) {
            (Some(wanted), token) => token.is_some_and(|token| same(wanted.as_bytes(), token)),
            (None, Some(token)) => self.token.as_ref().is_none_or(|wanted| same(wanted.as_bytes(), token)),
            (None, None) => self.takes_oml(),
        }
    }
}

impl Access {
    /// Whether OML's senders are taken, to domains without a token of their own.
    pub fn takes_oml(&self) -> bool {
        self.oml || self.token.is_none() && self.domains.is_empty()
    }

    /// What to show for a domain; empty where there is nothing.
    pub fn token_of(&self, domain: &str) -> &str {
        self.domains.get(domain).or(self.token.as_ref()).map_or("", String::as_str)
    }

    /// Whether this is the token of all domains; false where there is none.
    pub fn is_token(&self, token: &[u8]) -> bool {
        self.token.as_ref().is_some_and(|wanted| same(wanted.as_bytes(), token))
    }
}

/// Compares in a time that does not tell where the difference is.
fn same(wanted: &[u8], token: &[u8]) -> bool {
    wanted.len() == token.len() && wanted.iter().zip(token).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_read_and_passwords_not_told() {
        for text in ["sqlite:", "parquet:", "postgresql:x", "mysql://x", "x"] {
            assert!(text.parse::<Store>().is_err(), "{text}");
        }
        assert_eq!("parquet:a/b".parse(), Ok(Store::Parquet("a/b".into())));
        let store: Store = "postgresql://me:secret@host/db".parse().unwrap();
        assert!(!format!("{:?}", Config::new(store)).contains("secret"));
    }

    #[test]
    fn a_domain_with_a_token_takes_that_token_alone() {
        let domains = BTreeMap::from([("a".to_owned(), "one".to_owned())]);
        let access = Access { token: Some("all".to_owned()), domains, oml: false };
        for (domain, token, allowed) in [
            ("a", Some(&b"one"[..]), true),
            ("a", Some(b"all"), false),
            ("a", None, false),
            ("b", Some(b"all"), true),
            ("b", Some(b""), false),
            ("b", None, false),
        ] {
            assert_eq!(access.allows(domain, token), allowed, "{domain} {token:?}");
        }
        let asked = Access { oml: true, ..access };
        assert!(asked.allows("b", None) && !asked.allows("a", None));
        let single = Access { token: None, oml: false, ..asked };
        assert!(!single.allows("b", None) && single.allows("b", Some(b"")));
        assert!(Access::default().allows("a", Some(b"")) && Access::default().allows("a", None));
    }
}
