//! PostgreSQL: a schema for each domain in one database (`docs/reference/collector-stores.md`).

mod database;
mod encode;
mod names;
mod server;

use std::sync::{Arc, Mutex};

use crate::counters::Counting;
use crate::loader::Stopping;
use crate::loader::store::{Databases, StoreError};
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
        let server = Arc::new(Mutex::new(Server::new(url, stopping)?));
        Ok(Self { server, spool: spool.to_owned(), counting })
    }
}

impl Databases for PostgreSql {
    type Database = PostgreSqlDatabase;

    fn open(&mut self, domain: &str) -> Result<PostgreSqlDatabase, StoreError> {
        PostgreSqlDatabase::open(&self.server, domain, &self.spool, Arc::clone(&self.counting))
    }
}
