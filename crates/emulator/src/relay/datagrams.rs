//! Datagrams: each sender inside has a socket of its own towards the host.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Dropped;
use super::gate::Ports;
use super::poll::{Kind, Poll};
use crate::destination::empty_datagram;
use crate::device::Writer;
use crate::sockets::{loopback, overflowed, plain, widen};

/// Senders at a time; one more makes the one forgotten that was quiet for longest.
const MOST: usize = 256;
/// Datagrams carried before others have their turn.
const TURN: usize = 64;
/// Of bytes that wait at a port.
const ROOM: i32 = 1 << 22;
const LONGEST: usize = 1 << 16;
/// A sender that neither sent nor was answered for so long is forgotten.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who sends, as its socket has it, and the port it sends to.
type Sender = (SocketAddr, u16);

struct Flow {
    sender: Sender,
    host: UdpSocket,
    used: Instant,
}

/// All ports and senders of datagrams.
pub(super) struct Datagrams {
    ports: Arc<Ports>,
    addresses: [IpAddr; 2],
    sockets: HashMap<u16, UdpSocket>,
    numbers: HashMap<Sender, u32>,
    flows: HashMap<u32, Flow>,
    next: u32,
    dropped: Dropped,
    buffer: Box<[u8]>,
}

impl Datagrams {
    pub(super) fn new(ports: Arc<Ports>, addresses: [IpAddr; 2]) -> Self {
        Self {
            ports,
            addresses,
            sockets: HashMap::new(),
            numbers: HashMap::new(),
            flows: HashMap::new(),
            next: 0,
            dropped: Dropped::default(),
            buffer: vec![0; LONGEST].into_boxed_slice(),
        }
    }

    /// Takes over a port that was opened.
    pub(super) fn open(&mut self, port: u16, socket: OwnedFd, poll: &Poll) {
        widen(&socket, ROOM);
        let socket = UdpSocket::from(socket);
        match poll.watch(&socket, Kind::Port, port.into()) {
            Ok(()) => drop(self.sockets.insert(port, socket)),
            Err(_) => self.ports.remove(port),
        }
    }

    /// Carries what came to a port on to the host.
    pub(super) fn outward(&mut self, port: u16, poll: &Poll, writer: &Writer) {
        for _ in 0..TURN {
            let Some(Ok((length, from))) =
                self.sockets.get(&port).map(|socket| socket.recv_from(&mut self.buffer))
            else {
                return;
            };
            let Some(number) = self.number_of((from, port), poll) else {
                self.dropped.forward += 1;
                continue;
            };
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            flow.used = Instant::now();
            match flow.host.send(&self.buffer[..length]) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.refuse(number, writer);
                }
                Err(_) => self.dropped.forward += 1,
            }
        }
    }

    /// Carries the host's answers back to a sender.
    pub(super) fn inward(&mut self, number: u32, writer: &Writer) {
        for _ in 0..TURN {
            let Some(flow) = self.flows.get_mut(&number) else { return };
            let length = match flow.host.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return self.refuse(number, writer);
                }
                Err(_) => return,
            };
            flow.used = Instant::now();
            let (to, port) = flow.sender;
            let sent = self.sockets.get(&port).map(|socket| socket.send_to(&self.buffer[..length], to));
            self.dropped.backward += u64::from(!matches!(sent, Some(Ok(_))));
        }
    }

    /// The flow of a sender, new or known.
    fn number_of(&mut self, sender: Sender, poll: &Poll) -> Option<u32> {
        if let Some(number) = self.numbers.get(&sender) {
            return Some(*number);
        }
        if self.flows.len() >= MOST {
            self.forget_the_quietest();
        }
        let host = connect(loopback(sender.0.ip(), sender.1)).ok()?;
        self.next = self.next.wrapping_add(1);
        poll.watch(&host, Kind::Answers, self.next).ok()?;
        self.flows.insert(self.next, Flow { sender, host, used: Instant::now() });
        self.numbers.insert(sender, self.next);
        Some(self.next)
    }

    /// Closes the port of a flow: the host has nobody there. A datagram from its sender then makes the kernel say so.
    fn refuse(&mut self, number: u32, writer: &Writer) {
        let Some((sender, port)) = self.flows.get(&number).map(|flow| flow.sender) else { return };
        self.close(port);
        let sender = SocketAddr::new(plain(sender.ip()), sender.port());
        let own = self.addresses[usize::from(sender.is_ipv6())];
        let _ = writer.write(&empty_datagram(sender, SocketAddr::new(own, port)));
    }

    fn close(&mut self, port: u16) {
        if let Some(socket) = self.sockets.remove(&port) {
            self.dropped.forward += overflowed(&socket);
        }
        self.flows.retain(|_, flow| flow.sender.1 != port);
        self.numbers.retain(|sender, _| sender.1 != port);
        self.ports.remove(port);
    }

    fn forget_the_quietest(&mut self) {
        let quietest = self.flows.iter().min_by_key(|(_, flow)| flow.used).map(|(number, _)| *number);
        if let Some(flow) = quietest.and_then(|number| self.flows.remove(&number)) {
            self.numbers.remove(&flow.sender);
        }
    }

    /// Forgets senders that are idle.
    pub(super) fn forget_the_idle(&mut self) {
        let before = self.flows.len();
        self.flows.retain(|_, flow| flow.used.elapsed() < PATIENCE);
        if self.flows.len() < before {
            let flows = &self.flows;
            self.numbers.retain(|_, number| flows.contains_key(number));
        }
    }

    /// What found no room so far.
    pub(super) fn dropped(&self) -> Dropped {
        let overflowed: u64 = self.sockets.values().map(overflowed).sum();
        Dropped { forward: self.dropped.forward + overflowed, ..self.dropped }
    }
}

/// A socket of the host that speaks to this address only.
fn connect(address: SocketAddr) -> io::Result<UdpSocket> {
    let own: IpAddr = if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    let socket = UdpSocket::bind((own, 0))?;
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
