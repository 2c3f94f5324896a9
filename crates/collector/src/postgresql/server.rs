//! The connection to the server: one for all domains, made again after every error.

use std::future::Future;
use std::pin::pin;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use crate::loader::store::StoreError;
use crate::loader::{Stop, Stopping};

/// A connection is made in so long, or not.
const CONNECT: Duration = Duration::from_secs(5);
/// A transaction takes so long at most; then it is given up, and told again later.
const ANSWER: Duration = Duration::from_secs(600);
/// A connection to a machine that is silent for about so long is given up.
const SILENT: Duration = Duration::from_secs(20);
/// After a failure the next attempt comes so long after at the earliest, whatever domain asks.
const RETRY: Duration = Duration::from_millis(500);
/// How often a stop is looked for, and how long after it a commit may take.
const NOTICE: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_millis(500);

/// A server, connected or not.
pub(super) struct Server {
    runtime: Runtime,
    config: Config,
    client: Option<Client>,
    /// When it was last found away, and how.
    away: Option<(Instant, String)>,
    stopping: Stopping,
}

impl Server {
    /// Learns where the server is, and whether it lets us in, if it is there.
    ///
    /// # Errors
    /// The URL cannot be read, or the server refuses what it says.
    pub(super) fn new(url: &str, stopping: Stopping) -> Result<Self, StoreError> {
        let mut config: Config = url.parse()?;
        if config.get_ssl_mode() == SslMode::Require {
            let text = "TLS to PostgreSQL is not supported; use sslmode=disable over loopback, a Unix socket or a tunnel";
            return Err(StoreError(text.to_owned()));
        }
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        config.application_name("trialwise collector").connect_timeout(CONNECT);
        config.keepalives_idle(SILENT / 2).tcp_user_timeout(SILENT);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut server = Self { runtime, config, client: None, away: None, stopping };
        match server.connect() {
            Err(Away::Refused(error)) => Err(error),
            Ok(_) | Err(Away::Later(_)) => Ok(server),
        }
    }

    /// Does some work on a connection. After an error the connection is given up, and with it what it had begun.
    pub(super) fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect().map_err(Away::into_error)?,
        };
        let done = self.within(ANSWER, work(&mut client));
        let done = done.map_err(|error| StoreError(format!("PostgreSQL: {}", error.0)))?;
        self.client = Some(client);
        Ok(done)
    }

    fn connect(&mut self) -> Result<Client, Away> {
        if let Some((when, text)) = &self.away
            && when.elapsed() < RETRY
        {
            return Err(Away::Later(StoreError(text.clone())));
        }
        let config = self.config.clone();
        let connected = self.within(CONNECT, async {
            let (client, connection) = match config.connect(NoTls).await {
                Ok(connected) => connected,
                Err(error) => return Ok(Err(explain(&config, error))),
            };
            tokio::spawn(connection); // its end is seen by the client
            Ok(Ok(client))
        });
        let late = |late: StoreError| Err(Away::Later(StoreError(format!("PostgreSQL: {}", late.0))));
        let connected = connected.unwrap_or_else(late);
        self.away = match &connected {
            Ok(_) => None,
            Err(Away::Refused(error) | Away::Later(error)) => Some((Instant::now(), error.0.clone())),
        };
        connected
    }

    fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let end = Instant::now() + limit;
        self.runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                if let Ok(done) = tokio::time::timeout(NOTICE, &mut work).await {
                    return done;
                }
                if Instant::now() >= end || self.is_late() {
                    return Err(StoreError("the server does not answer".to_owned()));
                }
            }
        })
    }

    /// Whether the collector must end.
    fn is_late(&self) -> bool {
        let stop = *self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(stop, Stop::By(deadline) if Instant::now() >= deadline + GRACE)
    }
}

/// Why there is no connection.
enum Away {
    /// The server says that it will not have us.
    Refused(StoreError),
    /// It may be there later.
    Later(StoreError),
}

impl Away {
    fn into_error(self) -> StoreError {
        let (Self::Refused(error) | Self::Later(error)) = self;
        error
    }
}

/// What to do about a refusal.
fn explain(config: &Config, error: tokio_postgres::Error) -> Away {
    let code = error.code().cloned();
    let user = config.get_user().unwrap_or("the system's user");
    let database = config.get_dbname().unwrap_or(user);
    let text = StoreError::from(error).0;
    let no_password = text.contains("password missing");
    let advice = match code {
        Some(SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => format!(
            "check user {user:?} and its password (postgresql://USER:PASSWORD@HOST/DATABASE, or PGPASSWORD)"
        ),
        _ if no_password => {
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
