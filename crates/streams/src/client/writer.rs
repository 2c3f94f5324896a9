//! The writer: one thread that empties the rings, filters, encodes and sends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::clock::ClockMap;
use super::counters::add_one;
use super::outbox::Kind;
use super::outlet::Outlet;
use super::point::PointState;
use super::reporter::Reporter;
use super::ring::Consumer;
use super::sample::{Head, Sample, Stamp, head_at};
use super::shared::{NewPoint, Shared, State, lock};
use super::stream::Stream;
use crate::protocol::Value;

/// Words taken from one ring before the others and the destinations have their turn.
const TURN: u64 = 1 << 16;
/// Pause after a round in which something came.
const SHORT_PAUSE: Duration = Duration::from_millis(2);
/// Longest pause while nothing comes: what a row may wait.
const LONG_PAUSE: Duration = Duration::from_millis(10);

/// A point as the writer has it.
pub(super) struct Taken {
    pub(super) point: Arc<PointState>,
    pub(super) streams: Vec<Stream>,
}

/// Everything that the writer's thread owns.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) rings: Vec<Consumer>,
    /// By the number of the point.
    pub(super) points: Vec<Option<Taken>>,
    pub(super) outlets: Vec<Box<dyn Outlet>>,
    clock: ClockMap,
    /// UNIX nanoseconds to which row times are relative.
    start: u64,
    sample: Sample,
    values: Vec<Value<'static>>,
    reporter: Reporter,
    flushed: bool,
}

impl Writer {
    /// A writer for rows relative to `start` (UNIX seconds).
    pub(super) fn new(
        shared: Arc<Shared>,
        outlets: Vec<Box<dyn Outlet>>,
        start: i64,
        reporter: Reporter,
    ) -> Self {
        Self {
            clock: ClockMap::new(shared.ticks),
            shared,
            rings: Vec::new(),
            points: Vec::new(),
            outlets,
            start: start.unsigned_abs() * 1_000_000_000,
            sample: Sample::default(),
            values: Vec::new(),
            reporter,
            flushed: false,
        }
    }

    /// Works until the client is closed and all is sent, or the deadline has passed.
    pub(super) fn run(mut self) {
        let mut pause = SHORT_PAUSE;
        loop {
            let closed = self.shared.state() == State::Closed;
            let taken = self.work();
            let sent = self.pump(closed);
            if closed && self.end(Instant::now()) {
                return;
            }
            pause = match taken {
                0 if !sent => (pause * 2).min(LONG_PAUSE),
                _ => SHORT_PAUSE,
            };
            let busy = taken >= TURN / 2;
            if !busy && !(closed && (taken > 0 || sent)) {
                std::thread::park_timeout(pause);
            }
        }
    }

    /// One round: what is new, what waits in the rings, what the clock asks for. Returns the most words taken from a ring.
    fn work(&mut self) -> u64 {
        self.take_news();
        let now = self.clock.look();
        let (taken, complete) = self.drain();
        if complete {
            let time = self.seconds(now);
            for Taken { streams, .. } in self.points.iter_mut().flatten() {
                streams.iter_mut().for_each(|stream| stream.advance(time, &mut self.outlets));
            }
        }
        self.report(now, false);
        taken
    }

    fn pump(&mut self, hurry: bool) -> bool {
        let now = Instant::now();
        let mut sent = false;
        for outlet in &mut self.outlets {
            sent |= outlet.pump(now, hurry);
        }
        sent
    }

    fn take_news(&mut self) {
        let Some(inbox) = self.shared.take_news() else { return };
        self.rings.extend(inbox.rings);
        for new in inbox.points {
            self.adopt(new);
        }
    }

    fn adopt(&mut self, mut new: NewPoint) {
        for stream in &mut new.streams {
            for route in &mut stream.routes {
                let outlet = &mut self.outlets[route.outlet];
                route.slot = outlet.add_route(Arc::clone(&route.counters));
                outlet.define(&stream.schema, new.late);
            }
        }
        if new.late {
            self.define_late(&new);
        }
        let place = new.point.id as usize;
        if self.points.len() <= place {
            self.points.resize_with(place + 1, || None);
        }
        self.points[place] = Some(Taken { point: new.point, streams: new.streams });
    }

    /// Defines streams on the way, by rows of stream 0 (OML.md section 3).
    fn define_late(&mut self, new: &NewPoint) {
        let now = self.clock.look();
        let time = self.seconds(now);
        let Some(Some(metadata)) = self.points.first_mut() else { return };
        let Some(metadata) = metadata.streams.first_mut() else { return };
        for stream in &new.streams {
            let text = stream.schema.to_string();
            let values = [Value::from("."), Value::from("schema"), Value::from(text.as_str())];
            for route in &stream.routes {
                metadata.write_to(route.outlet, Kind::Definition, time, &values, &mut self.outlets);
            }
        }
    }

    /// Empties the rings as far as there is room and each has its turn. Returns the most words taken from one, and
    /// whether everything was taken that waited.
    fn drain(&mut self) -> (u64, bool) {
        let (mut most, mut complete) = (0, true);
        for ring in 0..self.rings.len() {
            let waiting = self.rings[ring].len();
            let taken = self.drain_ring(ring, waiting.min(TURN));
            most = most.max(taken);
            complete &= taken >= waiting;
        }
        self.rings.retain(|ring| !ring.is_over());
        (most, complete)
    }

    fn drain_ring(&mut self, ring: usize, waiting: u64) -> u64 {
        let mut taken = 0;
        while taken < waiting && self.outlets.iter().any(|outlet| outlet.has_room()) {
            let head = head_at(&self.rings[ring], 0);
            self.take_sample(ring, head);
            self.rings[ring].release(head.words);
            taken += head.words;
        }
        taken
    }

    fn take_sample(&mut self, ring: usize, head: Head) {
        if !matches!(self.points.get(head.point as usize), Some(Some(_))) {
            self.take_news(); // a sample's point was handed over before the sample
        }
        let time = self.seconds(match head.stamp {
            Stamp::Ticks(ticks) => self.clock.unix(ticks),
            Stamp::Unix(nanoseconds) => nanoseconds,
        });
        let Some(Some(Taken { point, streams })) = self.points.get_mut(head.point as usize) else { return };
        self.sample.read(&self.rings[ring], &point.types);
        let mut values = recycle(std::mem::take(&mut self.values));
        self.sample.fill(&mut values);
        let dropped = point.dropped.load(Ordering::Relaxed);
        for stream in streams {
            stream.show_losses(dropped);
            stream.add(&values, time, &mut self.outlets);
        }
        add_one(&point.injected);
        self.values = recycle(values);
    }

    /// Seconds since the start.
    fn seconds(&self, unix: u64) -> f64 {
        unix.wrapping_sub(self.start).cast_signed() as f64 / 1e9
    }

    fn report(&mut self, now: u64, last: bool) {
        let time = self.seconds(now);
        let mut reporter = std::mem::take(&mut self.reporter);
        reporter.report(self, time, last);
        self.reporter = reporter;
    }

    /// Adopts a point of the client's own, late.
    pub(super) fn adopt_own(&mut self, new: NewPoint) {
        self.shared.add_point(new);
        self.take_news();
    }

    /// Whether the work of a closed client is done; flushes once the rings are empty, gives up at the deadline.
    fn end(&mut self, now: Instant) -> bool {
        let deadline = lock(&self.shared.closing).deadline.unwrap_or(now);
        let over = now >= deadline;
        if !self.flushed && (over || self.rings.iter().all(|ring| ring.len() == 0)) {
            self.flush();
        }
        if over {
            self.outlets.iter_mut().for_each(|outlet| outlet.give_up());
            return true;
        }
        let drained = self.flushed && self.outlets.iter().all(|outlet| outlet.is_drained());
        if drained {
            self.outlets.iter_mut().for_each(|outlet| outlet.finish());
        }
        drained
    }

    fn flush(&mut self) {
        self.flushed = true;
        let now = self.clock.look();
        let time = self.seconds(now);
        for Taken { streams, .. } in self.points.iter_mut().flatten() {
            streams.iter_mut().for_each(|stream| stream.flush(time, &mut self.outlets));
        }
        self.report(now, true);
    }
}

/// Also when a filter of the program's panicked: whoever closes must not wait, and what is in the rings is counted.
impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.set_closed();
        self.outlets.iter_mut().for_each(|outlet| outlet.give_up());
        self.shared.leave(std::mem::take(&mut self.rings));
        lock(&self.shared.closing).finished = true;
        self.shared.finished.notify_all();
    }
}

/// An empty vector for other borrows, with the memory of this one (the standard library collects in place).
fn recycle<'b>(mut values: Vec<Value<'_>>) -> Vec<Value<'b>> {
    values.clear();
    values.into_iter().map(|_| Value::Bool(false)).collect()
}
