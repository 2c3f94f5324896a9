//! A stream in the writer: its filters, and its routes to destinations.

use std::sync::Arc;

use super::counters::Route;
use super::outbox::Kind;
use super::outlet::Outlet;
use crate::filter::Stage;
use crate::protocol::{Schema, Value};

/// A stream on its way to one destination.
#[derive(Debug)]
pub(super) struct StreamRoute {
    /// Number of the destination.
    pub(super) outlet: usize,
    /// Number of the route there, once the writer has taken it over.
    pub(super) slot: usize,
    pub(super) counters: Arc<Route>,
    /// Of the last row.
    pub(super) seq: i64,
}

/// A stream of a measurement point.
pub(super) struct Stream {
    pub(super) schema: Schema,
    pub(super) stage: Stage,
    pub(super) routes: Vec<StreamRoute>,
    /// Lost samples that the sequence numbers already show.
    shown_losses: u64,
}

impl Stream {
    pub(super) fn new(schema: Schema, stage: Stage, routes: Vec<StreamRoute>) -> Self {
        Self { schema, stage, routes, shown_losses: 0 }
    }

    /// Where a sample is a row, a sample lost is a gap in the sequence numbers.
    pub(super) fn show_losses(&mut self, dropped: u64) {
        if self.stage.passes() && dropped > self.shown_losses {
            let gap = (dropped - self.shown_losses).cast_signed();
            self.routes.iter_mut().for_each(|route| route.seq += gap);
            self.shown_losses = dropped;
        }
    }

    /// Takes a sample; rows that it completes go to the outlets.
    pub(super) fn add(&mut self, values: &[Value<'_>], time: f64, outlets: &mut [Box<dyn Outlet>]) {
        let Self { schema, stage, routes, .. } = self;
        stage.add(values, time, &mut |time, values| write_row(schema, routes, outlets, time, values));
    }

    /// Ends the windows that are over.
    pub(super) fn advance(&mut self, time: f64, outlets: &mut [Box<dyn Outlet>]) {
        let Self { schema, stage, routes, .. } = self;
        stage.advance(time, &mut |time, values| write_row(schema, routes, outlets, time, values));
    }

    /// Ends the present window.
    pub(super) fn flush(&mut self, time: f64, outlets: &mut [Box<dyn Outlet>]) {
        let Self { schema, stage, routes, .. } = self;
        stage.flush(time, &mut |time, values| write_row(schema, routes, outlets, time, values));
    }

    /// Writes a row to one outlet alone, past the filters.
    pub(super) fn write_to(
        &mut self,
        outlet: usize,
        kind: Kind,
        time: f64,
        values: &[Value<'_>],
        outlets: &mut [Box<dyn Outlet>],
    ) {
        for route in self.routes.iter_mut().filter(|route| route.outlet == outlet) {
            route.seq += 1;
            outlets[outlet].write(route.slot, kind, &self.schema, route.seq, time, values);
        }
    }
}

fn write_row(
    schema: &Schema,
    routes: &mut [StreamRoute],
    outlets: &mut [Box<dyn Outlet>],
    time: f64,
    values: &[Value<'_>],
) {
    let kind = if schema.index == 0 { Kind::Metadata } else { Kind::Data };
    for route in routes {
        route.seq += 1;
        outlets[route.outlet].write(route.slot, kind, schema, route.seq, time, values);
    }
}
