//! A running collector: its threads, its start and its end.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

use crate::clock::now_micros;
use crate::config::{Config, Stop, Stopping, Store};
use crate::counters::{Counters, Counting};
use crate::descriptors::Shares;
use crate::loader::{self, Source};
use crate::server::{self, Context, Lobby};
use crate::spool::{Spool, SpoolError};
use crate::status::{Status, Watch};

/// Why a collector does not start.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// Its spool.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// Its address.
    #[error("cannot listen at {0}: {1}; give another address or stop who listens there")]
    Listen(SocketAddr, io::Error),
    /// Its store: the folder cannot be made, or the server refuses the collector.
    #[error("cannot use the store: {0}")]
    Store(String),
    /// A thread, or a socket's settings.
    #[error("the collector cannot start: {0}")]
    Io(#[from] io::Error),
}

/// What is left when a collector has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct StopReport {
    /// What was counted; a backlog is loaded after the next start.
    pub counters: Counters,
    /// Why it had stopped by itself, if it had.
    pub failure: Option<String>,
}

/// A running collector.
#[derive(Debug)]
pub struct Collector {
    spool: Arc<Spool>,
    counting: Arc<Counting>,
    watch: Watch,
    address: SocketAddr,
    places: usize,
    stop_server: watch::Sender<bool>,
    stop_loader: Stopping,
    server: Option<JoinHandle<()>>,
    loader: Option<JoinHandle<()>>,
}

impl Collector {
    /// Opens the spool, goes on loading what is in it, and listens.
    ///
    /// # Errors
    /// The spool is in use or cannot be read, the address is taken, the folders cannot be made.
    pub fn start(config: Config) -> Result<Self, CollectorError> {
        let shares = Shares::take(config.connections, matches!(config.store, Store::Collector(_)));
        let spool = Arc::new(Spool::open(&config.spool, config.spool_capacity)?);
        let counting = Arc::new(Counting::default());
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener =
            TcpListener::bind(config.listen).map_err(|error| CollectorError::Listen(config.listen, error))?;
        listener.set_nonblocking(true)?;
        lengthen_queue(&listener)?;
        let address = listener.local_addr()?;
        let stop_loader = Arc::new(Mutex::new(Stop::Never));
        let source = Source {
            spool: Arc::clone(&spool),
            counting: Arc::clone(&counting),
            stopping: Arc::clone(&stop_loader),
            domains: shares.domains,
        };
        let behind =
            loader::start(&config, source).map_err(|error| CollectorError::Store(error.to_string()))?;
        let watch = Watch {
            spool: Arc::clone(&spool),
            counting: Arc::clone(&counting),
            spool_capacity: config.spool_capacity,
            started: now_micros(),
            forwarding: behind.forwarding,
        };
        let context = Arc::new(Context {
            identity: config.identity.clone(),
            config,
            spool: Arc::clone(&spool),
            counting: Arc::clone(&counting),
            watch: watch.clone(),
            lobby: Lobby::new(shares.lobby, shares.places),
            places: Arc::new(Semaphore::new(shares.places)),
        });
        let stop_server = watch::Sender::new(false);
        Ok(Self {
            address,
            places: shares.places,
            server: Some(start_server(runtime, listener, context, stop_server.subscribe())?),
            loader: Some(behind.thread),
            spool,
            counting,
            watch,
            stop_server,
            stop_loader,
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Clients that are served at a time: as many as were asked for, or as the limit of descriptors allows.
    pub const fn places(&self) -> usize {
        self.places
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counting.read(self.spool.backlog())
    }

    /// What it says of itself, senders and all; the same as over HTTP.
    pub fn status(&self) -> Status {
        self.watch.status()
    }

    /// Why nothing is taken any more: the disk of the spool failed. Stop, and start when it is well.
    pub fn failure(&self) -> Option<String> {
        self.spool.progress().borrow().failure.clone()
    }

    /// Why clients wait at present, if they do: the disk of the spool is full. It goes on by itself when there is room.
    pub fn waits(&self) -> Option<String> {
        self.spool.progress().borrow().waits.clone()
    }

    /// Why domains cannot be stored at present, by domain. Their rows wait in the spool.
    pub fn troubles(&self) -> BTreeMap<String, String> {
        self.counting.troubles()
    }

    /// Waits until everything that arrived is in the databases; false after `patience`.
    pub fn wait_loaded(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.spool.backlog() > 0 {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Takes what clients sent, brings it to the spool, and loads for `patience` at most (the spool may take 2 s more).
    pub fn stop(mut self, patience: Duration) -> StopReport {
        self.end(Instant::now() + patience);
        StopReport { counters: self.counters(), failure: self.failure() }
    }

    fn end(&mut self, deadline: Instant) {
        self.stop_server.send_replace(true);
        join(self.server.take());
        self.spool.close();
        *self.stop_loader.lock().unwrap_or_else(PoisonError::into_inner) = Stop::By(deadline);
        join(self.loader.take());
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.end(Instant::now());
        }
    }
}

/// Lets a crowd of clients connect at once: the standard library's queue of 128 makes the others wait for a second.
fn lengthen_queue(listener: &TcpListener) -> io::Result<()> {
    const QUEUE: i32 = 4096;
    // SAFETY: the descriptor is open while `listener` is borrowed, and listens already; only its queue is changed.
    let done = unsafe { libc::listen(listener.as_raw_fd(), QUEUE) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for a thread; a panic was told by the thread itself.
fn join(thread: Option<JoinHandle<()>>) {
    if let Some(thread) = thread {
        let _ = thread.join();
    }
}

fn start_server(
    runtime: Runtime,
    listener: TcpListener,
    context: Arc<Context>,
    stop: watch::Receiver<bool>,
) -> io::Result<JoinHandle<()>> {
    let builder = std::thread::Builder::new().name("collect-serve".to_owned());
    builder.spawn(move || runtime.block_on(server::serve(listener, context, stop)))
}
