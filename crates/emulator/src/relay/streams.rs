//! Connections: asked for at the receiver's end, made to the host first, then carried.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::poll::{Kind, Poll};
use super::pump::{Pipes, Pump};
use crate::destination::ends_of_connection;
use crate::device::Writer;
use crate::end::End;
use crate::handover::Handover;
use crate::headers::VNET;
use crate::sockets::{connect, descriptors, is_connected, listen, loopback, plain, reset_when_closed};

/// Connections at a time, made or not; who asks for more is not answered and asks again. Fewer where this process may not
/// have four descriptors for each beside the others it needs.
const MOST: usize = 512;
const LEAST: usize = 16;
const OTHERS: usize = 512;
const DESCRIPTORS: usize = 4;
/// How long the host's side waits for whoever asked for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who asks for a connection, and the port that is asked for.
type Caller = (SocketAddr, u16);

struct Attempt {
    caller: Caller,
    host: TcpStream,
    frame: Box<[u8]>,
}

struct Connection {
    inside: TcpStream,
    host: TcpStream,
    outward: Pump,
    inward: Pump,
}

/// All connections.
pub(super) struct Streams {
    most: usize,
    pipes: Pipes,
    listeners: HashMap<u16, TcpListener>,
    attempts: HashMap<u32, Attempt>,
    /// The host's side of connections that the receiver's end has not accepted yet.
    unclaimed: HashMap<Caller, (TcpStream, Instant)>,
    connections: HashMap<u32, Connection>,
    /// Those whose turn was over before they were done.
    more: Vec<u32>,
    next: u32,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            most: (descriptors().saturating_sub(OTHERS) / DESCRIPTORS).clamp(LEAST, MOST),
            pipes: Pipes::default(),
            listeners: HashMap::new(),
            attempts: HashMap::new(),
            unclaimed: HashMap::new(),
            connections: HashMap::new(),
            more: Vec::new(),
            next: 0,
        }
    }

    /// Asks the host for the connection that a frame asks for; then delivers the frame.
    pub(super) fn attempt(&mut self, frame: Box<[u8]>, poll: &Poll, factory: &mut Handover, writer: &Writer) {
        let Some((source, destination)) = ends_of_connection(&frame[VNET..]) else { return };
        let caller = (source, destination.port());
        if self.unclaimed.contains_key(&caller) {
            return drop(writer.write(&frame));
        }
        let asked = self.attempts.values().any(|attempt| attempt.caller == caller);
        if asked || self.attempts.len() + self.unclaimed.len() + self.connections.len() >= self.most {
            return;
        }
        let Ok(host) = connect(loopback(source.ip(), caller.1)) else {
            return self.refuse(caller.1, &frame, poll, writer);
        };
        let index = self.number();
        let _ = poll.watch(&host, Kind::Attempt, index);
        self.attempts.insert(index, Attempt { caller, host, frame });
        self.conclude(index, poll, factory, writer);
    }

    /// Goes on with an attempt that the host may have answered.
    pub(super) fn conclude(&mut self, index: u32, poll: &Poll, factory: &mut Handover, writer: &Writer) {
        let Some(attempt) = self.attempts.get(&index) else { return };
        let Some(made) = is_connected(&attempt.host) else { return };
        let Some(Attempt { caller, host, frame }) = self.attempts.remove(&index) else { return };
        if !made || !self.listen(caller.1, poll, factory) {
            return self.refuse(caller.1, &frame, poll, writer);
        }
        let _ = poll.change(&host, Kind::Connection, index);
        self.unclaimed.insert(caller, (host, Instant::now()));
        let _ = writer.write(&frame);
    }

    /// Whether the port is open at the receiver's end now.
    fn listen(&mut self, port: u16, poll: &Poll, factory: &mut Handover) -> bool {
        if self.listeners.contains_key(&port) {
            return true;
        }
        let Ok(socket) = factory.make_socket(End::Receiver, libc::SOCK_STREAM) else { return false };
        let Ok(listener) = listen(socket, port) else { return false };
        if poll.watch(&listener, Kind::Listener, port.into()).is_err() {
            return false;
        }
        self.listeners.insert(port, listener);
        true
    }

    /// Delivers the frame to a port that is not open.
    fn refuse(&mut self, port: u16, frame: &[u8], poll: &Poll, writer: &Writer) {
        self.accept(port, poll);
        if !self.unclaimed.keys().any(|caller| caller.1 == port) {
            self.listeners.remove(&port);
        }
        let _ = writer.write(frame);
    }

    /// Joins what arrived at the receiver's end to its host's side.
    pub(super) fn accept(&mut self, port: u16, poll: &Poll) {
        loop {
            let (inside, from) = match self.listeners.get(&port).map(TcpListener::accept) {
                Some(Ok(accepted)) => accepted,
                Some(Err(error)) if error.kind() != ErrorKind::WouldBlock => {
                    // Out of descriptors, say: it is told of again at once.
                    return thread::sleep(Duration::from_millis(1));
                }
                _ => return,
            };
            let from = SocketAddr::new(plain(from.ip()), from.port());
            let host = self.unclaimed.remove(&(from, port));
            let index = self.number();
            if let Some(connection) = host.and_then(|(host, _)| Connection::new(inside, host, poll, index)) {
                self.connections.insert(index, connection);
                self.carry(index);
            }
        }
    }

    /// Carries what a connection has, in both directions.
    pub(super) fn carry(&mut self, index: u32) {
        let Some(connection) = self.connections.get_mut(&index) else { return };
        match connection.carry(&mut self.pipes) {
            Ok(true) => self.more.push(index),
            Ok(false) if !connection.is_finished() => {}
            Ok(false) => drop(self.connections.remove(&index)),
            Err(_) => {
                connection.reset();
                self.connections.remove(&index);
            }
        }
    }

    /// Whether a connection's turn was over before it was done.
    pub(super) fn has_more(&self) -> bool {
        !self.more.is_empty()
    }

    /// Gives those another turn.
    pub(super) fn go_on(&mut self) {
        for index in std::mem::take(&mut self.more) {
            self.carry(index);
        }
    }

    /// Closes the host's side of what was never accepted.
    pub(super) fn forget_the_unclaimed(&mut self) {
        self.unclaimed.retain(|_, (_, since)| since.elapsed() < PATIENCE);
    }

    fn number(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }
}

impl Connection {
    fn new(inside: TcpStream, host: TcpStream, poll: &Poll, index: u32) -> Option<Self> {
        inside.set_nonblocking(true).ok()?;
        // The relay adds no wait of its own.
        let _ = (inside.set_nodelay(true), host.set_nodelay(true));
        poll.watch(&inside, Kind::Connection, index).ok()?;
        poll.change(&host, Kind::Connection, index).ok()?;
        Some(Self { inside, host, outward: Pump::default(), inward: Pump::default() })
    }

    fn carry(&mut self, pipes: &mut Pipes) -> io::Result<bool> {
        let outward = self.outward.run(&self.inside, &self.host, pipes);
        // What was sent before a reset still arrives.
        let inward = self.inward.run(&self.host, &self.inside, pipes);
        Ok(outward? | inward?)
    }

    fn is_finished(&self) -> bool {
        self.outward.is_finished() && self.inward.is_finished()
    }

    fn reset(&self) {
        reset_when_closed(&self.inside);
        reset_when_closed(&self.host);
    }
}
