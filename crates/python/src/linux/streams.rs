//! What Python sees of `trialwise-streams`: the client and its measurement points.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyTuple;
use trialwise_python_macros::entry;
use trialwise_streams::client::{Client, InjectError, Point};
use trialwise_streams::config::{Config, Disposition, usage};
use trialwise_streams::filter::Registry;
use trialwise_streams::protocol::{ElementType, FieldType, Value, Vector};

use crate::linux::span;

/// Adds the classes of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StreamClient>()?;
    module.add_class::<StreamPoint>()?;
    module.add_class::<PointCount>()?;
    module.add_class::<StreamCount>()
}

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// One program's client: what it measures, on its way to where the options say.
///
/// Parameters
/// ----------
/// app
///     The program's name; it begins the names of streams.
/// arguments
///     Words of a command line; OML's options are taken out of them.
/// variables
///     The environment that is asked.
/// warn
///     Called, by an inject, with a sentence for each stream of which an encoding does not carry a value, once; the counts come at the
///     end.
///
/// Raises
/// ------
/// ValueError
///     A wrong name, option, destination or file.
#[pyclass(frozen, module = "trialwise._linux")]
pub(crate) struct StreamClient {
    client: Mutex<Option<Client>>,
    /// The words that are not OML's.
    #[pyo3(get)]
    arguments: Vec<String>,
    /// What was asked for instead of measuring (`--oml-help`, `--oml-list-filters`), to be printed.
    #[pyo3(get)]
    answer: Option<String>,
    warn: Warn,
}

/// What is called with a sentence for each stream when an encoding first does not carry one of its values.
type Warn = Arc<Option<Py<PyAny>>>;

#[entry]
#[pymethods]
impl StreamClient {
    #[new]
    #[pyo3(signature = (app, arguments, variables, warn=None))]
    fn new(
        app: &str,
        mut arguments: Vec<String>,
        variables: HashMap<String, String>,
        warn: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let asked = Config::from_arguments(app, &mut arguments, &|name| variables.get(name).cloned());
        let (client, answer) = match asked.map_err(refused)? {
            Disposition::Run(config) => (Client::new(app, &config).map_err(refused)?, None),
            Disposition::Disabled => (Client::disabled(app).map_err(refused)?, None),
            Disposition::Help => (Client::disabled(app).map_err(refused)?, Some(usage().to_owned())),
            Disposition::ListFilters => (Client::disabled(app).map_err(refused)?, Some(filter_names())),
        };
        Ok(Self { client: Mutex::new(Some(client)), arguments, answer, warn: Arc::new(warn) })
    }

    /// Declares a measurement point: its name, and the name and type of each field.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     A name or type that is none, a name that is taken, or the client is closed.
    fn point(&self, name: &str, fields: Vec<(String, String)>) -> PyResult<StreamPoint> {
        let types = fields.iter().map(|(_, name)| name.parse().map_err(refused));
        let types = types.collect::<PyResult<Vec<FieldType>>>()?;
        let named: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).zip(types.iter().copied()).collect();
        let point = self.with(|client| client.point(name, &named).map_err(refused))?;
        Ok(StreamPoint { point, types, warn: Arc::clone(&self.warn) })
    }

    /// Begins to send. Points may be declared before and after.
    fn start(&self) -> PyResult<()> {
        self.with(|client| client.start().map_err(refused))
    }

    /// Sends metadata of the experiment, of a point, or of a field of it.
    #[pyo3(signature = (key, value, point = None, field = None))]
    fn metadata(
        &self,
        key: &str,
        value: &str,
        point: Option<&StreamPoint>,
        field: Option<&str>,
    ) -> PyResult<()> {
        let point = point.map(|point| &point.point);
        self.with(|client| client.metadata(point, field, key, value).map_err(refused))
    }

    /// Points that the configuration names and nobody declared yet, and what some destination cannot carry.
    fn warnings(&self) -> PyResult<Vec<String>> {
        self.with(|client| {
            let missing = client.undeclared().into_iter();
            let missing = missing.map(|name| format!("no measurement point {name:?} was declared"));
            Ok(client.warnings().iter().cloned().chain(missing).collect())
        })
    }

    /// What was counted so far: points, streams, and why a destination takes nothing.
    fn counters(&self) -> PyResult<Counts> {
        self.with(|client| Ok(counts(client.counters())))
    }

    /// Sends what waits, for `patience` seconds at most: whether all of it went out, and the last counts.
    fn close(&self, python: Python<'_>, patience: f64) -> PyResult<(bool, Counts)> {
        let patience = span("patience", patience)?;
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(closed)?;
        let report = python.detach(|| client.close(patience));
        Ok((report.finished, counts(report.counters)))
    }
}

impl StreamClient {
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Client) -> PyResult<T>) -> PyResult<T> {
        act(self.client.lock().unwrap_or_else(PoisonError::into_inner).as_mut().ok_or_else(closed)?)
    }
}

fn closed() -> PyErr {
    refused(InjectError::Closed)
}

fn filter_names() -> String {
    Registry::default().names().fold(String::new(), |text, name| text + name + "\n")
}

/// Of points and of streams, why destinations take nothing, and what encodings did not carry.
type Counts = (Vec<PointCount>, Vec<StreamCount>, Vec<String>, Vec<String>);

/// Samples of one measurement point.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
struct PointCount {
    point: String,
    /// Samples that the writer took.
    injected: u64,
    /// Samples lost at the inject.
    dropped: u64,
}

/// Rows of one stream on their way to one destination.
#[pyclass(frozen, get_all, module = "trialwise._linux")]
struct StreamCount {
    stream: String,
    destination: String,
    rows: u64,
    sent: u64,
    dropped: u64,
    /// Rows with a string that was cut.
    cut: u64,
    /// Rows with a number that went as none or as zero.
    out_of_range: u64,
    /// Rows with a number that was rounded.
    rounded: u64,
}

fn counts(counters: trialwise_streams::client::Counters) -> Counts {
    let changes = counters.changes();
    let points = counters.points.into_iter();
    let points = points.map(|count| PointCount {
        point: count.point,
        injected: count.injected,
        dropped: count.dropped,
    });
    let streams = counters.routes.into_iter().map(|route| StreamCount {
        stream: route.stream,
        destination: route.destination,
        rows: route.rows,
        sent: route.sent,
        dropped: route.dropped,
        cut: route.cut,
        out_of_range: route.out_of_range,
        rounded: route.rounded,
    });
    let destinations = counters.destinations.into_iter();
    let errors = destinations.filter_map(|state| Some(format!("{}: {}", state.destination, state.error?)));
    (points.collect(), streams.collect(), errors.collect(), changes)
}

/// A measurement point. An inject neither blocks nor raises for what the machine does: what finds no room is counted.
#[pyclass(frozen, module = "trialwise._linux")]
struct StreamPoint {
    point: Point,
    types: Vec<FieldType>,
    warn: Warn,
}

#[entry]
#[pymethods]
impl StreamPoint {
    /// Samples lost at the inject so far.
    #[getter]
    fn dropped(&self) -> u64 {
        self.point.dropped()
    }

    /// Injects one sample: a value for each field, and its time in seconds since 1970 unless it is now.
    ///
    /// Returns
    /// -------
    /// bool
    ///     False when it was dropped: the buffer is full, or the client closed.
    ///
    /// Raises
    /// ------
    /// TypeError, OverflowError
    ///     Values that the fields do not hold.
    #[pyo3(signature = (values, time = None))]
    fn inject(&self, values: &Bound<'_, PyTuple>, time: Option<f64>) -> PyResult<bool> {
        if values.len() != self.types.len() {
            return Err(self.miscounted(values.len()));
        }
        let python = values.py();
        let owned = values.iter_borrowed().zip(&self.types).map(|(value, kind)| Owned::of(*kind, &value));
        let owned = owned.collect::<PyResult<Vec<_>>>()?;
        let values: Vec<_> = owned.iter().map(Owned::value).collect();
        let outcome = match time {
            None => self.point.inject(&values),
            Some(seconds) => self.point.inject_at(system_time(seconds)?, &values),
        };
        self.tell_losses(python)?;
        taken(outcome)
    }

    /// Injects a column for each field, row by row; waits `patience` seconds at most for room.
    ///
    /// Returns
    /// -------
    /// int
    ///     Samples injected; the others were dropped, and counted.
    ///
    /// Raises
    /// ------
    /// TypeError, OverflowError, ValueError
    ///     Columns that the fields do not hold, or of different lengths.
    #[pyo3(signature = (columns, times, patience))]
    fn inject_columns(
        &self,
        python: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        times: Option<PyReadonlyArray1<'_, f64>>,
        patience: f64,
    ) -> PyResult<u64> {
        if columns.len() != self.types.len() {
            return Err(self.miscounted(columns.len()));
        }
        let columns = columns.iter().zip(&self.types).map(|(column, kind)| Column::of(*kind, column));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        let times = times.map(|times| times.as_array().iter().map(|&time| system_time(time)).collect());
        let times: Option<Vec<_>> = times.transpose()?;
        let lengths = columns.iter().map(Column::len).chain(times.as_ref().map(Vec::len));
        let length = columns.first().map_or(0, Column::len);
        if lengths.into_iter().any(|other| other != length) {
            return Err(refused("the columns differ in length"));
        }
        let deadline = Instant::now() + span("patience", patience)?;
        let taken = python.detach(|| self.inject_rows(&columns, times.as_deref(), length, deadline));
        self.tell_losses(python)?;
        Ok(taken)
    }
}

impl StreamPoint {
    fn tell_losses(&self, python: Python<'_>) -> PyResult<()> {
        let Some(warn) = &*self.warn else { return Ok(()) };
        self.point.first_losses().into_iter().try_for_each(|text| warn.call1(python, (text,)).map(drop))
    }

    fn miscounted(&self, given: usize) -> PyErr {
        let wanted = self.types.len();
        PyTypeError::new_err(format!("{} has {wanted} fields, not {given}", self.point.name()))
    }

    fn inject_rows(
        &self,
        columns: &[Column],
        times: Option<&[SystemTime]>,
        length: usize,
        deadline: Instant,
    ) -> u64 {
        let mut values = Vec::with_capacity(columns.len());
        let rows = (0..length).filter(|&row| {
            values.clear();
            values.extend(columns.iter().map(|column| column.value(row)));
            self.point.inject_until(deadline, times.map(|times| times[row]), &values).is_ok()
        });
        rows.count() as u64
    }
}

/// What became of a sample; the types were checked before.
fn taken(outcome: Result<(), InjectError>) -> PyResult<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(InjectError::Full | InjectError::Closed) => Ok(false),
        Err(error @ InjectError::TooLong) => Err(PyOverflowError::new_err(error.to_string())),
        Err(error @ InjectError::Values) => Err(PyTypeError::new_err(error.to_string())),
    }
}

fn system_time(seconds: f64) -> PyResult<SystemTime> {
    span("time", seconds).map(|since| UNIX_EPOCH + since)
}

/// One value of Python's, in the type of its field.
enum Owned {
    Plain(Value<'static>),
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
    Int32s(Vec<i32>),
    UInt32s(Vec<u32>),
    Int64s(Vec<i64>),
    UInt64s(Vec<u64>),
    Doubles(Vec<f64>),
    Bools(Vec<bool>),
}

impl Owned {
    fn of(kind: FieldType, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match kind {
            FieldType::Int32 => Self::Plain(Value::Int32(value.extract()?)),
            FieldType::UInt32 => Self::Plain(Value::UInt32(value.extract()?)),
            FieldType::Int64 => Self::Plain(Value::Int64(value.extract()?)),
            FieldType::UInt64 => Self::Plain(Value::UInt64(value.extract()?)),
            FieldType::Guid => Self::Plain(Value::Guid(value.extract()?)),
            FieldType::Double => Self::Plain(Value::Double(value.extract()?)),
            FieldType::Bool => Self::Plain(Value::Bool(value.extract()?)),
            FieldType::String => Self::Text(value.extract()?),
            FieldType::Blob => Self::Bytes(value.extract()?),
            FieldType::Vector(ElementType::Int32) => Self::Int32s(value.extract()?),
            FieldType::Vector(ElementType::UInt32) => Self::UInt32s(value.extract()?),
            FieldType::Vector(ElementType::Int64) => Self::Int64s(value.extract()?),
            FieldType::Vector(ElementType::UInt64) => Self::UInt64s(value.extract()?),
            FieldType::Vector(ElementType::Double) => Self::Doubles(value.extract()?),
            FieldType::Vector(ElementType::Bool) => Self::Bools(value.extract()?),
        })
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Text(text) => Value::String(text.as_bytes()),
            Self::Bytes(bytes) => Value::Blob(bytes),
            Self::Int32s(elements) => Value::Vector(Vector::Int32(elements)),
            Self::UInt32s(elements) => Value::Vector(Vector::UInt32(elements)),
            Self::Int64s(elements) => Value::Vector(Vector::Int64(elements)),
            Self::UInt64s(elements) => Value::Vector(Vector::UInt64(elements)),
            Self::Doubles(elements) => Value::Vector(Vector::Double(elements)),
            Self::Bools(elements) => Value::Vector(Vector::Bool(elements)),
        }
    }
}

/// The values of one field in many samples. Numbers come as arrays of the field's own type.
enum Column {
    Int32(Vec<i32>),
    UInt32(Vec<u32>),
    Int64(Vec<i64>),
    UInt64(Vec<u64>),
    Guid(Vec<u64>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Other(Vec<Owned>),
}

impl Column {
    fn of(kind: FieldType, column: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match kind {
            FieldType::Int32 => Self::Int32(numbers(column)?),
            FieldType::UInt32 => Self::UInt32(numbers(column)?),
            FieldType::Int64 => Self::Int64(numbers(column)?),
            FieldType::UInt64 => Self::UInt64(numbers(column)?),
            FieldType::Guid => Self::Guid(numbers(column)?),
            FieldType::Double => Self::Double(numbers(column)?),
            FieldType::Bool => Self::Bool(numbers(column)?),
            FieldType::String | FieldType::Blob | FieldType::Vector(_) => Self::Other(
                column.try_iter()?.map(|value| Owned::of(kind, &value?)).collect::<PyResult<_>>()?,
            ),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Int32(values) => values.len(),
            Self::UInt32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::UInt64(values) | Self::Guid(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Other(values) => values.len(),
        }
    }

    fn value(&self, row: usize) -> Value<'_> {
        match self {
            Self::Int32(values) => Value::Int32(values[row]),
            Self::UInt32(values) => Value::UInt32(values[row]),
            Self::Int64(values) => Value::Int64(values[row]),
            Self::UInt64(values) => Value::UInt64(values[row]),
            Self::Guid(values) => Value::Guid(values[row]),
            Self::Double(values) => Value::Double(values[row]),
            Self::Bool(values) => Value::Bool(values[row]),
            Self::Other(values) => values[row].value(),
        }
    }
}

fn numbers<T: numpy::Element + Copy>(column: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = column.extract()?;
    Ok(array.as_array().iter().copied().collect())
}
