//! Congestion controllers written in Python, for experiments in which each packet may take microseconds of a processor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use trialwise_congestion::{
    Acknowledgement, AnyController, BuildError, Context, Controller, Factory, Feedback, Loss, PacketOutcome,
    PacketReport, Phase, Sent, State, Timeout,
};
use trialwise_protocol::scheme::Manner;
use trialwise_units::{Bytes, Duration, Ecn, Rate, Time};

/// What a controller is told when its flow starts. What is not known is None.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct ControllerContext {
    /// When: picoseconds of the simulation.
    now_ps: u64,
    /// Payload of a full packet, bytes.
    segment: u64,
    /// Of the sender's own link, bit/s.
    line_rate: Option<u64>,
    /// Of the empty path, picoseconds.
    base_rtt_ps: Option<u64>,
    /// One bandwidth-delay product of the path, bytes.
    path_window: Option<u64>,
    /// Switches on the way to the receiver.
    hops: Option<u32>,
    /// Of what it draws: another one for each flow.
    seed: u64,
}

/// A packet has been handed to the wire.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct SentEvent {
    now_ps: u64,
    /// From 0, whatever it carries.
    number: u64,
    /// Payload of this packet, bytes.
    bytes: u64,
    /// Payload neither acknowledged nor deemed lost, with this packet.
    in_flight: u64,
    retransmission: bool,
}

/// One acknowledgement has arrived.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct AcknowledgementEvent {
    now_ps: u64,
    /// Payload that is acknowledged for the first time.
    acknowledged: u64,
    /// Every byte below this offset has been received.
    cumulative: u64,
    /// The offset that the next new packet will have.
    next_sequence: u64,
    /// Payload neither acknowledged nor deemed lost, after this acknowledgement.
    in_flight: u64,
    /// Whether a loss is still being repaired.
    in_recovery: bool,
    /// Round-trip time of the newest packet, where it is known.
    rtt_ps: Option<u64>,
    /// One-way delay of that packet up to a constant.
    one_way_delay_ps: Option<u64>,
    /// Packets whose arrival this reports.
    packets: u32,
    /// How many of them carried a congestion mark.
    marked_packets: u32,
    /// How many of them carried ECT(0).
    ect0_packets: u32,
    /// How many of them carried ECT(1).
    ect1_packets: u32,
    /// Bit/s over the newest packet's flight.
    delivery_rate: Option<u64>,
    /// Whether the application held the flow back.
    application_limited: bool,
    /// In-band telemetry, first switch first: time (ps), bytes transmitted, bytes queued, bit/s.
    hops: Vec<(u64, u64, u64, u64)>,
    /// Packets whose arrival this is the first to report: number, departure (ps), bytes, arrival by the receiver's clock (ps) if
    /// known. Empty without `feedback = "packets"`.
    reports: Vec<(u64, u64, u64, Option<u64>)>,
}

/// Packets are deemed lost.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct LossEvent {
    now_ps: u64,
    /// Payload newly deemed lost.
    bytes: u64,
    /// Whether it is the first loss among packets sent after the last reduction.
    new_episode: bool,
    /// Payload in flight without what is lost.
    in_flight: u64,
    next_sequence: u64,
    /// Packets newly deemed lost: number, departure (ps), bytes. Empty without `feedback = "packets"`.
    reports: Vec<(u64, u64, u64)>,
}

/// The retransmission timer has expired.
#[pyclass(frozen, get_all, module = "trialwise._core")]
struct TimeoutEvent {
    now_ps: u64,
    /// Payload that was in flight.
    in_flight: u64,
    next_sequence: u64,
    /// Time-outs in a row, from 1.
    repetition: u32,
}

/// Makes a controller of a Python class for each flow.
///
/// The class is called with a `ControllerContext`. Its objects have methods `on_acknowledgement(event)`, `on_loss(event)` and
/// `on_timeout(event)`, maybe `on_sent(event)`, `on_spurious(now_ps)`, `on_idle_restart(now_ps, idle_ps)` and
/// `on_timer(now_ps)`; an attribute or property `window` (bytes, None for no limit), maybe `pacing_rate` (bit/s, None),
/// `next_timer_ps` and `in_slow_start`. The class itself may say `ecn = True` or `"ect0"` (packets may be marked and
/// carry ECT(0)) or `"ect1"` (they carry ECT(1)), and `spreads_window =
/// True` (a window without a rate is spread over its round trip), which paths ask for, and `feedback`: in a data centre its
/// packets carry `"marks"` (the default), `"timestamps"` or `"telemetry"`; everywhere `"packets"` has each packet reported.
///
/// What a controller raises is kept: from then on all of them stand still, and who drives them looks at [`Self::failure`]
/// and ends the trial.
pub(crate) struct PythonFactory {
    class: Py<PyAny>,
    feedback: Feedback,
    failure: Arc<Failure>,
}

/// What went wrong first in any controller of a factory.
#[derive(Default)]
pub(crate) struct Failure {
    is_there: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// Whether there is one; cheap enough to be asked after each event.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// What was raised, with its traceback.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_there.store(true, Ordering::Relaxed);
    }
}

impl PythonFactory {
    pub(crate) fn new(class: &Bound<'_, PyAny>, failure: Arc<Failure>) -> PyResult<Self> {
        Ok(Self { class: class.clone().unbind(), feedback: feedback_of(class)?, failure })
    }

    /// How its packets go.
    pub(crate) fn manner(&self, python: Python<'_>) -> PyResult<Manner> {
        let class = self.class.bind(python);
        let says = |name: &str| class.getattr_opt(name)?.map_or(Ok(false), |value| value.is_truthy());
        Ok(Manner { ecn: ecn_of(class)?, spreads_window: says("spreads_window")?, pace: Duration::ZERO })
    }
}

/// The ECN field that a class asks for; ValueError for a word that is none.
fn ecn_of(class: &Bound<'_, PyAny>) -> PyResult<Ecn> {
    let Some(said) = class.getattr_opt("ecn")? else { return Ok(Ecn::NotCapable) };
    match said.extract::<String>().as_deref() {
        Ok("ect0") => Ok(Ecn::Capable0),
        Ok("ect1") => Ok(Ecn::Capable1),
        Ok(word) => {
            Err(PyValueError::new_err(format!("ecn = {word:?}: write \"ect0\", \"ect1\", True or False")))
        }
        Err(_) => Ok(if said.is_truthy()? { Ecn::Capable0 } else { Ecn::NotCapable }),
    }
}

impl Factory for PythonFactory {
    fn build(&self, context: &Context) -> Result<AnyController, BuildError> {
        let made = Python::attach(|python| PythonController::new(python, self, context));
        let controller = made.unwrap_or_else(|error| {
            self.failure.keep(error);
            PythonController { object: None, shown: Shown::STANDING, failure: Arc::clone(&self.failure) }
        });
        Ok(AnyController::Custom(Box::new(controller)))
    }

    fn feedback(&self) -> Feedback {
        self.feedback
    }
}

/// What the class says that its packets carry.
fn feedback_of(class: &Bound<'_, PyAny>) -> PyResult<Feedback> {
    let Some(said) = class.getattr_opt("feedback")? else { return Ok(Feedback::Marks) };
    match said.extract::<String>().as_deref() {
        Ok("marks") => Ok(Feedback::Marks),
        Ok("timestamps") => Ok(Feedback::Timestamps),
        Ok("telemetry") => Ok(Feedback::Telemetry),
        Ok("packets") => Ok(Feedback::Packets),
        _ => Err(PyTypeError::new_err(format!(
            "feedback must be \"marks\", \"timestamps\", \"telemetry\" or \"packets\", not {}",
            said.repr()?
        ))),
    }
}

/// A controller that asks a Python object.
struct PythonController {
    /// None where it could not be made.
    object: Option<Py<PyAny>>,
    shown: Shown,
    failure: Arc<Failure>,
}

/// What the object showed after the last call.
#[derive(Clone, Copy)]
struct Shown {
    window: Option<Bytes>,
    pacing_rate: Option<Rate>,
    next_timer: Option<Time>,
    in_slow_start: bool,
}

impl PythonController {
    fn new(python: Python<'_>, factory: &PythonFactory, context: &Context) -> PyResult<Self> {
        let context = ControllerContext {
            now_ps: context.now.picoseconds(),
            segment: context.segment.get(),
            line_rate: context.line_rate.map(Rate::bits_per_second),
            base_rtt_ps: context.base_rtt.map(Duration::picoseconds),
            path_window: context.path_window.map(Bytes::get),
            hops: context.hops,
            seed: context.seed.get(),
        };
        let object = factory.class.bind(python).call1((context,))?;
        for needed in ["on_acknowledgement", "on_loss", "on_timeout", "window"] {
            object.getattr(needed)?;
        }
        let shown = Shown::of(&object)?;
        Ok(Self { object: Some(object.unbind()), shown, failure: Arc::clone(&factory.failure) })
    }

    /// Calls a method and takes note of what the object shows then; a method that need not be there may be missing.
    fn tell<A>(&mut self, method: &str, arguments: impl FnOnce() -> A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let Some(object) = self.object.as_ref().filter(|_| !self.failure.is_there()) else { return };
        let shown = Python::attach(|python| {
            let object = object.bind(python);
            match object.getattr_opt(method)? {
                Some(method) => {
                    method.call1(arguments())?;
                    Shown::of(object)
                }
                None => Ok(self.shown),
            }
        });
        match shown {
            Ok(shown) => self.shown = shown,
            Err(error) => {
                self.shown = Shown::STANDING;
                self.failure.keep(error);
            }
        }
    }
}

impl Shown {
    /// Of a controller that has failed: no more than one packet leaves.
    const STANDING: Self =
        Self { window: Some(Bytes::ZERO), pacing_rate: None, next_timer: None, in_slow_start: false };

    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let in_slow_start = object.getattr_opt("in_slow_start")?;
        let window = whole(object, "window", "bytes")?.map(Bytes::new);
        let pacing_rate = whole(object, "pacing_rate", "bits per second")?.map(Rate::from_bits_per_second);
        if window.is_none() && pacing_rate.is_none_or(|rate| rate == Rate::ZERO) {
            let message =
                "neither window nor pacing_rate is a number: packets without end would leave at once";
            return Err(PyTypeError::new_err(message));
        }
        Ok(Self {
            window,
            pacing_rate,
            next_timer: whole(object, "next_timer_ps", "picoseconds")?.map(Time::from_picoseconds),
            in_slow_start: in_slow_start.map_or(Ok(false), |value| value.is_truthy())?,
        })
    }
}

/// A whole number that an object shows, if it does.
fn whole(object: &Bound<'_, PyAny>, name: &str, unit: &str) -> PyResult<Option<u64>> {
    let Some(value) = object.getattr_opt(name)? else { return Ok(None) };
    value.extract().map_err(|_| {
        let shown = value.repr().map(|text| text.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!(
            "{name} must be None or a whole number of {unit} from 0 on, not {shown}"
        ))
    })
}

impl Controller for PythonController {
    fn name(&self) -> &'static str {
        "python"
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.tell("on_sent", || {
            (SentEvent {
                now_ps: sent.now.picoseconds(),
                number: sent.number,
                bytes: sent.bytes.get(),
                in_flight: sent.in_flight.get(),
                retransmission: sent.retransmission,
            },)
        });
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        self.tell("on_acknowledgement", || (AcknowledgementEvent::of(acknowledgement),));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.tell("on_loss", || {
            (LossEvent {
                now_ps: loss.now.picoseconds(),
                bytes: loss.bytes.get(),
                new_episode: loss.new_episode,
                in_flight: loss.in_flight.get(),
                next_sequence: loss.next_sequence,
                reports: loss.reports.iter().map(packet).collect(),
            },)
        });
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.tell("on_timeout", || {
            (TimeoutEvent {
                now_ps: timeout.now.picoseconds(),
                in_flight: timeout.in_flight.get(),
                next_sequence: timeout.next_sequence,
                repetition: timeout.repetition,
            },)
        });
    }

    fn on_spurious(&mut self, now: Time) {
        self.tell("on_spurious", || (now.picoseconds(),));
    }

    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        self.tell("on_idle_restart", || (now.picoseconds(), idle.picoseconds()));
    }

    fn next_timer(&self) -> Option<Time> {
        self.shown.next_timer.filter(|_| !self.failure.is_there())
    }

    fn on_timer(&mut self, now: Time) {
        self.tell("on_timer", || (now.picoseconds(),));
        // A timer that does not go on would be due for ever.
        self.shown.next_timer = self.shown.next_timer.filter(|time| *time > now);
    }

    fn window(&self) -> Option<Bytes> {
        self.shown.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.shown.pacing_rate
    }

    fn state(&self) -> State {
        let phase = if self.shown.in_slow_start { Phase::SlowStart } else { Phase::Steady };
        State { window: self.shown.window, pacing_rate: self.shown.pacing_rate, phase, ..State::default() }
    }
}

impl AcknowledgementEvent {
    fn of(event: &Acknowledgement<'_>) -> Self {
        let hops = event.hops.iter().map(|hop| {
            (hop.time.picoseconds(), hop.transmitted, hop.queue.get(), hop.rate.bits_per_second())
        });
        let reports = event.reports.iter().map(|report| {
            let (number, sent, bytes) = packet(report);
            let arrival = match report.outcome {
                PacketOutcome::Arrived(time) => time.map(Time::picoseconds),
                PacketOutcome::Lost | PacketOutcome::Returned => None,
            };
            (number, sent, bytes, arrival)
        });
        Self {
            now_ps: event.now.picoseconds(),
            acknowledged: event.acknowledged.get(),
            cumulative: event.cumulative,
            next_sequence: event.next_sequence,
            in_flight: event.in_flight.get(),
            in_recovery: event.in_recovery,
            rtt_ps: event.rtt.map(Duration::picoseconds),
            one_way_delay_ps: event.one_way_delay.map(Duration::picoseconds),
            packets: event.packets,
            marked_packets: event.marked_packets,
            ect0_packets: event.ect0_packets,
            ect1_packets: event.ect1_packets,
            delivery_rate: event.rate_sample.map(|sample| sample.rate().bits_per_second()),
            application_limited: event.application_limited,
            hops: hops.collect(),
            reports: reports.collect(),
        }
    }
}

/// Number, departure in picoseconds, bytes.
fn packet(report: &PacketReport) -> (u64, u64, u64) {
    (report.number, report.sent.picoseconds(), report.bytes.get())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AcknowledgementEvent>()?;
    module.add_class::<ControllerContext>()?;
    module.add_class::<LossEvent>()?;
    module.add_class::<SentEvent>()?;
    module.add_class::<TimeoutEvent>()
}
