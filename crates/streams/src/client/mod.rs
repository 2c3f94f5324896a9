//! The client: measurement points in a program, streams out of it.
//!
//! ```
//! use std::time::Duration;
//! use trialwise_streams::client::Client;
//! use trialwise_streams::config::{Config, Destination};
//! use trialwise_streams::protocol::{FieldType, Value};
//!
//! let path = std::env::temp_dir().join("trialwise-client-example");
//! let config = Config::new("node1", "demo", Destination::File(path.clone()));
//! let mut client = Client::new("ping", &config)?;
//! let point = client.point("reply", &[("seq", FieldType::UInt32), ("delay", FieldType::Double)])?;
//! client.start()?;
//! point.inject(&[Value::UInt32(1), Value::Double(0.012)])?;
//! let report = client.close(Duration::from_secs(2));
//! assert!(report.finished && report.counters.dropped() == 0);
//! # std::fs::remove_file(path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod connection;
mod counters;
mod declare;
mod native;
mod outbox;
mod outlet;
mod point;
mod reporter;
mod ring;
mod sample;
mod shared;
mod sink;
mod stream;
mod writer;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::config::{Collect, Config, Destination};
use crate::filter::Registry;
use crate::protocol::{Content, Field, FieldType, Header, Schema, Value, is_domain, is_name};

pub use counters::{Counters, DestinationState, PointCounters, RouteCounters};
pub use declare::DeclareError;
pub use point::{InjectError, Point};

use connection::Connection;
use counters::Status;
use declare::Declarations;
use native::NativeOutlet;
use outlet::{OmlOutlet, Outlet};
use point::PointState;
use reporter::{INSTRUMENTATION_NAME, LOSSES_NAME, Reporter};
use shared::{NewPoint, Shared, State, lock};
use sink::{FileSink, Sink, TcpSink};
use writer::Writer;

/// Number of the stream that tells of losses; late, so that a client that loses nothing shows OML's streams alone.
const LOSSES_STREAM: u32 = 255;
/// A client that is dropped without being closed may take so long.
const DROP_PATIENCE: Duration = Duration::from_secs(2);

/// One program's measurement: its points, its writer, its destinations.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    declarations: Declarations,
    metadata: Point,
    /// Until the start.
    writer: Option<Writer>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Declarations {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Declarations").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// Why there is no client, or no metadata.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A program's name that is none.
    #[error(
        "program name {0:?} cannot begin the names of streams; letters, digits and _, the first no digit"
    )]
    App(String),
    /// A domain that could not name a database.
    #[error("{0:?} cannot name a domain; letters, digits and -_.+: make one, the first a letter, digit or _")]
    Domain(String),
    /// A key of metadata that is none, or that the protocol keeps for itself.
    #[error("metadata key {0:?} is no name or is kept for the protocol")]
    Key(String),
    /// A field that the point does not have.
    #[error("measurement point {0:?} has no field {1:?}")]
    Field(String, String),
    /// The sample was lost.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// The client was started before.
    #[error("the client is started already")]
    Started,
    /// The writer's thread.
    #[error("the writer's thread cannot be started: {0}")]
    Thread(#[from] io::Error),
    /// A stream of the client's own.
    #[error(transparent)]
    Declare(#[from] DeclareError),
}

/// What became of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct CloseReport {
    /// Whether all work ended before the deadline; if not, what waited was given up and counted.
    pub finished: bool,
    /// Whether the counts are final: not while the writer is held in a system call that does not return.
    pub settled: bool,
    /// What was injected, sent and lost.
    pub counters: Counters,
}

/// Keys of metadata that OML's header uses (OML.md section 6).
const RESERVED_KEYS: [&str; 8] =
    ["protocol", "domain", "experiment-id", "start-time", "sender-id", "app-name", "content", "schema"];

impl Client {
    /// A client for the program `app`, with the built-in filters.
    ///
    /// # Errors
    /// A name that is none.
    pub fn new(app: &str, config: &Config) -> Result<Self, ClientError> {
        Self::with_filters(app, config, Registry::default())
    }

    /// A client that also knows the program's own filters.
    ///
    /// # Errors
    /// A name that is none.
    pub fn with_filters(app: &str, config: &Config, registry: Registry) -> Result<Self, ClientError> {
        if !is_name(app) {
            return Err(ClientError::App(app.to_owned()));
        }
        if !is_domain(&config.domain) {
            return Err(ClientError::Domain(config.domain.clone()));
        }
        let statuses: Vec<_> =
            config.collects.iter().map(|collect| Status::new(&collect.destination.to_string())).collect();
        let shared = Shared::new(config.buffer_bytes, State::Open, statuses.clone());
        let start =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
        let mut declarations = Declarations::new(app, config, registry, shared.losses.clone());
        let metadata = add_own(&mut declarations, &shared, Schema::metadata())?;
        let mut instrumentation = None;
        if !config.instrumentation.is_zero() {
            let schema = own_schema(1, INSTRUMENTATION_NAME, reporter::instrumentation_fields());
            instrumentation = Some(add_own(&mut declarations, &shared, schema)?.id);
        }
        let losses = own_schema(LOSSES_STREAM, LOSSES_NAME, reporter::losses_fields());
        let losses = new_own(&mut declarations, losses, true)?;
        let reporter = Reporter::new(instrumentation, losses, config.instrumentation);
        let outlets = config.collects.iter().zip(statuses);
        let outlets =
            outlets.map(|(collect, status)| make_outlet(app, config, collect, start, status)).collect();
        let writer = Writer::new(Arc::clone(&shared), outlets, start, reporter);
        let metadata = Point { inner: metadata, shared: Arc::clone(&shared) };
        Ok(Self { shared, declarations, metadata, writer: Some(writer), thread: None })
    }

    /// A client that measures nothing (`--oml-noop`): every inject succeeds and costs next to nothing.
    ///
    /// # Errors
    /// A name that is none.
    pub fn disabled(app: &str) -> Result<Self, ClientError> {
        let config = Config { collects: Vec::new(), ..Config::new(app, "disabled", Destination::Stdout) };
        let mut client = Self::new(app, &config)?;
        client.shared = Shared::new(config.buffer_bytes, State::Disabled, Vec::new());
        client.metadata.shared = Arc::clone(&client.shared);
        client.writer = None;
        Ok(client)
    }

    /// Declares a measurement point, before or after the start.
    ///
    /// # Errors
    /// A name that is none or taken, a filter of the configuration that does not fit.
    pub fn point(&mut self, name: &str, fields: &[(&str, FieldType)]) -> Result<Point, DeclareError> {
        let fields: Vec<_> =
            fields.iter().map(|&(name, field_type)| Field { name: name.to_owned(), field_type }).collect();
        let (id, streams) = self.declarations.declare(name, &fields)?;
        let point = PointState::new(id, name, fields);
        let late = self.declarations.started;
        self.shared.add_point(NewPoint { point: Arc::clone(&point), streams, late });
        Ok(Point { inner: point, shared: Arc::clone(&self.shared) })
    }

    /// Starts the writer. What was injected before is sent now.
    ///
    /// # Errors
    /// The client was started, or there is no thread to be had.
    pub fn start(&mut self) -> Result<(), ClientError> {
        if self.shared.state() == State::Disabled {
            return Ok(());
        }
        let writer = self.writer.take().ok_or(ClientError::Started)?;
        self.declarations.started = true;
        let builder = std::thread::Builder::new().name("trialwise-writer".to_owned());
        self.thread = Some(builder.spawn(move || writer.run())?);
        Ok(())
    }

    /// Measurement points that the configuration lists and that are not declared (yet).
    pub fn undeclared(&self) -> Vec<String> {
        self.declarations.undeclared()
    }

    /// What an oml2-server would not take of the streams declared so far (OML.md section 16); our collector takes it.
    pub fn warnings(&self) -> Vec<String> {
        self.declarations.warnings()
    }

    /// Says something about the experiment (`point` absent), a point's stream of the same name, or one of its fields.
    ///
    /// # Errors
    /// A key that is no name or reserved, an unknown field, or no room.
    pub fn metadata(
        &self,
        point: Option<&Point>,
        field: Option<&str>,
        key: &str,
        value: &str,
    ) -> Result<(), ClientError> {
        if !is_name(key) || RESERVED_KEYS.contains(&key) {
            return Err(ClientError::Key(key.to_owned()));
        }
        let subject = self.subject(point, field)?;
        let values = [Value::from(subject.as_str()), Value::from(key), Value::from(value)];
        Ok(self.metadata.inject(&values)?)
    }

    /// `.`, `.APP_MP` or `.APP_MP.FIELD` (OML.md section 6).
    fn subject(&self, point: Option<&Point>, field: Option<&str>) -> Result<String, ClientError> {
        let Some(point) = point else { return Ok(".".to_owned()) };
        let stream = format!(".{}_{}", self.declarations.app(), point.name());
        match field {
            None => Ok(stream),
            Some(field) if point.fields().iter().any(|known| known.name == field) => {
                Ok(format!("{stream}.{field}"))
            }
            Some(field) => Err(ClientError::Field(point.name().to_owned(), field.to_owned())),
        }
    }

    /// What was injected, sent and lost so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters()
    }

    /// Ends: no inject succeeds any more, partial windows become rows, what waits is sent. Returns after `patience` at
    /// the latest, whatever the destinations do (and 0.2 s, if the writer is held up); what could not be sent is counted
    /// as dropped.
    pub fn close(mut self, patience: Duration) -> CloseReport {
        let finished = self.end(patience);
        let settled = finished || lock(&self.shared.closing).finished;
        CloseReport { finished, settled, counters: self.counters() }
    }

    /// Whether the writer ended with everything sent.
    fn end(&mut self, patience: Duration) -> bool {
        if self.shared.state() == State::Disabled {
            return true;
        }
        let deadline = Instant::now() + patience;
        lock(&self.shared.closing).deadline.get_or_insert(deadline);
        self.shared.set_closed();
        drop(self.writer.take()); // never started: counts what was injected as lost
        let Some(thread) = self.thread.take() else { return self.counters().dropped() == 0 };
        thread.thread().unpark();
        // A thread that panicked (in a filter of the program's) left what it had undone, and counted it.
        self.await_writer(deadline) && thread.join().is_ok() && Instant::now() < deadline
    }

    /// Waits for the writer; past the deadline only for what it needs to notice it.
    fn await_writer(&self, deadline: Instant) -> bool {
        const NOTICE: Duration = Duration::from_millis(200);
        let mut closing = lock(&self.shared.closing);
        while !closing.finished {
            let left = (deadline + NOTICE).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.finished.wait_timeout(closing, left);
            closing = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.thread.is_some() || self.writer.is_some() {
            self.end(DROP_PATIENCE);
        }
    }
}

fn own_schema(index: u32, name: &str, fields: Vec<Field>) -> Schema {
    Schema { index, name: name.to_owned(), fields }
}

fn new_own(declarations: &mut Declarations, schema: Schema, late: bool) -> Result<NewPoint, DeclareError> {
    let (name, fields) = (schema.name.clone(), schema.fields.clone());
    let (id, streams) = declarations.declare_own(schema)?;
    Ok(NewPoint { point: PointState::new(id, &name, fields), streams, late })
}

fn add_own(
    declarations: &mut Declarations,
    shared: &Shared,
    schema: Schema,
) -> Result<Arc<PointState>, DeclareError> {
    let new = new_own(declarations, schema, false)?;
    let point = Arc::clone(&new.point);
    shared.add_point(new);
    Ok(point)
}

fn make_outlet(app: &str, config: &Config, collect: &Collect, start: i64, status: Status) -> Box<dyn Outlet> {
    let header = Header {
        protocol: 5,
        domain: config.domain.clone(),
        start_time: Some(start),
        sender_id: config.sender_id.clone(),
        app_name: app.to_owned(),
        schemas: Vec::new(),
        content: collect.content,
    };
    let sink: Box<dyn Sink> = match &collect.destination {
        Destination::Native { host, port } | Destination::Tls { host, port } => {
            let header = Header { content: Content::Binary, ..header };
            let mut connection = Connection::new(host, *port, status).answered();
            if matches!(collect.destination, Destination::Tls { .. }) {
                connection = connection.inside_tls(config.certificate.as_deref());
            }
            return Box::new(NativeOutlet::new(header, &config.token, config.buffer_bytes, connection));
        }
        Destination::Tcp { host, port } => Box::new(TcpSink::new(Connection::new(host, *port, status))),
        Destination::File(path) => Box::new(FileSink::new(Some(path.clone()), status)),
        Destination::Stdout => Box::new(FileSink::new(None, status)),
    };
    Box::new(OmlOutlet::new(header, config.buffer_bytes, sink))
}
