//! What the client has done, readable at any time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::shared::lock;
use crate::protocol::{Changes, Content};

/// Samples of one measurement point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointCounters {
    /// The point's name.
    pub point: String,
    /// Samples taken over by the writer.
    pub injected: u64,
    /// Samples lost at the inject, each of which returned an error: ring full, client closed, wrong values.
    pub dropped: u64,
}

/// Rows of one stream on their way to one destination; `rows` = `sent` + `dropped` + those that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteCounters {
    /// The stream's name.
    pub stream: String,
    /// Where it goes.
    pub destination: String,
    /// Rows made.
    pub rows: u64,
    /// Rows handed whole to the machine (acknowledged, in the native protocol).
    pub sent: u64,
    /// Rows lost: no room while the destination took nothing, or unsent at the end.
    pub dropped: u64,
    /// How they are encoded.
    pub content: Content,
    /// Rows with a value that the encoding cannot carry as it is: those of the next three together.
    pub changed: u64,
    /// Rows with a string that was cut ([`Changes::cut`]).
    pub cut: u64,
    /// Rows with a number that went as none or as zero ([`Changes::out_of_range`]).
    pub out_of_range: u64,
    /// Rows with a number that was rounded ([`Changes::rounded`]).
    pub rounded: u64,
}

impl RouteCounters {
    /// Rows that wait for the destination.
    pub const fn waiting(&self) -> u64 {
        self.rows - self.sent - self.dropped
    }

    /// Whether a value was sent as another or as none; rounded ones keep nine digits and are not meant.
    pub const fn lost_values(&self) -> bool {
        self.cut > 0 || self.out_of_range > 0
    }

    /// What the encoding does not carry, as a sentence for when that is first seen: counts come at the end.
    pub fn first_change_text(&self) -> Option<String> {
        let (encoding, short, none, remedy) = self.limits();
        let kinds = [
            (self.cut, format!("strings are {short}")),
            (self.out_of_range, format!("numbers out of range are sent as {none}")),
            (self.rounded, "numbers are rounded to 30 bits (9 digits)".to_owned()),
        ];
        let seen: Vec<_> = kinds.into_iter().filter(|(count, _)| *count > 0).map(|(_, what)| what).collect();
        (!seen.is_empty()).then(|| {
            let (stream, destination, seen) = (&self.stream, &self.destination, seen.join(", "));
            format!("{stream} to {destination}: {seen}, since OML's {encoding} encoding cannot carry them; {remedy} them as they are")
        })
    }

    /// What an encoding is called, what it makes of strings and of numbers, and what carries them.
    const fn limits(&self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self.content {
            Content::Binary => ("binary", "cut to 254 bytes", "NaN", "--oml-text or native:HOST carries"),
            Content::Text => ("text", "cut at a NUL", "zero", "native:HOST carries"),
        }
    }

    /// What the encoding did not carry, as a sentence to say once; nothing where it carried everything.
    pub fn changes_text(&self) -> Option<String> {
        let (encoding, short, none, remedy) = self.limits();
        let parts = [
            (self.cut, format!("with a string {short}")),
            (self.out_of_range, format!("with a number out of range, sent as {none}")),
            (self.rounded, "with a number rounded to 30 bits (9 digits)".to_owned()),
        ];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!parts.is_empty()).then(|| {
            let (stream, destination, rows) = (&self.stream, &self.destination, self.rows);
            let parts = parts.join(", ");
            format!(
                "{stream} to {destination}: of {rows} rows {parts}, which OML's {encoding} encoding cannot carry; {remedy} them as they are"
            )
        })
    }
}

/// How a destination stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DestinationState {
    /// Its URI.
    pub destination: String,
    /// Connections made, or files opened, so far.
    pub connections: u64,
    /// Why it takes nothing at present, if that is known.
    pub error: Option<String>,
}

/// Everything counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// By measurement point; the client's own among them.
    pub points: Vec<PointCounters>,
    /// By stream and destination.
    pub routes: Vec<RouteCounters>,
    /// By destination.
    pub destinations: Vec<DestinationState>,
}

impl Counters {
    /// Samples and rows lost so far, anywhere.
    pub fn dropped(&self) -> u64 {
        let points = self.points.iter().map(|point| point.dropped);
        points.chain(self.routes.iter().map(|route| route.dropped)).sum()
    }

    /// What encodings did not carry, a sentence for each stream of the program's and destination.
    pub fn changes(&self) -> Vec<String> {
        let own = |route: &&RouteCounters| !route.stream.starts_with(OWN);
        self.routes.iter().filter(own).filter_map(RouteCounters::changes_text).collect()
    }

    /// Rows that wait for their destination.
    pub fn waiting(&self) -> u64 {
        self.routes.iter().map(RouteCounters::waiting).sum()
    }

    /// The counters of a measurement point.
    pub fn point(&self, name: &str) -> Option<&PointCounters> {
        self.points.iter().find(|point| point.point == name)
    }

    /// The counters of a stream, by its full name.
    pub fn stream(&self, name: &str) -> Option<&RouteCounters> {
        self.routes.iter().find(|route| route.stream == name)
    }
}

/// How streams of the client's own measurements begin.
const OWN: &str = "_client_";

/// A route's counters, written by the writer alone.
#[derive(Debug)]
pub(super) struct Route {
    stream: String,
    destination: String,
    rows: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
    content: Content,
    changed: AtomicU64,
    cut: AtomicU64,
    out_of_range: AtomicU64,
    rounded: AtomicU64,
    losses: Losses,
    /// Whether the first loss was told.
    told: AtomicBool,
}

/// Whether some route of a client has lost its first value since the last look.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses(Arc<AtomicBool>);

impl Losses {
    /// Whether there is something to tell, once; costs next to nothing where there is not.
    #[inline]
    pub(super) fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Acquire)
    }
}

impl Route {
    pub(super) fn new(stream: &str, destination: &str, content: Content, losses: Losses) -> Arc<Self> {
        Arc::new(Self {
            stream: stream.to_owned(),
            destination: destination.to_owned(),
            rows: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            content,
            changed: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            out_of_range: AtomicU64::new(0),
            rounded: AtomicU64::new(0),
            losses,
            told: AtomicBool::new(false),
        })
    }

    pub(super) fn count_row(&self) {
        add_one(&self.rows);
    }

    pub(super) fn count_sent(&self) {
        add_one(&self.sent);
    }

    pub(super) fn count_dropped(&self) {
        add_one(&self.dropped);
    }

    pub(super) fn count_changes(&self, changes: Changes) {
        if changes.any() && self.changed.load(Ordering::Relaxed) == 0 {
            self.losses.0.store(true, Ordering::Release);
        }
        let counters = [
            (changes.any(), &self.changed),
            (changes.cut, &self.cut),
            (changes.out_of_range, &self.out_of_range),
            (changes.rounded, &self.rounded),
        ];
        counters.into_iter().filter(|(changed, _)| *changed).for_each(|(_, counter)| add_one(counter));
    }

    /// Whether it is of the client's own measurements.
    pub(super) fn is_of_client(&self) -> bool {
        self.stream.starts_with(OWN)
    }

    /// What the encoding does not carry, at the first call after the first loss alone.
    pub(super) fn first_loss(&self) -> Option<String> {
        let is_first = self.changed.load(Ordering::Acquire) > 0 && !self.told.swap(true, Ordering::Relaxed);
        is_first.then(|| self.read()).and_then(|counters| counters.first_change_text())
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn read(&self) -> RouteCounters {
        // Sent and dropped before rows: a row between the two looks is seen as waiting, not as one too many.
        let (sent, dropped) = (self.sent.load(Ordering::Acquire), self.dropped.load(Ordering::Acquire));
        RouteCounters {
            stream: self.stream.clone(),
            destination: self.destination.clone(),
            rows: self.rows.load(Ordering::Acquire),
            sent,
            dropped,
            content: self.content,
            changed: self.changed.load(Ordering::Acquire),
            cut: self.cut.load(Ordering::Acquire),
            out_of_range: self.out_of_range.load(Ordering::Acquire),
            rounded: self.rounded.load(Ordering::Acquire),
        }
    }
}

/// How a destination stands, told by the writer.
#[derive(Clone, Debug)]
pub(super) struct Status(Arc<Mutex<DestinationState>>);

impl Status {
    pub(super) fn new(destination: &str) -> Self {
        let state = DestinationState { destination: destination.to_owned(), ..DestinationState::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn set_open(&self) {
        lock(&self.0).connections += 1;
        self.clear_error();
    }

    /// A connection that is good only when the collector says so: the last error stands until [`Self::clear_error`].
    pub(super) fn set_tried(&self) {
        lock(&self.0).connections += 1;
    }

    pub(super) fn set_error(&self, error: String) {
        lock(&self.0).error = Some(error);
    }

    pub(super) fn clear_error(&self) {
        lock(&self.0).error = None;
    }

    pub(super) fn read(&self) -> DestinationState {
        lock(&self.0).clone()
    }
}

/// For a counter that one thread writes: a plain store, no locked instruction.
pub(super) fn add_one(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}
