//! Encoded rows on their way to one destination, bounded, with what a new connection has to hear again.

use std::collections::VecDeque;
use std::sync::Arc;

use super::counters::Route;
use crate::protocol::{Changes, EncodeError};

/// What is said again on a new connection besides the definitions of streams, at most.
const REPLAYED_METADATA: usize = 1 << 20;
/// Sent bytes are moved out of the way when there are so many.
const COMPACTION: usize = 256 << 10;

/// What a row is to a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sent once.
    Data,
    /// A row of stream 0: sent again on every new connection.
    Metadata,
    /// A row of stream 0 that defines a stream: without it later rows cannot be read.
    Definition,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    length: usize,
    route: usize,
    kind: Kind,
}

/// The rows, oldest first.
#[derive(Debug)]
pub(super) struct Outbox {
    capacity: usize,
    routes: Vec<Arc<Route>>,
    data: Vec<u8>,
    /// Where the oldest row begins.
    start: usize,
    rows: VecDeque<Entry>,
    /// Bytes of the oldest row that this connection has taken.
    partial: usize,
    /// The header and replayed rows, sent before any row.
    prefix: Vec<u8>,
    prefix_sent: usize,
    replay: Vec<u8>,
    replayed_metadata: usize,
}

impl Outbox {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            routes: Vec::new(),
            data: Vec::new(),
            start: 0,
            rows: VecDeque::new(),
            partial: 0,
            prefix: Vec::new(),
            prefix_sent: 0,
            replay: Vec::new(),
            replayed_metadata: 0,
        }
    }

    /// Adds a route; its number is for [`Self::push`].
    pub(super) fn add_route(&mut self, route: Arc<Route>) -> usize {
        self.routes.push(route);
        self.routes.len() - 1
    }

    /// Notes a row that goes shortened.
    pub(super) fn count_changes(&self, route: usize, changes: Changes) {
        self.routes[route].count_changes(changes);
    }

    pub(super) fn has_room(&self) -> bool {
        self.data.len() - self.start < self.capacity
    }

    /// Bytes of rows that wait.
    pub(super) fn waiting(&self) -> usize {
        self.data.len() - self.start
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the row that `encode` appends; without room or with an error it is counted as dropped.
    pub(super) fn push(
        &mut self,
        route: usize,
        kind: Kind,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) {
        self.routes[route].count_row();
        let before = self.data.len();
        let room = self.has_room() || kind == Kind::Definition;
        if room && encode(&mut self.data).is_ok() {
            self.rows.push_back(Entry { length: self.data.len() - before, route, kind });
        } else {
            self.data.truncate(before);
            self.routes[route].count_dropped();
        }
    }

    /// Begins a connection: `header`, what was said of streams before, then the rows from the oldest one's start.
    pub(super) fn begin(&mut self, header: &[u8]) {
        self.partial = 0;
        self.prefix.clear();
        self.prefix.extend_from_slice(header);
        self.prefix.extend_from_slice(&self.replay);
        self.prefix_sent = 0;
    }

    /// What the connection takes next; empty when all is sent.
    pub(super) fn unsent(&self) -> &[u8] {
        match &self.prefix[self.prefix_sent..] {
            [] => &self.data[self.start + self.partial..],
            prefix => prefix,
        }
    }

    /// The connection took so many bytes of [`Self::unsent`].
    pub(super) fn advance(&mut self, bytes: usize) {
        if self.prefix_sent < self.prefix.len() {
            self.prefix_sent += bytes;
            return;
        }
        self.partial += bytes;
        while let Some(row) = self.rows.front().copied().filter(|row| row.length <= self.partial) {
            self.rows.pop_front();
            self.partial -= row.length;
            self.routes[row.route].count_sent();
            self.keep(row);
            self.start += row.length;
        }
        self.compact();
    }

    fn keep(&mut self, row: Entry) {
        let kept = match row.kind {
            Kind::Data => false,
            Kind::Metadata => {
                self.replayed_metadata += row.length;
                self.replayed_metadata <= REPLAYED_METADATA
            }
            Kind::Definition => true,
        };
        if kept {
            self.replay.extend_from_slice(&self.data[self.start..self.start + row.length]);
        }
    }

    fn compact(&mut self) {
        if self.start == self.data.len() {
            self.data.clear();
            self.start = 0;
        } else if self.start > COMPACTION && self.start > self.data.len() / 2 {
            self.data.drain(..self.start);
            self.start = 0;
        }
    }

    /// Counts what waits as dropped and forgets it.
    pub(super) fn give_up(&mut self) {
        for row in self.rows.drain(..) {
            self.routes[row.route].count_dropped();
        }
        self.data.clear();
        (self.start, self.partial) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox() -> (Outbox, Arc<Route>) {
        let mut outbox = Outbox::new(10);
        let route =
            Route::new("s", "d", crate::protocol::Content::Binary, super::super::counters::Losses::default());
        outbox.add_route(Arc::clone(&route));
        (outbox, route)
    }

    fn push(outbox: &mut Outbox, kind: Kind, row: &str) {
        outbox.push(0, kind, |out| {
            out.extend_from_slice(row.as_bytes());
            Ok(())
        });
    }

    fn take(outbox: &mut Outbox, most: usize) -> String {
        let bytes = outbox.unsent()[..most.min(outbox.unsent().len())].to_vec();
        outbox.advance(bytes.len());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_new_connection_hears_definitions_again_and_a_broken_row_whole() {
        let (mut outbox, route) = outbox();
        outbox.begin(b"H;");
        push(&mut outbox, Kind::Data, "a;");
        push(&mut outbox, Kind::Definition, "def;");
        push(&mut outbox, Kind::Data, "bbb;");
        assert_eq!(take(&mut outbox, 99), "H;");
        assert_eq!(take(&mut outbox, 8), "a;def;bb");
        assert_eq!(route.read().sent, 2);
        outbox.begin(b"H;");
        assert_eq!(take(&mut outbox, 99) + &take(&mut outbox, 99), "H;def;bbb;");
        assert!(outbox.is_empty() && outbox.unsent().is_empty());
        assert_eq!((route.read().sent, route.read().dropped), (3, 0));
    }

    #[test]
    fn without_room_rows_are_counted_as_dropped() {
        let (mut outbox, route) = outbox();
        (0..4).for_each(|_| push(&mut outbox, Kind::Data, "five;"));
        assert_eq!((route.read().rows, route.read().dropped), (4, 2));
        outbox.give_up();
        assert_eq!((route.read().dropped, outbox.waiting()), (4, 0));
    }
}
