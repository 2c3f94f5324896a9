//! PostgreSQL: a schema for each domain in one database (`docs/reference/collector-stores.md`).

mod connect;
mod database;
mod encode;
mod gaps;
mod names;
mod server;
mod tls;

use std::sync::{Arc, Mutex};

use crate::config::Stopping;
use crate::counters::Counting;
use crate::store::{Databases, StoreError};
use database::PostgreSqlDatabase;
use server::Server;

/// A database of a server.
pub(crate) struct PostgreSql {
    server: Arc<Mutex<Server>>,
    spool: String,
    counting: Arc<Counting>,
}

impl PostgreSql {
    /// Rows come from the spool of that name. A server that is away may come later.
    pub(crate) fn new(
        url: &str,
        spool: &str,
        counting: Arc<Counting>,
        stopping: Stopping,
    ) -> Result<Self, StoreError> {
        // In a thread of its own: who starts a collector may be a runtime's task, which must not wait for another runtime.
        let server = std::thread::scope(|scope| scope.spawn(|| Server::new(url, stopping)).join());
        let server = server.map_err(|_| StoreError("the PostgreSQL client failed".to_owned()))??;
        let server = Arc::new(Mutex::new(server));
        Ok(Self { server, spool: spool.to_owned(), counting })
    }
}

impl Databases for PostgreSql {
    type Database = PostgreSqlDatabase;

    fn open(&mut self, domain: &str) -> Result<PostgreSqlDatabase, StoreError> {
        PostgreSqlDatabase::open(&self.server, domain, &self.spool, Arc::clone(&self.counting))
    }
}
