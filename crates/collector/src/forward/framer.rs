//! What one connection sent, cut between rows: what another collector can begin with after any cut.

use trialwise_streams::native::{Relayed, RowDecoder};
use trialwise_streams::protocol::{Advance, DamageKind, Decoder, Event, Header, Limits, Schema};

use crate::connection::read_header;
use crate::status::Watched;

/// Longest row that is passed on; with it a frame stays below what the native protocol takes.
const MAX_ROW: usize = 4 << 20;

/// One connection.
pub(super) struct Framer {
    header: Header,
    rows: Rows,
    seen: Seen,
}

/// What is counted of the rows that pass.
struct Seen {
    watched: Watched,
    damaged: Vec<DamageKind>,
    /// When the present piece arrived, seconds of UNIX time.
    arrival: f64,
    late: Vec<Schema>,
}

impl Seen {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Row(row) => {
                self.watched.row(row, self.arrival);
                self.watched.stored();
                self.late.extend(row.defines.cloned());
            }
            Event::Damaged(damage) => {
                self.watched.damage();
                self.damaged.push(damage.kind);
            }
            Event::Header(_) => {}
        }
    }
}

enum Rows {
    /// The bytes of a row that is not complete yet are kept.
    Oml(Box<Decoder>, Vec<u8>),
    Native(Box<RowDecoder>),
}

/// What a state begins with.
const OML: u8 = 1;
const NATIVE: u8 = 2;

impl Framer {
    /// Begins with a connection's header; nothing where that cannot be read.
    pub(super) fn new(rows: Relayed, text: &[u8], limits: Limits) -> Option<Self> {
        let limits = Limits { header: usize::MAX / 2, row: limits.row.min(MAX_ROW), ..limits };
        let decoder = read_header(text, limits)?;
        let header = decoder.header().clone();
        let rows = match rows {
            Relayed::Oml => Rows::Oml(Box::new(decoder), Vec::new()),
            Relayed::Native => Rows::Native(Box::new(RowDecoder::new(header.clone()).ok()?)),
        };
        let watched = Watched::new(&header);
        let seen = Seen { watched, damaged: Vec::new(), arrival: 0.0, late: Vec::new() };
        Some(Self { header, rows, seen })
    }

    pub(super) const fn relayed(&self) -> Relayed {
        match self.rows {
            Rows::Oml(..) => Relayed::Oml,
            Rows::Native(_) => Relayed::Native,
        }
    }

    /// The header with the streams defined since.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.header.write(&mut text);
        text
    }

    /// Takes what came next, at `arrival` in seconds of UNIX time; returns whole rows, as they came, and whether they
    /// define streams.
    pub(super) fn take(&mut self, bytes: &[u8], arrival: f64) -> (Vec<u8>, bool) {
        self.seen.arrival = arrival;
        let whole = match &mut self.rows {
            Rows::Native(decoder) => {
                let mut rest = bytes;
                while let Some(event) = decoder.next_row(&mut rest) {
                    self.seen.event(&event);
                }
                bytes.to_vec()
            }
            Rows::Oml(decoder, kept) => {
                kept.extend_from_slice(bytes);
                let whole = pass_rows(decoder, kept, &mut self.seen);
                kept.drain(..whole).collect()
            }
        };
        let defines = !self.seen.late.is_empty();
        for schema in self.seen.late.drain(..) {
            self.header.schemas.retain(|other| other.index != schema.index);
            self.header.schemas.push(schema);
        }
        (whole, defines)
    }

    /// What was counted since the last look; begins anew.
    pub(super) fn take_seen(&mut self) -> (Watched, Vec<DamageKind>) {
        (self.seen.watched.take(), std::mem::take(&mut self.seen.damaged))
    }

    /// What is left of a row that did not end with the connection.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        match &mut self.rows {
            Rows::Native(_) => Vec::new(),
            Rows::Oml(decoder, kept) => {
                decoder.finish();
                pass_rows(decoder, kept, &mut self.seen);
                std::mem::take(kept)
            }
        }
    }

    /// What [`Self::restore`] needs, between two pieces.
    pub(super) fn state(&self) -> Vec<u8> {
        let (kind, kept): (_, &[u8]) = match &self.rows {
            Rows::Oml(_, kept) => (OML, kept),
            Rows::Native(_) => (NATIVE, &[]),
        };
        let header = self.header();
        let mut state = vec![kind];
        state.extend_from_slice(&(header.len() as u64).to_le_bytes());
        state.extend_from_slice(&header);
        state.extend_from_slice(kept);
        state
    }

    pub(super) fn restore(state: &[u8], limits: Limits) -> Option<Self> {
        let (&kind, rest) = state.split_first()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (header, kept) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let rows = if kind == OML { Relayed::Oml } else { Relayed::Native };
        let mut framer = Self::new(rows, header, limits)?;
        if let Rows::Oml(_, bytes) = &mut framer.rows {
            bytes.extend_from_slice(kept);
        }
        Some(framer)
    }
}

/// How many of the bytes are whole rows, or what can be no part of one.
fn pass_rows(decoder: &mut Decoder, bytes: &[u8], seen: &mut Seen) -> usize {
    let mut done = 0;
    // A decoder past its header gives no errors.
    while let Ok((taken, found)) = decoder.advance(&bytes[done..]) {
        if found == Advance::More {
            break;
        }
        if let Some(event) = decoder.event(found, &bytes[done..]) {
            seen.event(&event);
        }
        done += taken;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] =
        b"protocol: 5\ndomain: d\nstart-time: 1\nsender-id: s\napp-name: a\nschema: 1 m n:int32\ncontent: text\n\n";

    #[test]
    fn pieces_are_cut_between_rows_and_late_streams_are_told_again() {
        let mut framer = Framer::new(Relayed::Oml, HEADER, Limits::default()).unwrap();
        let bytes = b"1\t1\t1\t5\n1\t0\t1\t.\tschema\t2 late x:double\n1\t2\t1\t0.5\n1\t1\t2\t6";
        let mut whole = Vec::new();
        for piece in bytes.chunks(7) {
            whole.extend(framer.take(piece, 0.0).0);
            assert!(whole.is_empty() || whole.ends_with(b"\n"));
            framer = Framer::restore(&framer.state(), Limits::default()).unwrap();
        }
        assert!(String::from_utf8(framer.header()).unwrap().contains("schema: 2 late x:double"));
        whole.extend(framer.finish());
        assert_eq!(whole, bytes);
    }
}
