//! One connection to a server: inside TLS or in the open, as the address says, and what to do where it is refused.

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls;
use crate::address::Address;
use crate::store::StoreError;

/// Why there is no connection.
pub(super) enum Away {
    /// The server says that it will not have us, or we will not have it.
    Refused(StoreError),
    /// It may be there later.
    Later(StoreError),
}

impl Away {
    pub(super) fn into_error(self) -> StoreError {
        let (Self::Refused(error) | Self::Later(error)) = self;
        error
    }
}

/// Connects, at a second attempt the other way where the mode has one: after a refusal alone, as libpq does.
pub(super) async fn connect(address: &Address, connector: &MakeRustlsConnect) -> Result<Client, Away> {
    let mut refused = None;
    for &inside in address.mode.attempts() {
        match connect_once(&address.config, inside.then_some(connector)).await {
            Ok(client) => return Ok(client),
            Err(error) => match explain(&address.config, error) {
                Away::Refused(error) => refused = Some(told_before(refused, error)),
                later => return Err(later),
            },
        }
    }
    Err(Away::Refused(refused.unwrap_or_else(|| StoreError("there is no way to connect".to_owned()))))
}

/// What is said at last, with what was said before unless that is the same.
fn told_before(before: Option<StoreError>, error: StoreError) -> StoreError {
    match before {
        Some(before) if before.0 != error.0 => StoreError(format!("{}; before that: {}", error.0, before.0)),
        _ => error,
    }
}

async fn connect_once(
    config: &Config,
    inside: Option<&MakeRustlsConnect>,
) -> Result<Client, tokio_postgres::Error> {
    let mut config = config.clone();
    config.ssl_mode(if inside.is_some() { SslMode::Require } else { SslMode::Disable });
    // The end of a connection is seen by its client.
    match inside {
        Some(connector) => {
            let (client, connection) = config.connect(connector.clone()).await?;
            tokio::spawn(connection);
            Ok(client)
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        }
    }
}

/// What to do about a refusal.
fn explain(config: &Config, error: tokio_postgres::Error) -> Away {
    let (code, on_tls) = (error.code().cloned(), tls::advice(&error));
    let user = config.get_user().unwrap_or("the system's user");
    let database = config.get_dbname().unwrap_or(user);
    let text = StoreError::from(error).0;
    let advice = match code {
        _ if on_tls.is_some() => on_tls.unwrap_or_default().to_owned(),
        _ if text.contains("no encryption") => "ask for TLS (sslmode=require)".to_owned(),
        Some(SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => format!(
            "check user {user:?} and its password (postgresql://USER:PASSWORD@HOST/DATABASE, or PGPASSWORD)"
        ),
        _ if text.contains("password missing") => {
            "give one in the URL (postgresql://USER:PASSWORD@HOST/DATABASE) or in PGPASSWORD".to_owned()
        }
        Some(SqlState::INVALID_CATALOG_NAME) => format!("make the database first: createdb {database:?}"),
        Some(SqlState::INSUFFICIENT_PRIVILEGE) => {
            format!("let the user in: GRANT CONNECT ON DATABASE {database:?} TO {user:?}")
        }
        _ => return Away::Later(StoreError(format!("PostgreSQL: {text}"))),
    };
    Away::Refused(StoreError(format!("PostgreSQL: {text}; {advice}")))
}
