//! What the loader sees of a connection besides its rows: gaps, losses that the client tells, how late rows come.

use trialwise_streams::protocol::{Header, Row, Value};

/// Streams in which clients tell of their losses (the second is our own client's).
const INSTRUMENTATION: &str = "_client_instrumentation";
const LOSSES: &str = "_client_losses";

/// What was seen of one connection since it was last taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(super) domain: String,
    pub(super) sender: String,
    pub(super) start: Option<i64>,
    pub(super) streams: Vec<Seen>,
    /// The stream of the last row, in `streams`.
    pub(super) last: usize,
    pub(super) rows: u64,
    pub(super) damaged: u64,
    pub(super) nulled: u64,
    /// Sequence numbers left out by the sender in all, once [`super::Gaps`] has told.
    pub(super) missing: u64,
    /// The least time from a row's time stamp to its arrival, seconds.
    pub(super) least_lag: f64,
}

/// One stream.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    index: u32,
    pub(super) name: String,
    /// The first and the last sequence number since the last look; nothing when no row came.
    pub(super) span: Option<(i64, i64)>,
    /// Numbers left out between them.
    pub(super) missing: u64,
    /// What the client says it has dropped, by stream; the empty name stands for all.
    pub(super) dropped: Vec<(String, u64)>,
}

impl Watched {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            domain: header.domain.clone(),
            sender: header.sender_id.clone(),
            start: header.start_time,
            least_lag: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Notes a row that arrived at `arrival`, seconds of UNIX time.
    pub(crate) fn row(&mut self, row: &Row<'_>, arrival: f64) {
        if let Some(start) = self.start {
            self.least_lag = self.least_lag.min(arrival - start as f64 - row.timestamp);
        }
        if row.schema.is_metadata() {
            return; // sent again on every connection
        }
        let seen = self.stream(row);
        match &mut seen.span {
            None => seen.span = Some((row.seq, row.seq)),
            Some((_, last)) => {
                let left_out = row.seq.saturating_sub(*last).saturating_sub(1).max(0).cast_unsigned();
                seen.missing = seen.missing.saturating_add(left_out);
                *last = row.seq.max(*last);
            }
        }
        if seen.name.starts_with("_client_") {
            seen.note_losses(row);
        }
    }

    /// Notes that the row was stored.
    pub(crate) const fn stored(&mut self) {
        self.rows += 1;
    }

    /// Notes that a row was stored with NULL for a value.
    pub(crate) const fn nulled(&mut self) {
        self.nulled += 1;
    }

    /// Notes a damaged row or a damaged stretch.
    pub(crate) const fn damage(&mut self) {
        self.damaged += 1;
    }

    pub(crate) fn sender(&self) -> &str {
        &self.sender
    }

    /// Rows stored since the last look.
    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }

    /// What was seen, for [`super::Senders::add`]; begins anew.
    pub(crate) fn take(&mut self) -> Self {
        let taken = self.clone();
        (self.rows, self.damaged, self.nulled, self.least_lag) = (0, 0, 0, f64::INFINITY);
        for seen in &mut self.streams {
            (seen.span, seen.missing) = (None, 0);
            seen.dropped.clear();
        }
        taken
    }

    fn stream(&mut self, row: &Row<'_>) -> &mut Seen {
        let index = row.schema.index;
        if self.streams.get(self.last).is_none_or(|seen| seen.index != index) {
            self.last = self.streams.iter().position(|seen| seen.index == index).unwrap_or_else(|| {
                let name = row.schema.name.clone();
                self.streams.push(Seen { index, name, span: None, missing: 0, dropped: Vec::new() });
                self.streams.len() - 1
            });
        }
        &mut self.streams[self.last]
    }
}

impl Seen {
    fn note_losses(&mut self, row: &Row<'_>) {
        let number = |index| match row.get(index) {
            Some(Value::UInt32(number)) => u64::from(number),
            Some(Value::UInt64(number)) => number,
            _ => 0,
        };
        if self.name == INSTRUMENTATION {
            self.dropped = vec![(String::new(), number(1))];
        } else if self.name == LOSSES
            && let Some(Value::String(stream)) = row.get(0)
        {
            let stream = String::from_utf8_lossy(stream).into_owned();
            self.dropped.retain(|(name, _)| *name != stream);
            self.dropped.push((stream, number(2) + number(3)));
        }
    }
}

#[cfg(test)]
impl Seen {
    pub(super) fn of(name: &str, span: (i64, i64), missing: u64) -> Self {
        Self { index: 1, name: name.to_owned(), span: Some(span), missing, dropped: Vec::new() }
    }
}
