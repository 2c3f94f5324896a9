//! What the emulator's thread does before it delivers a packet to an end with a relay.

use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use super::Message;
use crate::datagram::Datagram;
use crate::destination::Destination;
use crate::headers::{VNET, set_ecn};
use crate::pool::Pool;
use crate::sockets::{any_address, bind};
use crate::wake::Wake;

/// Which ports of datagrams are open.
pub(super) struct Ports {
    bits: [AtomicU64; 1024],
}

impl Default for Ports {
    fn default() -> Self {
        Self { bits: [const { AtomicU64::new(0) }; 1024] }
    }
}

impl Ports {
    fn has(&self, port: u16) -> bool {
        self.bits[usize::from(port >> 6)].load(Ordering::Relaxed) >> (port & 63) & 1 == 1
    }

    fn add(&self, port: u16) {
        self.bits[usize::from(port >> 6)].fetch_or(1 << (port & 63), Ordering::Relaxed);
    }

    pub(super) fn remove(&self, port: u16) {
        self.bits[usize::from(port >> 6)].fetch_and(!(1 << (port & 63)), Ordering::Relaxed);
    }
}

/// Holds what asks for a connection, and opens ports for datagrams.
pub(crate) struct Gate {
    ports: Arc<Ports>,
    spare: Receiver<OwnedFd>,
    relay: SyncSender<Message>,
    wake: Arc<Wake>,
}

impl Gate {
    pub(super) fn new(
        ports: Arc<Ports>,
        spare: Receiver<OwnedFd>,
        relay: SyncSender<Message>,
        wake: Arc<Wake>,
    ) -> Self {
        Self { ports, spare, relay, wake }
    }

    /// Whether the relay takes the packet, which is then not to be delivered: it will be.
    pub(crate) fn takes(&self, datagram: &Datagram, pool: &Pool) -> bool {
        if datagram.index > 0 {
            return false;
        }
        let frame = &pool.bytes(datagram.buffer)[..VNET + datagram.length()];
        match Destination::of(&frame[VNET..]) {
            Some(Destination::Connection(_)) if datagram.last => {
                let mut frame: Box<[u8]> = frame.into();
                if datagram.marked {
                    set_ecn(&mut frame[VNET..], datagram.ecn);
                }
                self.tell(Message::Connection(frame));
                true
            }
            Some(Destination::Datagram(port)) => {
                self.open(port);
                false
            }
            _ => false,
        }
    }

    /// Opens a port for datagrams if it is not open.
    fn open(&self, port: u16) {
        if self.ports.has(port) {
            return;
        }
        let Ok(socket) = self.spare.try_recv().map(UdpSocket::from) else { return };
        if bind(&socket, any_address(&socket, port)).is_ok() {
            self.ports.add(port);
            self.tell(Message::Port(port, socket.into()));
        }
    }

    fn tell(&self, message: Message) {
        if self.relay.try_send(message).is_ok() {
            self.wake.ring();
        }
    }
}
