//! What the client says of itself in band: its work, and every loss by stream.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::outbox::Kind;
use super::shared::NewPoint;
use super::writer::{Taken, Writer};
use crate::protocol::{Field, FieldType, Value};

/// The name of the stream about the client's work, as liboml2 has it (OML.md section 3).
pub(super) const INSTRUMENTATION_NAME: &str = "_client_instrumentation";
/// The name of the stream about losses; defined when the first one happens.
pub(super) const LOSSES_NAME: &str = "_client_losses";

pub(super) fn instrumentation_fields() -> Vec<Field> {
    let counts = ["measurements_injected", "measurements_dropped"].map(|name| (name, FieldType::UInt32));
    let bytes =
        ["bytes_allocated", "bytes_freed", "bytes_in_use", "bytes_max"].map(|name| (name, FieldType::UInt64));
    counts.into_iter().chain(bytes).map(field).collect()
}

pub(super) fn losses_fields() -> Vec<Field> {
    let counts =
        ["samples_injected", "samples_dropped", "rows_dropped"].map(|name| (name, FieldType::UInt64));
    std::iter::once(("stream", FieldType::String)).chain(counts).map(field).collect()
}

fn field((name, field_type): (&str, FieldType)) -> Field {
    Field { name: name.to_owned(), field_type }
}

/// Writes the rows about the client.
#[derive(Default)]
pub(super) struct Reporter {
    /// Number of the instrumentation's point, if it is wanted.
    instrumentation: Option<u32>,
    /// The point of losses until it is needed.
    losses: Option<NewPoint>,
    losses_id: u32,
    period: f64,
    due: f64,
    /// Losses by stream and destination (point, stream, route) that were said.
    said: Vec<(usize, usize, usize, u64)>,
    most_bytes: u64,
}

/// Losses are said at this period when the program asked for no instrumentation.
const DEFAULT_PERIOD: f64 = 1.0;

impl Reporter {
    pub(super) fn new(instrumentation: Option<u32>, losses: NewPoint, period: Duration) -> Self {
        let period = if period.is_zero() { DEFAULT_PERIOD } else { period.as_secs_f64() };
        Self { instrumentation, losses_id: losses.point.id, losses: Some(losses), period, ..Self::default() }
    }

    /// Says what is due at `time`, and everything at the end.
    pub(super) fn report(&mut self, writer: &mut Writer, time: f64, last: bool) {
        if !last && time < self.due {
            return;
        }
        let first = self.due == 0.0;
        self.due = time + self.period;
        if !first || last {
            self.report_work(writer, time);
            self.report_losses(writer, time, last);
        }
    }

    fn report_work(&mut self, writer: &mut Writer, time: f64) {
        let Some(id) = self.instrumentation else { return };
        let (injected, dropped) = totals(writer);
        let (allocated, in_use) = memory(writer);
        self.most_bytes = self.most_bytes.max(in_use);
        let values = [
            Value::UInt32(injected as u32),
            Value::UInt32(dropped as u32),
            Value::UInt64(allocated),
            Value::UInt64(0),
            Value::UInt64(in_use),
            Value::UInt64(self.most_bytes),
        ];
        if let Some(Some(Taken { streams, .. })) = writer.points.get_mut(id as usize) {
            streams.iter_mut().for_each(|stream| stream.add(&values, time, &mut writer.outlets));
        }
    }

    /// One row for each stream and destination whose losses have grown; at the end for all with losses.
    fn report_losses(&mut self, writer: &mut Writer, time: f64, last: bool) {
        if last {
            self.said.clear();
        }
        for loss in new_losses(writer, &mut self.said) {
            if let Some(new) = self.losses.take() {
                writer.adopt_own(new);
            }
            let values = [
                Value::from(loss.stream.as_str()),
                Value::UInt64(loss.samples_injected),
                Value::UInt64(loss.samples_dropped),
                Value::UInt64(loss.rows_dropped),
            ];
            if let Some(Some(Taken { streams, .. })) = writer.points.get_mut(self.losses_id as usize) {
                let outlets = &mut writer.outlets;
                streams
                    .iter_mut()
                    .for_each(|stream| stream.write_to(loss.outlet, Kind::Data, time, &values, outlets));
            }
        }
    }
}

struct Loss {
    stream: String,
    outlet: usize,
    samples_injected: u64,
    samples_dropped: u64,
    rows_dropped: u64,
}

fn new_losses(writer: &Writer, said: &mut Vec<(usize, usize, usize, u64)>) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (place, Taken { point, streams }) in
        writer.points.iter().enumerate().filter_map(|(at, p)| Some((at, p.as_ref()?)))
    {
        let samples_dropped = point.dropped.load(Ordering::Relaxed);
        for (number, stream) in
            streams.iter().enumerate().filter(|(_, stream)| stream.schema.name != LOSSES_NAME)
        {
            let listening = |outlet: usize| writer.outlets[outlet].has_room();
            for (at, route) in stream.routes.iter().enumerate().filter(|(_, route)| listening(route.outlet)) {
                let rows_dropped = route.counters.dropped();
                if grew(said, (place, number, at), samples_dropped + rows_dropped) {
                    losses.push(Loss {
                        stream: stream.schema.name.clone(),
                        outlet: route.outlet,
                        samples_injected: point.injected.load(Ordering::Relaxed),
                        samples_dropped,
                        rows_dropped,
                    });
                }
            }
        }
    }
    losses
}

/// Whether a total is above what was said; remembers it.
fn grew(said: &mut Vec<(usize, usize, usize, u64)>, key: (usize, usize, usize), total: u64) -> bool {
    let known = said.iter_mut().find(|(point, stream, route, _)| (*point, *stream, *route) == key);
    match known {
        Some((.., said)) if *said < total => *said = total,
        None if total > 0 => said.push((key.0, key.1, key.2, total)),
        _ => return false,
    }
    true
}

/// Samples injected and lost, rows lost included.
fn totals(writer: &Writer) -> (u64, u64) {
    let mut totals = (0, 0);
    for Taken { point, streams } in writer.points.iter().flatten() {
        totals.0 += point.injected.load(Ordering::Relaxed);
        totals.1 += point.dropped.load(Ordering::Relaxed);
        let routes = streams.iter().flat_map(|stream| &stream.routes);
        totals.1 += routes.map(|route| route.counters.dropped()).sum::<u64>();
    }
    totals
}

/// Bytes of rings, and bytes that wait in them and in the destinations' buffers.
fn memory(writer: &Writer) -> (u64, u64) {
    let rings = writer.rings.iter();
    let (allocated, waiting) =
        rings.fold((0, 0), |(all, used), ring| (all + ring.capacity() * 8, used + ring.len() * 8));
    let buffered: usize = writer.outlets.iter().map(|outlet| outlet.waiting()).sum();
    (allocated + buffered as u64, waiting + buffered as u64)
}
