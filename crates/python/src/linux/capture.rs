//! What Python sees of `trialwise-capture`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyOSError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use trialwise_capture::{Capture, Counts, Error, Key, Options, Protocol, Seen, Sightings, Wanted};
use trialwise_python_macros::entry;

use crate::linux::span;
use crate::linux::streams::StreamClient;

/// Adds the class of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PacketCapture>()?;
    module.add_class::<PacketSightings>()
}

fn raised(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Permission => PyPermissionError::new_err(message),
        Error::Interface(_) | Error::Link(..) | Error::Declare(_) => PyValueError::new_err(message),
        Error::System(..) => PyOSError::new_err(message),
    }
}

/// Packets of an interface, as samples of the points ip, tcp, udp, radiotap (where the interface is of that type) and
/// capture (counts, every second).
///
/// Parameters
/// ----------
/// client
///     Whose points they are.
/// interface
///     Its name.
/// protocol
///     "any", "ip", "tcp" or "udp": which packets.
/// ports
///     Only packets from or to one of them; none: all.
/// count
///     After so many samples it is done.
///
/// Raises
/// ------
/// PermissionError
///     Without CAP_NET_RAW.
/// ValueError
///     No such interface, or one whose frames are not decoded.
/// OSError
///     A call of the system failed.
#[pyclass(frozen, module = "trialwise._linux")]
struct PacketCapture(Mutex<Capture>);

#[entry]
#[pymethods]
impl PacketCapture {
    #[new]
    #[pyo3(signature = (client, interface, protocol, ports, count))]
    fn new(
        client: &StreamClient,
        interface: String,
        protocol: &str,
        ports: Vec<u16>,
        count: Option<u64>,
    ) -> PyResult<Self> {
        let protocol = match protocol {
            "any" => Protocol::Any,
            "ip" => Protocol::Ip,
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            _ => return Err(PyValueError::new_err(format!("{protocol:?} is no protocol"))),
        };
        let options = Options { interface, protocol, ports, count };
        client
            .with(|client| Capture::new(client, options).map_err(raised))
            .map(|capture| Self(Mutex::new(capture)))
    }

    /// Captures for so many seconds, without the GIL: whether all wanted packets have come.
    fn run(&self, python: Python<'_>, seconds: f64) -> PyResult<bool> {
        let patience = span("seconds", seconds)?;
        python.detach(|| self.with(|capture| capture.run(patience))).map_err(raised)
    }

    /// Takes what waits in the kernel, and gives the last counts: packets, dropped by the kernel, samples, others.
    fn finish(&self, python: Python<'_>) -> PyResult<(u64, u64, u64, u64)> {
        let Counts { packets, kernel_dropped, samples, others } =
            python.detach(|| self.with(Capture::finish)).map_err(raised)?;
        Ok((packets, kernel_dropped, samples, others))
    }
}

impl PacketCapture {
    fn with<T>(&self, act: impl FnOnce(&mut Capture) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The packets of an interface, written into a file that `trialwise.measurement.sightings` reads.
///
/// Parameters
/// ----------
/// path
///     The file, which must not be there yet.
/// interface
///     Name of the interface.
/// key
///     That of the run, the same at both ends.
/// flows
///     By port, as this end sees it: the flow that it belongs to. Without any, all packets of IP are wanted, as flow 0.
///
/// Raises
/// ------
/// PermissionError
///     Without CAP_NET_RAW.
/// ValueError
///     No such interface, or one whose frames are not decoded.
/// OSError
///     A call of the system failed, or the file cannot be written.
#[pyclass(frozen, module = "trialwise._linux")]
struct PacketSightings(Mutex<Option<Sightings>>);

#[entry]
#[pymethods]
impl PacketSightings {
    #[new]
    fn new(path: PathBuf, interface: String, key: (u64, u64), flows: Vec<(u16, u16)>) -> PyResult<Self> {
        let wanted = Wanted { interface, key: Key(key.0, key.1), flows };
        Sightings::new(&path, &wanted).map_err(raised).map(|sightings| Self(Mutex::new(Some(sightings))))
    }

    /// Writes for so many seconds, without the GIL.
    fn run(&self, python: Python<'_>, seconds: f64) -> PyResult<()> {
        let patience = span("seconds", seconds)?;
        python.detach(|| match &mut *self.held() {
            Some(sightings) => sightings.run(patience).map_err(raised),
            None => Err(finished()),
        })
    }

    /// Writes what waits in the kernel, and gives the counts: frames, dropped by the kernel, records, records that came in one piece
    /// with others, other frames, steps of the clock.
    fn finish(&self, python: Python<'_>) -> PyResult<(u64, u64, u64, u64, u64, u32)> {
        let sightings = self.held().take().ok_or_else(finished)?;
        let Seen { packets, kernel_dropped, written, merged, others, steps } =
            python.detach(|| sightings.finish()).map_err(raised)?;
        Ok((packets, kernel_dropped, written, merged, others, steps))
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("this file of packets is finished")
}

impl PacketSightings {
    fn held(&self) -> std::sync::MutexGuard<'_, Option<Sightings>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
