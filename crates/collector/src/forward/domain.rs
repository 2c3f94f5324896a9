//! One domain while it is forwarded: its connections, each with a session.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use trialwise_streams::native::{Relayed, SessionId};
use trialwise_streams::protocol::DamageKind;

use super::domains::Place;
use super::framer::Framer;
use super::note::{Note, path_of};
use super::session::Session;
use crate::counters::{Counting, count};
use crate::spool::record::{Body, Record};
use crate::status::{Gaps, Watched};

/// A connection that was received, and the session that passes it on.
struct Link {
    framer: Framer,
    session: Session,
}

pub(super) struct Domain {
    name: String,
    links: HashMap<u64, Link>,
    /// Sessions of connections that have ended since the last note.
    ended: Vec<Session>,
    /// Everything before was passed on.
    position: u64,
    /// Everything before is there, and that is noted.
    pub(super) noted: u64,
    counts: Vec<(Watched, Vec<DamageKind>)>,
    gaps: Gaps<String>,
    dirty: bool,
    /// When the last record came.
    touched: Instant,
}

impl Domain {
    /// Goes on where the note says; connections older than the collector's start at `epoch` are over.
    pub(super) fn open(name: &str, begin: u64, epoch: u64, place: &Place) -> io::Result<Self> {
        let note = Note::read(&path_of(&place.folder, name))?;
        let mut domain = Self {
            name: name.to_owned(),
            links: HashMap::new(),
            ended: Vec::new(),
            position: note.position,
            noted: note.position.max(begin),
            counts: Vec::new(),
            gaps: Gaps::new(note.gaps),
            dirty: false,
            touched: Instant::now(),
        };
        for (id, state) in note.links {
            if let Some(framer) = Framer::restore(&state, place.limits) {
                domain.link(id, framer, note.position, place);
            }
        }
        domain.end_before(epoch);
        Ok(domain)
    }

    fn link(&mut self, id: u64, framer: Framer, there: u64, place: &Place) {
        let token = place.access.token_of(&self.name);
        let (name, rows, header) = (session_of(&place.spool, id), framer.relayed(), framer.header());
        let session = Session::begin(&place.shared, name, token, rows, header, there);
        self.links.insert(id, Link { framer, session });
        self.dirty = true;
    }

    /// Passes on the record from `begin` to `end`, unless that was done.
    pub(super) fn pass(&mut self, record: &Record<'_>, begin: u64, end: u64, place: &Place) {
        if end <= self.position {
            return;
        }
        (self.position, self.dirty, self.touched) = (end, true, Instant::now());
        let arrival = record.time as f64 / 1e6;
        let begins = |rows, header| Framer::new(rows, header, place.limits);
        match record.body {
            Body::BeginOml(header) => self.begin(begin, begins(Relayed::Oml, header), place),
            Body::BeginNative(header) => self.begin(begin, begins(Relayed::Native, header), place),
            Body::Bytes(bytes) => self.take(record.connection, bytes, arrival, end),
            Body::Frame { rows, .. } => self.take(record.connection, rows, arrival, end),
            Body::End => self.end(record.connection, end),
            Body::Bye(_) | Body::Restart | Body::Sessions(_) => {}
        }
    }

    fn begin(&mut self, id: u64, framer: Option<Framer>, place: &Place) {
        // The server has read this header: only another program's spool can fail here.
        if let Some(framer) = framer {
            self.link(id, framer, id, place);
        }
    }

    fn take(&mut self, id: u64, bytes: &[u8], arrival: f64, end: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let (whole, defines) = link.framer.take(bytes, arrival);
        if !whole.is_empty() {
            link.session.push(end, &whole, defines.then(|| link.framer.header()));
        }
    }

    fn end(&mut self, id: u64, number: u64) {
        let Some(mut link) = self.links.remove(&id) else { return };
        let rest = link.framer.finish();
        if !rest.is_empty() {
            link.session.push(number, &rest, None); // the other collector flags it as cut
        }
        self.see(link.framer.take_seen());
        self.ended.push(link.session);
        self.dirty = true;
    }

    fn see(&mut self, (mut watched, damaged): (Watched, Vec<DamageKind>)) {
        let sender = watched.sender().to_owned();
        self.gaps.add(&sender, &mut watched);
        self.counts.push((watched, damaged));
    }

    /// Ends every connection that began before `position`.
    pub(super) fn end_before(&mut self, position: u64) {
        let old: Vec<_> = self.links.keys().copied().filter(|&id| id < position).collect();
        // The start of a collector has a record of its own there: no other has this number.
        old.into_iter().for_each(|id| self.end(id, position + 1));
    }

    fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.links.values().map(|link| &link.session).chain(&self.ended)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.sessions().all(Session::is_settled)
    }

    pub(super) fn refusal(&self) -> Option<String> {
        self.sessions().find_map(Session::refusal)
    }

    /// Whether nothing went on for so long.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        self.links.is_empty() && !self.dirty && self.touched.elapsed() > time
    }

    /// Notes that everything passed on is there; sessions that have ended take leave.
    pub(super) fn note(&mut self, folder: &Path, counting: &Counting) -> io::Result<()> {
        if !self.dirty {
            return Ok(());
        }
        let seen: Vec<_> = self.links.values_mut().map(|link| link.framer.take_seen()).collect();
        seen.into_iter().for_each(|seen| self.see(seen));
        let links: BTreeMap<_, _> = self.links.iter().map(|(&id, link)| (id, link.framer.state())).collect();
        let note = Note {
            position: self.position,
            gaps: self.gaps.known().clone(),
            links: links.into_iter().collect(),
        };
        note.write(&path_of(folder, &self.name))?;
        (self.noted, self.dirty) = (self.position, false);
        self.ended.drain(..).for_each(Session::finish);
        for (watched, damaged) in self.counts.drain(..) {
            count(&counting.rows, watched.rows());
            counting.senders.add(&watched);
            damaged.into_iter().for_each(|kind| count(&counting.damaged[kind as usize], 1));
        }
        Ok(())
    }
}

/// The session of a connection of a spool: the same at every start.
fn session_of(spool: &str, connection: u64) -> SessionId {
    let word = |text: Option<&str>| text.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
    let (time, random) = (word(spool.get(..16)), word(spool.get(16..32)));
    let mut session = [0; 16];
    session[..8].copy_from_slice(&random.to_be_bytes());
    session[8..].copy_from_slice(&time.wrapping_add(connection << 1).to_be_bytes());
    session
}
