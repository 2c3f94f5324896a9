//! A destination in the writer: encoding, buffer and connection together.

use std::sync::Arc;
use std::time::Instant;

use super::counters::Route;
use super::outbox::{Kind, Outbox};
use super::sink::Sink;
use crate::protocol::{Encoder, Header, Schema, Value};

/// What the writer does with a destination. Nothing here waits.
pub(super) trait Outlet: Send {
    /// Adds a stream's route; its number is for [`Self::write`].
    fn add_route(&mut self, route: Arc<Route>) -> usize;

    /// Adds a stream; a late one is also defined by a row.
    fn define(&mut self, schema: &Schema, late: bool);

    /// Whether a row would be taken.
    fn has_room(&self) -> bool;

    /// Takes a row (`time` in seconds since the start), or counts it as dropped.
    fn write(&mut self, route: usize, kind: Kind, schema: &Schema, seq: i64, time: f64, values: &[Value<'_>]);

    /// Sends what can be sent now; whether anything was. With `hurry`, a lost connection is tried again soon.
    fn pump(&mut self, now: Instant, hurry: bool) -> bool;

    /// Bytes that wait.
    fn waiting(&self) -> usize;

    /// Whether all rows are sent (acknowledged, where there is such a thing).
    fn is_drained(&self) -> bool;

    /// Counts what waits as dropped.
    fn give_up(&mut self);

    /// Ends the connection after all is sent.
    fn finish(&mut self);
}

/// OML's protocol to a collector, a file or standard output.
pub(super) struct OmlOutlet {
    header: Header,
    encoder: Encoder,
    outbox: Outbox,
    sink: Box<dyn Sink>,
}

impl OmlOutlet {
    /// `header` without schemas; `capacity` in bytes.
    pub(super) fn new(header: Header, capacity: usize, sink: Box<dyn Sink>) -> Self {
        Self { encoder: Encoder::new(header.content), header, outbox: Outbox::new(capacity), sink }
    }
}

impl Outlet for OmlOutlet {
    fn add_route(&mut self, route: Arc<Route>) -> usize {
        self.outbox.add_route(route)
    }

    fn define(&mut self, schema: &Schema, late: bool) {
        if !late {
            self.header.schemas.push(schema.clone());
        }
    }

    fn has_room(&self) -> bool {
        self.outbox.has_room()
    }

    fn write(
        &mut self,
        route: usize,
        kind: Kind,
        schema: &Schema,
        seq: i64,
        time: f64,
        values: &[Value<'_>],
    ) {
        let encoder = self.encoder;
        self.outbox.count_changes(route, encoder.changes(values));
        self.outbox
            .push(route, kind, |out| encoder.write_row(out, schema, seq, time, values.iter().copied()));
    }

    fn pump(&mut self, now: Instant, hurry: bool) -> bool {
        let header = &self.header;
        let begin = &mut |outbox: &mut Outbox| {
            let mut text = Vec::new();
            header.write(&mut text);
            outbox.begin(&text);
        };
        self.sink.pump(&mut self.outbox, begin, now, hurry)
    }

    fn waiting(&self) -> usize {
        self.outbox.waiting()
    }

    fn is_drained(&self) -> bool {
        self.outbox.is_empty() && self.outbox.unsent().is_empty()
    }

    fn give_up(&mut self) {
        self.outbox.give_up();
    }

    fn finish(&mut self) {
        self.sink.finish();
    }
}
