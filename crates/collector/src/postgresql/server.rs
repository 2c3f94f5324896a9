//! The connection to the server: one for all domains, made again after every error.

use std::future::Future;
use std::pin::pin;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect::{Away, connect};
use super::tls;
use crate::address::Address;
use crate::config::{Stop, Stopping};
use crate::store::StoreError;

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
    address: Address,
    tls: MakeRustlsConnect,
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
        let mut address = Address::read(url).map_err(StoreError)?;
        let tls = tls::connector(&address)?;
        let config = &mut address.config;
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        config.application_name("trialwise collector").connect_timeout(CONNECT);
        config.keepalives_idle(SILENT / 2).tcp_user_timeout(SILENT);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut server = Self { runtime, address, tls, client: None, away: None, stopping };
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
        let connected = self.within(CONNECT, async { Ok(connect(&self.address, &self.tls).await) });
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
