//! The native protocol to our own collector: a row is sent when the collector has acknowledged it.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::clock::unix_nanoseconds;
use super::connection::Connection;
use super::counters::Route;
use super::outbox::Kind;
use super::outlet::Outlet;
use crate::native::{MAX_FRAME, Sender, SessionId};
use crate::protocol::{Encoder, Header, Schema, Value};

/// Rows are put in frames of about so many bytes.
const FRAME: usize = 64 << 10;
/// Of a frame's longest payload, what its number takes.
const MAX_ROW: usize = MAX_FRAME - 8;
/// A collector that owes an answer for so long is taken for dead.
const SILENCE: Duration = Duration::from_secs(30);

/// One session with a collector.
pub(super) struct NativeOutlet {
    header: Header,
    encoder: Encoder,
    routes: Vec<Arc<Route>>,
    capacity: usize,
    /// Rows of the frame that is being filled, and their routes.
    filling: Vec<u8>,
    filling_routes: Vec<usize>,
    sender: Sender<Vec<usize>>,
    connection: Connection,
    /// When the collector last answered or owed nothing.
    heard: Option<Instant>,
}

impl NativeOutlet {
    /// `header` without schemas; `capacity` in bytes.
    pub(super) fn new(header: Header, token: &str, capacity: usize, connection: Connection) -> Self {
        Self {
            header,
            encoder: Encoder::native(),
            routes: Vec::new(),
            capacity,
            filling: Vec::new(),
            filling_routes: Vec::new(),
            sender: Sender::new(random_session(), token.as_bytes(), capacity),
            connection,
            heard: None,
        }
    }

    fn seal(&mut self) {
        if !self.filling.is_empty() {
            self.sender.push(&self.filling, std::mem::take(&mut self.filling_routes));
            self.filling.clear();
        }
    }

    /// Takes the collector's answers; an answer that makes no sense ends the connection, not the session.
    fn hear(&mut self, now: Instant) {
        let mut buffer = [0; 4096];
        while let Some(read) = self.connection.read(&mut buffer, now) {
            self.heard = Some(now);
            let routes = &self.routes;
            let count = |rows: Vec<usize>| rows.into_iter().for_each(|route| routes[route].count_sent());
            match self.sender.receive(&buffer[..read], |sent| count(sent.note)) {
                Ok(()) => self.connection.welcome(),
                Err(error) => self.connection.lose(now, &error),
            }
            if self.sender.asks_time() {
                self.sender.tell_time(unix_nanoseconds(SystemTime::now()) / 1000);
            }
        }
    }

    fn say(&mut self, now: Instant) -> bool {
        let mut sent = false;
        loop {
            let taken = self.connection.write(self.sender.unsent(), now);
            if taken == 0 {
                return sent;
            }
            self.sender.advance(taken);
            sent = true;
        }
    }

    fn watch_silence(&mut self, now: Instant) {
        if !self.sender.awaits_answer() {
            self.heard = Some(now);
        } else if self.heard.is_some_and(|heard| now.duration_since(heard) > SILENCE) {
            self.connection.lose(now, &"the collector does not answer");
            self.heard = Some(now);
        }
    }
}

impl Outlet for NativeOutlet {
    fn add_route(&mut self, route: Arc<Route>) -> usize {
        self.routes.push(route);
        self.routes.len() - 1
    }

    /// Every hello names all streams: the collector may have forgotten the rows that defined late ones.
    fn define(&mut self, schema: &Schema, _late: bool) {
        self.header.schemas.push(schema.clone());
    }

    fn has_room(&self) -> bool {
        self.sender.kept_bytes() + self.filling.len() < self.capacity
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
        self.routes[route].count_row();
        let before = self.filling.len();
        let room = self.has_room() || kind == Kind::Definition;
        let written = room
            && self.encoder.write_row(&mut self.filling, schema, seq, time, values.iter().copied()).is_ok()
            && self.filling.len() - before <= MAX_ROW - FRAME;
        if written {
            self.filling_routes.push(route);
        } else {
            self.filling.truncate(before);
            self.routes[route].count_dropped();
        }
        if self.filling.len() >= FRAME {
            self.seal();
        }
    }

    fn pump(&mut self, now: Instant, hurry: bool) -> bool {
        self.seal();
        if self.connection.poll(now, hurry) {
            let mut text = Vec::new();
            self.header.write(&mut text);
            self.sender.connected(&text);
            self.heard = Some(now);
        }
        self.hear(now);
        let sent = self.say(now);
        self.watch_silence(now);
        sent
    }

    fn waiting(&self) -> usize {
        self.sender.kept_bytes() + self.filling.len()
    }

    fn is_drained(&self) -> bool {
        self.filling.is_empty() && self.sender.is_empty()
    }

    fn give_up(&mut self) {
        self.filling.clear();
        let rows = self.sender.give_up().flatten().chain(self.filling_routes.drain(..));
        rows.for_each(|route| self.routes[route].count_dropped());
    }

    fn finish(&mut self) {
        let goodbye = self.sender.goodbye();
        self.connection.write(&goodbye, Instant::now()); // it is short, and only a courtesy
        self.connection.shut_down();
    }
}

/// 128 random bits from the keys that the standard library takes from the operating system.
fn random_session() -> SessionId {
    let word = |salt: u8| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u8(salt);
        hasher.write_u32(std::process::id());
        hasher.finish()
    };
    let mut session = [0; 16];
    session[..8].copy_from_slice(&word(0).to_be_bytes());
    session[8..].copy_from_slice(&word(1).to_be_bytes());
    session
}
